package relay

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// listen tells a modern server anew which of its resources a legacy session has
// subscribed to, with one stream for all of them.
func (c *Client) listen(ctx context.Context, s Server) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if c.listens == nil {
		c.listens = map[string]context.CancelFunc{}
	}
	if stop := c.listens[s.Name()]; stop != nil {
		stop()
		delete(c.listens, s.Name())
	}
	var uris []string
	for sub := range c.subs {
		if sub.server == s.Name() {
			uris = append(uris, sub.uri)
		}
	}
	if len(uris) == 0 {
		return nil
	}
	slices.Sort(uris)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	untie := context.AfterFunc(c.r.ctx, stop)
	c.listens[s.Name()] = stop
	c.r.tasks.Go(func() {
		defer untie()
		defer stop()
		_ = Listen(run, s, Filter{Resources: uris}, c.meta(), heard(func(method string, params tool.Bytes) {
			if method == "notifications/resources/updated" {
				c.tell(nil, method, params.Join())
			}
		})) // it ends with the session, or with the server
	})
	return nil
}

// A Filter says of what a subscription wants to hear.
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Lists     bool     `json:"resourcesListChanged,omitempty"`
	Resources []string `json:"resourceSubscriptions,omitempty"`
}

// Listen holds a stream of a modern server open until it or ctx ends.
func Listen(ctx context.Context, s Server, f Filter, meta []jsonrpc.Field, h Handler) error {
	params, err := json.Marshal(map[string]any{"notifications": f})
	if err != nil {
		return err
	}
	_, err = s.Send(ctx, &Sending{Method: "subscriptions/listen", Params: params, Meta: meta, Stream: h})
	return err
}

// heard is a Handler of notifications alone.
type heard func(method string, params tool.Bytes)

// Asked implements Handler.
func (heard) Asked(context.Context, string, tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "nobody can be asked here")
}

// Heard implements Handler.
func (h heard) Heard(method string, params tool.Bytes) { h(method, params) }
