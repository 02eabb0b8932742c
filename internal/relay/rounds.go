package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of what a modern server may want of a legacy client for one request.
const (
	maxRounds = 10
	maxInputs = 32 // in one round
)

// An input is one request within a result that wants input.
type input struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// wants are the members of a result that wants input.
type wants struct {
	Type   string           `json:"resultType"`
	Inputs map[string]input `json:"inputRequests"`
	State  *string          `json:"requestState"`
}

var typeKey = []string{"resultType"}

// wanted returns what a result wants, or nil where it is the end.
func wanted(result tool.Bytes) (*wants, error) {
	var span [1]jsonrpc.Span
	if jsonrpc.Members(result, typeKey, span[:]) != nil || !span[0].Found() {
		return nil, nil
	}
	if kind, _ := jsonrpc.String(span[0].In(result).Join()); kind != "input_required" {
		return nil, nil
	}
	w := &wants{}
	if err := json.Unmarshal(result.Join(), w); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the server wants input, and it cannot be read which: %v", err)
	}
	if len(w.Inputs) > maxInputs {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the server wants %d inputs at once; at most %d are carried on", len(w.Inputs), maxInputs)
	}
	return w, nil
}

// meta is what a modern server is told of a legacy client with each request.
func (c *Client) meta() []jsonrpc.Field {
	fields := []jsonrpc.Field{{Key: era.MetaVersion, Value: []byte(`"` + era.ModernFirst + `"`)}}
	info, capabilities := c.o.ClientInfo, c.o.Capabilities
	if len(info) == 0 {
		info = []byte(`{"name":"tenon","version":"0"}`)
	}
	if len(capabilities) == 0 {
		capabilities = []byte("{}")
	}
	fields = append(fields, jsonrpc.Field{Key: era.MetaClientInfo, Value: info}, jsonrpc.Field{Key: era.MetaCapabilities, Value: capabilities})
	c.mu.Lock()
	level := c.level
	c.mu.Unlock()
	if level != "" {
		fields = append(fields, jsonrpc.Field{Key: era.MetaLogLevel, Value: jsonrpc.Quote(nil, level)})
	}
	return fields
}

// sendModern sends a legacy client's request to a modern server.
func sendModern(ctx context.Context, c *Client, s Server, r Request) (tool.Bytes, error) {
	if r.Method == "tools/call" && IsOfTask("", r.Params) {
		return beginAtModern(ctx, c, s, r)
	}
	return c.rounds(ctx, s, r, c.meta())
}

// rounds sends a legacy client's request to a modern server, which is told meta of it, and
// asks the client for the input that the server wants, until there is none.
func (c *Client) rounds(ctx context.Context, s Server, r Request, meta []jsonrpc.Field) (tool.Bytes, error) {
	send := &Sending{
		Method: r.Method, Params: r.Params, Meta: meta, Progress: r.Progress, Stream: &flight{c: c, peer: r.Peer},
	}
	for range maxRounds {
		result, err := s.Send(ctx, send)
		if err != nil {
			return nil, toLegacy(r.Method, err)
		}
		w, err := wanted(result)
		if w == nil || err != nil {
			return result, err
		}
		answers, err := answer(ctx, c, r.Peer, w.Inputs)
		if err != nil {
			return nil, err
		}
		fields := []jsonrpc.Field{}
		if len(answers) > 0 {
			said, err := json.Marshal(answers)
			if err != nil {
				return nil, fmt.Errorf("answers of the client: %w", err)
			}
			fields = append(fields, jsonrpc.Field{Key: "inputResponses", Value: said})
		}
		if w.State != nil {
			fields = append(fields, jsonrpc.Field{Key: "requestState", Value: jsonrpc.Quote(nil, *w.State)})
		}
		next := *send
		if next.Params, err = jsonrpc.Edit(r.Params, fields...); err != nil {
			return nil, err
		}
		send = &next
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s wanted input more than %d times for one request", s.Name(), maxRounds)
}

// answer has a legacy client asked for all inputs side by side.
func answer(ctx context.Context, c *Client, peer tool.Peer, inputs map[string]input) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var first *jsonrpc.Error
	out := map[string]json.RawMessage{}
	for name, in := range inputs {
		wg.Go(func() {
			result, e := c.ask(ctx, peer, in.Method, in.Params)
			mu.Lock()
			defer mu.Unlock()
			if e == nil {
				out[name] = result.Join()
				return
			}
			if first == nil {
				first = e
			}
			cancel() // the others are of no use any more
		})
	}
	wg.Wait()
	if first != nil {
		return nil, first
	}
	return out, nil
}
