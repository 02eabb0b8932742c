package tenon_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

type (
	pageIn struct {
		URL string `json:"url"`
	}
	pageOut struct {
		FinalURL string `json:"final_url,omitempty"`
		Text     string `json:"text"`
	}
	queryIn struct {
		Q string `json:"q"`
	}
	hit struct {
		Link  string `json:"link"`
		Title string `json:"title"`
	}
	hitsOut struct {
		Organic []hit `json:"organic"`
	}
)

// webPool is a pool of tools that reach pages: scrape, which counts what it was
// asked for and follows a redirect from /away, and search.
func webPool(t *testing.T, cfg string) (*tenon.Gateway, *atomic.Int64) {
	t.Helper()
	var fetched atomic.Int64
	o := tenon.Options{Config: write(t, "version: 1\n"+cfg)}
	tenon.AddTool(&o, tenon.Function{Name: "scrape"}, func(_ context.Context, in pageIn) (pageOut, error) {
		fetched.Add(1)
		if strings.HasSuffix(in.URL, "/away") {
			return pageOut{"https://huggingface.co/datasets/x", "a secret page"}, nil
		}
		return pageOut{"", "a page"}, nil
	})
	tenon.AddTool(&o, tenon.Function{Name: "google_search"}, func(context.Context, queryIn) (hitsOut, error) {
		return hitsOut{[]hit{{"https://HuggingFace.co/datasets/x", "answers"}, {"https://huggingface.co/docs", "docs"}}}, nil
	})
	return open(t, o), &fetched
}

// A door is one way to make a call. What comes out is what its user sees.
type door func(t *testing.T, name string, args map[string]any) string

// doors are all ways into a gateway.
func doors(t *testing.T, g *tenon.Gateway) map[string]door {
	t.Helper()
	return map[string]door{
		"Go": func(t *testing.T, name string, args map[string]any) string {
			return shown(t, g.Call(t.Context(), tool.Call{Server: "go", Tool: name, Arguments: raw(t, args)}))
		},
		"Go, as a batch": func(t *testing.T, name string, args map[string]any) string {
			return shown(t, g.CallBatch(t.Context(), []tool.Call{{Server: "go", Tool: name, Arguments: raw(t, args)}}))
		},
		"Go, with a wrong server": func(t *testing.T, name string, args map[string]any) string {
			return shown(t, g.Call(t.Context(), tool.Call{Server: "gone", Tool: name, Arguments: raw(t, args)}))
		},
		"REST": func(t *testing.T, name string, args map[string]any) string {
			return post(t, g, "/api/v1/calls", map[string]any{"server": "go", "tool": name, "arguments": args})
		},
		"REST, as a batch": func(t *testing.T, name string, args map[string]any) string {
			return post(t, g, "/api/v1/calls/batch", map[string]any{"calls": []any{map[string]any{"server": "go", "tool": name, "arguments": args}}})
		},
		"MCP": func(t *testing.T, name string, args map[string]any) string { return overMCP(t, g, name, args) },
	}
}

func raw(t *testing.T, v any) json.RawMessage { return json.RawMessage(shown(t, v)) }

func shown(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func post(t *testing.T, g *tenon.Gateway, path string, body any) string {
	t.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(shown(t, body)))
	req.Header.Set("Content-Type", "application/json")
	rest.New(g, rest.Options{}).ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func overMCP(t *testing.T, g *tenon.Gateway, name string, args map[string]any) string {
	t.Helper()
	s := mcp.New(g, mcp.Options{})
	ts := httptest.NewServer(s)
	defer ts.Close()
	defer s.Close()
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: ts.URL, HTTPClient: hc}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for listed, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(listed.Name, name) {
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: listed.Name, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			return shown(t, res)
		}
	}
	t.Fatalf("%s is not listed", name)
	return ""
}

// TestContentRulesHoldAtEveryDoor: what must not be reached is refused whichever
// way the call comes, nothing is sent, and the refusal is recorded.
func TestContentRulesHoldAtEveryDoor(t *testing.T) {
	g, fetched := webPool(t, "")
	for name, call := range doors(t, g) {
		t.Run(name, func(t *testing.T) {
			fetched.Store(0)
			for _, address := range []string{
				"https://huggingface.co/datasets/x", "HF.co/spaces/x", "https://web.archive.org/web/2020/https://huggingface.co/datasets/x",
			} {
				seen := call(t, "scrape", map[string]any{"url": address})
				if !strings.Contains(seen, "denied") || !strings.Contains(seen, `Rule \"huggingface\" of the operator forbids`) || fetched.Load() != 0 {
					t.Errorf("%s: fetched %d times: %s", address, fetched.Load(), seen)
				}
				if last := g.Calls(1)[0]; last.Kind != tool.Denied || last.Tool != "scrape" {
					t.Errorf("%s: recorded %+v", address, last)
				}
			}
			if seen := call(t, "scrape", map[string]any{"url": "https://huggingface.co/docs"}); !strings.Contains(seen, "a page") || fetched.Load() != 1 {
				t.Errorf("another page: %s", seen)
			}
			seen := call(t, "scrape", map[string]any{"url": "https://example.com/away"})
			if !strings.Contains(seen, "denied") || strings.Contains(seen, "a secret page") || g.Calls(1)[0].Kind != tool.Denied {
				t.Errorf("after a redirect: %s", seen)
			}
			seen = call(t, "google_search", map[string]any{"q": "site:huggingface.co/datasets squad"})
			if strings.Contains(seen, "/datasets/x") || strings.Contains(seen, "answers") || !strings.Contains(seen, "huggingface.co/docs") {
				t.Errorf("links: %s", seen)
			}
			if !strings.Contains(seen, `removed 1 link that rule \"huggingface\" forbids`) {
				t.Errorf("no note of what is missing: %s", seen)
			}
		})
	}
}

func TestContentRulesOfTheConfiguration(t *testing.T) {
	g, _ := webPool(t, `content_rules:
  huggingface: off
  exams: {addresses: [example.com/solutions], refusal: Work it out.}
`)
	call := func(address string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "go", Tool: "scrape", Arguments: raw(t, pageIn{address})})
	}
	if res := call("https://huggingface.co/datasets/x"); res.Kind != "" {
		t.Errorf("switched off: %s", res.Text())
	}
	res := call("https://example.com/solutions/1")
	if want := `Rule "exams" of the operator forbids to reach example.com/solutions/1. Work it out.`; res.Kind != tool.Denied || res.Text() != want {
		t.Errorf("%q %s, want %s", res.Kind, res.Text(), want)
	}
	id := tool.ID{Server: "go", Name: "scrape"}
	if err := g.MayReach(id, "https://example.com/solutions"); tool.KindOf(err) != tool.Denied {
		t.Errorf("a redirect there: %v", err)
	}
	if err := g.MayReach(id, "https://example.com/"); err != nil {
		t.Errorf("a redirect elsewhere: %v", err)
	}

	g, _ = webPool(t, "content_rules: {huggingface: {tools: [other/scrape], search_tools: []}}\n")
	if res := call("https://huggingface.co/datasets/x"); res.Kind != "" {
		t.Errorf("narrowed: %s", res.Text())
	}
	if err := g.MayReach(tool.ID{Server: "other", Name: "scrape"}, "https://huggingface.co/datasets/x"); err == nil {
		t.Error("narrowed to a tool, and not for that either")
	}

	for text, want := range map[string]string{
		"{exams: {addresses: [\"example.com:80\"]}}": "tenon.yaml:2:37: \"example.com:80\" names a port",
		"{hugingface: off}":                          "did you mean \"huggingface\"?",
	} {
		_, err := tenon.Open(t.Context(), tenon.Options{Config: write(t, "version: 1\ncontent_rules: "+text+"\n")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
