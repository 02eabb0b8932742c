package relay

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// SetLevel sets which logs a legacy client wants, of the server where it is not nil,
// and of all that it has links to, or will have.
func (c *Client) SetLevel(ctx context.Context, s Server, level string, params []byte) (tool.Bytes, error) {
	c.mu.Lock()
	before := c.level
	c.level = level
	c.mu.Unlock()
	if s == nil {
		return tool.OneOf([]byte("{}")), nil
	}
	result, err := c.legacy(ctx, s, Request{Method: "logging/setLevel", Params: params})
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeMethodNotFound && OverModern(ctx, c, s) {
		return tool.OneOf([]byte("{}")), nil // each request says it, in that era
	}
	if err != nil {
		c.mu.Lock()
		c.level = before
		c.mu.Unlock()
	}
	return result, err
}

// OverModern reports whether a legacy client's requests reach the server in the modern era.
func OverModern(ctx context.Context, c *Client, s Server) bool {
	o, err := c.own(ctx, s)
	if errors.Is(err, ErrModernOnly) {
		return true
	}
	if err != nil || o != nil {
		return false
	}
	spoken, err := s.Era(ctx)
	return err == nil && spoken == "modern"
}

// Level passes the level of a session on to a link that it has already.
func (c *Client) Level(ctx context.Context, s Server) {
	c.mu.Lock()
	o, level := c.owns[s.Name()], c.level
	c.mu.Unlock()
	if o == nil || level == "" {
		return
	}
	select {
	case <-o.ready:
		if o.err == nil && o.link != nil {
			o.set(ctx, s, "logging/setLevel", "level", level)
		}
	default: // open does it
	}
}

// Subscribe carries a resources/subscribe or resources/unsubscribe of a legacy client,
// and remembers it for a new link.
func (c *Client) Subscribe(ctx context.Context, s Server, on bool, uri string, params []byte) (tool.Bytes, error) {
	sub := subscription{s.Name(), uri}
	if on && c.subs.full() {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "a session can subscribe to %d resources", maxSubscriptions)
	}
	method := "resources/unsubscribe"
	if on {
		method = "resources/subscribe"
	}
	if OverModern(ctx, c, s) {
		c.subs.note(sub, on)
		return tool.OneOf([]byte("{}")), c.listen(ctx, s)
	}
	result, err := c.legacy(ctx, s, Request{Method: method, Params: params})
	if err == nil {
		c.subs.note(sub, on)
	}
	return result, err
}

// member returns the string that is the member of an object with that key.
func member(obj []byte, key string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(obj, &m) != nil {
		return ""
	}
	s, _ := jsonrpc.String(m[key])
	return s
}
