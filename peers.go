package tenon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/taint"
	"github.com/tenon-mcp/tenon/tool"
)

// reads reports whether a request of a client gets something from a server that counts
// like a call of a tool: all do but those that look at what there is, and those that
// keep house.
func reads(method string) bool {
	switch method {
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return false
	}
	return !strings.HasSuffix(method, "/list")
}

// carry passes a request on to a server as a call of a tool goes: it counts against the
// limits of its caller, it is in the record under the name of its method, and what it
// gives counts as read.
func (s *Session) carry(ctx context.Context, sees *scoped, as Viewer, m *member, r relay.Request) (tool.Bytes, error) {
	if !reads(r.Method) {
		return s.pass(ctx, m, r)
	}
	req := &call.Request{
		Call: tool.Call{
			Server: m.name, Tool: r.Method, Arguments: r.Params,
			Caller: as.Caller, Session: as.Session, Skill: as.Skill, Mode: as.Mode,
		},
		ID: record.NewID(), Started: time.Now(),
		Target: &tool.Tool{ID: tool.ID{Server: m.name, Name: r.Method}, Meta: tool.Meta{Labels: sees.labels(m)}},
	}
	if reserve := s.g.record.reserve(); reserve != nil {
		place, err := reserve(ctx, cmp.Or(sees.cfg.Gateway.CallTimeout, time.Minute))
		if err != nil {
			return nil, err
		}
		req.Place = place
	}
	taken, over := s.g.quota.Take(quota.Use{
		Caller: as.Caller.Name, Session: as.Session, Names: sees.profile.Limits(), Tool: req.Target.ID,
	})
	var result tool.Bytes
	var err error
	if over != nil {
		err = &tool.Error{Kind: over.Kind(), Text: over.Text()}
	} else {
		req.Attempts = 1
		result, err = s.pass(ctx, m, r)
		result, err = sees.judged(m, req.Target.Meta.Labels, result, err)
	}
	res := &tool.Result{
		ID: req.ID, Server: m.name, Tool: r.Method, Raw: result, Err: err,
		Elapsed: time.Since(req.Started), Attempts: req.Attempts,
	}
	if err != nil {
		res.Kind, res.Message = kindOf(err), tool.Flatten(err)
	}
	taken.Done(int64(result.Len()), res.Elapsed)
	if err == nil && sees.cfg.Policy.Taint != config.TaintOff {
		s.g.taint.Read(taint.Key{Caller: as.Caller.Name, Session: as.Session}, req.Target.Meta.Labels, taint.Source{Tool: req.Target.ID, Call: req.ID})
	}
	sees.keep(req, res)
	return result, err
}

// kindOf returns the kind of what a server, or the way to it, answered a request with.
func kindOf(err error) tool.Kind {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return tool.Failed
	}
	return tool.KindOf(err)
}

// labels returns what the tools of a server do with data, all of them together: its
// resources are likely to do the same.
func (s *scoped) labels(m *member) []tool.Label {
	var out []tool.Label
	tools, _ := s.catalog.Snapshot().Server(m.name)
	for i := range tools {
		for _, l := range tools[i].Meta.Labels {
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// patient is the way back to a client that lets a call wait for as long as its person
// is asked.
type patient struct {
	tool.Peer
	r *call.Request
}

// extendEvery is how often the time of a call starts anew while its person is asked.
const extendEvery = 500 * time.Millisecond

// Ask implements tool.Peer.
func (p patient) Ask(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	var wg sync.WaitGroup
	asked := make(chan struct{})
	defer wg.Wait()
	defer close(asked)
	wg.Go(func() {
		t := time.NewTicker(extendEvery)
		defer t.Stop()
		for {
			p.r.Extend()
			select {
			case <-t.C:
			case <-asked:
				return
			}
		}
	})
	return p.Peer.Ask(ctx, method, params)
}
