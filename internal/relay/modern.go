package relay

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// versionOnly leaves what a modern client says of itself in its request.
var versionOnly = []jsonrpc.Field{{Key: era.MetaVersion, Value: []byte(`"` + era.ModernFirst + `"`)}}

// A visit is a modern client, which is one request, on its way to a server.
type visit struct{ *Client }

// carry carries the request.
func (c visit) carry(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	st := &state{}
	if c.o.State != "" {
		var err error
		if st, err = c.unseal(s.Name()); err != nil {
			return nil, err
		}
	}
	if st.Parked != "" {
		return c.resume(ctx, st, r)
	}
	spoken, err := s.Era(ctx)
	switch {
	case err != nil:
		return nil, err
	case spoken == era.Modern:
		return c.passOn(ctx, s, r, st)
	case r.Method == "tools/call" && c.o.State == "" && c.knowsTasks():
		if t, ok := s.(tasking); ok {
			return c.beginAtLegacy(ctx, t.Server, r)
		}
	}
	switch {
	case !c.asks && c.o.Level == "":
		return s.Send(ctx, &Sending{Method: r.Method, Params: r.Params, Progress: r.Progress})
	}
	return c.park(ctx, s, r)
}

// passOn sends a modern client's request to a modern server, with the state that the
// server gave it before.
func (c visit) passOn(ctx context.Context, s Server, r Request, st *state) (tool.Bytes, error) {
	params := r.Params
	if c.o.State != "" {
		var err error
		if params, err = jsonrpc.Edit(params, jsonrpc.Field{Key: "requestState", Value: jsonrpc.Quote(nil, st.State)}); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params: %v", err)
		}
	}
	result, err := s.Send(ctx, &Sending{
		Method: r.Method, Params: params, Meta: versionOnly, Progress: r.Progress, Stream: &flight{c: c.Client, peer: r.Peer},
	})
	if err != nil {
		return nil, err
	}
	w, err := wanted(result)
	if w == nil || err != nil {
		return result, err
	}
	for _, in := range w.Inputs {
		if !c.may(in.Method) {
			return nil, c.lacks(in.Method)
		}
	}
	if w.State == nil {
		return result, nil
	}
	sealed := c.r.seal(state{
		Server: s.Name(), Caller: c.o.Caller, Digest: c.o.Digest, State: *w.State, Expires: time.Now().Add(stateLife).Unix(),
		Grant: c.grant(),
	})
	edited, err := jsonrpc.Edit(result.Join(), jsonrpc.Field{Key: "requestState", Value: jsonrpc.Quote(nil, sealed)})
	return tool.OneOf(edited), err
}

// lacks is the error for a client that a server wants something of that it has not
// declared.
func (c visit) lacks(method string) *jsonrpc.Error {
	capability := map[string]string{"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}[method]
	e := jsonrpc.Errorf(jsonrpc.CodeMissingCapability, "the server needs %s, which the client has not declared", capability)
	e.Data = append(jsonrpc.Quote([]byte(`{"requiredCapabilities":{`), capability), ":{}}}"...)
	e.Status = 400
	return e
}
