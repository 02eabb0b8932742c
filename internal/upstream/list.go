package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of a list of tools.
const (
	maxPages  = 1000
	maxTools  = 20_000
	relistFor = 30 * time.Second
)

// unbounded are the hints of a list that holds nothing which could change.
var unbounded = era.Hints{TTL: math.MaxInt64, Public: true}

// ListHints returns how long the tools that a server listed last may be kept, and whether
// anybody may see them. Those of ours never change.
func ListHints(s *Server) era.Hints {
	if s.o.Tools != nil {
		return unbounded
	}
	if h := s.dialer.hints.Load(); h != nil {
		return *h
	}
	return era.Hints{}
}

// list returns all pages of the server's tools, each tool as it came. A server
// that knows no tools/list has none.
func (l *link) list(ctx context.Context) ([]json.RawMessage, error) {
	tools := []json.RawMessage{}
	hints := unbounded
	defer func() { l.from.hints.Store(&hints) }()
	seen := map[string]bool{}
	for cursor := ""; ; {
		var params []byte
		if cursor != "" {
			params = append(jsonrpc.Quote([]byte(`{"cursor":`), cursor), '}')
		}
		result, err := l.request(ctx, "tools/list", params, nil)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeMethodNotFound && cursor == "" {
			return tools, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", l.explain(ctx, err))
		}
		page, next, err := jsonrpc.ReadPage(result, "tools")
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		tools = append(tools, page...)
		hints = hints.And(era.HintsOf(result))
		switch {
		case len(tools) > maxTools:
			return nil, fmt.Errorf("tools/list: more than %d tools", maxTools)
		case next == "":
			return tools, nil
		case seen[next], len(seen) == maxPages:
			return tools, nil // pages that never end
		}
		seen[next] = true
		cursor = next
	}
}

// request sends a request that belongs to no call.
func (l *link) request(ctx context.Context, method string, params []byte, progress func(tool.Bytes)) (tool.Bytes, error) {
	return l.client.Call(ctx, &wire.Request{Method: method, Params: params, Meta: l.meta, Progress: progress})
}

// again runs something in the background each time it is asked to, one run at a
// time. Who asks during a run gets one more.
type again struct {
	tasks *sync.WaitGroup
	run   func()

	mu      sync.Mutex
	running bool
	more    bool
	stopped bool
}

func (a *again) ask() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
	case a.running:
		a.more = true
	default:
		a.running = true
		a.tasks.Go(a.loop)
	}
}

func (a *again) loop() {
	for {
		a.run()
		a.mu.Lock()
		if !a.more || a.stopped {
			a.running = false
			a.mu.Unlock()
			return
		}
		a.more = false
		a.mu.Unlock()
	}
}

func (a *again) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
}

// relistOnce lists a shared server's tools anew, after it said that they changed.
func (s *Server) relistOnce() {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil {
		return // a start that is under way lists after this
	}
	ctx, cancel := context.WithTimeout(s.ctx, relistFor)
	defer cancel()
	tools, err := l.list(ctx)
	if err != nil {
		s.log.Warn("tools are not listed anew: the list before stays", "error", err)
		return
	}
	s.mu.Lock()
	s.status.listed = len(tools)
	s.mu.Unlock()
	s.o.Listed(tools)
	s.o.Changed()
}
