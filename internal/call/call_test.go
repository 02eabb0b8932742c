package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// shelf is a catalog of plain values.
type shelf struct {
	tools []tool.Tool
	black tool.ID
}

func (s *shelf) Declaration(name string) string {
	if name == "python" {
		return "It comes with Tenon."
	}
	return ""
}

func (s *shelf) HasServer(name string) bool {
	for _, t := range s.tools {
		if t.Server == name {
			return true
		}
	}
	return false
}
func (s *shelf) Await(context.Context, string) error { return nil }
func (s *shelf) Find(id tool.ID) (*tool.Tool, *tool.Decision) {
	if id == s.black {
		return nil, &tool.Decision{Behavior: tool.Deny, ReasonType: "blacklist", Reason: "It is blacklisted by the operator."}
	}
	for i := range s.tools {
		if s.tools[i].ID == id {
			return &s.tools[i], nil
		}
	}
	return nil, nil
}

func (s *shelf) WithName(name string) (out []*tool.Tool) {
	for i := range s.tools {
		if s.tools[i].Name == name {
			out = append(out, &s.tools[i])
		}
	}
	return out
}
func (s *shelf) Near(string, string) ([]string, []tool.ID) { return nil, nil }

// bench is a pipeline whose server is a function.
type bench struct {
	run      func(context.Context, tool.Call) *tool.Result
	shelf    *shelf
	recorded []*tool.Result
	sent     []string
}

func pipeline(meta tool.Meta, send func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error)) *bench {
	b := &bench{shelf: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: meta}}}}
	n := 0
	b.run = call.New(call.Options{
		Catalog: b.shelf,
		Send: func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
			b.sent = append(b.sent, string(params))
			return send(ctx, r, params)
		},
		Record: func(_ *call.Request, res *tool.Result) { b.recorded = append(b.recorded, res) },
		NewID:  func() string { n++; return fmt.Sprint("id", n) },
	})
	return b
}

func text(s string) tool.Bytes {
	b, _ := json.Marshal(s)
	return tool.OneOf([]byte(`{"content":[{"type":"text","text":` + string(b) + `}],"unknown":1}`))
}

func answer(raw tool.Bytes, err error) func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
	return func(context.Context, *call.Request, []byte) (tool.Bytes, error) { return raw, err }
}

func TestParamsReachTheServerAsTheyCame(t *testing.T) {
	b := pipeline(tool.Meta{}, answer(text("ok"), nil))
	for _, c := range []struct {
		call tool.Call
		want string
	}{
		{tool.Call{Server: "s", Tool: "t", Arguments: []byte(`{"z":9007199254740993,"a":[]}`)}, `{"name":"t","arguments":{"z":9007199254740993,"a":[]}}`},
		{tool.Call{Server: "s", Tool: "t"}, `{"name":"t","arguments":{}}`},
		{tool.Call{Server: "s", Tool: "t", Params: []byte(`{"_meta":{"x":1},"name":"s__t","task":{"ttl":1},"arguments":{"b":1,"a":2}}`)}, `{"_meta":{"x":1},"name":"s__t","task":{"ttl":1},"arguments":{"b":1,"a":2}}`},
	} {
		if res := b.run(t.Context(), c.call); res.Kind != "" {
			t.Fatal(res.Text())
		}
		if got := b.sent[len(b.sent)-1]; got != c.want {
			t.Errorf("sent %s, want %s", got, c.want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	lost := errors.New("the connection was lost")
	for _, c := range []struct {
		name string
		meta tool.Meta
		raw  tool.Bytes
		err  error
		kind tool.Kind
		text string
	}{
		{name: "result", raw: text("fine"), text: "fine"},
		{name: "the tool's own error", raw: tool.OneOf([]byte(`{"isError":true,"content":[{"type":"text","text":"no"}]}`)), kind: tool.Failed, text: "no"},
		{name: "a task", raw: tool.OneOf([]byte(`{"resultType":"task","task":{}}`)), kind: tool.Failed, text: `"task"`},
		{name: "no result at all", raw: tool.OneOf([]byte(`[1]`)), kind: tool.Failed, text: "no result"},
		{name: "empty", raw: tool.OneOf([]byte(`{"content":[]}`)), text: "no content"},
		{name: "refused", err: &jsonrpc.Error{Code: -32602, Message: "bad argument"}, kind: tool.Invalid, text: "bad argument"},
		{name: "protocol error", err: &jsonrpc.Error{Code: -32603, Message: "oops"}, kind: tool.Failed, text: "oops"},
		{name: "too large", err: &jsonrpc.TooLargeError{Limit: 1 << 20}, kind: tool.Failed, text: "1 MiB"},
		{name: "never left", err: &tool.Error{Kind: tool.Unavailable, Text: "server s is unavailable: gone"}, kind: tool.Unavailable, text: "gone."},
		{name: "a write was lost", err: lost, kind: tool.OutcomeUnknown, text: "check that"},
		{name: "a read was lost", meta: tool.Meta{ReadOnly: true}, err: lost, kind: tool.Unavailable, text: "without harm"},
		{name: "an idempotent write was lost", meta: tool.Meta{Idempotent: true}, err: lost, kind: tool.Unavailable, text: "without harm"},
		{name: "joined", err: errors.Join(errors.New("one"), errors.Join(errors.New("two"), errors.New("three\nlines"))), kind: tool.OutcomeUnknown, text: "One | two | three lines."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := pipeline(c.meta, answer(c.raw, c.err))
			res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
			if res.Kind != c.kind || !strings.Contains(res.Text(), c.text) {
				t.Errorf("got %q: %s", res.Kind, res.Text())
			}
			if len(b.recorded) != 1 || b.recorded[0] != res {
				t.Errorf("recorded %d", len(b.recorded))
			}
			js, err := json.Marshal(res)
			var object map[string]any
			if err != nil || json.Unmarshal(js, &object) != nil {
				t.Fatalf("JSON %s: %v", js, err)
			}
			_, hasResult := object["result"]
			_, hasError := object["error"]
			if hasResult == hasError || hasError != (c.kind != "") {
				t.Errorf("not exactly one of result and error: %s", js)
			}
		})
	}
}

func TestPanicIsAnAnswer(t *testing.T) {
	b := pipeline(tool.Meta{}, func(context.Context, *call.Request, []byte) (tool.Bytes, error) { panic("boom") })
	res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
	if res.Kind != tool.Internal || strings.Contains(res.Text(), "boom") {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
}

func TestDeadline(t *testing.T) {
	hang := func(ctx context.Context, _ *call.Request, _ []byte) (tool.Bytes, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	progress := func(every time.Duration) func(ctx context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
		return func(ctx context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
			for {
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(every):
					if f := r.ProgressFunc(); f != nil {
						f(tool.OneOf([]byte(`{"progressToken":1,"progress":1}`)))
					}
				}
			}
		}
	}
	for _, c := range []struct {
		name string
		meta tool.Meta
		call tool.Call
		send func(context.Context, *call.Request, []byte) (tool.Bytes, error)
		want time.Duration
	}{
		{name: "default", send: hang, want: 900 * time.Second},
		{name: "of the caller", call: tool.Call{Timeout: 3 * time.Second}, send: hang, want: 3 * time.Second},
		{name: "of the tool", meta: tool.Meta{Timeout: 30 * time.Second}, send: hang, want: 30 * time.Second},
		{name: "the caller's counts", meta: tool.Meta{Timeout: 30 * time.Second}, call: tool.Call{Timeout: time.Minute}, send: hang, want: time.Minute},
		{name: "progress moves it, up to the cap", send: progress(10 * time.Minute), want: time.Hour},
		{name: "progress that is too slow", meta: tool.Meta{Timeout: 30 * time.Second}, send: progress(31 * time.Second), want: 30 * time.Second},
		{name: "progress does not move the caller's", call: tool.Call{Timeout: 3 * time.Second, Progress: func(json.RawMessage) {}}, send: progress(time.Second), want: 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := pipeline(c.meta, c.send)
				c.call.Server, c.call.Tool = "s", "t"
				began := time.Now()
				res := b.run(t.Context(), c.call)
				if took := time.Since(began); res.Kind != tool.Timeout || took != c.want || res.Elapsed != c.want {
					t.Errorf("%q after %s, want a timeout after %s: %s", res.Kind, took, c.want, res.Text())
				}
			})
		})
	}
}

func TestProgressKeepsTheCallersToken(t *testing.T) {
	send := func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
		r.ProgressFunc()(tool.OneOf([]byte(`{"progressToken":77,"progress":1,"more":[1]}`)))
		return text("ok"), nil
	}
	var got string
	b := pipeline(tool.Meta{}, send)
	b.run(t.Context(), tool.Call{
		Server: "s", Tool: "t", Params: []byte(`{"name":"x","_meta":{"progressToken":"mine"}}`),
		Progress: func(p json.RawMessage) { got = string(p) },
	})
	if want := `{"progressToken":"mine","progress":1,"more":[1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnknownTool: only an error of the server counts, in any of the forms that
// servers use, never ordinary text.
func TestUnknownTool(t *testing.T) {
	isError := func(s string) tool.Bytes {
		b, _ := json.Marshal(s)
		return tool.OneOf([]byte(`{"isError":true,"content":[{"type":"text","text":` + string(b) + `}]}`))
	}
	for _, c := range []struct {
		name  string
		raw   tool.Bytes
		err   error
		moved bool
	}{
		{"specification", nil, &jsonrpc.Error{Code: -32602, Message: "Unknown tool: t"}, true},
		{"Go SDK", nil, &jsonrpc.Error{Code: -32602, Message: `unknown tool "t"`}, true},
		{"FastMCP", isError("Unknown tool: t"), nil, true},
		{"TypeScript SDK", isError("MCP error -32602: Tool t not found"), nil, true},
		{"another code", nil, &jsonrpc.Error{Code: -32603, Message: "Unknown tool: t"}, false},
		{"another tool", isError("Unknown tool: other"), nil, false},
		{"ordinary text", text("Unknown tool: t"), nil, false},
		{"another error", isError("the unknown tooling of t"), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := pipeline(tool.Meta{}, func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
				if r.Target.Server == "other" {
					return text("from the other"), nil
				}
				return c.raw, c.err
			})
			b.shelf.tools = append(b.shelf.tools, tool.Tool{ID: tool.ID{Server: "other", Name: "t"}})
			res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
			if moved := res.Server == "other"; moved != c.moved || moved != (len(res.Notes) == 1) {
				t.Errorf("server %s, notes %v: %s", res.Server, res.Notes, res.Text())
			}
		})
	}
}

func TestCutting(t *testing.T) {
	lines := strings.Repeat("a line of text\n", 100)
	for _, c := range []struct {
		name, content, structured string
		limit                     int
		want                      []string
		not                       string
		truncated                 bool
	}{
		{name: "fits", content: `{"type":"text","text":"short"}`, limit: 100, want: []string{"short"}},
		{name: "runes", content: `{"type":"text","text":"` + strings.Repeat("é", 200) + `"}`, limit: 100, want: []string{strings.Repeat("é", 100), "100 of 200"}, not: strings.Repeat("é", 101), truncated: true},
		{name: "at a line", content: `{"type":"text","text":` + string(quote(lines)) + `}`, limit: 100, want: []string{"text\n\n[cut", "of 1500"}, truncated: true},
		{name: "several blocks", content: `{"type":"text","text":"` + strings.Repeat("a", 80) + `"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"` + strings.Repeat("b", 80) + `","annotations":{"x":1}}`, limit: 100, want: []string{strings.Repeat("a", 80), "[image image/png", strings.Repeat("b", 19)}, not: strings.Repeat("b", 20), truncated: true},
		{name: "no limit", content: `{"type":"text","text":"` + strings.Repeat("x", 100_000) + `"}`, limit: 0, want: []string{strings.Repeat("x", 100_000)}},
		{name: "long structure", content: `{"type":"text","text":"x"}`, structured: `{"k":"` + strings.Repeat("v", 300) + `"}`, limit: 100, want: []string{"x"}, truncated: true},
		{name: "escapes are not counted", content: `{"type":"text","text":"` + strings.Repeat(`\u00e9`, 90) + `"}`, limit: 100, want: []string{strings.Repeat("é", 90)}, not: "cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := `{"content":[` + c.content + `]`
			if c.structured != "" {
				raw += `,"structuredContent":` + c.structured
			}
			raw += `,"unknown":9007199254740993}`
			b := pipeline(tool.Meta{MaxResultChars: c.limit}, answer(tool.OneOf([]byte(raw)), nil))
			res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
			for _, w := range c.want {
				if !strings.Contains(res.Text(), w) {
					t.Errorf("lacks %.60q: %.300q", w, res.Text())
				}
			}
			if c.not != "" && strings.Contains(res.Text(), c.not) {
				t.Errorf("has %.60q", c.not)
			}
			if res.Truncated != c.truncated || (len(res.Notes) > 0) != c.truncated {
				t.Errorf("truncated %v, notes %v", res.Truncated, res.Notes)
			}
			if !strings.Contains(string(res.Raw.Join()), `"unknown":9007199254740993`) {
				t.Error("an unknown field is lost")
			}
		})
	}
}

func quote(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}

func BenchmarkPipeline(b *testing.B) {
	raw := text(strings.Repeat("x", 32))
	p := pipeline(tool.Meta{}, answer(raw, nil))
	params := []byte(`{"name":"s__t","arguments":{"text":"` + strings.Repeat("x", 32) + `"}}`)
	b.ReportAllocs()
	for b.Loop() {
		p.sent, p.recorded = p.sent[:0], p.recorded[:0]
		p.run(b.Context(), tool.Call{Server: "s", Tool: "t", Params: params})
	}
}
