package approval

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/argglob"
	"github.com/tenon-mcp/tenon/tool"
)

// How long and how many grants hold at most. Past the number the newest is not
// remembered, so that its calls are asked for.
const (
	grantAge  = 8 * time.Hour
	maxGrants = 4096
)

// call is what a grant is bound to.
type call struct{ caller, session, server, tool, rule string }

// A grant lets calls of a session pass that would have to be asked for.
type grant struct {
	call
	id       string                     // of the approval
	patterns map[string]*argglob.Glob   // by the name of the argument; nil where all arguments will do
	fixed    map[string]json.RawMessage // the other arguments, which must be as they were asked for
	until    time.Time                  // by the clock on the wall
	deadline time.Time                  // by time that passes
}

func (g *grant) over(now time.Time) bool {
	return !now.Before(g.until) || !time.Now().Before(g.deadline)
}

// covers reports whether a call with these arguments may pass.
func (g *grant) covers(c *call, args []byte) bool {
	if g.call != *c {
		return false
	}
	if g.patterns == nil {
		return true
	}
	members, err := membersOf(args)
	if err != nil || len(members) != len(g.patterns)+len(g.fixed) {
		return false
	}
	for name, value := range members {
		if pattern, ok := g.patterns[name]; ok {
			text, ok := textOf(value)
			if !ok || !matches(pattern, text) {
				return false
			}
			continue
		}
		if fixed, ok := g.fixed[name]; !ok || !bytes.Equal(fixed, value) {
			return false
		}
	}
	return true
}

// matches reports whether a text is among what a person can have meant by a pattern.
func matches(pattern *argglob.Glob, text string) bool {
	_, unseen := argglob.Unseen(text, "")
	return !unseen && pattern.Match(text)
}

// Granted reports whether a person has allowed calls like this one for its session,
// and by which approval.
func (t *table) Granted(q *Question) (id string, ok bool) {
	c := call{callerOf(q.Caller), q.Session, q.Tool.Server, q.Tool.Name, q.Rule}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for i := range t.grants {
		if g := &t.grants[i]; !g.over(now) && g.covers(&c, q.Arguments) {
			return g.id, true
		}
	}
	return "", false
}

// EndSession ends what was granted to a session of a caller.
func (t *table) EndSession(caller tool.Caller, session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grants = slices.DeleteFunc(t.grants, func(g grant) bool {
		return g.session == session && g.caller == callerOf(caller)
	})
}

// grant remembers one; called with the lock held.
func (t *table) grant(g grant) {
	if t.forget(); len(t.grants) < maxGrants {
		t.grants = append(t.grants, g)
	}
}

// grantOf checks a verdict about an approval, completes it, and returns what it grants
// beyond one call, or nil.
func (p *question) grantOf(a tool.Approval, v *tool.Verdict, now time.Time) (*grant, error) {
	if !v.Approved {
		return nil, nil
	}
	if v.Scope == "" {
		v.Scope = tool.ScopeOnce
	}
	if v.Scope != tool.ScopePattern && len(v.Pattern) > 0 {
		return nil, wrong("A pattern goes with the scope pattern, not with %s.", v.Scope)
	}
	switch v.Scope {
	case tool.ScopeOnce:
		return nil, nil
	case tool.ScopeSession, tool.ScopePattern:
	default:
		return nil, wrong("There is no scope %q; there are once, session and pattern.", v.Scope)
	}
	switch {
	case a.Session == "":
		return nil, wrong("The call belongs to no session, so it can be allowed once only.")
	case p.restored:
		return nil, wrong("The call waits at another gateway, or was asked for before this one started: here it can be allowed once only.")
	}
	g := &grant{
		call: call{p.caller, a.Session, a.Server, a.Tool, a.Rule}, id: a.ID,
		until: now.Add(grantAge), deadline: time.Now().Add(grantAge),
	}
	if v.Scope == tool.ScopeSession {
		return g, nil
	}
	return g, g.narrow(v.Pattern, p.arguments)
}

// narrow holds a grant to a pattern, and all arguments that it does not name to what
// was asked for.
func (g *grant) narrow(pattern, args []byte) error {
	var globs map[string]string
	if json.Unmarshal(pattern, &globs) != nil || len(globs) == 0 {
		return wrong(`The scope pattern needs a pattern, an object of arguments and globs such as {"path": "/tmp/*"}.`)
	}
	members, err := membersOf(args)
	if err != nil {
		return wrong("The arguments of this call can be allowed once only: %v.", err)
	}
	g.patterns = map[string]*argglob.Glob{}
	for _, name := range slices.Sorted(maps.Keys(globs)) {
		value, ok := members[name]
		if !ok {
			return wrong("The call has no argument %q; a pattern allows no more than what was asked for.", clip(name, maxName))
		}
		text, ok := textOf(value)
		if !ok {
			return wrong("The argument %q is an object or a list, which no pattern matches.", clip(name, maxName))
		}
		if r, unseen := argglob.Unseen(text, ""); unseen {
			return wrong("The argument %q holds the character U+%04X, which is not seen or not valid, so it can be allowed once only.", clip(name, maxName), r)
		}
		if g.patterns[name], err = argglob.Compile(globs[name]); err != nil {
			return wrong("The pattern of %q is none: %v.", clip(name, maxName), err)
		}
		if !g.patterns[name].Match(text) {
			return wrong("The pattern of %q does not match the argument that was asked for: * stands for any text without a slash, "+
				"** for any text, ? for one character, and none of them for a path with .. in it.", clip(name, maxName))
		}
		delete(members, name)
	}
	g.fixed = members
	return nil
}

// textOf returns the text that a pattern is held against: a string's own, else what
// stands in the JSON. Objects and lists have none.
func textOf(value json.RawMessage) (string, bool) {
	switch value[0] {
	case '{', '[':
		return "", false
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	}
	return string(value), true
}
