package tenon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// mirrors is a server whose tools give back their arguments as they came.
func mirrors(json.RawMessage, tool.Place) (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "mirrors", Version: "1"}, nil)
	yes := true
	for name, hints := range map[string]*mcp.ToolAnnotations{"plain": nil, "declared": nil, "hinted": {DestructiveHint: &yes}} {
		s.AddTool(&mcp.Tool{Name: name, Annotations: hints, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":10},"unit":{"enum":["km","mi"]}},"required":["limit"]}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
			})
	}
	s.AddTool(&mcp.Tool{Name: "odd", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"None"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return s, nil
}

// TestArgumentsAreMended: what leaves one reading is mended and said in the
// notes; the rest is refused with its path, and what is right is left alone.
func TestArgumentsAreMended(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, `version: 1
servers: {mirrors: {bundled: mirrors, in_process: true}}
policy: {block_high_risk: false}
`), Bundled: []tenon.Bundled{{
		Name: "mirrors", New: mirrors,
		Meta: map[string]tool.Meta{"declared": {Registered: true, Destructive: true}},
	}}})
	for _, c := range []struct {
		name, tool, args string
		kind             tool.Kind
		text             []string
		note             string
	}{
		{name: "right", tool: "plain", args: `{ "limit" : 5.0, "z":1, "unit":"km"}`, text: []string{`{ "limit" : 5.0, "z":1, "unit":"km"}`}},
		{name: "text for a number", tool: "plain", args: `{ "z":1.50, "limit":"5"}`, text: []string{`{ "z":1.50, "limit":5}`}, note: `/limit: the text "5" was read as the number 5`},
		{name: "all as text", tool: "plain", args: `"{\"limit\":\"5\",\"unit\":\"KM\"}"`, text: []string{`{"limit":5,"unit":"km"}`}, note: "/unit"},
		{name: "a word", tool: "plain", args: `{"limit":"five"}`, kind: tool.Invalid, text: []string{"The arguments of plain are not valid", `/limit: expected an integer from 1 to 10; got the string "five"`, `"maximum":10`, `{"limit": 1}`}},
		{name: "nothing", tool: "plain", kind: tool.Invalid, text: []string{"/limit: is missing; expected an integer from 1 to 10"}},
		{name: "no JSON", tool: "plain", args: `{"limit":`, kind: tool.Invalid},
		{name: "destructive by declaration", tool: "declared", args: `{"limit":"5"}`, kind: tool.Invalid, text: []string{"/limit"}},
		{name: "destructive by the server's hint", tool: "hinted", args: `{"limit":"5"}`, kind: tool.Invalid, text: []string{"/limit"}},
		{name: "destructive and right", tool: "declared", args: `{"limit":5}`, text: []string{`{"limit":5}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := g.Call(t.Context(), tool.Call{Server: "mirrors", Tool: c.tool, Arguments: json.RawMessage(c.args)})
			if res.Kind != c.kind {
				t.Errorf("kind %q: %s", res.Kind, res.Text())
			}
			for _, want := range c.text {
				if !strings.Contains(res.Text(), want) {
					t.Errorf("lacks %s:\n%s", want, res.Text())
				}
			}
			var notes string
			for _, n := range res.Notes {
				notes += n.Stage + ": " + n.Text + "\n"
			}
			if !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") || c.note != "" && !strings.Contains(notes, "repair: ") {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// TestArgumentsOfGoFunctions: a Go function's type is its schema, and the text of
// the gateway comes before that of whoever carries it out.
func TestArgumentsOfGoFunctions(t *testing.T) {
	t.Parallel()
	var o tenon.Options
	tenon.AddTool(&o, tenon.Function{Name: "double"}, func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (map[string]int, error) {
		return map[string]int{"n": 2 * in.N}, nil
	})
	g := open(t, o)
	if res := g.Call(t.Context(), tool.Call{Tool: "double", Server: "go", Arguments: []byte(`{"N":"5"}`)}); res.Text() != `{"n":10}` || len(res.Notes) != 2 {
		t.Errorf("%s, notes %v", res.Text(), res.Notes)
	}
	res := g.Call(t.Context(), tool.Call{Tool: "double", Server: "go", Arguments: []byte(`{"m":5}`)})
	if res.Kind != tool.Invalid || !strings.Contains(res.Text(), "/n: is missing") || !strings.Contains(res.Text(), "/m: is not known here") {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
}

// TestOddSchemasLetCallsThrough: what cannot be understood is said once in the
// log, and hinders no call.
func TestOddSchemasLetCallsThrough(t *testing.T) {
	var log lockedBuffer
	g := open(t, tenon.Options{
		Bundled: []tenon.Bundled{{Name: "mirrors", Keyless: true, New: mirrors}},
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	for range 3 {
		if res := g.Call(t.Context(), tool.Call{Server: "mirrors", Tool: "odd", Arguments: []byte(`{"a":[1]}`)}); res.Text() != `{"a":[1]}` {
			t.Fatalf("%q: %s", res.Kind, res.Text())
		}
	}
	if n := bytes.Count([]byte(log.String()), []byte("arguments are not checked")); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}
