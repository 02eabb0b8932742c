// Package rules keeps tools away from addresses that must not be reached.
//
// A Rule is declared, not programmed: it has a name, the addresses that it
// forbids, the tools that it is for, and what the model is told. Rules holds all
// of them, compiled, and is asked at three places of a call:
//
//	r, err := rules.New(rules.BuiltIn())
//	if err != nil {
//		return err
//	}
//	if text := r.Refuse(t, arguments); text != "" {
//		… the call is not made, and the model reads text …
//	}
//	answer, note, text := r.Clean(t, answer)   // links in search results; where redirects led
//	text := r.Refusal(t.ID, location)          // for a fetcher, before it follows a redirect
//
// # How an address is recognised
//
// There is no one way to write an address, and each reader of it takes other
// liberties. So text is not parsed from its start. Every run of characters that
// could be a host is looked at, wherever it stands: in a URL, behind another
// site's path or query as archives and translators have it, in a shell command,
// in a program. A host that a rule names is then compared in its normal form,
// and so is the path behind it (address.go). All of this happens on the text as
// it came and again with each layer of escapes taken off (escape.go).
//
// What is compared is text. A name that stands for a forbidden address (a short
// link, a number that is its IP address, a program that puts it together from
// parts) is not recognised before the call; where a redirect led is seen after it.
//
// # What it costs
//
// Whether a rule is for a tool is decided once for each tool. For a tool without
// a rule nothing else happens; for the others one pass over the bytes of the
// arguments or the answer tells most often that no rule's host is among them
// (needle.go), and nothing is decoded.
package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/tool"
)

// A Rule says what must not be reached.
type Rule struct {
	// Name is what the operator and the model know the rule by.
	Name string
	// Addresses are what is forbidden, each a host and the first segments of a
	// path: see CheckAddress.
	Addresses []string
	// CaseSensitive makes the case of a path count. That of a host never does.
	CaseSensitive bool
	// Tools are the tools whose arguments are looked at; both halves may be
	// patterns with *, ? and [a-z]. Nil is every tool that fetches: see fetches.
	Tools []tool.ID
	// SearchTools are the tools whose answers are freed of links to what is
	// forbidden. Nil is DefaultSearchTools.
	SearchTools []tool.ID
	// Refusal is told to the model, after the address and the name of the rule.
	// Empty is a sentence that fits every rule.
	Refusal string
}

// Rules are compiled rules. It is immutable and safe for concurrent use.
type Rules struct {
	list    []Rule
	exact   map[string][]*target // by host
	below   map[string][]*target // by host: it and all names below it
	needles needles
	bare    bool // a rule names a host without a dot
	schemes bool // a rule names a scheme

	mu     sync.Mutex // for writers of scopes
	scopes atomic.Pointer[map[tool.ID]*scope]
}

// New compiles rules. The error tells every mistake in them. Without any rule it
// returns nil, which forbids nothing.
func New(list []Rule) (*Rules, error) {
	if len(list) == 0 {
		return nil, nil
	}
	r := &Rules{list: slices.Clone(list), exact: map[string][]*target{}, below: map[string][]*target{}}
	r.scopes.Store(&map[tool.ID]*scope{})
	var errs []error
	names := map[string]bool{}
	for i, rule := range r.list {
		if names[rule.Name] {
			errs = append(errs, fmt.Errorf("rule %q is there twice", rule.Name))
		}
		names[rule.Name] = true
		if len(rule.Addresses) == 0 {
			errs = append(errs, fmt.Errorf("rule %q forbids no address", rule.Name))
		}
		for _, text := range rule.Addresses {
			t, err := parseTarget(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("rule %q: %q %w", rule.Name, text, err))
				continue
			}
			t.rule, t.sensitive = i, rule.CaseSensitive
			r.add(t)
		}
	}
	r.needles.finish()
	return r, errors.Join(errs...)
}

func (r *Rules) add(t *target) {
	hosts := r.exact
	if t.below {
		hosts = r.below
	}
	hosts[t.host] = append(hosts[t.host], t)
	if t.scheme != "" {
		r.schemes = true
	} else if !strings.Contains(t.host, ".") {
		r.bare = true
	}
	r.needles.add(t)
}

// A scope is what the rules want of one tool.
type scope struct {
	tool *tool.Tool
	// before and after tell, by rule, whether arguments are looked at, and
	// whether links are taken out of answers. Nil is no rule.
	before, after []bool
	// whole is set for a tool that only searches: its arguments are words to look
	// for, and only one that is an address as a whole is meant to be reached.
	whole bool
}

// maxScopes bounds what is remembered of tools. Servers may list other names each
// time.
const maxScopes = 10_000

// scope returns what the rules want of t.
func (r *Rules) scope(t *tool.Tool) *scope {
	known := *r.scopes.Load()
	if s := known[t.ID]; s != nil && s.tool == t {
		return s
	}
	s := r.newScope(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	known = *r.scopes.Load()
	next := make(map[tool.ID]*scope, len(known)+1)
	if len(known) < maxScopes {
		maps.Copy(next, known)
	}
	next[t.ID] = s
	r.scopes.Store(&next)
	return s
}

func (r *Rules) newScope(t *tool.Tool) *scope {
	s := &scope{tool: t}
	fetcher := fetches(t)
	named := false
	for i := range r.list {
		searched := r.list[i].searchedBy(t.ID)
		reads := r.list[i].reads(t.ID, fetcher)
		named = named || reads
		if reads || searched {
			s.before = set(s.before, i, len(r.list))
		}
		if searched {
			s.after = set(s.after, i, len(r.list))
		}
	}
	s.whole = !named
	return s
}

func set(flags []bool, i, n int) []bool {
	if flags == nil {
		flags = make([]bool, n)
	}
	flags[i] = true
	return flags
}

// reads reports whether the arguments of the tool are looked at.
func (r *Rule) reads(id tool.ID, fetcher bool) bool {
	if r.Tools == nil {
		return fetcher
	}
	return matchAny(r.Tools, id)
}

func (r *Rule) searchedBy(id tool.ID) bool {
	if r.SearchTools == nil {
		return matchAny(DefaultSearchTools(), id)
	}
	return matchAny(r.SearchTools, id)
}

// Refuse looks at the arguments of a call of t: JSON, however nested, strings
// that hold an address in a text included. It returns the refusal, or "".
func (r *Rules) Refuse(t *tool.Tool, arguments []byte) string {
	if r == nil {
		return ""
	}
	s := r.scope(t)
	if s.before == nil || !r.needles.possible(arguments) {
		return ""
	}
	var hit match
	eachString(arguments, func(text string) bool {
		if s.whole && !isAddress(text) {
			return true
		}
		hit = r.find(text, s.before, anywhere)
		return !hit.found()
	})
	return r.refusal(hit)
}

// Refusal tells whether a fetcher may go to an address: the one that it was asked
// for, or the one that an answer redirects it to. It returns the refusal, or "".
// A fetcher fetches, so rules for every tool that does are rules for it.
func (r *Rules) Refusal(id tool.ID, address string) string {
	if r == nil {
		return ""
	}
	in := make([]bool, len(r.list))
	for i := range r.list {
		in[i] = r.list[i].reads(id, true)
	}
	return r.refusal(r.find(address, in, anywhere))
}

// refusal is what the model reads.
func (r *Rules) refusal(m match) string {
	if !m.found() {
		return ""
	}
	rule := &r.list[m.rule]
	text := rule.Refusal
	if text == "" {
		text = "Do not look for another way to it; use other sources, or say that it is not allowed."
	}
	return fmt.Sprintf("Rule %q of the operator forbids to reach %s. %s", rule.Name, clip(m.address), text)
}

func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
