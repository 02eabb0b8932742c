package tenon

import (
	"cmp"
	"context"
	"slices"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/internal/batch"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// ErrEnding is for front ends: the cause of the context of a call that is cut off because
// the gateway ends. Its caller is told that, and not that the call was given up.
var ErrEnding = call.ErrEnding

// Call carries out one call. It always returns a result, which holds an error
// where the call failed, and never panics. It ends at the latest with its
// deadline, or with ctx.
func (g *Gateway) Call(ctx context.Context, c tool.Call) *tool.Result {
	if c.Caller.Via == "" {
		c.Caller.Via = "go"
	}
	p := g.enter()
	defer p.leave()
	return p.run(ctx, lazyTools{view{g, p}}.unfold(c))
}

// CallBatch carries out many calls and returns a result for each, in their order.
// Neighbours whose tools are concurrency-safe run side by side, as many as
// gateway.max_parallel of the configuration says; every other call runs alone, so
// that [cpu, disk, write, cpu] are cpu beside disk, then write, then cpu. The tool
// that counts is the one that runs, after a correction of its server; one that is
// not known runs alone.
//
// A call that fails touches no other. Calls beyond gateway.max_batch are not run:
// their results are of kind tool.Denied, and have a note, which BatchNotes
// returns. Once ctx has ended, the calls that have not begun are canceled.
func (g *Gateway) CallBatch(ctx context.Context, calls []tool.Call) []*tool.Result {
	calls = slices.Clone(calls)
	p := g.enter()
	defer p.leave()
	for i := range calls {
		calls[i].Caller.Via = cmp.Or(calls[i].Caller.Via, "go")
		calls[i] = lazyTools{view{g, p}}.unfold(calls[i])
	}
	return p.batch(ctx, calls)
}

// BatchNotes returns what the results of a batch say of it as a whole: that calls
// were left out. It is empty where there is nothing to say.
func BatchNotes(results []*tool.Result) []tool.Note {
	var notes []tool.Note
	for _, r := range results {
		for _, n := range r.Notes {
			if n.Stage == batch.Stage && !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// A pipeline is the way of a call, and what limits the calls on it.
type pipeline struct {
	run       func(ctx context.Context, c tool.Call) *tool.Result
	batch     func(ctx context.Context, calls []tool.Call) []*tool.Result
	admission *admission.Admission
	content   *rules.Rules
}

// newPipeline returns the pipeline of these stages.
func newPipeline(a config.Admission, v view, o call.Options) pipeline {
	run := call.New(o)
	side := batch.New(batch.Options{
		Catalog: v, Run: run, Refuse: call.Refuser(o), MaxParallel: a.MaxParallel, MaxCalls: a.MaxBatch,
	})
	return pipeline{run: run, batch: v.together(side, o, a.MaxBatch), admission: o.Admission}
}

// admissionOf returns what keeps the limits of calls: that of the pool before,
// where there is one, for the servers and sessions that both have.
func admissionOf(cfg *config.Config, old *pool) *admission.Admission {
	if old != nil {
		return old.admission
	}
	return admission.New(limits(cfg))
}

// limits returns the limits of calls in all, and those of each server.
func limits(cfg *config.Config) (admission.Limits, func(server string) admission.Limits) {
	a := cfg.Gateway.Admission
	all := admission.Limits{Concurrent: a.MaxConcurrent, Queue: a.MaxQueue, Bytes: a.MaxQueueBytes}
	each := map[string]admission.Limits{}
	for _, s := range cfg.Servers {
		each[s.Name] = admission.Limits{Concurrent: s.MaxConcurrent, Queue: s.MaxQueue}
	}
	return all, func(server string) admission.Limits {
		if l, ok := each[server]; ok {
			return l
		}
		return admission.Limits{Queue: a.MaxQueue} // in this process: what all have in common is enough
	}
}

// send carries a call to its server.
func (v view) send(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
	if r.Target.Server == ownServer && v.own.has(r.Target) {
		return v.sendOwn(ctx, r, params)
	}
	m := v.byName[r.Target.Server]
	if m.delegate != nil {
		return v.delegate(ctx, m.delegate, r, params)
	}
	params = told(v, r, m, params)
	c := upstream.Call{
		Params: params, Name: r.Target.Name, Task: r.Task,
		Key:      upstream.Key{Caller: r.Caller.Name, Session: r.SessionName()},
		Progress: r.ProgressFunc(), Notes: r,
	}
	if m.entry != nil && m.entry.URL != "" {
		c.Header = v.headersFor(r.Target, r.Arguments)
	}
	client, _ := r.Origin.(*relay.Client)
	way, task := relay.Server(hop{m, c}), relay.OnlyTask(r.Target)
	if m.asksModel() && v.sampler != nil {
		way, client = sampled(v, hop{m, c}, r, client)
	}
	if task {
		way = v.relay.AsTask(way)
	}
	if client != nil {
		peer := r.Peer
		if peer != nil {
			peer = patient{peer, r}
		}
		result, err := client.Do(ctx, way, relay.Request{Method: "tools/call", Params: params, Peer: peer, Progress: c.Progress})
		owner := ownerOf(r.Caller)
		v.begun.Began(owner, placeOf(owner, m), result)
		return result, err
	}
	if task {
		return way.Send(ctx, &relay.Sending{Method: "tools/call", Params: params, Progress: c.Progress})
	}
	return m.server.Call(ctx, c)
}

// EndSession ends what servers of isolation session hold for this session of the
// caller. The next call of the same session starts anew.
func (g *Gateway) EndSession(caller tool.Caller, session string) {
	g.approvals.endSession(caller, session)
	for _, m := range g.pool.Load().members {
		if m.server != nil {
			m.server.EndSession(upstream.Key{Caller: caller.Name, Session: session})
		}
	}
}

// view is a pool as the pipeline sees it, whoever calls.
type view struct {
	*Gateway
	*pool
}

func (v view) HasServer(server string) bool {
	return v.byName[server] != nil || server == ownServer
}

func (v view) Await(ctx context.Context, server string) error {
	if m := v.byName[server]; m != nil {
		return m.await(ctx)
	}
	if server == ownServer {
		return nil
	}
	settle(ctx, v.members)
	return context.Cause(ctx)
}

func (v view) Find(id tool.ID) (*tool.Tool, *tool.Decision) {
	if own := v.own.of(id); own != nil {
		return own, nil
	}
	if v.Blacklisted(id) {
		return nil, &tool.Decision{Behavior: tool.Deny, ReasonType: policy.Blacklist}
	}
	if t, ok := v.catalog.Snapshot().Find(id); ok {
		return t, nil
	}
	return listedAs(v, id), nil
}

// listedAs returns the tool that is listed under another name than this one; nil where
// there is none, or where this name is blacklisted.
func listedAs(v view, id tool.ID) *tool.Tool {
	m := v.byName[id.Server]
	if m == nil || m.also[id.Name] == "" || v.Blacklisted(id) {
		return nil
	}
	t, _ := v.catalog.Snapshot().Find(tool.ID{Server: id.Server, Name: m.also[id.Name]})
	return t
}

func (v view) WithName(name string) []*tool.Tool {
	tools := v.catalog.Snapshot().WithName(name)
	for _, m := range v.members {
		id := tool.ID{Server: m.name, Name: name}
		if slices.ContainsFunc(tools, func(t *tool.Tool) bool { return t.Server == m.name }) {
			continue
		}
		if t := listedAs(v, id); t != nil {
			tools = append(tools, t)
		}
	}
	if own := v.own.of(tool.ID{Server: ownServer, Name: name}); own != nil && own != v.own.execute {
		tools = append(tools, own)
	}
	return tools
}

func (v view) Blacklisted(id tool.ID) bool { return v.catalog.Snapshot().Blacklisted(id) }
