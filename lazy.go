package tenon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/tool"
)

// A LazyMode says whether two tools that find and call the others stand in place of the
// list: see docs/lazy.md.
type LazyMode = config.LazyMode

// The modes, each with a shorter list than the one before.
const (
	LazyOff  = config.LazyOff
	LazyAuto = config.LazyAuto // where the list is long for who looks
	LazyOn   = config.LazyOn
)

// LazyModes lists all modes.
func LazyModes() []LazyMode { return []LazyMode{LazyOff, LazyAuto, LazyOn} }

// lazyMode returns the mode for somebody who asks for one. The configuration has the
// last word: nobody gets a longer list than it says.
func (s *scoped) lazyMode(asked LazyMode) (LazyMode, error) {
	own := cmp.Or(s.cfg.Lazy.Mode, LazyOff)
	if asked == "" {
		return own, nil
	}
	i := slices.Index(LazyModes(), asked)
	if i < 0 {
		return "", &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There is no lazy mode %q: it is off, auto or on.", asked)}
	}
	return LazyModes()[max(i, slices.Index(LazyModes(), own))], nil
}

// measure finds out which tools of a look are pinned, and whether it is long.
func (s *scoped) measure(l *look) {
	rules, size := s.cfg.Lazy, 0
	for _, t := range l.tools {
		size += len(t.Server) + len("__") + len(t.Name) + len(t.Description) + len(t.Schema)
		if slices.ContainsFunc(rules.Pinned, func(p tool.ID) bool { return glob.MatchID(p, t.ID) }) {
			l.pinned = append(l.pinned, t)
		}
	}
	l.long = lazy.Tokens(size) > cmp.Or(rules.Threshold, config.DefaultLazyThreshold)
}

// Lazy reports whether two tools stand in place of those that are not pinned.
func (o Offer) Lazy() bool { return o.lazy }

// Direct returns the same offer with all tools.
func (o Offer) Direct() Offer {
	o.lazy = false
	return o
}

// A ListForm keeps whether the list of one session is lazy. The zero value is for a
// session that has not listed tools yet.
type ListForm struct{ decided atomic.Int32 }

// Steady returns the same offer in the form of the session's first one: a client that
// knows the tools does not lose them to an answer in another form because of a server
// that came late. That is so where the length of the list decides; else the
// configuration does.
func (o Offer) Steady(f *ListForm) Offer {
	if o.mode != LazyAuto {
		return o
	}
	const direct, short = 1, 2
	now := int32(direct)
	if o.lazy {
		now = short
	}
	f.decided.CompareAndSwap(0, now)
	o.lazy = f.decided.Load() == short
	return o
}

// ownTools returns the gateway's own tools that are in the list.
func (o Offer) ownTools() []*tool.Tool {
	var out []*tool.Tool
	if o.lazy {
		out = append(out, o.own.search, o.own.execute)
	}
	if canCut(o.snap) {
		out = append(out, o.own.read)
	}
	return out
}

// prepareSearch reads the texts of new tools for the searches to come, off the path of
// calls, where models are to search or somebody has: one list after the other, and what
// is replaced meanwhile is given up.
func (g *Gateway) prepareSearch(ctx context.Context, events <-chan Event) {
	look := func() {
		if p := g.pool.Load(); cmp.Or(p.cfg.Lazy.Mode, LazyOff) != LazyOff || p.catalog.Searched() {
			p.catalog.Prepare(ctx)
		}
	}
	for look(); ; {
		e, ok := <-events
		if !ok {
			return
		}
		if e.Kind == ToolsChanged {
			look()
		}
	}
}

// lazyTools are the tools that stand in place of a long list, in one pool.
type lazyTools struct{ view }

// unfold turns a call that was made with mcp_execute_tool into one of the tool that it
// names, before anything looks at it: so all that holds for that tool holds here. One
// that names none stays as it is, and is answered by refuse.
func (v lazyTools) unfold(c tool.Call) tool.Call {
	if !v.isExecute(tool.ID{Server: c.Server, Name: c.Tool}) {
		return c
	}
	c.Server = ownServer
	w, err := lazy.ParseExecute(c.Arguments)
	if err != nil {
		return c
	}
	id := v.meant(w.Tool)
	if v.isExecute(id) {
		return c
	}
	params := c.Params
	if len(params) > 0 {
		if w.Arguments == nil {
			w.Arguments = []byte("{}")
		}
		params, err = jsonrpc.Edit(params,
			jsonrpc.Field{Key: "name", Value: jsonrpc.Quote(nil, id.Name)}, jsonrpc.Field{Key: "arguments", Value: w.Arguments})
		if err != nil {
			return c
		}
	}
	c.Server, c.Tool, c.Arguments, c.Params = id.Server, id.Name, w.Arguments, params
	c.Caller.Through = lazy.Execute
	return c
}

// isExecute reports whether a name means the gateway's mcp_execute_tool. A server that
// has one of that name keeps it.
func (v lazyTools) isExecute(id tool.ID) bool {
	return id.Name == lazy.Execute && (id.Server == "" || id.Server == ownServer || v.byName[id.Server] == nil)
}

// meant returns the tool that a name means: a flat one, also of a server that has not
// listed its tools yet, server/tool, or one of a tool alone.
func (v lazyTools) meant(name string) tool.ID {
	if id, ok := v.named(name); ok {
		return id
	}
	if server, own, ok := strings.Cut(name, "/"); ok && own != "" && v.HasServer(server) {
		return tool.ID{Server: server, Name: own}
	}
	if server, own, ok := strings.Cut(name, "__"); ok && server != "" && own != "" {
		return tool.ID{Server: server, Name: own}
	}
	return tool.ID{Name: name}
}

// refuse says why a call of mcp_execute_tool could not be turned into another.
func (v lazyTools) refuse(r *call.Request) *tool.Error {
	w, err := lazy.ParseExecute(r.Call.Arguments)
	switch e, ok := errors.AsType[*tool.Error](err); {
	case ok:
		return e
	case v.isExecute(v.meant(w.Tool)):
		return &tool.Error{Kind: tool.Invalid, Text: lazy.Execute + " does not call itself: name the tool that is to run."}
	}
	return &tool.Error{Kind: tool.Invalid, Text: "The arguments of " + lazy.Execute + " do not fit its schema. Send tool_name, and the arguments of that tool as an object in arguments."}
}

// throughNote adds to the notes of a record by which of the gateway's tools the call
// was made. It is nothing that the model has to be told.
func throughNote(r *call.Request, notes []tool.Note) []tool.Note {
	if r.Caller.Through == "" {
		return notes
	}
	return append(slices.Clip(notes), tool.Note{Stage: "lazy", Text: "called by " + r.Caller.Through})
}

// search carries out a call of mcp_search_tools.
func (v lazyTools) search(ctx context.Context, r *call.Request) (tool.Bytes, error) {
	q, err := lazy.ParseSearch(r.Arguments)
	if err != nil {
		return nil, err
	}
	s, ok := r.View.(*scoped)
	if !ok { // it is set by View, which makes no other
		return nil, &tool.Error{Kind: tool.Denied, Text: "Nobody has decided on this caller."}
	}
	if q.Server != "" && v.byName[q.Server] == nil {
		return nil, noServer(v.view, q.Server)
	}
	if err := v.Await(ctx, ""); err != nil {
		return nil, err
	}
	out := jsonrpc.Quote([]byte(`{"content":[{"type":"text","text":`), s.found(q))
	return tool.OneOf(append(out, "}]}"...)), nil
}

// found answers a question, with what these callers see.
func (s *scoped) found(q lazy.Question) string {
	l := s.look()
	if id := (lazyTools{s.view}).meant(q.Query); id.Server != "" {
		t, ok := l.snap.Find(id)
		if ok && !s.hides(t) && (q.Server == "" || q.Server == t.Server) {
			return lazy.Entry{Name: l.snap.AliasOf(t), Tool: t}.Whole()
		}
	}
	tools := l.tools
	if q.Server != "" {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t *tool.Tool) bool { return t.Server != q.Server })
	}
	f := lazy.Found{Question: q, Of: len(tools)}
	switch {
	case q.Query == "" && q.Server == "":
		return lazy.Overview(s.overview(l))
	case q.Query == "":
		tools = tools[:min(len(tools), cmp.Or(q.Limit, lazy.MaxLimit))]
	default:
		var hits []catalog.Hit
		hits, f.Unmatched = l.snap.Seek(q.Query, cmp.Or(q.Limit, lazy.DefaultLimit), func(t *tool.Tool) bool {
			return (q.Server == "" || t.Server == q.Server) && !s.hides(t)
		})
		tools = make([]*tool.Tool, len(hits))
		for i, h := range hits {
			tools[i] = h.Tool
		}
	}
	for _, t := range tools {
		f.Entries = append(f.Entries, lazy.Entry{Name: l.snap.AliasOf(t), Tool: t})
	}
	return f.Text()
}

// overview returns the servers that have tools for these callers, and those that have
// none because something is wrong with them.
func (s *scoped) overview(l *look) []lazy.Server {
	names := map[string][]string{}
	for _, t := range l.tools {
		names[t.Server] = append(names[t.Server], l.snap.AliasOf(t))
	}
	var out []lazy.Server
	for _, m := range s.members {
		server := lazy.Server{Name: m.name, Tools: names[m.name]}
		if len(server.Tools) == 0 {
			st := m.status()
			if server.Trouble = stateError(st); server.Trouble == "" || !s.profile.Reaches(m.name) {
				continue
			}
			server.Trouble = string(st.State) + ": " + server.Trouble
		}
		out = append(out, server)
	}
	return out
}
