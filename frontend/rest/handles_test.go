package rest_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// long opens a pool whose tool gives back the text that it gets, of which 500
// characters are shown.
func long(t *testing.T) *tenon.Gateway {
	t.Helper()
	gw, err := tenon.Open(t.Context(), tenon.Options{
		Env: []string{"HOME=" + t.TempDir(), "LocalAppData=" + t.TempDir()},
		Bundled: []tenon.Bundled{{Name: "words", Keyless: true, New: func(json.RawMessage, tool.Place) (*mcp.Server, error) {
			s := newServer("words")
			s.AddTool(&mcp.Tool{Name: "say", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					var in struct{ Text string }
					if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
						return nil, err
					}
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil
				})
			return s, nil
		}, Meta: map[string]tool.Meta{"say": {Registered: true, ReadOnly: true, MaxResultChars: 500}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	return gw
}

// said is what matters of a result.
type said struct {
	Result    string
	Error     string
	Truncated bool
	Handle    *tool.Handle
}

func say(t *testing.T, srv *httptest.Server, text string) said {
	t.Helper()
	quoted, _ := json.Marshal(text)
	status, body := do(t, srv, "POST", "/api/v1/calls", `{"server":"words","tool":"say","arguments":{"text":`+string(quoted)+`}}`)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	return decode[said](t, body)
}

func TestTheRestIsBehindTheHandle(t *testing.T) {
	gw := long(t)
	srv := serve(t, gw)
	whole := strings.Repeat("x", 4000) + strings.Repeat("é", 999) + "!"
	res := say(t, srv, whole)
	if !res.Truncated || res.Handle == nil || res.Handle.Size != len(whole) || len(res.Result) > 1200 || !strings.HasPrefix(res.Result, strings.Repeat("x", 500)) {
		t.Fatalf("%+v", res)
	}
	path := "/api/v1/handles/" + res.Handle.ID
	status, body := do(t, srv, "GET", path+"?offset=4000&limit=100", "")
	r := decode[tenon.Reading](t, body)
	if status != 200 || r.Text != strings.Repeat("é", 100) || r.Next == nil || *r.Next != 4100 || r.Chars != 5000 {
		t.Errorf("%d %s", status, body)
	}
	for query, want := range map[string]int{
		"": 200, "?page=2&limit=2500": 200, "?grep=x%2B%C3%A9&context=1": 200, "?grep=nothing": 200,
		"?jq=.": 400, "?grep=(": 400, "?offset=x": 400, "?offset=-1": 400, "?limit=100001": 400, "?offset=9999": 400, "?colour=red": 400,
	} {
		if status, body := do(t, srv, "GET", path+query, ""); status != want {
			t.Errorf("%s gives %d %s", query, status, body)
		}
	}
	if status, body := do(t, srv, "GET", "/api/v1/handles/h_nope", ""); status != 404 || !strings.Contains(string(body), "Make the call again") {
		t.Errorf("%d %s", status, body)
	}
	if _, err := gw.ReadResult(t.Context(), tool.Caller{Name: "somebody else"}, tenon.ReadOptions{ID: res.Handle.ID}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("somebody else reads it: %v", err)
	}
	c := newClient(t, srv.URL)
	got, err := c.ReadResult(t.Context(), tenon.ReadOptions{ID: res.Handle.ID, Grep: "!", Limit: 1000})
	if err != nil || *got.Matches != 1 || !strings.Contains(got.Text, "@4999: ") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.ReadResult(t.Context(), tenon.ReadOptions{ID: "h_nope"}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("the client gives %v", err)
	}
}

func TestJQOverREST(t *testing.T) {
	srv := serve(t, long(t))
	items, _ := json.Marshal(make([]int, 1000))
	res := say(t, srv, `{"items":`+string(items)+`,"n":9007199254740993}`)
	if res.Handle == nil || res.Handle.Kind != "json" {
		t.Fatalf("%+v", res)
	}
	_, body := do(t, srv, "GET", "/api/v1/handles/"+res.Handle.ID+"?jq="+url.QueryEscape(".n, (.items|length)"), "")
	if r := decode[tenon.Reading](t, body); r.Text != "9007199254740993\n1000\n" {
		t.Errorf("%s", body)
	}
}
