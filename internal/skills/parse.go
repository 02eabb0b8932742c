package skills

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

const fence = "---"

// parse reads the text of a SKILL.md. It reports false where the skill cannot be
// used.
func (r *reader) parse(file *source.File, data []byte, folder string) (Skill, bool) {
	before := len(r.mistakes)
	front, playbook, ok := split(data)
	if !ok {
		r.mistakes = append(r.mistakes, file.MistakeAt(1, 1, "it does not begin with a front matter", "write name: and description: between two lines of ---"))
		return Skill{}, false
	}
	if !utf8.Valid(data) {
		r.mistakes = append(r.mistakes, file.MistakeAt(1, 1, "it is not text in UTF-8", ""))
		return Skill{}, false
	}
	root, bad := file.Parse(front)
	if bad != nil {
		r.mistakes = append(r.mistakes, *bad)
		return Skill{}, false
	}
	if root.Kind != source.Map {
		r.mistakes = append(r.mistakes, file.MistakeAt(1, 1, "its front matter is no map of keys", "write name: and description:"))
		return Skill{}, false
	}
	f := &fields{reader: r, root: root, skill: Skill{Playbook: strings.TrimSpace(playbook)}}
	f.read(folder)
	return f.skill, len(r.mistakes) == before
}

// split returns the front matter, with a blank first line so that its lines keep
// their numbers, and what follows it.
func split(data []byte) (front []byte, playbook string, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	first, rest, found := bytes.Cut(data, []byte("\n"))
	if !found || string(bytes.TrimRight(first, " \t\r")) != fence {
		return nil, "", false
	}
	for at := 0; at < len(rest); {
		line, _, _ := bytes.Cut(rest[at:], []byte("\n"))
		if string(bytes.TrimRight(line, " \t\r")) == fence {
			return append([]byte("\n"), rest[:at]...), string(rest[min(at+len(line)+1, len(rest)):]), true
		}
		at += len(line) + 1
	}
	return nil, "", false
}

// fields reads the keys of a front matter.
type fields struct {
	*reader

	root  *source.Node
	skill Skill
	known []string
}

// ignored are keys that other programs give a meaning to.
var ignored = []string{"version", "author", "context", "fork_max_iters", "model", "agent", "hooks", "argument-hint", "user-invocable", "disable-model-invocation"}

func (f *fields) read(folder string) {
	s := &f.skill
	f.text("name", &s.Name, maxName)
	f.text("display_name", &s.DisplayName, 200)
	f.text("description", &s.Description, maxText)
	f.text("category", &s.Category, 200)
	f.text("license", &s.License, maxText)
	f.text("compatibility", &s.Compatibility, maxText)
	f.texts("platforms", &s.Platforms, "")
	f.texts("tags", &s.Tags, "")
	f.texts("triggers", &s.Triggers, "")
	f.risk()
	f.strict()
	f.tools()
	f.metadata()
	f.unknown()
	f.check(folder)
}

func (f *fields) fail(n *source.Node, text, hint string) {
	f.mistakes = append(f.mistakes, n.Mistake(text, hint))
}

// value returns the value of a key, or nil.
func (f *fields) value(key string) *source.Node {
	f.known = append(f.known, key)
	n := f.root.Field(key)
	if n == nil || n.Kind == source.Null {
		return nil
	}
	f.mistakes = append(f.mistakes, n.Wrong...)
	if n.Kind == source.Bad {
		return nil
	}
	return n
}

func (f *fields) text(key string, dst *string, most int) {
	n := f.value(key)
	switch {
	case n == nil:
	case n.Kind >= source.List:
		f.fail(n, fmt.Sprintf("%s wants a text, and holds %s", key, n.Kind), "")
	case utf8.RuneCountInString(n.Text) > most:
		f.fail(n, fmt.Sprintf("%s is longer than %d characters", key, most), "")
	default:
		*dst = strings.TrimSpace(n.Text)
	}
}

// texts reads a list of texts, or one text that separators divide.
func (f *fields) texts(key string, dst *[]string, separators string) {
	n := f.value(key)
	if n == nil {
		return
	}
	if n.Kind != source.List {
		if n.Kind == source.Map {
			f.fail(n, fmt.Sprintf("%s wants a list, and holds a map", key), "")
			return
		}
		words := []string{n.Text}
		if separators != "" {
			words = strings.FieldsFunc(n.Text, func(r rune) bool { return strings.ContainsRune(separators, r) })
		}
		*dst = append(*dst, words...)
		return
	}
	if len(n.Items) > maxTools {
		f.fail(n, fmt.Sprintf("%s holds more than %d members", key, maxTools), "")
		return
	}
	for _, item := range n.Items {
		f.mistakes = append(f.mistakes, item.Wrong...)
		if item.Kind >= source.List || item.Kind == source.Null {
			f.fail(item, fmt.Sprintf("%s wants texts, and holds %s", key, item.Kind), "")
			continue
		}
		*dst = append(*dst, item.Text)
	}
}

// tools reads the list of tools under the key of Tenon, or of the open format.
func (f *fields) tools() {
	f.skill.Tools = []string{}
	own, open := f.root.Pair("allowed_tools"), f.root.Pair("allowed-tools")
	if own != nil && open != nil {
		f.fail(open.Key, "allowed_tools and allowed-tools are both given", "keep allowed_tools")
	}
	f.texts("allowed_tools", &f.skill.Tools, " ,\n\t")
	f.texts("allowed-tools", &f.skill.Tools, " ,\n\t")
	at := f.root
	if own != nil {
		at = own.Value
	} else if open != nil {
		at = open.Value
	}
	kept := f.skill.Tools[:0:0]
	for i, entry := range f.skill.Tools {
		place := at
		if i < len(at.Items) {
			place = at.Items[i]
		}
		if f.entry(place, entry, &kept) {
			f.skill.Named = append(f.skill.Named, meant(place, kept[len(kept)-1]))
		}
	}
	f.skill.Tools = append([]string{}, kept...)
}

// entry checks one tool, and reports whether it is a new one of the list.
func (f *fields) entry(at *source.Node, entry string, kept *[]string) bool {
	entry = strings.TrimSpace(entry)
	server, name, whole := strings.Cut(entry, "/")
	switch {
	case strings.ContainsAny(entry, "()"):
		f.warnings = append(f.warnings, at.Mistake(fmt.Sprintf("the tool %q is one of another program, and is left out", clip(entry)), ""))
		return false
	case entry == "" || whole && (server == "" || name == ""):
		f.fail(at, fmt.Sprintf("%q names no tool", clip(entry)), `write "tool", "server/tool" or "server__tool"; * stands for any text`)
	case glob.Check(server) != nil || glob.Check(name) != nil:
		f.fail(at, fmt.Sprintf("%q is no pattern: a [ is not closed", clip(entry)), "")
	case slices.Contains(*kept, entry):
		return false
	}
	*kept = append(*kept, entry)
	return true
}

// meant returns what an entry may name.
func meant(at *source.Node, entry string) named.Name {
	server, name, whole := strings.Cut(entry, "/")
	if whole {
		return named.At(at, tool.ID{Server: server, Name: name}, "")
	}
	n := named.At(at, tool.ID{Server: "*", Name: entry}, "")
	n.Text = entry
	if server, name, flat := strings.Cut(entry, "__"); flat && server != "" && name != "" {
		n.Patterns = append(n.Patterns, tool.ID{Server: server, Name: name})
	}
	return n
}

func (f *fields) risk() {
	n := f.value("risk_level")
	if n == nil {
		return
	}
	switch level := tool.RiskLevel(n.Text); level {
	case tool.RiskLow, tool.RiskMedium, tool.RiskHigh:
		f.skill.RiskLevel = level
	case tool.RiskUnknown:
		fallthrough // it is what an undeclared tool has, and nothing to declare
	default:
		f.fail(n, fmt.Sprintf("risk_level wants low, medium or high, and holds %q", clip(n.Text)), "")
	}
}

func (f *fields) strict() {
	n := f.value("strict")
	if n == nil {
		return
	}
	if n.Kind != source.Bool {
		f.fail(n, "strict wants true or false, and holds "+n.Kind.String(), "")
		return
	}
	f.skill.Strict = n.Plain == "true"
}

func (f *fields) metadata() {
	n := f.value("metadata")
	if n == nil {
		return
	}
	if n.Kind != source.Map || len(n.Pairs) > maxTools {
		f.fail(n, "metadata wants a map of texts, and holds "+n.Kind.String(), "")
		return
	}
	f.skill.Metadata = map[string]string{}
	for _, p := range n.Pairs {
		if p.Value.Kind >= source.List || p.Value.Kind == source.Bad {
			f.warnings = append(f.warnings, p.Key.Mistake(fmt.Sprintf("metadata: %q is no text, and is left out", clip(p.Key.Text)), ""))
			continue
		}
		f.skill.Metadata[p.Key.Text] = p.Value.Text
	}
}

// unknown refuses keys that are nearly right, for a list or a strict that is not
// read would let calls through. Others belong to other programs.
func (f *fields) unknown() {
	seen := map[string]bool{}
	for _, p := range f.root.Pairs {
		key := p.Key.Text
		switch {
		case seen[key]:
			f.fail(p.Key, fmt.Sprintf("key %q is given twice", clip(key)), "")
		case slices.Contains(f.known, key), slices.Contains(ignored, key):
		default:
			if like := f.like(key); like != "" {
				f.fail(p.Key, fmt.Sprintf("unknown key %q", clip(key)), fmt.Sprintf("did you mean %q?", like))
				break
			}
			f.warnings = append(f.warnings, p.Key.Mistake(fmt.Sprintf("key %q is not known here", clip(key)), ""))
		}
		seen[key] = true
	}
}

// like returns the known key that another one is nearly.
func (f *fields) like(key string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	for _, k := range f.known {
		a, b := plain(key), plain(k)
		if a == b || a+"s" == b || a == b+"s" || len(a) == len(b) && len(b) > 3 && differ(a, b) <= 2 || len(a)+1 == len(b) && missing(b, a) || len(a) == len(b)+1 && missing(a, b) {
			return k
		}
	}
	return ""
}

// differ counts the places at which two texts of one length differ.
func differ(a, b string) int {
	n := 0
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// missing reports whether b is a without one byte.
func missing(a, b string) bool {
	for i := range len(a) {
		if a[:i]+a[i+1:] == b {
			return true
		}
	}
	return false
}

// check looks at what no single key shows.
func (f *fields) check(folder string) {
	s := &f.skill
	at := func(key string) *source.Node {
		if p := f.root.Pair(key); p != nil {
			return p.Value
		}
		return &source.Node{File: f.root.File, Line: 1, Column: 1}
	}
	valid := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	switch {
	case s.Name == "":
		f.fail(at("name"), "name is missing", "write name: "+clip(folder))
	case strings.ContainsFunc(s.Name, func(c rune) bool { return !valid(c) }):
		f.fail(at("name"), fmt.Sprintf("the name %q is not allowed", clip(s.Name)), "letters, digits, _, . and - are")
	case s.Name != folder:
		f.warnings = append(f.warnings, at("name").Mistake(fmt.Sprintf("the skill %q is in a folder of another name, %q", s.Name, clip(folder)), "other programs want the same name"))
	}
	if s.Description == "" {
		f.warnings = append(f.warnings, at("description").Mistake("description is missing", "say what the skill does and when to use it"))
	}
	if len(s.Tools) == 0 {
		f.warnings = append(f.warnings, at("allowed_tools").Mistake("the skill lists no tools, so nothing can be used with it", `write allowed_tools: ["server/tool"]`))
	}
}
