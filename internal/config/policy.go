package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Policy is the section `policy:`, what callers may do. Each part is in a file of
// its own.
type Policy struct {
	Mode              tool.Mode // of callers of whom no rule names one
	BlockHighRisk     bool
	AllowNotification bool
	Parameters        []ParameterRule `json:",omitempty"`
	Callers           []SubjectRule   `json:",omitempty"`
	Sessions          []SubjectRule   `json:",omitempty"`

	Approvals   Approvals   `json:",omitzero"`
	Taint       Taint       `json:",omitempty"`
	Limits      []Limit     `json:",omitempty"`
	Definitions Definitions `json:",omitzero"`
	Redact      Redact      `json:",omitzero"`
}

// A ParameterRule says what one argument of some tools may be. One of the last five
// is set.
type ParameterRule struct {
	Tool       tool.ID // see Match
	Argument   string  // a path, a JSON pointer, or a dot for all arguments
	Globs      []string
	Networks   []string
	Pattern    string
	OneOf      []json.RawMessage
	Expression string
	Place      string // file:line:column
}

// A SubjectRule says what holds for callers, or sessions, whose name matches.
type SubjectRule struct {
	Name   string // a pattern
	Mode   tool.Mode
	Skills []string
	Limits string
}

// guards reads the sections that say who may do what.
type guards struct{ sections }

// policy reads the section of that name.
func (s guards) policy(o *object) {
	n := o.key("policy")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	p := &s.cfg.Policy
	mode(in, &p.Mode)
	in.boolean("block_high_risk", &p.BlockHighRisk)
	in.boolean("allow_notification", &p.AllowNotification)
	s.parameters(in)
	var named []*source.Node // the names of limits that rules give
	p.Callers, p.Sessions = s.subjects(in, "callers", &named), s.subjects(in, "sessions", &named)
	for _, part := range []func(*object){s.approvals, s.taint, s.limits, s.definitions, s.redact} {
		part(in)
	}
	in.refuse()
	checkLimits(in, named, p.Limits)
}

// checkLimits wants the limits that rules give to be there: a misspelled name
// bounds nothing.
func checkLimits(o *object, named []*source.Node, limits []Limit) {
	var names []string
	for _, l := range limits {
		if l.Name != "" {
			names = append(names, l.Name)
		}
	}
	for _, n := range named {
		if !slices.Contains(names, n.Text) && !dynamic(n) {
			o.fail(n, fmt.Sprintf("there are no limits %q", clip(n.Text)), suggest(n.Text, names, "there are"))
		}
	}
}

// mode reads the key of that name.
func mode(o *object, dst *tool.Mode) {
	all := make([]string, 0, len(tool.Modes()))
	for _, m := range tool.Modes() {
		all = append(all, string(m))
	}
	o.enum("mode", words(all...), all, (*string)(dst))
}

// maxRules bounds the rules of each kind.
const maxRules = 10_000

// parameters reads the map of that name: tool → argument → what it may be.
func (s guards) parameters(o *object) {
	n := o.key("parameters")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	for _, p := range n.Pairs {
		id, wrong := patternOf(p.Key.Text)
		if wrong != "" {
			in.fail(p.Key, fmt.Sprintf("parameters: %q %s", clip(p.Key.Text), wrong), `write "server/tool"; * stands for any text`)
			continue
		}
		s.patterns = append(s.patterns, located{id: id, at: p.Key})
		args := newObject(p.Value, in.ex, in.to)
		if len(p.Value.Pairs) == 0 && p.Value.Kind == source.Map || p.Value.Kind == source.Null {
			in.fail(p.Key, "the rule looks at no argument", `write the name of an argument and what it may be, such as name: {glob: "web-*"}`)
		}
		for _, a := range p.Value.Pairs {
			if len(s.cfg.Policy.Parameters) == maxRules {
				in.fail(a.Key, fmt.Sprintf("is one of more than %d rules for arguments", maxRules), "")
				return
			}
			s.cfg.Policy.Parameters = append(s.cfg.Policy.Parameters, s.parameter(id, a.Key, a.Value, args))
			s.patterns = append(s.patterns, located{id, a.Key, a.Key.Text})
		}
	}
}

// parameter reads what one argument may be.
func (s guards) parameter(id tool.ID, key, n *source.Node, parent *object) ParameterRule {
	r := ParameterRule{Tool: id, Argument: key.Text, Place: fmt.Sprintf("%s:%d:%d", key.File.Path, key.Line, key.Column)}
	before := len(*parent.to)
	o := newObject(n, parent.ex, parent.to)
	oneOrMore(o, "glob", &r.Globs)
	oneOrMore(o, "cidr", &r.Networks)
	o.text("regexp", &r.Pattern)
	for _, item := range o.list("one_of") {
		if item.Kind >= source.List || item.Kind == source.Bad {
			o.fail(item, "one_of wants texts, numbers, true and false, and holds "+item.Kind.String(), "")
			continue
		}
		r.OneOf = append(r.OneOf, json.RawMessage(item.JSON(func(n *source.Node) string {
			text, _ := o.scalar(n) // reports what is wrong
			return text
		})))
	}
	o.text("cel", &r.Expression)
	o.refuse()
	given := 0
	for _, kind := range []string{"glob", "cidr", "regexp", "one_of", "cel"} {
		if o.has(kind) {
			given++
		}
	}
	switch {
	case len(*parent.to) > before:
		return r
	case given != 1:
		o.fail(key, fmt.Sprintf("the argument %q is given %d of glob, cidr, regexp, one_of and cel, and wants one", clip(key.Text), given),
			"two rules for one argument are two entries of tools, of which one may be a pattern")
		return r
	case s.checkParameter == nil:
		return r
	}
	if err := s.checkParameter(r); err != nil {
		wrongRule(o, key, "cel", err)
	}
	return r
}

// placed is an error that knows its place in the text that was checked.
type placed interface {
	error
	Place() (offset int)
}

// wrongRule reports what is wrong with a rule: at its place within the expression
// of a key, where there is one.
func wrongRule(o *object, key *source.Node, name string, err error) {
	at := key
	if p, ok := errors.AsType[placed](err); ok && o.seen[name] != nil {
		at = o.seen[name]
		if rest := at.Text[min(p.Place(), len(at.Text)):]; rest != "" {
			line, _, _ := strings.Cut(rest, "\n")
			at = at.Locate(line)
		}
		o.fail(at, name+": "+err.Error(), "")
		return
	}
	o.fail(at, fmt.Sprintf("%q: %v", clip(key.Text), err), "")
}

// oneOrMore reads a text, or a list of texts.
func oneOrMore(o *object, name string, dst *[]string) {
	n := o.seen[name]
	if n != nil && n.Kind == source.List {
		if len(n.Items) == 0 {
			o.fail(n, name+" is empty", "")
		}
		o.texts(name, dst)
		return
	}
	var text string
	o.text(name, &text)
	if o.has(name) {
		*dst = append(*dst, text)
	}
}

// subjects reads a map of patterns of names. It adds the names of limits to named.
func (s guards) subjects(o *object, name string, named *[]*source.Node) []SubjectRule {
	n := o.key(name)
	if n == nil {
		return nil
	}
	var out []SubjectRule
	in := newObject(n, o.ex, o.to)
	for _, p := range n.Pairs {
		if len(out) == maxRules {
			in.fail(p.Key, fmt.Sprintf("is one of more than %d %s", maxRules, name), "")
			return out
		}
		if glob.Check(p.Key.Text) != nil {
			in.fail(p.Key, fmt.Sprintf("%s: %q is no pattern: a [ is not closed", name, clip(p.Key.Text)), "")
			continue
		}
		r := SubjectRule{Name: p.Key.Text}
		sub := newObject(p.Value, in.ex, in.to)
		mode(sub, &r.Mode)
		oneOrMore(sub, "skill", &r.Skills)
		s.chosen = append(s.chosen, references(sub, "skill", r.Skills)...)
		sub.text("limits", &r.Limits)
		if r.Limits != "" {
			*named = append(*named, sub.seen["limits"])
		}
		sub.refuse()
		out = append(out, r)
	}
	return out
}
