package tenon

import (
	"slices"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/tool"
)

// MayReach tells whether the tool may go to an address, as far as the content
// rules of the configuration say: nil, or an error of kind tool.Denied that tells
// the model which rule forbids it. The pipeline asks it of the arguments of each
// call; a tool of AddTool that follows redirects asks it of each of them.
func (g *Gateway) MayReach(id tool.ID, address string) error {
	if refusal := g.pool.Load().content.Refusal(id, address); refusal != "" {
		return &tool.Error{Kind: tool.Denied, Text: refusal}
	}
	return nil
}

// contentRules returns the rules that hold: the built-in ones as the configuration
// changes them, then its own. Nil forbids nothing.
func contentRules(list []config.ContentRule) (*rules.Rules, error) {
	all := rules.BuiltIn()
	for _, c := range list {
		i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.Name == c.Name })
		switch {
		case c.Off && i >= 0:
			all = slices.Delete(all, i, i+1)
		case i >= 0:
			all[i] = changed(all[i], c)
		case !c.Off:
			all = append(all, changed(rules.Rule{Name: c.Name}, c))
		}
	}
	return rules.New(all)
}

// changed returns a rule with what the configuration says of it.
func changed(r rules.Rule, c config.ContentRule) rules.Rule {
	if c.Addresses != nil {
		r.Addresses = c.Addresses
	}
	if c.CaseSensitive != nil {
		r.CaseSensitive = *c.CaseSensitive
	}
	if c.Tools != nil {
		r.Tools = c.Tools
	}
	if c.SearchTools != nil {
		r.SearchTools = c.SearchTools
	}
	if c.Refusal != "" {
		r.Refusal = c.Refusal
	}
	return r
}

// builtInRules returns the names of the rules that the configuration may switch
// off.
func builtInRules() []string {
	var names []string
	for _, r := range rules.BuiltIn() {
		names = append(names, r.Name)
	}
	return names
}
