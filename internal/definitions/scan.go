package definitions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Severity is how sure it is that a finding is meant to do harm.
type Severity string

// The severities.
const (
	Info Severity = "info" // unusual, and found in honest servers too
	Warn Severity = "warn" // a person should read it
	High Severity = "high" // no honest server is known to say it
)

// A Finding is a place in a definition that looks as if it were there to steer a
// model without a person's noticing.
type Finding struct {
	Server   string   `json:"server"`
	Tool     string   `json:"tool,omitempty"` // empty for the instructions of the server
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Place    string   `json:"place"` // JSON pointer into the definition
	Text     string   `json:"text"`  // with escapes for what cannot be seen
	Why      string   `json:"why"`
}

// Serious reports whether a person should read it.
func (f *Finding) Serious() bool { return f.Severity != Info }

const (
	maxFindings = 20  // of one definition
	maxExcerpt  = 160 // characters
	maxText     = 1 << 20
)

// A Scanner looks for what is hidden in definitions. It knows the tools of the whole
// pool, since a definition may speak of another server's. It is immutable, and safe
// for concurrent use.
type Scanner struct {
	*lexicon

	servers   map[string]bool            // lower case
	tools     map[string]map[string]bool // the servers of each distinct tool name
	skeletons map[string][]poolTool
}

type poolTool struct{ server, name string }

// NewScanner returns a scanner for a pool with these tools, by server.
func NewScanner(pool map[string][]string) *Scanner {
	s := &Scanner{lexicon: theLexicon(), servers: map[string]bool{}, tools: map[string]map[string]bool{}, skeletons: map[string][]poolTool{}}
	for server, names := range pool {
		s.servers[strings.ToLower(server)] = true
		for _, name := range names {
			if distinct(name) {
				if s.tools[name] == nil {
					s.tools[name] = map[string]bool{}
				}
				s.tools[name][server] = true
			}
			key := skeleton(name)
			s.skeletons[key] = append(s.skeletons[key], poolTool{server, name})
		}
	}
	for _, list := range s.skeletons {
		slices.SortFunc(list, func(a, b poolTool) int {
			return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.name, b.name))
		})
	}
	return s
}

// Tool returns what it finds in one tool, as the server lists it, also where it is
// none. clean is as for New.
func (s *Scanner) Tool(server string, raw json.RawMessage, clean func(string) string) []Finding {
	n, err := (*node)(nil), errLarge
	if len(raw) <= maxTool {
		n, err = parse(raw, maxNodes, clean)
	}
	name := n.member("name").str()
	if err != nil || clean != nil {
		name = nameOf(raw)
	}
	l := &look{Scanner: s, server: server, tool: name}
	if err != nil {
		l.add(Warn, "too-large", "", "", "the definition is too large or too deep for anybody to read")
		return l.found
	}
	l.name(name)
	l.walk("", n, false)
	return l.findings()
}

// Instructions returns what it finds in the instructions of a server.
func (s *Scanner) Instructions(server, instructions string) []Finding {
	l := &look{Scanner: s, server: server}
	l.text("/instructions", instructions)
	return l.findings()
}

// A look is one definition that is looked at.
type look struct {
	*Scanner
	server, tool string
	found        []Finding
	tokens       []token
	meant        []int // the tokens that have a class
}

// findings returns what was found, worst first.
func (l *look) findings() []Finding {
	rank := map[Severity]int{High: 0, Warn: 1, Info: 2}
	slices.SortStableFunc(l.found, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return l.found[:min(len(l.found), maxFindings)]
}

// add notes a finding, once for each rule and place.
func (l *look) add(sev Severity, rule, place, excerpt, why string) {
	if len(l.found) >= 10*maxFindings {
		return
	}
	if l.has(rule, place) {
		return
	}
	l.found = append(l.found, Finding{
		Server: l.server, Tool: l.tool, Rule: rule, Severity: sev, Place: place,
		Text: clip(Show(excerpt, false), maxExcerpt), Why: why,
	})
}

// has reports whether a rule has found something in a place.
func (l *look) has(rule, place string) bool {
	return slices.ContainsFunc(l.found, func(f Finding) bool { return f.Rule == rule && f.Place == place })
}

// silent are members of a schema whose texts are no words, and are not shown to a
// model as such.
var silent = []string{"$ref", "$schema", "$id", "$anchor", "pattern", "format", "type"}

// walk looks at all texts of a value. names says that the members are named by the
// author: the parameters of a schema.
func (l *look) walk(at string, n *node, names bool) {
	switch n.kind {
	case text:
		l.text(at, n.text)
	case list:
		for i, item := range n.items {
			l.walk(at+"/"+strconv.Itoa(i), item, false)
		}
	case object:
		for i, key := range n.keys {
			place := pointer(at, key)
			if names || !plainKey(key) {
				l.parameter(place, key)
			}
			item := n.items[i]
			if item.kind == text && !names && slices.Contains(silent, key) && !strings.ContainsAny(item.text, " \n") {
				l.characters(place, item.text)
				continue
			}
			l.walk(place, item, !names && (key == "properties" || key == "$defs" || key == "patternProperties"))
		}
	case literal, number:
	}
}

// plainKey reports whether a name is one word of ASCII letters: there is nothing to
// find in it.
func plainKey(key string) bool {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '$' {
			return false
		}
	}
	return len(key) < 40
}

// text looks at one text.
func (l *look) text(place, s string) {
	if len(s) > maxText {
		l.add(Warn, "too-large", place, s[:maxExcerpt], "the text is too long for anybody to read")
		s = s[:maxText]
	}
	l.characters(place, s)
	l.length(place, s)
	l.phrases(place, s)
	l.markup(place, s)
	l.encoded(place, s)
}

// parameter looks at the name of a parameter.
func (l *look) parameter(place, name string) {
	l.characters(place, name)
	l.phrases(place, name)
}

// Lengths of texts that people read.
const (
	longText     = 20_000
	veryLongText = 60_000
	blankLines   = 15
	blankSpaces  = 120
)

// length looks at how long a text is, and for one that begins again where nobody
// looks.
func (l *look) length(place, s string) {
	switch n := len(s); {
	case n > veryLongText:
		l.add(Warn, "length", place, s[:maxExcerpt], "hardly anybody reads a text of "+strconv.Itoa(n)+" bytes")
	case n > longText:
		l.add(Info, "length", place, s[:maxExcerpt], "hardly anybody reads a text of "+strconv.Itoa(n)+" bytes")
	}
	lines, spaces := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '\n', '\r':
			lines, spaces = lines+1, 0
		case ' ', '\t':
			spaces++
		default:
			if lines >= blankLines || spaces >= blankSpaces {
				l.add(Warn, "out-of-sight", place, s[i:min(len(s), i+maxExcerpt)], "the text goes on far below or beside what is seen at first")
				return
			}
			lines, spaces = 0, 0
		}
	}
}
