package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/argglob"
	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A Parameter is a rule for one argument of the tools that match: a call whose
// argument is missing, or is none of what the rule allows, is refused. Of several
// rules, all must hold. One of the lists and texts is given.
type Parameter struct {
	Tool tool.ID // both halves may be patterns
	// Argument is its name, a path a.b.c, or a JSON pointer /a/b. A lone dot is all
	// arguments, for Expression. Every element of a list must fit.
	Argument string
	// Globs are patterns, one of which must match: * is any text without a slash,
	// ** any text, ? one character but a slash, and \ quotes.
	Globs []string
	// Networks are addresses and networks, one of which must hold the argument,
	// itself an address or a network.
	Networks []string
	// Pattern is a regular expression (RE2) for the whole argument.
	Pattern string
	// OneOf are JSON values, one of which it must be, of the same type.
	OneOf []json.RawMessage
	// Expression in CEL must be true. It knows value, args, server, tool, caller and
	// session.
	Expression string
	// Place says where the rule stands, for errors.
	Place string
}

func (r *Parameter) name() string {
	name := fmt.Sprintf("%s, argument %q", r.Tool, r.Argument)
	if r.Place != "" {
		name += " (" + r.Place + ")"
	}
	return name
}

// A param is a rule that is ready to be used.
type param struct {
	*Parameter

	prefix   string // of the names of its tools, before the first character with a meaning
	path     path
	globs    []*argglob.Glob
	networks []netip.Prefix
	pattern  *regexp.Regexp
	plain    bool // the pattern has no character that other programs take for ASCII
	values   []any
	program  *program
}

// tied reports whether the rule looks at who calls.
func (c *param) tied() bool { return c.program != nil && c.program.tied }

// Check returns what is wrong with a rule.
func (r *Parameter) Check(c *Compiler) error {
	p := Policy{exprs: c}
	_, err := p.compile(r)
	return err
}

func (p *Policy) compile(r *Parameter) (*param, error) {
	c := &param{Parameter: r, prefix: r.Tool.Name}
	if i := strings.IndexAny(r.Tool.Name, special); i >= 0 {
		c.prefix = r.Tool.Name[:i]
	}
	if r.Tool.Server == "" || r.Tool.Name == "" {
		return nil, errors.New("it names no server and tool")
	}
	if glob.Check(r.Tool.Server) != nil || glob.Check(r.Tool.Name) != nil {
		return nil, errors.New("the name of the tool is no pattern: a [ is not closed")
	}
	var err error
	if c.path, err = parsePath(r.Argument); err != nil {
		return nil, err
	}
	given := 0
	for _, g := range []bool{len(r.Globs) > 0, len(r.Networks) > 0, r.Pattern != "", len(r.OneOf) > 0, r.Expression != ""} {
		if g {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("it gives %d of glob, cidr, regexp, one_of and cel, and must give one", given)
	}
	if len(c.path) == 0 && r.Expression == "" {
		return nil, errors.New("a rule for all arguments needs an expression: write cel")
	}
	if err := c.compile(); err != nil {
		return nil, err
	}
	if r.Expression != "" {
		c.program, err = p.exprs.compile(source{r.Expression, true})
	}
	return c, err
}

func (c *param) compile() error {
	for _, g := range c.Globs {
		ready, err := argglob.Compile(g)
		if err != nil {
			return fmt.Errorf("glob %q: %w", clip(g), err)
		}
		c.globs = append(c.globs, ready)
	}
	for _, n := range c.Networks {
		network, err := parseNetwork(n)
		if err != nil {
			return err
		}
		c.networks = append(c.networks, network)
	}
	if c.Pattern != "" {
		if len(c.Pattern) > maxExpression {
			return fmt.Errorf("the regular expression is longer than %d bytes", maxExpression)
		}
		// By itself first: a ) of its own must not end the group around it.
		if _, err := regexp.Compile(c.Pattern); err != nil {
			return fmt.Errorf("the regular expression: %w", err)
		}
		c.plain = argglob.Plain(c.Pattern) == c.Pattern
		var err error
		if c.pattern, err = regexp.Compile(`\A(?:` + c.Pattern + `)\z`); err != nil {
			return fmt.Errorf("the regular expression: %w", err)
		}
	}
	for _, raw := range c.OneOf {
		a := read([]byte(`{"value":` + string(raw) + `}`))
		if a.doubt != "" || a.odd || !json.Valid(raw) {
			return fmt.Errorf("one_of: %s is no JSON value", clip(string(raw)))
		}
		v := a.root["value"]
		switch v.(type) {
		case []any, map[string]any:
			return errors.New("one_of holds texts, numbers, true, false and null")
		}
		c.values = append(c.values, v)
	}
	return nil
}

// parseNetwork reads 10.0.0.0/8 or 10.1.2.3.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" && !a.Is4In6() {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	n, err := netip.ParsePrefix(text)
	if err != nil || n.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("cidr: %q is no address or network such as 10.0.0.0/8", clip(text))
	}
	if n != n.Masked() {
		return netip.Prefix{}, fmt.Errorf("cidr: %q has bits beyond its network; did you mean %s?", clip(text), n.Masked())
	}
	return n, nil
}

// wrong returns what is wrong with the arguments, or "".
func (c *param) wrong(pr *Profile, t *tool.Tool, a *arguments) string {
	if a.doubt != "" {
		return a.doubt
	}
	if c.program == nil {
		return lookup(a.root, c.path, c.judge)
	}
	more := map[string]any{"caller": pr.caller, "session": pr.session, "value": nil}
	judge := func(v any) string {
		if len(c.path) > 0 {
			var err error
			if more["value"], err = celValue(v); err != nil {
				return err.Error()
			}
		}
		ok, err := c.program.holds(a, t, more)
		switch {
		case err != nil:
			return "the rule cannot be evaluated: " + clip(err.Error())
		case !ok:
			return "it is not among what is allowed"
		}
		return ""
	}
	if len(c.path) == 0 {
		return judge(a.root)
	}
	return lookup(a.root, c.path, judge)
}

// judge returns what is wrong with one value, or "".
func (c *param) judge(v any) string {
	if len(c.values) > 0 {
		for _, allowed := range c.values {
			if v, ok := v.(string); ok && strings.ContainsRune(v, utf8.RuneError) {
				break
			}
			if same(v, allowed) {
				return ""
			}
		}
		return "it is not among what is allowed"
	}
	text, ok := v.(string)
	if !ok {
		return "it is " + kindOf(v) + " where a text is wanted"
	}
	if wrong := c.hidden(text); wrong != "" {
		return wrong
	}
	if c.fits(text) {
		return ""
	}
	return "it is not among what is allowed"
}

// same reports whether two values that are no lists and no objects are one. Numbers
// are the same where they are written alike.
func same(a, b any) bool {
	switch a.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func (c *param) fits(text string) bool {
	switch {
	case c.pattern != nil:
		// It says what may not stand there: a semicolon, say, which other programs find in
		// one of full width.
		plain := argglob.Plain(text)
		return c.pattern.MatchString(text) && (plain == text || !c.plain || c.pattern.MatchString(plain))
	case len(c.networks) > 0:
		n, err := parseNetwork(text)
		if err != nil {
			return false
		}
		for _, allowed := range c.networks {
			if allowed.Bits() <= n.Bits() && allowed.Contains(n.Addr()) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(c.globs, func(g *argglob.Glob) bool { return g.Match(text) })
}

// hidden tells what a text holds that a person does not see, or that ends it
// elsewhere for other programs.
func (c *param) hidden(text string) string {
	but := ""
	if c.pattern != nil {
		but = "\n\r\t" // a regular expression says itself where it allows them
	}
	if r, ok := argglob.Unseen(text, but); ok {
		return fmt.Sprintf("it holds the character U+%04X, which is not seen or not valid", r)
	}
	return ""
}
