// Package redact hides secrets in texts and in JSON: known values, and what has the form
// of one.
//
//	r, err := redact.New(redact.Options{Secrets: known})
//	line := r.Text("the key not-a-real-key-000 is wrong") // "the key ••• is wrong"
//	args := r.JSON([]byte(`{"user":"ann","password":"x"}`)) // {"user":"ann","password":"•••"}
//	raw, hidden := r.Result(answer) // what a server answered, in pieces
//
// What is hidden becomes dots, those that a tool.Secret prints as. What holds no
// secret is returned as it came, the same bytes.
//
// # How it works
//
// A known value is looked for in the spellings in which programs write it: as it
// is, within JSON, in an address, in base64. A form is that of a key whose maker is
// known by its beginning, of a token in JSON, of a private key, of a password in an
// address, or of a value that is given to a name such as api_key. The anchors of
// all of them, eight bytes at most, are found by one automaton in one pass, which
// goes over the borders of pieces; what stands around an anchor is then looked at
// by the code of its rule (values.go, forms.go, names.go). Time is linear in the
// length of the text.
//
// What was found is rewritten token by token (json.go), so that JSON stays JSON
// whatever the secret is. The operator's own patterns are held against each string
// by itself.
package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A Pattern is a form of the operator's own.
type Pattern struct {
	Name string
	Expr string // in RE2
}

// Options says what is secret, beside what has a known form.
type Options struct {
	Secrets  []tool.Secret // known values: see IsSetting for those that are none
	Patterns []Pattern
	Keys     []string // names whose values JSON hides, beside those that are known
}

// A Redactor hides secrets. It is safe for concurrent use.
type Redactor struct {
	mu      sync.Mutex
	secrets map[string]bool // all that were ever known: an old one may still be in what a server says
	engine  atomic.Pointer[engine]
}

// New returns a Redactor. The error is that of a pattern.
func New(o Options) (*Redactor, error) {
	r := &Redactor{secrets: map[string]bool{}}
	r.engine.Store(&engine{})
	if err := r.Configure(o); err != nil {
		return nil, err
	}
	return r, nil
}

// Configure takes other patterns and keys, and hides more secrets from now on.
func (r *Redactor) Configure(o Options) error {
	patterns := make([]*regexp.Regexp, len(o.Patterns))
	for i, p := range o.Patterns {
		var err error
		if patterns[i], err = regexp.Compile(p.Expr); err != nil {
			return fmt.Errorf("pattern %s: %w", p.Name, err)
		}
	}
	keys := map[string]bool{}
	for _, k := range o.Keys {
		keys[plainKey(k)] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(o.Secrets)
	e := *r.engine.Load()
	e.patterns, e.keys = patterns, keys
	r.engine.Store(&e)
	return nil
}

// Learn hides more secrets from now on.
func (r *Redactor) Learn(secrets []tool.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(secrets)
}

// learn adds secrets. The lock is held.
func (r *Redactor) learn(secrets []tool.Secret) {
	changed := r.engine.Load().find == nil
	for _, s := range secrets {
		for _, text := range append(inner(s.Reveal()), s.Reveal()) {
			if len(strings.TrimSpace(text)) < least || r.secrets[text] {
				continue
			}
			changed = true
			r.secrets[text] = true
		}
	}
	if !changed {
		return
	}
	seen := map[string]bool{}
	rules := formRules()
	for s := range r.secrets {
		for _, v := range spellings(s) {
			if len(v) >= least && !seen[v] {
				seen[v] = true
				rules = append(rules, valueRule(v))
			}
		}
	}
	e := *r.engine.Load()
	e.find = sync.OnceValue(func() *automaton { return newAutomaton(rules) })
	r.engine.Store(&e)
}

// Text returns a text without secrets.
func (r *Redactor) Text(s string) string {
	if out, n := r.engine.Load().text([]byte(s), job{what: values | forms}); n > 0 {
		return string(out)
	}
	return s
}

// JSON returns JSON without secrets, for people and for records: whatever stands under
// a key that is named like a secret is hidden as well. It stays JSON, and what is no
// JSON is read as text.
func (r *Redactor) JSON(raw []byte) []byte {
	out, _ := r.engine.Load().json(raw, job{what: values | forms, keys: true})
	return out
}

// Shown returns what [Redactor.JSON] does, for a person who is to decide about it: behind
// the dots stands how many characters they hide, so that nobody takes an order of which
// the most is hidden for a short one.
func (r *Redactor) Shown(raw []byte) []byte {
	out, _ := r.engine.Load().json(raw, job{what: values | forms, keys: true, tell: true})
	return out
}

// Values returns JSON without the known values. What only looks like a secret
// stays: in a definition it is an example.
func (r *Redactor) Values(raw []byte) []byte {
	out, _ := r.engine.Load().json(raw, job{what: values})
	return out
}

// Failure returns the JSON in which a server tells of a failure, without secrets.
func (r *Redactor) Failure(raw []byte) []byte {
	out, _ := r.engine.Load().json(raw, job{what: values | forms})
	return out
}

// Result returns the JSON that a server answered without secrets, and how many
// places were hidden. The parts of it in skip, in order, are left alone. Where
// there is nothing to hide, the pieces are the same.
func (r *Redactor) Result(b tool.Bytes, skip ...jsonrpc.Span) (tool.Bytes, int) {
	e := r.engine.Load()
	if len(e.patterns) == 0 && !e.suspects(b, skip) {
		return b, 0
	}
	out, n := e.json(b.Join(), job{what: values | forms, skip: skip})
	if n == 0 {
		return b, 0
	}
	return tool.OneOf(out), n
}

// what says which rules count.
type what int

const (
	values what = 1 << iota
	forms
)

// An engine is what a Redactor knows at one moment. It is immutable.
type engine struct {
	find     func() *automaton // made when it is first needed: a start learns several times
	patterns []*regexp.Regexp
	keys     map[string]bool
}

// A span is a part of a text.
type span struct{ start, end int }

// A form looks around its anchor, which stands from at up to end, for a secret.
type form func(t *text, at, end int) (span, bool)

// A rule is one thing to look for: a value of which the first behind bytes end with
// the anchor, or a form.
type rule struct {
	anchor string
	value  string
	behind int
	form   form
}

// what tells which kind of rule it is.
func (r *rule) what() what {
	if r.form != nil {
		return forms
	}
	return values
}

// find looks at what stands around the anchor that ends at end.
func (r *rule) find(t *text, end int) (span, bool) {
	if r.form == nil {
		start := end - r.behind
		return span{start, start + len(r.value)}, start >= 0 && t.has(start, r.value)
	}
	if end <= t.hidden {
		return span{}, false
	}
	s, ok := r.form(t, end-len(r.anchor), end)
	if ok {
		t.hidden = max(t.hidden, s.end)
	}
	return s, ok
}

// scan returns the secrets in b, in order and apart from each other.
func (e *engine) scan(b tool.Bytes, w what) []span {
	var spans []span
	var t *text // made when it is needed
	a := e.find()
	s, off := uint32(0), 0
	for _, p := range b {
		for i, c := range p {
			v := a.next[s+a.class[c]]
			if s = v &^ found; s == v {
				continue
			}
			if t == nil {
				t = &text{pieces: b}
			}
			for _, r := range a.ends[s] {
				if w&r.what() == 0 {
					continue
				}
				if at, ok := r.find(t, off+i+1); ok {
					spans = append(append(spans, at), t.more...)
				}
				t.more = t.more[:0]
			}
		}
		off += len(p)
	}
	return merged(spans)
}

// merged joins spans that overlap.
func merged(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.start < last.end {
			last.end = max(last.end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// matches returns the places of the operator's patterns in a text.
func (e *engine) matches(b []byte) []span {
	var out []span
	for _, p := range e.patterns {
		for _, m := range p.FindAllIndex(b, -1) {
			if m[1] > m[0] {
				out = append(out, span{m[0], m[1]})
			}
		}
	}
	return out
}

var dots = tool.Secret{}.String()

// text returns a text without secrets, and how many places were hidden.
func (e *engine) text(b []byte, j job) ([]byte, int) {
	spans := e.scan(tool.OneOf(b), j.what)
	if j.what&forms != 0 && len(e.patterns) > 0 {
		spans = merged(append(spans, e.matches(b)...))
	}
	if len(spans) == 0 {
		return b, 0
	}
	out := make([]byte, 0, len(b)+len(dots)*len(spans))
	at := 0
	for _, s := range spans {
		out = append(append(out, b[at:s.start]...), j.mark(b[s.start:s.end])...)
		at = s.end
	}
	return append(out, b[at:]...), len(spans)
}

// mark returns what stands in the place of a secret.
func (j *job) mark(hidden []byte) string {
	switch n := utf8.RuneCount(hidden); {
	case !j.tell:
		return dots
	case n == 1:
		return dots + " (1 character hidden)"
	default:
		return fmt.Sprintf("%s (%d characters hidden)", dots, n)
	}
}
