package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A ContentRule is one entry of `content_rules:`: addresses that must not be
// reached. One with the name of a built-in rule changes that, and what it does not
// say stays.
type ContentRule struct {
	Name          string
	Off           bool      // the built-in rule of this name does not hold
	Addresses     []string  // nil where it says none
	CaseSensitive *bool     // of paths; nil where it does not say
	Tools         []tool.ID // see Match; nil where it does not say
	SearchTools   []tool.ID // see Match; nil where it does not say
	Refusal       string    // empty where it does not say
}

// isRuleName tells whether a rule may be called so: the model reads it.
func isRuleName(name string) bool {
	return isPlain(name, 64) && !strings.ContainsAny(name[:1], "_.-")
}

// isPlain tells whether a text is up to so many letters, digits, _, . and -.
func isPlain(s string, most int) bool {
	bad := func(c rune) bool { return !interpolate.IsNameChar(c) && c != '.' && c != '-' }
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, bad)
}

// contentRules reads the section of that name.
func (s sections) contentRules(o *object) {
	n := o.key("content_rules")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	for _, p := range n.Pairs {
		name := p.Key.Text
		switch {
		case in.at(name) != p.Key: // given twice, which is told
		case !isRuleName(name):
			in.fail(p.Key, fmt.Sprintf("content_rules: %q is no name", clip(name)), "use letters, digits, _, . and -, at most 64")
		case slices.ContainsFunc(s.cfg.ContentRules, func(r ContentRule) bool { return r.Name == name }):
			in.fail(p.Key, fmt.Sprintf("content_rules: %q is there already", name), "give it another name")
		case slices.Contains(s.builtInRules, name) && len(s.stack) > 1:
			// Whoever writes an included file would lift a guard of the whole.
			in.fail(p.Key, fmt.Sprintf("the built-in rule %q is changed in the main file alone", name), "move it to "+s.cfg.Path)
		default:
			if r, ok := s.contentRule(in, p.Key, p.Value); ok {
				s.cfg.ContentRules = append(s.cfg.ContentRules, r)
			}
		}
	}
}

// contentRule reads one rule, or the switch of a built-in one.
func (s sections) contentRule(in *object, key, n *source.Node) (ContentRule, bool) {
	r := ContentRule{Name: key.Text}
	builtIn := s.builtInRules == nil || slices.Contains(s.builtInRules, r.Name)
	if n.Kind != source.Map {
		on := n.Kind == source.Text && n.Text == "on" || n.Kind == source.Bool && n.Plain == "true"
		r.Off = n.Kind != source.Null && isOff(n)
		switch {
		case !on && !r.Off:
			if in.sound(n) {
				in.fail(n, fmt.Sprintf("%s wants off, or a map of keys, and holds %s", r.Name, n.Kind), "")
			}
		case !builtIn:
			in.fail(key, fmt.Sprintf("there is no built-in rule %q to switch on or off", r.Name), suggest(r.Name, s.builtInRules, "there are"))
		default:
			return r, true
		}
		return r, false
	}
	before := len(*in.to)
	o := newObject(n, in.ex, in.to)
	r.Addresses = s.addresses(o)
	optional(o, "case_sensitive", &r.CaseSensitive, o.boolean)
	r.Tools = s.toolPatterns(o, "tools")
	r.SearchTools = s.toolPatterns(o, "search_tools")
	o.text("refusal", &r.Refusal)
	o.refuse()
	if !o.has("addresses") && !builtIn {
		o.fail(key, r.Name+" forbids no address", "write addresses: [example.com/path]")
	}
	return r, len(*in.to) == before
}

// addresses reads what a rule forbids.
func (s sections) addresses(o *object) []string {
	var out []string
	items := o.list("addresses")
	if n := o.seen["addresses"]; n != nil && n.Kind == source.List && len(items) == 0 {
		o.fail(n, "addresses is empty", "a built-in rule is switched off with the word off in the place of the map")
	}
	for _, n := range items {
		text, ok := o.scalar(n)
		if !ok {
			continue
		}
		if s.checkAddress != nil {
			if err := s.checkAddress(text); err != nil {
				o.fail(n, fmt.Sprintf("%s %v", quoteOf(n, text), err), "write example.com, *.example.com or example.com/path")
				continue
			}
		}
		out = append(out, text)
	}
	return out
}

// toolPatterns reads a list of "server/tool"; it is nil where the key is absent.
func (s sections) toolPatterns(o *object, key string) []tool.ID {
	if !o.has(key) {
		o.key(key)
		return nil
	}
	out := []tool.ID{}
	for _, n := range o.list(key) {
		text, ok := o.scalar(n)
		if !ok {
			continue
		}
		id, wrong := patternOf(text)
		if wrong != "" {
			o.fail(n, fmt.Sprintf("%s: %s %s", key, quoteOf(n, text), wrong), `write "server/tool"; * stands for any text`)
			continue
		}
		s.patterns = append(s.patterns, located{id: id, at: n})
		out = append(out, id)
	}
	return out
}
