// Package policy decides whether a caller may make a call. It is a pure function
// of what it is given: it reads no clock, no file and no configuration, and asks
// nobody.
//
//	p, err := policy.New(policy.Options{Mode: tool.ModeNormal, BlockHighRisk: true})
//	…
//	pr, err := p.Profile(policy.Subject{Caller: "ci", Skill: "network_diagnosis"})
//	…
//	if d := pr.Visible(t, policy.Facts{}); d.Behavior == tool.Deny {
//		… the tool is not listed …
//	}
//	switch d := pr.Decide(t, args, policy.Facts{}); d.Behavior { … }
//
// A Policy is what the operator says. A Profile is what that means for one
// subject: its mode, its skill, its limits. Profiles are few and kept, so that a
// list that was filtered for one can be kept with it.
//
// A decision is the answer of the first rule that has one, in the order of the
// table in decide.go. What does not depend on the arguments is decided when
// tools are listed, and all of it again at the call, with the arguments as they
// are sent.
//
// What is not understood is refused: arguments that two programs would read in
// two ways, a rule that finds no value, an expression that ends in an error.
package policy

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are what the operator says.
type Options struct {
	Mode              tool.Mode // of whom no rule names; empty is normal
	BlockHighRisk     bool      // refuse tools that are high-risk or destructive
	AllowNotification bool      // allow tools that send messages to people
	Parameters        []Parameter
	Skills            []Skill
	DefaultSkill      string // of whom no rule gives one, and who chooses none; empty is none
	Callers           []CallerRule
	Sessions          []SessionRule
	// ReadOnlyFor are expressions of tool.Meta to compile now. One that is met later
	// is compiled when its tool is first met.
	ReadOnlyFor []string
}

// A CallerRule says what holds for callers whose name matches. A rule that spells
// the name wins over patterns.
type CallerRule struct {
	Name   string    // a pattern
	Mode   tool.Mode // in place of Options.Mode; empty says nothing
	Skills []string  // those that may be chosen; empty is any. The only one is the default
	Limits string    // the name of some limits; empty is none
}

// A SessionRule says what holds for sessions whose name matches. Callers name
// their sessions themselves, so its mode can only make that of the caller
// stricter.
type SessionRule CallerRule

// A Subject is who calls, and what the call wishes.
type Subject struct {
	Caller  string
	Session string
	Skill   string    // the one that is chosen; empty is the default
	Mode    tool.Mode // one that the call asks for; it only makes the mode stricter
	Grant   *tool.Grant
}

// A Policy decides. It is safe for concurrent use.
type Policy struct {
	o      Options
	skills map[string]*allowlist
	params []*param
	exact  map[tool.ID][]*param // of params whose patterns are no patterns
	tied   bool                 // some rule looks at who calls
	exprs  *Compiler
	seeds  [2]maphash.Seed

	mu       sync.RWMutex
	profiles map[key]*Profile // by what was asked for
	interned map[meaning]*Profile
	scopes   map[Scope]*Scope
	known    map[tool.ID]*facts
}

// New returns the policy of these options. The error says which rule is wrong.
func New(o Options) (*Policy, error) {
	p := &Policy{
		o: o, skills: map[string]*allowlist{}, exact: map[tool.ID][]*param{}, exprs: NewCompiler(),
		profiles: map[key]*Profile{}, interned: map[meaning]*Profile{}, scopes: map[Scope]*Scope{}, known: map[tool.ID]*facts{},
	}
	p.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	p.o.Mode = cmp.Or(o.Mode, tool.ModeNormal)
	if !slices.Contains(tool.Modes(), p.o.Mode) {
		return nil, fmt.Errorf("mode %q is none of %s", o.Mode, listed(tool.Modes()))
	}
	for _, s := range o.Skills {
		if p.skills[s.Name] != nil {
			return nil, fmt.Errorf("skill %q is given twice", s.Name)
		}
		a, err := newAllowlist(s)
		if err != nil {
			return nil, fmt.Errorf("skill %q: %w", s.Name, err)
		}
		p.skills[s.Name] = a
	}
	if err := p.checkRules(); err != nil {
		return nil, err
	}
	for i := range o.Parameters {
		c, err := p.compile(&o.Parameters[i])
		if err != nil {
			return nil, fmt.Errorf("parameter rule %s: %w", o.Parameters[i].name(), err)
		}
		p.tied = p.tied || c.tied()
		if plain(c.Tool.Server) && plain(c.Tool.Name) {
			p.exact[c.Tool] = append(p.exact[c.Tool], c)
			continue
		}
		p.params = append(p.params, c)
	}
	for _, text := range o.ReadOnlyFor {
		if _, err := p.exprs.readOnly(text); err != nil {
			return nil, fmt.Errorf("is_read_only_for_input: %w", err)
		}
	}
	return p, nil
}

// special are the characters that have a meaning in a pattern.
const special = `*?[\`

// plain reports whether a pattern covers its own spelling alone.
func plain(pattern string) bool { return !strings.ContainsAny(pattern, special) }

func (p *Policy) checkRules() error {
	if err := p.checkSkill(p.o.DefaultSkill); err != nil {
		return fmt.Errorf("default skill: %w", err)
	}
	check := func(kind string, r CallerRule) error {
		if glob.Check(r.Name) != nil {
			return fmt.Errorf("%s %q: is no pattern: a [ is not closed", kind, r.Name)
		}
		if r.Mode != "" && !slices.Contains(tool.Modes(), r.Mode) {
			return fmt.Errorf("%s %q: mode %q is none of %s", kind, r.Name, r.Mode, listed(tool.Modes()))
		}
		for _, s := range r.Skills {
			if err := p.checkSkill(s); err != nil {
				return fmt.Errorf("%s %q: %w", kind, r.Name, err)
			}
		}
		return nil
	}
	for _, r := range p.o.Callers {
		if err := check("caller", r); err != nil {
			return err
		}
	}
	for _, r := range p.o.Sessions {
		if err := check("session", CallerRule(r)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) checkSkill(name string) error {
	if name == "" || p.skills[name] != nil {
		return nil
	}
	return fmt.Errorf("there is no skill %q%s", name, p.nearSkills(name))
}

// nearSkills names the skills that there are, the nearest one first.
func (p *Policy) nearSkills(name string) string {
	all := slices.Sorted(maps.Keys(p.skills))
	if len(all) == 0 {
		return "; none is configured"
	}
	text := "."
	if near := nearest(name, all); near != "" {
		text = fmt.Sprintf("; did you mean %s?", near)
	}
	const most = 40
	more := ""
	if len(all) > most {
		all, more = all[:most], fmt.Sprintf(" and %d more", len(all)-most)
	}
	return text + " There are: " + strings.Join(all, ", ") + more
}

func listed[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}
