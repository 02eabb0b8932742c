package tenon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/internal/taint"
	"github.com/tenon-mcp/tenon/tool"
)

// A Viewer is who looks at the pool: what they may not use is not shown to them.
// The zero value is the local user, as the configuration has them.
type Viewer struct {
	Caller         tool.Caller
	Session, Skill string
	Mode           tool.Mode // a stricter one than their own
	Lazy           LazyMode  // asks for a shorter list than the configuration says
}

func (s Viewer) subject() policy.Subject {
	return policy.Subject{Caller: s.Caller.Name, Session: s.Session, Skill: s.Skill, Mode: s.Mode, Grant: s.Caller.Grant}
}

// An authority is a pool and its policy, as the pipeline sees them.
type authority struct{ view }

// scoped is the pool as callers of one profile see it.
type scoped struct {
	view
	profile *policy.Profile
}

// maxScoped bounds how many views of profiles are kept.
const maxScoped = 10_000

// maxCallersName bounds the name that a caller gives its session, and the one of its task.
const maxCallersName = 255

// checkName refuses a name that a caller gives its session or task and that cannot go
// where it has to: into the environment of a server that is started for it, and into a
// header. The start would fail, and count against the server, for all.
func checkName(what, name string) error {
	problem := ""
	switch {
	case len(name) > maxCallersName:
		problem = fmt.Sprintf("is longer than %d bytes", maxCallersName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		problem = "holds characters that are not printed"
	default:
		return nil
	}
	return &tool.Error{Kind: tool.Invalid, Text: "The name of the " + what + " " + problem + ". Nothing was done. Use a shorter one of letters and digits, such as a UUID."}
}

// as returns the pool as these callers see it. The error is a *tool.Error.
func (v view) as(s policy.Subject) (*scoped, error) {
	if err := checkName("session", s.Session); err != nil {
		return nil, err
	}
	profile, err := v.policy.Profile(s)
	if err != nil {
		return nil, err
	}
	if known, ok := v.views.Load(profile); ok {
		return known.(*scoped), nil //nolint:forcetypeassert // there is nothing else in it
	}
	if v.viewCount.Add(1) > maxScoped {
		v.views.Clear()
		v.viewCount.Store(1)
	}
	made, _ := v.views.LoadOrStore(profile, &scoped{v, profile})
	return made.(*scoped), nil //nolint:forcetypeassert // there is nothing else in it
}

// View implements call.Authority.
func (a authority) View(c *tool.Call) (call.Catalog, error) {
	if err := checkName("task", c.Task); err != nil {
		return nil, err
	}
	return a.as(subjectOf(c))
}

func subjectOf(c *tool.Call) policy.Subject {
	return policy.Subject{
		Caller: c.Caller.Name, Session: cmp.Or(c.Session, c.Task), Skill: c.Skill, Mode: c.Mode, Grant: c.Caller.Grant,
	}
}

// facts returns what holds of a tool now, whoever uses it.
func (v view) facts(t *tool.Tool) policy.Facts {
	return policy.Facts{Blacklisted: v.Blacklisted(t.ID), Stopped: v.stops.Why(t.ID)}
}

// seen decides whether a tool may be seen. The gateway's own tools give nothing that
// their caller has not been given already, or may not see.
func (s *scoped) seen(t *tool.Tool) *tool.Decision {
	if s.own.has(t) {
		return &tool.Decision{Behavior: tool.Allow, ReasonType: policy.OK, Reason: "Allowed."}
	}
	return s.profile.Visible(t, s.facts(t))
}

// Find implements call.Catalog.
func (s *scoped) Find(id tool.ID) (*tool.Tool, *tool.Decision) {
	if own := s.own.of(id); own != nil {
		return own, nil
	}
	t, ok := s.catalog.Snapshot().Find(id)
	if !ok {
		t = listedAs(s.view, id)
	}
	if t == nil {
		if !s.Blacklisted(id) {
			return nil, nil
		}
		t = &tool.Tool{ID: id, Meta: tool.DefaultMeta()}
	}
	if d := s.seen(t); d.Behavior == tool.Deny {
		return nil, d
	}
	return t, nil
}

// WithName implements call.Catalog.
func (s *scoped) WithName(name string) []*tool.Tool {
	return slices.DeleteFunc(s.view.WithName(name), s.hides)
}

// hides reports whether a tool is kept from these callers.
func (s *scoped) hides(t *tool.Tool) bool { return t.Needs != "" || s.denies(t) }

// denies reports whether these callers may not use a tool, whatever their client can
// do.
func (s *scoped) denies(t *tool.Tool) bool { return s.seen(t).Behavior == tool.Deny }

// nearest is how many near names are looked through for those that may be seen.
const nearest = 50

// Near implements call.Catalog.
func (s *scoped) Near(server, name string) ([]string, []tool.ID) {
	snap := s.catalog.Snapshot()
	tools := snap.NearTools(server, name, nearest)
	tools = slices.DeleteFunc(tools, func(id tool.ID) bool {
		t, _ := s.Find(id)
		return t == nil
	})
	return snap.NearServers(server, 3), tools[:min(len(tools), 5)]
}

// Declaration implements call.Catalog.
func (s *scoped) Declaration(server string) string { return declaration(s.o.Bundled, server) }

// Decide implements call.Authority.
func (a authority) Decide(r *call.Request) *tool.Decision {
	s, ok := r.View.(*scoped)
	if !ok { // it is set by View, which makes no other
		return &tool.Decision{Behavior: tool.Deny, ReasonType: policy.SkillList, Reason: "Nobody has decided on this caller."}
	}
	f := a.facts(r.Target)
	if a.own.has(r.Target) {
		if f.Stopped == "" {
			return s.seen(r.Target)
		}
	}
	if behavior, trail := a.tainted(r); behavior != "" {
		f.Taint, f.TaintText = behavior, trail
	}
	return s.profile.Decide(r.Target, r.Arguments, f)
}

// Limits implements call.Authority.
func (a authority) Limits(r *call.Request) (names []string, models bool) {
	if s, ok := r.View.(*scoped); ok {
		names = s.profile.Limits()
	}
	return names, asksModels(a.byName[r.Target.Server], r)
}

// asksModels reports whether models may be asked for a call of a member's tool, as for
// all whose usage is counted.
func asksModels(m *member, r *call.Request) bool {
	switch {
	case m == nil || m.entry == nil:
		return false
	case r.Target.Meta.AsksModels || m.entry.TrustUsage || m.entry.Care.Sampled:
		return true
	}
	return m.entry.Bundled != "" && !r.Target.Meta.Registered // nobody has said that it does not
}

// Approve implements call.Authority.
func (a authority) Approve(ctx context.Context, r *call.Request, d *tool.Decision) *tool.Error {
	if err := a.approve(ctx, r, d); err != nil {
		return err
	}
	return a.stillAllowed(r)
}

// stillAllowed decides anew on a call that has waited: its credential may have been
// revoked, and the configuration may be another one, although the call ends on the
// servers that it began on.
func (a authority) stillAllowed(r *call.Request) *tool.Error {
	if !a.access.Counts(r.Caller.Grant) {
		return &tool.Error{Kind: tool.Denied, Text: "The credential of this caller was revoked, or has expired, while the call waited for approval. It was not made."}
	}
	now := a.Gateway.pool.Load()
	if now == a.pool {
		return nil // the pipeline decides anew by itself
	}
	v := view{a.Gateway, now}
	s, err := v.as(subjectOf(&r.Call))
	if err != nil {
		e, _ := errors.AsType[*tool.Error](err)
		return e
	}
	t, d := s.Find(r.Target.ID)
	if t != nil {
		d = s.profile.Decide(t, r.Arguments, v.facts(t))
	}
	switch {
	case d == nil:
		return &tool.Error{Kind: tool.Unavailable, Text: "The tool " + r.Target.String() + " is not offered any more since the call began to wait for approval. It was not made."}
	case d.Behavior == tool.Deny:
		r.Decision = d
		return &tool.Error{Kind: tool.Denied, Text: d.Reason}
	}
	return nil
}

// Enter implements call.Authority.
func (a authority) Enter(r *call.Request) *tool.Error { return a.stops.Enter(r) }

// Leave implements call.Authority.
func (a authority) Leave(r *call.Request, res *tool.Result) {
	a.stops.Leave(r)
	read := res.Kind == "" || res.Kind == tool.Failed || r.HasProgressed() // which can hold anything
	if a.cfg.Policy.Taint == config.TaintOff || !read {
		return
	}
	key := taintKey(r)
	a.taint.Read(key, r.Target.Meta.Labels, taint.Source{Tool: r.Target.ID, Call: r.ID})
}

func taintKey(r *call.Request) taint.Key {
	return taint.Key{Caller: r.Caller.Name, Session: r.SessionName()}
}

// tainted returns what follows from what the session of a call has read, and why.
func (a authority) tainted(r *call.Request) (tool.Behavior, string) {
	mode := a.cfg.Policy.Taint
	if mode == config.TaintOff {
		return "", ""
	}
	key := taintKey(r)
	for _, h := range r.Opened {
		a.taint.Opened(key, h)
	}
	if !slices.Contains(r.Target.Meta.Labels, tool.LabelEgress) {
		return "", ""
	}
	trail := a.taint.Trail(key)
	if !trail.Complete() {
		return "", ""
	}
	switch mode {
	case config.TaintAsk:
		return tool.Ask, trail.Text()
	case config.TaintBlock:
		return tool.Deny, trail.Text()
	case config.TaintWarn, config.TaintOff:
	}
	text := "this tool can send data away, and " + trail.Text()
	if !slices.ContainsFunc(r.Notes, func(n tool.Note) bool { return n.Stage == policy.Taint }) {
		r.Note(policy.Taint, "%s", text)
	}
	return "", ""
}
