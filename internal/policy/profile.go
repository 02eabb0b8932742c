package policy

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// maxProfiles bounds what is remembered of subjects, and of the profiles that
// depend on who calls. More are made anew.
const maxProfiles = 8192

// A Profile is what the policy means for one subject. Subjects for whom it means
// the same have the same one, as long as it is kept, so profiles can be compared
// as pointers.
type Profile struct {
	p       *Policy
	scope   *Scope
	limits  []string
	caller  string // empty where no rule looks at it
	session string
}

// A Scope is the part of a profile that decides what is listed: a mode and a
// skill. There are few of them. Profiles of one scope see the same tools, where
// the facts are the same.
type Scope struct {
	mode  tool.Mode
	skill *allowlist // nil without one
}

// key is a subject as it is looked up.
type key struct {
	caller, session, skill string
	mode, granted          tool.Mode
	grant                  [2]uint64 // of what the grant says of skills and limits
}

// meaning is what a profile is made of.
type meaning struct {
	mode            tool.Mode
	skill           *allowlist
	limits          string
	caller, session string
}

// Scope returns what decides the list of tools.
func (pr *Profile) Scope() *Scope { return pr.scope }

// Mode returns the mode.
func (pr *Profile) Mode() tool.Mode { return pr.scope.mode }

// Skill returns the name of the skill, or "" where all tools are within reach.
func (pr *Profile) Skill() string {
	if pr.scope.skill == nil {
		return ""
	}
	return pr.scope.skill.Name
}

// Limits returns the names of the limits that hold. It must not be changed.
func (pr *Profile) Limits() []string { return pr.limits }

// Profile returns the profile of a subject. The error is a *tool.Error: of kind
// invalid for what does not exist, and denied for a skill that this subject may
// not choose.
func (p *Policy) Profile(s Subject) (*Profile, error) {
	k := key{caller: s.Caller, session: s.Session, skill: s.Skill, mode: s.Mode}
	if g := s.Grant; g != nil {
		k.granted = g.Mode
		k.grant = p.grantKey(g)
	}
	p.mu.RLock()
	pr := p.profiles[k]
	p.mu.RUnlock()
	if pr != nil {
		return pr, nil
	}
	m, err := p.mean(s)
	if err != nil {
		return nil, err
	}
	return p.intern(k, m), nil
}

// grantKey tells grants apart by what they say, whatever their address, without
// a new text: two hashes, whose seeds nobody knows.
func (p *Policy) grantKey(g *tool.Grant) (sums [2]uint64) {
	for i := range sums {
		var h maphash.Hash
		h.SetSeed(p.seeds[i])
		_, _ = h.WriteString(g.Limits) // never fails
		for _, s := range g.Skills {
			_ = h.WriteByte(0)
			_, _ = h.WriteString(s)
		}
		sums[i] = h.Sum64()
	}
	return sums
}

func (p *Policy) intern(k key, m meaning) *Profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr := p.interned[m]
	if pr == nil {
		if len(p.interned) >= maxProfiles {
			clear(p.interned)
			clear(p.profiles)
		}
		pr = &Profile{p: p, scope: p.scopeOf(m), caller: m.caller, session: m.session}
		if m.limits != "" {
			pr.limits = strings.Split(m.limits, "\x00")
		}
		p.interned[m] = pr
	}
	if len(p.profiles) >= maxProfiles {
		clear(p.profiles)
	}
	const most = 1024 // bytes: callers choose their names
	if len(k.caller)+len(k.session) <= most {
		p.profiles[k] = pr
	}
	return pr
}

func (p *Policy) scopeOf(m meaning) *Scope {
	s := Scope{m.mode, m.skill}
	if p.scopes[s] == nil {
		p.scopes[s] = &s
	}
	return p.scopes[s]
}

// mean finds out what the policy means for a subject.
func (p *Policy) mean(s Subject) (meaning, error) {
	if s.Mode != "" && !slices.Contains(tool.Modes(), s.Mode) {
		return meaning{}, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There is no mode %q. The modes are %s.", clip(s.Mode), listed(tool.Modes()))}
	}
	rules := matching(p.o.Callers, s.Caller)
	mode, limits := p.o.Mode, []string{}
	if m := strictest(rules); m != "" {
		mode = m
	}
	allowed := [][]string{}
	for _, r := range slices.Concat(rules, matching(p.o.Sessions, s.Session)) {
		limits = appendNew(limits, r.Limits)
		if len(r.Skills) > 0 {
			allowed = append(allowed, r.Skills)
		}
	}
	mode = mode.Stricter(strictest(matching(p.o.Sessions, s.Session)))
	if g := s.Grant; g != nil {
		if g.Mode != "" && !slices.Contains(tool.Modes(), g.Mode) {
			return meaning{}, &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("This credential has the mode %q, which does not exist. Ask the operator for another one.", clip(g.Mode))}
		}
		mode = mode.Stricter(g.Mode)
		limits = appendNew(limits, g.Limits)
		if len(g.Skills) > 0 {
			allowed = append(allowed, g.Skills)
		}
	}
	skill, err := p.choose(s.Skill, allowed)
	if err != nil {
		return meaning{}, err
	}
	m := meaning{mode: mode.Stricter(s.Mode), skill: skill, limits: strings.Join(limits, "\x00")}
	if p.tied {
		m.caller, m.session = s.Caller, s.Session
	}
	return m, nil
}

// choose returns the skill of a call: the one that it names, or the default. Each
// of allowed is a list that it must be on.
func (p *Policy) choose(wanted string, allowed [][]string) (*allowlist, error) {
	if wanted != "" && p.skills[wanted] == nil {
		return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There is no skill %q%s.", clip(wanted), p.nearSkills(wanted))}
	}
	may := common(allowed)
	name := wanted
	switch {
	case name != "" || len(allowed) == 0:
	case len(may) == 1:
		name = may[0]
	case slices.Contains(may, p.o.DefaultSkill):
		name = p.o.DefaultSkill
	}
	if name == "" && len(allowed) == 0 {
		name = p.o.DefaultSkill
	}
	switch {
	case len(allowed) > 0 && len(may) == 0:
		return nil, &tool.Error{Kind: tool.Denied, Text: "No skill is left for this caller: its rules and its credential name none in common. Ask the operator."}
	case len(allowed) > 0 && name == "":
		return nil, &tool.Error{Kind: tool.Denied, Text: "This caller works with a skill. Choose one of " + strings.Join(may, ", ") + "."}
	case len(allowed) > 0 && !slices.Contains(may, name):
		return nil, &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("This caller may not choose the skill %q. It may choose %s.", clip(name), strings.Join(may, ", "))}
	case name != "" && p.skills[name] == nil:
		return nil, &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("This caller works with the skill %q, which does not exist here. Ask the operator.", clip(name))}
	}
	return p.skills[name], nil
}

// common returns what all lists have.
func common(lists [][]string) []string {
	if len(lists) == 0 {
		return nil
	}
	out := slices.Clone(lists[0])
	for _, l := range lists[1:] {
		out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(l, s) })
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matching returns the rules for a name: those that spell it, or else those whose
// patterns match.
func matching[R CallerRule | SessionRule](rules []R, name string) []CallerRule {
	var exact, other []CallerRule
	for _, rule := range rules {
		switch r := CallerRule(rule); {
		case r.Name == name:
			exact = append(exact, r)
		case glob.Match(r.Name, name):
			other = append(other, r)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return other
}

func strictest(rules []CallerRule) tool.Mode {
	var m tool.Mode
	for _, r := range rules {
		m = m.Stricter(r.Mode)
	}
	return m
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// clip keeps what is quoted of a caller short.
func clip[T ~string](s T) string {
	const most = 60
	if r := []rune(string(s)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(s)
}
