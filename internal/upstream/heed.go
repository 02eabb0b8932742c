package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
)

// Delays before a stream of notifications is opened again.
const (
	firstHeed   = time.Second
	longestHeed = time.Minute
)

// heeds returns the params of subscriptions/listen for all lists that a modern server
// says it tells of, or nil where that is none.
func (l *link) heeds() []byte {
	type list struct {
		Changed bool `json:"listChanged"`
	}
	var c struct {
		Tools     list `json:"tools"`
		Prompts   list `json:"prompts"`
		Resources list `json:"resources"`
	}
	if l.era != era.Modern || json.Unmarshal(l.capabilities, &c) != nil {
		return nil
	}
	filter := map[string]bool{}
	for key, on := range map[string]bool{
		"toolsListChanged": c.Tools.Changed, "promptsListChanged": c.Prompts.Changed, "resourcesListChanged": c.Resources.Changed,
	} {
		if on {
			filter[key] = true
		}
	}
	if len(filter) == 0 {
		return nil
	}
	params, err := json.Marshal(map[string]any{"notifications": filter})
	if err != nil {
		return nil
	}
	return params
}

// heed holds a stream open on which a modern server tells that its lists have changed,
// until the link ends, or the server says that it has no such thing. What changed while
// there was no stream is found out by a new list.
func (l *link) heed(ctx context.Context, params []byte) {
	wait := firstHeed
	for first := true; ; first = false {
		if !first {
			l.from.changed()
			l.from.o.Noticed("notifications/prompts/list_changed")
			l.from.o.Noticed("notifications/resources/list_changed")
		}
		began := time.Now()
		_, err := l.client.Call(ctx, &wire.Request{Method: "subscriptions/listen", Params: params, Meta: l.meta})
		if _, refused := errors.AsType[*jsonrpc.Error](err); refused || ctx.Err() != nil || l.ended() {
			return
		}
		if time.Since(began) > longestHeed {
			wait = firstHeed
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-l.client.Done():
		case <-ctx.Done():
		}
		t.Stop()
		wait = min(2*wait, longestHeed)
	}
}
