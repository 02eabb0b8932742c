package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of a list of tools.
const (
	maxPages  = 1000
	maxTools  = 20_000
	relistFor = 30 * time.Second
)

// list returns all pages of the server's tools, each tool as it came. A server
// that knows no tools/list has none.
func (s *Server) list(ctx context.Context, l *link) ([]json.RawMessage, error) {
	tools := []json.RawMessage{}
	seen := map[string]bool{}
	for cursor := ""; ; {
		var params []byte
		if cursor != "" {
			params = append(wire.Quote([]byte(`{"cursor":`), cursor), '}')
		}
		result, err := l.request(ctx, "tools/list", params, nil)
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Code == wire.CodeMethodNotFound && cursor == "" {
			return tools, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", l.explain(err))
		}
		var page struct {
			Tools []json.RawMessage `json:"tools"`
			Next  string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(result.Join(), &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		tools = append(tools, page.Tools...)
		switch {
		case len(tools) > maxTools:
			return nil, fmt.Errorf("tools/list: more than %d tools", maxTools)
		case page.Next == "":
			return tools, nil
		case seen[page.Next], len(seen) == maxPages:
			s.log.Warn("pages of the tool list never end", "cursor", page.Next)
			return tools, nil
		}
		seen[page.Next] = true
		cursor = page.Next
	}
}

// request sends a request that belongs to no call.
func (l *link) request(ctx context.Context, method string, params []byte, progress func(tool.Bytes)) (tool.Bytes, error) {
	if l.meta != nil {
		var err error
		if params, err = wire.EditMeta(params, l.meta...); err != nil {
			return nil, err
		}
	}
	return l.client.Call(ctx, &wire.Request{Method: method, Params: params, Progress: progress})
}

// relist lists a shared server's tools anew, after it said that they changed.
func (s *Server) relist() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.link == nil {
		return // a start that is under way lists after this
	}
	if s.relisting {
		s.again = true
		return
	}
	s.relisting = true
	s.tasks.Go(func() {
		for more := true; more; more = s.relistAgain() {
			s.relistOnce()
		}
	})
}

func (s *Server) relistAgain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relisting, s.again = s.again && !s.closed, false
	return s.relisting
}

func (s *Server) relistOnce() {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, relistFor)
	defer cancel()
	tools, err := s.list(ctx, l)
	if err != nil {
		s.log.Warn("tools are not listed anew: the list before stays", "error", err)
		return
	}
	s.mu.Lock()
	s.listed = len(tools)
	s.mu.Unlock()
	s.o.Listed(tools)
	s.o.Changed()
}
