package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/interpolate"
)

// Options say what becomes of secrets that stand in the settings of a client.
type Options struct {
	// Place says where they go: Env and Keyring write a reference into tenon.yaml, Keep
	// the secret itself.
	Place Place
	// Secret reports whether a value that is given under a name looks like a secret.
	Secret func(name, value string) bool
	// Taken returns what is there already under the name of a variable, or of an entry
	// of the keyring. It may be nil.
	Taken func(name string) (value string, ok bool)
}

// A Place is where secrets go.
type Place string

// The places.
const (
	Env     Place = "env"
	Keyring Place = "keyring"
	Keep    Place = "keep"
)

// Service is the name under which the keyring has what an import put there.
const Service = "tenon"

// A State says what became of a server.
type State string

// The states.
const (
	Added     State = "added"
	Present   State = "present"   // there already, and left as it is
	Commented State = "commented" // written as a comment, for a person to look at
	Skipped   State = "skipped"
)

// A Result is what becomes of one server of a client.
type Result struct {
	Server Server
	Name   string // in tenon.yaml
	State  State
	Notes  []string
}

// A Secret is a value that goes elsewhere. It is never shown.
type Secret struct {
	Name   string // of the variable, or in the keyring
	Server string
	Key    string // of the environment, or of a header
	Value  string
}

// A Plan is what an import does.
type Plan struct {
	Change  Change
	Results []Result
	Secrets []Secret // by the order of their use, each once
}

// Import plans how servers come into a tenon.yaml.
func Import(path string, servers []Server, o Options) (Plan, error) {
	y, err := readYAML(path)
	if err != nil {
		return Plan{}, err
	}
	p := &importer{Options: o, yaml: y}
	known := y.values()
	for _, s := range servers {
		if s.Cwd == filepath.Dir(path) {
			s.Cwd = "" // where tenon.yaml has it start anyway
		}
		known = append(append(known, s.Env...), s.Headers...)
		p.add(s)
	}
	after, err := y.with(p.blocks, p.names)
	if err != nil {
		return Plan{}, err
	}
	p.plan.Change = Change{Path: path, Before: y.data, After: after, Existed: y.existed, Mode: 0o600, Values: known}
	return p.plan, nil
}

// A Had is a server of a client that a tenon.yaml has as well.
type Had struct {
	Name  string // in the client
	Entry string // in the tenon.yaml
}

// Imported returns those of the servers that the tenon.yaml has as well, but for Tenon.
func Imported(path string, servers []Server) ([]Had, error) {
	y, err := readYAML(path)
	if err != nil {
		return nil, err
	}
	var out []Had
	for _, s := range servers {
		entry, ok := y.has(s)
		if ok && !s.IsTenon() && !slices.ContainsFunc(out, func(h Had) bool { return h.Name == s.Name }) {
			out = append(out, Had{s.Name, entry})
		}
	}
	return out, nil
}

// An importer is an import under way.
type importer struct {
	Options
	yaml   *yamlFile
	plan   Plan
	done   []Result // those that are added, with their values
	names  []string // of new entries
	blocks []string
}

func (p *importer) add(s Server) {
	r := Result{Server: s, Name: cleanName(s.Name), Notes: slices.Clone(s.Notes)}
	defer func() { p.plan.Results = append(p.plan.Results, r) }()
	switch {
	case s.IsTenon():
		r.State = Skipped
		r.Notes = append(r.Notes, "it is Tenon itself")
		return
	case s.Command == "" && s.URL == "":
		r.State = Skipped
		return
	}
	if at := s.zero(); at != "" {
		r.State = Skipped
		r.Notes = append(r.Notes, at+" holds a zero byte, which neither a process nor a file of settings can be given: correct it there")
		return
	}
	if n, ok := p.yaml.has(s); ok {
		r.State, r.Name = Present, n
		return
	}
	for _, d := range p.done {
		if d.Server.equal(s) {
			r.State, r.Name = Present, d.Name
			r.Notes = append(r.Notes, "the same as that of "+d.Server.from())
			return
		}
	}
	taken := func(n string) bool { return p.yaml.named(n) || slices.Contains(p.names, n) }
	if s.Held != "" {
		p.comment(s, &r)
		return
	}
	if r.Name != s.Name {
		r.Notes = append(r.Notes, fmt.Sprintf("called %s here: names have letters, digits, _, . and -", r.Name))
	}
	if taken(r.Name) {
		base := r.Name
		for i := 2; taken(r.Name); i++ {
			end := fmt.Sprintf("-%d", i)
			r.Name = base[:min(len(base), maxName-len(end))] + end
		}
		r.Notes = append(r.Notes, fmt.Sprintf("called %s here: there is another %s", r.Name, base))
	}
	r.State = Added
	p.done = append(p.done, Result{Server: s, Name: r.Name})
	p.names = append(p.names, r.Name)
	p.blocks = append(p.blocks, p.yaml.block(p.moved(s, r.Name, &r), r.Name, false))
}

// zero returns where a server holds a zero byte, or "".
func (s Server) zero() string {
	const zero = "\x00"
	for _, v := range []Pair{{"its command", s.Command}, {"one of its arguments", strings.Join(s.Args, "")}, {"its folder", s.Cwd}, {"its URL", s.URL}} {
		if strings.Contains(v.Value, zero) {
			return v.Name
		}
	}
	for _, v := range slices.Concat(s.Env, s.Headers) {
		if strings.Contains(v.Name+v.Value, zero) {
			return "the value of " + strings.ReplaceAll(v.Name, zero, "")
		}
	}
	return ""
}

// comment writes an entry that is not to run as a comment.
func (p *importer) comment(s Server, r *Result) {
	r.State = Commented
	r.Notes = append(r.Notes, "written as a comment: "+s.Held)
	block := p.yaml.block(p.moved(s, r.Name, r), r.Name, true)
	if p.yaml.holds(block) || slices.Contains(p.blocks, block) {
		r.State = Present
		r.Notes = append(slices.Clone(s.Notes), "there already, as a comment")
		return
	}
	p.blocks = append(p.blocks, block)
}

// moved returns a server with references in the place of its secrets.
func (p *importer) moved(s Server, as string, r *Result) Server {
	for _, a := range append(slices.Clone(s.Args), s.URL) {
		if p.Secret != nil && a != "" && p.Secret("", a) {
			r.Notes = append(r.Notes, "its arguments or its URL may hold a secret, which stays where it is")
			break
		}
	}
	if p.Place == Keep || p.Secret == nil {
		return s
	}
	move := func(pairs []Pair, header bool) []Pair {
		pairs = slices.Clone(pairs)
		for i, v := range pairs {
			if v.Value == "" || strings.Contains(strings.ReplaceAll(v.Value, "$${", ""), "${") || !p.Secret(v.Name, v.Value) {
				continue
			}
			before, value := "", v.Value
			if scheme, rest, ok := strings.Cut(value, " "); ok && header && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
				before, value = scheme+" ", rest
			}
			wish := v.Name
			switch {
			case header && strings.EqualFold(v.Name, "Authorization"):
				wish = variableName(as + "_TOKEN")
			case header:
				wish = variableName(as + "_" + v.Name)
			}
			value = strings.ReplaceAll(value, "$${", "${")
			pairs[i].Value = before + p.reference(Secret{Server: as, Key: v.Name, Value: value}, wish)
		}
		return pairs
	}
	s.Env, s.Headers = move(s.Env, false), move(s.Headers, true)
	return s
}

// reference gives a secret a name, and returns what stands for it in tenon.yaml.
func (p *importer) reference(s Secret, wish string) string {
	if !interpolate.IsName(wish) || strings.ContainsAny(wish, "()") {
		wish = variableName(wish)
	}
	s.Name = wish
	for i := 1; !p.free(s); i++ {
		s.Name = variableName(s.Server) + "_" + wish
		if i > 1 {
			s.Name += fmt.Sprintf("_%d", i)
		}
	}
	if !slices.ContainsFunc(p.plan.Secrets, func(o Secret) bool { return o.Name == s.Name }) {
		p.plan.Secrets = append(p.plan.Secrets, s)
	}
	if p.Place == Keyring {
		return "${keyring:" + Service + "/" + s.Name + "}"
	}
	return "${env:" + s.Name + "}"
}

// free tells whether a name means nothing else.
func (p *importer) free(s Secret) bool {
	for _, o := range p.plan.Secrets {
		if o.Name == s.Name && o.Value != s.Value {
			return false
		}
	}
	if p.Taken == nil {
		return true
	}
	value, ok := p.Taken(s.Name)
	return !ok || value == s.Value
}

// from says where a server is from.
func (s Server) from() string {
	if s.From == nil {
		return s.Path
	}
	return s.From.Name
}

// equal reports whether two servers of clients are the same one.
func (s Server) equal(t Server) bool {
	return s.Command == t.Command && s.URL == t.URL && slices.Equal(s.Args, t.Args) && samePairs(s.Env, t.Env) && samePairs(s.Headers, t.Headers) &&
		(s.Cwd == t.Cwd || s.Cwd == "" || t.Cwd == "") && (s.Held == "") == (t.Held == "")
}

func samePairs(a, b []Pair) bool {
	byName := func(x, y Pair) int { return strings.Compare(x.Name+"\x00"+x.Value, y.Name+"\x00"+y.Value) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}

const maxName = 64

// cleanName returns the nearest name that tenon.yaml allows.
func cleanName(s string) string {
	s = strings.Map(func(c rune) rune {
		if interpolate.IsNameChar(c) || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, s)
	if s = strings.Trim(s[:min(len(s), maxName)], "-"); s == "" {
		return "server"
	}
	return s
}
