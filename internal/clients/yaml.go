package clients

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/source"
)

// A yamlFile is a tenon.yaml that entries are added to. Its text is edited, and
// never written anew, so that comments and order stay.
type yamlFile struct {
	path    string
	data    []byte
	existed bool
	root    *source.Node
	servers *source.Pair // nil where there is none
	indent  string       // of the entries
}

func readYAML(path string) (*yamlFile, error) {
	data, existed, err := readFile(path)
	if err != nil {
		return nil, err
	}
	y := &yamlFile{path: path, data: data, existed: existed, indent: "  "}
	if lower := strings.ToLower(path); strings.HasSuffix(lower, ".json") || strings.HasSuffix(lower, ".jsonc") {
		return nil, &Error{Path: path, Text: "is JSON, and servers are imported into YAML", Hint: "name a tenon.yaml with --config"}
	}
	if len(data) > source.MaxBytes {
		return nil, &Error{Path: path, Text: "is too large for a configuration"}
	}
	if y.root, err = parseYAML(path, data); err != nil {
		return nil, err
	}
	switch kind := y.root.Kind; {
	case kind == source.Map:
		y.servers = y.root.Pair("servers")
	case kind != source.Null:
		return nil, &Error{Path: path, Line: y.root.Line, Column: y.root.Column, Text: "wants a map, and holds " + y.root.Kind.String()}
	}
	if y.servers == nil {
		return y, nil
	}
	switch v := y.servers.Value; {
	case v.Kind != source.Map && v.Kind != source.Null:
		return nil, &Error{Path: path, Line: v.Line, Column: v.Column, Text: "servers wants a map of names, and holds " + v.Kind.String()}
	case len(v.Pairs) > 0:
		line := y.lines()[v.Pairs[0].Key.Line-1]
		y.indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
	}
	return y, nil
}

func parseYAML(path string, data []byte) (*source.Node, error) {
	root, bad := source.NewFile(path, 1).Parse(data)
	if bad == nil {
		return root, nil
	}
	p := source.Problems([]source.Mistake{*bad})[0]
	return nil, &Error{Path: path, Line: p.Line, Column: p.Column, Text: p.Text, Hint: p.Hint}
}

// lines returns the lines with their ends.
func (y *yamlFile) lines() []string { return slices.Collect(strings.Lines(string(y.data))) }

// named reports whether there is an entry of that name.
func (y *yamlFile) named(name string) bool {
	return y.servers != nil && y.servers.Value.Field(name) != nil
}

// holds reports whether a block stands in the file already, but for its first line,
// which says where it is from.
func (y *yamlFile) holds(block string) bool {
	_, body, _ := strings.Cut(block, "\n")
	return strings.Contains(strings.ReplaceAll(string(y.data), "\r\n", "\n"), strings.TrimRight(body, "\n"))
}

// has returns the name of the entry that is a server of a client: its program or
// URL is the same, and so are its variables, as far as they do not stand elsewhere.
func (y *yamlFile) has(s Server) (string, bool) {
	if y.servers == nil {
		return "", false
	}
	for _, p := range y.servers.Value.Pairs {
		if y.same(p, s) {
			return p.Key.Text, true
		}
	}
	return "", false
}

// values returns what the entries give their servers.
func (y *yamlFile) values() []Pair {
	var out []Pair
	if y.servers == nil {
		return nil
	}
	for _, p := range y.servers.Value.Pairs {
		for _, key := range []string{"env", "headers"} {
			if n := p.Value.Field(key); n != nil {
				for _, v := range n.Pairs {
					out = append(out, Pair{v.Key.Text, v.Value.Text})
				}
			}
		}
	}
	return out
}

var suffix = regexp.MustCompile(`-[0-9]+$`)

func (y *yamlFile) same(p source.Pair, s Server) bool {
	n := p.Value
	content := func(key string) string {
		if v := n.Field(key); v != nil {
			return v.Text
		}
		return ""
	}
	var args []string
	if a := n.Field("args"); a != nil {
		for _, item := range a.Items {
			args = append(args, item.Text)
		}
	}
	if content("command") != s.Command || content("url") != s.URL || !slices.Equal(args, s.Args) {
		return false
	}
	if cwd := content("cwd"); cwd != "" && s.Cwd != "" && cwd != s.Cwd {
		return false
	}
	clean := cleanName(s.Name)
	own := p.Key.Text == clean || suffix.ReplaceAllString(p.Key.Text, "") == clean
	return samePlaces(n.Field("env"), s.Env, own) && samePlaces(n.Field("headers"), s.Headers, own)
}

// samePlaces compares values. A reference stands for any value where the name is
// that of the server, for then an import put it there.
func samePlaces(n *source.Node, pairs []Pair, own bool) bool {
	var there []source.Pair
	if n != nil {
		there = n.Pairs
	}
	if len(there) != len(pairs) {
		return false
	}
	for _, p := range pairs {
		v := n.Field(p.Name)
		if v == nil || v.Text != p.Value && (!own || !strings.Contains(v.Text, "${")) {
			return false
		}
	}
	return true
}

// block writes an entry; as a comment where it is not to run.
func (y *yamlFile) block(s Server, name string, comment bool) string {
	title := s.from()
	if s.From == nil {
		title = "a file"
	}
	if s.Scope == Project {
		title += " (project)"
	}
	if s.Held != "" {
		title += ": " + s.Held
	}
	in := y.indent
	var b strings.Builder
	line := func(level int, text string) {
		b.WriteString(in)
		if comment {
			b.WriteString("# ")
		}
		b.WriteString(strings.Repeat("  ", level) + text + "\n")
	}
	b.WriteString(in + "# from " + title + "\n")
	line(0, scalar(name)+":")
	single := func(key, value string) {
		if value != "" {
			line(1, key+": "+scalar(value))
		}
	}
	many := func(key string, pairs []Pair) {
		if len(pairs) > 0 {
			line(1, key+":")
		}
		for _, p := range pairs {
			line(2, scalar(p.Name)+": "+scalar(p.Value))
		}
	}
	single("command", s.Command)
	if len(s.Args) > 0 {
		args := make([]string, len(s.Args))
		for i, a := range s.Args {
			args[i] = scalar(a)
		}
		line(1, "args: ["+strings.Join(args, ", ")+"]")
	}
	single("url", s.URL)
	if s.URL != "" {
		single("transport", s.Transport)
		many("headers", s.Headers)
	}
	if s.Command != "" {
		many("env", s.Env)
		single("cwd", s.Cwd)
	}
	for _, t := range s.Timeouts {
		single(t.Name, t.Value)
	}
	return b.String()
}

// plain are texts that YAML reads as they are, in a line of a list as well.
var plain = regexp.MustCompile(`^(--?)?[A-Za-z./][A-Za-z0-9_./@=+~-]*(:[A-Za-z0-9_./@=+~-]+)*$`)

// reserved are words and beginnings that some reader of YAML takes for something
// else.
var reserved = regexp.MustCompile(`^(?i:true|false|null|yes|no|on|off|y|n|\.inf|\.nan|\.[0-9].*|-\.?[0-9].*|---.*|\.\.\..*)$`)

// scalar writes a text.
func scalar(s string) string {
	if plain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	return quote(s)
}

// with returns the text with blocks below servers, and reads it back: all that was
// there says what it said, and the names are new.
func (y *yamlFile) with(blocks, names []string) ([]byte, error) {
	if len(blocks) == 0 {
		return y.data, nil
	}
	eol := lineEnd(y.data)
	after, err := y.insert(strings.ReplaceAll(strings.Join(blocks, ""), "\n", eol), eol)
	if err != nil {
		return nil, err
	}
	root, err := parseYAML(y.path, after)
	wrong := y.fail("is written in a way that cannot be added to without touching the rest", "write servers: as a map over several lines")
	if err != nil || root.Kind != source.Map {
		return nil, wrong
	}
	for _, p := range y.root.Pairs {
		if p.Key.Text != "servers" && !sameYAML(p.Value, root.Field(p.Key.Text)) {
			return nil, wrong
		}
	}
	servers := root.Field("servers")
	if servers == nil {
		return nil, wrong
	}
	var before []source.Pair
	if y.servers != nil {
		before = y.servers.Value.Pairs
	}
	if len(servers.Pairs) != len(before)+len(names) {
		return nil, wrong
	}
	for i, p := range servers.Pairs {
		if i < len(before) && (p.Key.Text != before[i].Key.Text || !sameYAML(p.Value, before[i].Value)) || i >= len(before) && p.Key.Text != names[i-len(before)] {
			return nil, wrong
		}
	}
	return after, nil
}

func (y *yamlFile) fail(message, hint string) error {
	e := &Error{Path: y.path, Text: message, Hint: hint}
	if y.servers != nil {
		e.Line, e.Column = y.servers.Key.Line, y.servers.Key.Column
	}
	return e
}

func sameYAML(a, b *source.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items) || len(a.Pairs) != len(b.Pairs) {
		return false
	}
	for i := range a.Items {
		if !sameYAML(a.Items[i], b.Items[i]) {
			return false
		}
	}
	for i := range a.Pairs {
		if a.Pairs[i].Key.Text != b.Pairs[i].Key.Text || !sameYAML(a.Pairs[i].Value, b.Pairs[i].Value) {
			return false
		}
	}
	return true
}

var emptyMap = regexp.MustCompile(`^(\s*servers\s*:)\s*(\{\s*\}|~|null)?\s*(#.*)?$`)

func (y *yamlFile) insert(text, eol string) ([]byte, error) {
	data := y.data
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		data = append(bytes.Clone(data), eol...)
	}
	if y.servers == nil {
		head := "servers:" + eol
		if y.root.Kind == source.Null {
			head = "version: 1" + eol + head
		}
		if len(data) > 0 {
			head = eol + head
		}
		return append(bytes.Clone(data), head+text...), nil
	}
	lines := slices.Collect(strings.Lines(string(data)))
	first := y.servers.Key.Line // of the line below
	if len(y.servers.Value.Pairs) == 0 {
		key := strings.TrimRight(lines[first-1], "\r\n")
		m := emptyMap.FindStringSubmatch(key)
		if m == nil {
			return nil, y.fail("servers is empty in a way that cannot be added to", "write servers: {}")
		}
		lines[first-1] = m[1] + eol
		if m[3] != "" {
			lines[first-1] = m[1] + " " + m[3] + eol
		}
		return []byte(strings.Join(slices.Insert(lines, first, text), "")), nil
	}
	if y.servers.Value.Pairs[0].Key.Line == y.servers.Key.Line {
		return nil, y.fail("servers is written in one line, which cannot be added to", "write each server on a line of its own, below servers:")
	}
	return []byte(strings.Join(slices.Insert(lines, y.end(lines), text), "")), nil
}

// end returns the index of the line behind the last entry: before the next key, and
// before the comments and blank lines that lead to it.
func (y *yamlFile) end(lines []string) int {
	end := len(lines)
	for _, p := range y.root.Pairs {
		if p.Key.Line > y.servers.Key.Line {
			end = min(end, p.Key.Line-1)
		}
	}
	for end > y.servers.Key.Line {
		line := lines[end-1]
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "...") {
			break
		}
		end--
	}
	return end
}
