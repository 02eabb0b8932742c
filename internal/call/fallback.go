package call

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/mapping"
	"github.com/tenon-mcp/tenon/tool"
)

// A Fallback is tools that stand in for others, in the order in which they are
// tried. It is for the tools that Match names; or a group of equals, that has a
// name to call.
type Fallback struct {
	Group   string
	Match   func(id tool.ID) bool // nil in a group
	Members []Member

	pages bool // the built-in one
}

// A Member is one tool of a Fallback.
type Member struct {
	Tool tool.ID // without a Name: the server's tool of the name that was called
	// Arguments makes those that it gets; nil leaves those of the call.
	Arguments *mapping.Template
	On        []tool.Kind // the failures that it stands in for; nil is the default

	own     bool   // the tool that was called
	fetch   bool   // no tool at all: the page is fetched here
	limited string // why it is tried last
}

// fallback tries other tools where one fails, if there are some for it. It is
// outside resolve and authorize, so that each is resolved and allowed like any
// other. A call without fallbacks passes untouched.
//
// Nothing stands in where a write may have happened.
func fallback(o *Options, next Handler) Handler {
	f := &fallbacks{o: o, next: next, groups: append(slices.Clip(o.Fallbacks), pages), uri: uriOfURL()}
	return func(ctx context.Context, r *Request) *tool.Result {
		g := f.groupOf(r)
		if g == nil {
			return next(ctx, r)
		}
		members := f.members(g, r)
		if len(members) < 2 && (g.Group == "" || r.Server != "") {
			return next(ctx, r)
		}
		t := &trial{fallbacks: f, group: g, asked: *r, members: members}
		return t.run(ctx, r)
	}
}

// fallbacks is the stage.
type fallbacks struct {
	o      *Options
	next   Handler
	groups []Fallback
	uri    *mapping.Template // of the tool that converts pages
	quotas quotas
}

// groupOf returns the fallbacks of a call, or nil.
func (f *fallbacks) groupOf(r *Request) *Fallback {
	id := tool.ID{Server: r.Server, Name: r.Tool}
	for i := range f.groups {
		g := &f.groups[i]
		switch {
		case g.Group == "":
			if g.Match(id) {
				return g
			}
		case r.Server == "" && r.Tool == g.Group:
			return g
		case slices.ContainsFunc(g.Members, func(m Member) bool { return m.Arguments == nil && g.tool(m, r) == id }):
			return g
		}
	}
	return nil
}

// tool returns the tool that a member is for a call.
func (g *Fallback) tool(m Member, r *Request) tool.ID {
	id := m.Tool
	if id.Name == "" {
		id.Name = g.Group
	}
	if id.Name == "" {
		id.Name = r.Tool
	}
	return id
}

// members returns what there is to try, the tool that was called first, then the
// others. What said lately that it is used up comes last.
func (f *fallbacks) members(g *Fallback, r *Request) []Member {
	called := tool.ID{Server: r.Server, Name: r.Tool}
	var out, last []Member
	if g.Group == "" || r.Server != "" {
		out = append(out, Member{Tool: called, own: true})
	}
	list := g.Members
	if g.pages {
		list = f.readers(r)
	}
	for _, m := range list {
		m.Tool = g.tool(m, r)
		if m.Tool == called {
			continue
		}
		if m.limited = f.quotas.limited(m.Tool.Server); m.limited != "" {
			last = append(last, m)
			continue
		}
		out = append(out, m)
	}
	out = append(out, last...)
	if r.IdempotencyKey == "" {
		return out
	}
	// Where another tool has answered this call before, it answers again: the one
	// that could not be had then has done nothing, and must not do it now.
	for i, m := range out {
		if f.o.Ledger.Has(keyOf(r, m.Tool)) {
			return append([]Member{m}, slices.Delete(out, i, i+1)...)
		}
	}
	return out
}

// A trial is one call that has fallbacks, while its tools are tried.
type trial struct {
	*fallbacks

	group   *Fallback
	asked   Request // before anything was tried
	members []Member
	tried   []tool.ID

	cause tool.Kind    // why others are tried
	first *tool.Result // the first failure: the answer where all fail
	as    Request      // what was tried for it
	why   []string     // of each that did not answer
}

func (t *trial) run(ctx context.Context, r *Request) *tool.Result {
	attempts := r.Attempts
	for i, m := range t.members {
		if ctx.Err() != nil {
			break
		}
		if why := t.passOver(m); why != "" {
			t.skip(m, why)
			continue
		}
		if t.cause != "" && !t.standsIn(m) {
			continue
		}
		sub := t.asked
		sub.Attempts = attempts
		res := t.attempt(ctx, &sub, m, len(t.members)-i)
		sent := sub.Attempts - attempts
		attempts = sub.Attempts
		t.tried = append(t.tried, m.Tool)
		if sub.Target != nil {
			t.tried = append(t.tried, sub.Target.ID) // the name may have been put right
		}
		if res.Kind == "" {
			return t.adopt(r, &sub, res, m)
		}
		t.quotas.learn(&sub, res)
		if !t.goesOn(&sub, res, sent, m) {
			return t.adopt(r, &sub, res, m)
		}
		t.failed(&sub, res, m)
	}
	return t.giveUp(r, attempts)
}

// passOver says why a member is not to be tried, or "".
func (t *trial) passOver(m Member) string {
	switch {
	case m.own || m.fetch:
		return ""
	case slices.Contains(t.tried, m.Tool):
		return "it was tried"
	case t.refused(m.Tool):
		return "it is not allowed"
	case !t.asked.View.HasServer(m.Tool.Server):
		return "there is no server " + m.Tool.Server
	}
	h := t.o.health(m.Tool.Server)
	if !h.Down {
		return ""
	}
	why := "its server is down"
	if h.Reason != "" {
		why += " (" + brief(h.Reason) + ")"
	}
	return why
}

func (t *trial) refused(id tool.ID) bool {
	_, d := t.asked.View.Find(id)
	return d != nil
}

// skip notes a member that is passed over.
func (t *trial) skip(m Member, why string) {
	t.why = append(t.why, fmt.Sprintf("%s was passed over: %s", m.Tool, why))
	if t.cause == "" {
		t.cause = tool.Unavailable
	}
}

// usual are the failures that others stand in for where nothing is said.
var usual = []tool.Kind{tool.Unavailable, tool.Timeout, tool.Failed}

// standsIn reports whether a member is for the failure that there was.
func (t *trial) standsIn(m Member) bool {
	if m.On == nil {
		return slices.Contains(usual, t.cause)
	}
	return slices.Contains(m.On, t.cause)
}

// attempt tries one of the members that are left.
func (t *trial) attempt(ctx context.Context, r *Request, m Member, left int) *tool.Result {
	if left > 1 && t.mayShare(m) {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ctx = inner
		r.clock = r.clock.part(r.clock.left()/time.Duration(left), cancel)
		defer r.clock.timer.Stop()
	}
	r.spare = left > 1
	if m.fetch {
		return t.fetch(ctx, r)
	}
	if !m.own {
		if res := m.take(r); res != nil {
			return res
		}
	}
	return t.next(ctx, r)
}

// mayShare reports whether a member gets its share of the time, and not all of it:
// another one can follow when it is over, which is never so with a write.
func (t *trial) mayShare(m Member) bool {
	if m.fetch {
		return true
	}
	known, _ := t.asked.View.Find(m.Tool)
	return known != nil && t.group.reads(known)
}

// take makes r the call of a member.
func (m *Member) take(r *Request) *tool.Result {
	r.Server, r.Tool, r.Target = m.Tool.Server, m.Tool.Name, nil
	if m.Arguments == nil {
		return nil
	}
	args, err := m.Arguments.Fill(r.Arguments)
	if err != nil {
		return r.fail(tool.Invalid, "The arguments of %s are not valid: %v. Send a JSON object.", r.Tool, err)
	}
	r.Arguments = args
	if len(r.Params) > 0 {
		if r.Params, err = jsonrpc.Edit(r.Params, jsonrpc.Field{Key: "arguments", Value: args}); err != nil {
			return r.fail(tool.Invalid, "The params of the call are not valid: %v.", err)
		}
	}
	return nil
}

// reads reports whether a tool changes nothing. Of a tool that scrapes pages that
// is known, unless somebody declared otherwise.
func (g *Fallback) reads(t *tool.Tool) bool {
	return t.Meta.ReadOnly || g.pages && !t.Meta.Registered
}

// goesOn reports whether the next member may be tried after a failure.
func (t *trial) goesOn(r *Request, res *tool.Result, sent int, m Member) bool {
	first := t.cause == ""
	switch res.Kind {
	case tool.NotFound:
		// A name that the caller got wrong is theirs to put right.
		return !first || !m.own || slices.ContainsFunc(t.members, func(m Member) bool { return slices.Contains(m.On, tool.NotFound) })
	case tool.Denied, tool.Invalid:
		return !first // of a substitute: it has done nothing
	case tool.Unavailable, tool.Timeout, tool.Failed, tool.OutcomeUnknown, tool.Internal:
	case tool.Canceled:
		return false
	}
	if res.Kind == tool.Internal && first {
		return false
	}
	return sent == 0 || r.Target == nil || t.group.reads(r.Target) || sent == 1 && neverRan(res)
}

// neverRan reports whether a call that is unavailable provably has not run.
func neverRan(res *tool.Result) bool {
	if res.Kind != tool.Unavailable {
		return false
	}
	if e, ok := errors.AsType[answeredHTTP](res.Err); ok {
		return e.HTTPStatus() == http.StatusTooManyRequests
	}
	_, ok := errors.AsType[*tool.Error](res.Err)
	return ok
}

// failed notes a member that failed.
func (t *trial) failed(r *Request, res *tool.Result, m Member) {
	t.why = append(t.why, fmt.Sprintf("%s failed (%s): %s", m.name(), res.Kind, brief(res.Text())))
	if t.first != nil {
		return
	}
	t.first, t.as = res, *r
	t.cause = res.Kind
	switch {
	case res.Kind == tool.OutcomeUnknown: // of a tool that only reads: it was lost on the way
		t.cause = tool.Unavailable
	case res.Kind == tool.NotFound && !m.own:
		t.cause = tool.Unavailable // the group names what is not there
	}
}

func (m *Member) name() string {
	if m.fetch {
		return "the direct fetch"
	}
	if m.Tool.Server == "" {
		return m.Tool.Name
	}
	return m.Tool.String()
}

// adopt makes what was tried the call itself.
func (t *trial) adopt(r, sub *Request, res *tool.Result, m Member) *tool.Result {
	sub.clock, sub.spare = r.clock, false
	*r = *sub
	switch {
	case res.Kind != "":
		if len(t.why) > 0 {
			r.Note("fallback", "%s", strings.Join(t.why, "; "))
		}
	case !m.own && len(t.why) > 0:
		r.Note("fallback", "answered by %s, because %s", m.name(), strings.Join(t.why, "; "))
	case !m.own && m.limited != "":
		r.Note("fallback", "answered by %s, which %s", m.name(), m.limited)
	}
	return res
}

// giveUp returns the first failure, with what became of the others.
func (t *trial) giveUp(r *Request, attempts int) *tool.Result {
	if t.first == nil {
		r.Note("fallback", "%s", strings.Join(t.why, "; "))
		return r.fail(tool.Unavailable, "No tool of the group %s can be had now: %s. Use another tool, or try again later.", t.group.Group, strings.Join(t.why, "; "))
	}
	t.as.clock, t.as.spare, t.as.Attempts = r.clock, false, attempts
	*r = t.as
	t.first.Attempts = attempts
	if len(t.why) > 1 {
		r.Note("fallback", "no other tool answered: %s", strings.Join(t.why[1:], "; "))
	}
	return t.first
}
