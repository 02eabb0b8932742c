package relay

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// listen holds a stream of a modern server open that tells of what is wanted, until it or
// ctx ends.
func listen(ctx context.Context, s Server, wanted map[string]any, meta []jsonrpc.Field, h Handler) error {
	params, err := json.Marshal(map[string]any{"notifications": wanted})
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
