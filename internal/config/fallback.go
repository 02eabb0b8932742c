package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A Fallback is one entry of `fallbacks:`: tools that stand in for others. It is
// either for the tools that its pattern names, or a group with a name of its own.
type Fallback struct {
	Pattern tool.ID // see Match; the zero value in a group
	Group   string
	Members []Member // in the order in which they are tried; none turns fallbacks off
}

// A Member is one tool of a Fallback.
type Member struct {
	Tool tool.ID // without a Name: the server's tool of the name that was called
	// Arguments are those that it gets, as a JSON object. In its texts
	// ${arguments.NAME} stands for an argument of the call, and "$${" for "${".
	// The zero value is the arguments of the call. They may hold keys, so they
	// print as dots.
	Arguments tool.Secret
	On        []tool.Kind // the failures that it stands in for; nil is the default
}

// Retry says how calls are repeated that failed on their way.
type Retry struct {
	Attempts int           // in all; 1 repeats nothing
	Delay    time.Duration // at most this before the second attempt, doubled for each further one
	MaxDelay time.Duration // no wait is longer
}

// retry reads the key of that name.
func retry(in *object, r *Retry) {
	n := in.key("retry")
	if n == nil {
		return
	}
	o := newObject(n, in.ex, in.to)
	const shortest = time.Millisecond
	o.integer("attempts", 1, 10, &r.Attempts)
	o.duration("delay", shortest, time.Minute, &r.Delay)
	o.duration("max_delay", shortest, time.Minute, &r.MaxDelay)
	o.refuse()
	if r.Delay <= r.MaxDelay {
		return
	}
	at := o.at("delay")
	if !o.has("delay") {
		at = o.at("max_delay")
	}
	o.fail(at, fmt.Sprintf("delay %s is longer than max_delay %s", short(r.Delay), short(r.MaxDelay)), "")
}

const maxMembers = 20

// fallbacks reads the section of that name.
func (s sections) fallbacks(o *object) {
	n := o.key("fallbacks")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	for _, p := range n.Pairs {
		if f, ok := s.fallback(in, p.Key); ok {
			s.cfg.Fallbacks = append(s.cfg.Fallbacks, f)
		}
	}
}

// maxGroup is how long the name of a group may be, as that of a tool may be.
const maxGroup = 128

func (s sections) fallback(in *object, key *source.Node) (Fallback, bool) {
	f := Fallback{Group: key.Text}
	if !isPlain(key.Text, maxGroup) {
		id, wrong := patternOf(key.Text)
		if wrong != "" {
			in.fail(key, fmt.Sprintf("fallbacks: %q %s", clip(key.Text), wrong), `write "server/tool" for the tools that have fallbacks, with * for any text, or a name for a group`)
			return f, false
		}
		f = Fallback{Pattern: id}
		s.patterns = append(s.patterns, located{id: id, at: key})
	}
	if f.Group != "" && slices.ContainsFunc(s.cfg.Fallbacks, func(g Fallback) bool { return g.Group == f.Group }) {
		in.fail(key, fmt.Sprintf("fallbacks: a group %q is there already", f.Group), "")
	}
	list := in.list(key.Text)
	if len(list) > maxMembers {
		in.fail(key, fmt.Sprintf("fallbacks: %q has more than %d members", clip(key.Text), maxMembers), "")
		return f, false
	}
	if f.Group != "" && in.has(key.Text) && len(list) == 0 {
		in.fail(key, fmt.Sprintf("fallbacks: the group %q has no members", f.Group), "")
	}
	for _, n := range list {
		m, ok := s.member(in, n)
		if !ok {
			continue
		}
		f.Members = append(f.Members, m)
		at := m.Tool
		if at.Name == "" {
			at.Name = "*"
			if !strings.ContainsAny(f.Pattern.Name, `*?[\`) {
				at.Name = cmp.Or(f.Pattern.Name, "*") // the tool of the name that was called
			}
		}
		s.patterns = append(s.patterns, located{id: at, at: n})
	}
	return f, true
}

// member reads "server/tool", "server", or the long form of either.
func (s sections) member(in *object, n *source.Node) (Member, bool) {
	var m Member
	if n.Kind != source.Map {
		text, ok := in.scalar(n)
		return m, ok && memberTool(in, n, text, &m.Tool)
	}
	o := newObject(n, in.ex, in.to)
	before := len(*o.to)
	var text string
	o.text("tool", &text)
	if at := o.key("tool"); at == nil {
		o.fail(n, "a member of fallbacks names no tool", `write "server/tool", or {tool: "server/tool", …}`)
	} else if text != "" || len(*o.to) == before {
		memberTool(o, at, text, &m.Tool)
	}
	if at := o.key("arguments"); at != nil {
		m.Arguments = s.template(o, at)
	}
	m.On = conditions(o)
	o.refuse()
	return m, len(*o.to) == before
}

// memberTool reads the name of a tool, or of a server alone.
func memberTool(o *object, at *source.Node, text string, id *tool.ID) bool {
	server, name, whole := strings.Cut(text, "/")
	if server == "" || whole && name == "" || strings.ContainsAny(text, "*?[") {
		o.fail(at, fmt.Sprintf("%s is not the name of one tool", quoteOf(at, text)), `write "server/tool", or "server" for its tool of the name that was called`)
		return false
	}
	*id = tool.ID{Server: server, Name: name}
	return true
}

// conditions reads `on:`, the failures that another tool may stand in for.
func conditions(o *object) []tool.Kind {
	allowed := []string{string(tool.Unavailable), string(tool.Timeout), string(tool.Failed), string(tool.NotFound)}
	var on []tool.Kind
	list := o.list("on")
	for _, n := range list {
		text, ok := o.scalar(n)
		switch {
		case !ok:
		case text == string(tool.OutcomeUnknown):
			o.fail(n, "on: outcome_unknown is no reason to call another tool", "what was asked for may have been done, and would be done twice")
		case !slices.Contains(allowed, text):
			o.fail(n, fmt.Sprintf("on wants some of %s, and holds %s", strings.Join(allowed, ", "), quoteOf(n, text)), "")
		default:
			on = append(on, tool.Kind(text))
		}
	}
	if o.key("on") != nil && o.key("on").Kind == source.List && len(list) == 0 {
		o.fail(o.at("on"), "on is empty, so the member would never be called", "leave on out, or name the kinds of failure")
	}
	return on
}

// argument is how a template names an argument of the call, or writes "${" itself.
var argument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$?\$\{arguments\.[^{}]*\}`) })

// template returns the arguments of a member as JSON. Expressions for variables
// are replaced; those for arguments stay.
func (s sections) template(o *object, n *source.Node) tool.Secret {
	if n.Kind != source.Map {
		o.fail(n, "arguments wants a map of names, and holds "+n.Kind.String(), `such as {uri: "${arguments.url}"}`)
		return tool.Secret{}
	}
	ex := &interpolate.Expander{Lookup: s.lookup, Sources: elsewhere{s.loader, s.doc.dir()}.sources(), Found: s.hide}
	return tool.NewSecret(n.JSON(func(n *source.Node) string {
		var b strings.Builder
		literal := func(text string) {
			expanded, faults := ex.Expand(text)
			for _, f := range faults {
				*o.to = append(*o.to, n.Locate(f.At).Mistake(f.Text, f.Hint))
			}
			b.WriteString(strings.ReplaceAll(expanded, "${", "$${"))
		}
		end := 0
		for _, m := range argument().FindAllStringIndex(n.Text, -1) {
			ref := n.Text[m[0]:m[1]]
			if strings.HasPrefix(ref, "$$") {
				continue // the expander reads it
			}
			if ref == "${arguments.}" {
				o.fail(n, "${arguments.…} wants the name of an argument", `such as "${arguments.url}"`)
			}
			literal(n.Text[end:m[0]])
			b.WriteString(ref)
			end = m[1]
		}
		literal(n.Text[end:])
		return b.String()
	}))
}
