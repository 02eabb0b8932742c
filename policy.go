package tenon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/internal/skills"
	"github.com/tenon-mcp/tenon/tool"
)

// policyOf returns the policy of a configuration. The error is a *ConfigError.
func policyOf(cfg *config.Config) (*policy.Policy, error) {
	o := policy.Options{
		Mode: cfg.Policy.Mode, BlockHighRisk: cfg.Policy.BlockHighRisk, AllowNotification: cfg.Policy.AllowNotification,
		DefaultSkill: cfg.Skills.Default,
	}
	for _, r := range cfg.Policy.Parameters {
		o.Parameters = append(o.Parameters, policy.Parameter(r))
	}
	for _, r := range cfg.Policy.Callers {
		o.Callers = append(o.Callers, policy.CallerRule(r))
	}
	for _, r := range cfg.Policy.Sessions {
		o.Sessions = append(o.Sessions, policy.SessionRule(r))
	}
	for _, s := range skillsOf(cfg) {
		o.Skills = append(o.Skills, policy.Skill{Name: s.Name, Tools: s.Tools, Strict: s.Strict})
	}
	for _, r := range cfg.Tools {
		if r.ReadOnlyFor != nil && *r.ReadOnlyFor != "" {
			o.ReadOnlyFor = append(o.ReadOnlyFor, *r.ReadOnlyFor)
		}
	}
	p, err := policy.New(o)
	if err != nil {
		return nil, &ConfigError{Problems: []Problem{{File: cfg.Path, Text: "policy: " + err.Error()}}}
	}
	return p, nil
}

// checks lets the configuration be checked by those who will use it.
func checks(s config.Source) config.Source {
	c := policy.NewCompiler()
	s.CheckParameter = func(r config.ParameterRule) error {
		p := policy.Parameter(r)
		return p.Check(c)
	}
	s.CheckReadOnlyFor = func(expression string) error {
		if expression == "" {
			return nil // takes back what an entry before it says
		}
		return c.CheckReadOnly(expression)
	}
	s.LoadSkills = loadSkills
	return s
}

// loadSkills reads the skills that a configuration wants.
func loadSkills(c config.Skills) (set config.SkillSet) {
	known, warnings, err := skills.Load(skills.Options{Dirs: c.Dirs, BuiltIn: c.BuiltIn})
	for _, s := range known {
		set.Names = append(set.Names, s.Name)
		if s.Path != "" {
			set.Files = append(set.Files, s.Path)
		}
	}
	set.Warnings = warnings
	if wrong, ok := errors.AsType[*ConfigError](err); ok {
		set.Mistakes = wrong.Problems
		return set
	}
	set.Loaded = slices.DeleteFunc(known, func(s skills.Skill) bool { return slices.Contains(c.Disabled, s.Name) })
	return set
}

func skillsOf(cfg *config.Config) []skills.Skill {
	known, _ := cfg.Skills.Loaded.([]skills.Skill) // nil where none were read
	return known
}

// A Skill is a named list of tools with a playbook.
type Skill struct {
	skills.Skill
	BuiltIn bool `json:"built_in"`
	// Missing are the entries of its list that name no tool that is known now.
	Missing []string `json:"missing,omitempty"`
}

// A Policy says what callers may do, and with which skills.
type Policy struct{ gw *Gateway }

// Policy returns the part of the gateway that decides on calls.
func (g *Gateway) Policy() Policy { return Policy{g} }

// Skills returns the skills that a caller may choose, sorted by name. It starts
// nothing: a server that has not listed its tools yet has none.
func (y Policy) Skills(caller tool.Caller) []Skill {
	p := y.gw.pool.Load()
	tools := p.catalog.Snapshot().Tools()
	out := []Skill{}
	for _, s := range skillsOf(p.cfg) {
		if _, err := p.policy.Profile(policy.Subject{Caller: caller.Name, Skill: s.Name, Grant: caller.Grant}); err != nil {
			continue
		}
		known := Skill{Skill: s, BuiltIn: s.Path == ""}
		for _, entry := range s.Tools {
			if !slices.ContainsFunc(tools, func(t *tool.Tool) bool { return policy.Covers(entry, t.ID) }) {
				known.Missing = append(known.Missing, entry)
			}
		}
		out = append(out, known)
	}
	return out
}

// An Explanation is a decision about a call that is not made, and what it rests on.
type Explanation struct {
	Server   string         `json:"server"`
	Tool     string         `json:"tool"`
	Caller   string         `json:"caller,omitempty"`
	Session  string         `json:"session,omitempty"`
	Skill    string         `json:"skill,omitempty"` // the one that counts
	Mode     tool.Mode      `json:"mode"`            // the one that counts
	Limits   []string       `json:"limits,omitempty"`
	Decision *tool.Decision `json:"decision"`
	// Listed says whether the tool is in the list that the caller gets.
	Listed bool `json:"listed"`
	// ReadOnly says whether a call with these arguments only reads.
	ReadOnly bool      `json:"read_only"`
	Metadata tool.Meta `json:"metadata"`
	// Risk is the one that counts, of all that the metadata says.
	Risk tool.RiskLevel `json:"risk"`
	// Opens says what an operator can write so that the call is not refused; empty where
	// it is not, or nothing does.
	Opens string `json:"opens,omitempty"`
	// Note says what could not be found out; empty where all is known.
	Note string `json:"note,omitempty"`
}

// Explain decides on a call like Call does, with the whole chain of rules, and
// makes no call. It looks at the tool of exactly that name, and starts its server
// where its tools are not known yet. Where the server cannot tell them, it decides
// by what the configuration says, with a note. The error is a *tool.Error.
func (y Policy) Explain(ctx context.Context, c tool.Call) (*Explanation, error) {
	g := y.gw
	p := g.enter()
	defer p.leave()
	v := view{g, p}
	c = lazyTools{v}.unfold(c)
	t, note, err := v.explained(ctx, tool.ID{Server: c.Server, Name: c.Tool})
	if err != nil {
		return nil, err
	}
	r := &call.Request{Call: c, Target: t}
	profile, err := p.policy.Profile(policy.Subject{
		Caller: c.Caller.Name, Session: r.SessionName(), Skill: c.Skill, Mode: c.Mode, Grant: c.Caller.Grant,
	})
	if err != nil {
		return nil, err
	}
	facts := v.facts(t)
	listed := profile.Visible(t, facts).Behavior != tool.Deny
	facts.Taint, facts.TaintText = authority{v}.tainted(r)
	decision := profile.Explain(t, c.Arguments, facts)
	if refusal := p.content.Refuse(t, c.Arguments); listed && refusal != "" { // the pipeline asks it first
		d := tool.Decision{Behavior: tool.Deny, ReasonType: call.ContentRule, Reason: refusal}
		d.Chain = []tool.Step{{Rule: d.ReasonType, Verdict: d.Behavior, Text: refusal}}
		decision = &d
	}
	return &Explanation{
		Server: t.Server, Tool: t.Name, Caller: c.Caller.Name, Session: r.SessionName(),
		Skill: profile.Skill(), Mode: profile.Mode(), Limits: profile.Limits(),
		Decision: decision, Listed: listed,
		ReadOnly: p.policy.ReadsOnly(t, c.Arguments), Metadata: t.Meta, Risk: t.Meta.Risk(), Opens: opens(decision, t), Note: note,
	}, nil
}

// known returns a tool of the pool, whoever asks.
func (v view) known(id tool.ID) (*tool.Tool, bool) {
	if own := v.own.of(id); own != nil {
		return own, true
	}
	return v.catalog.Snapshot().Find(id)
}

// explained returns the tool of an ID, and what is not known of it.
func (v view) explained(ctx context.Context, id tool.ID) (*tool.Tool, string, error) {
	if !v.HasServer(id.Server) {
		return nil, "", noServer(v, id.Server)
	}
	if t, ok := v.known(id); ok {
		return t, "", nil
	}
	supposed := &tool.Tool{ID: id}
	if m := v.byName[id.Server]; m != nil {
		supposed.Meta = maker(v).meta(supposed)
	}
	if v.Blacklisted(id) {
		return supposed, "", nil // it is not in the list, so nobody can say whether it exists
	}
	if err := v.Await(ctx, id.Server); err != nil {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		return supposed, fmt.Sprintf("The server %s did not list its tools (%s): this is what the configuration alone says.", id.Server, tool.Flatten(err)), nil
	}
	if t, ok := v.known(id); ok {
		return t, "", nil
	}
	text := fmt.Sprintf("The server %s has no tool %s.", id.Server, id.Name)
	if near := v.catalog.Snapshot().NearTools(id.Server, id.Name, 3); len(near) > 0 {
		names := make([]string, len(near))
		for i, n := range near {
			names[i] = n.String()
		}
		text += " The nearest are: " + strings.Join(names, ", ")
	}
	return nil, "", &tool.Error{Kind: tool.NotFound, Text: text}
}
