package tenon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// thinker is a server whose tool says that models took what its argument says.
func thinker() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "thinker", Version: "1"}, nil)
	type in struct {
		Usage map[string]any `json:"usage"`
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "think"}, func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{tool.UsageKey: i.Usage}, Content: []mcp.Content{&mcp.TextContent{Text: "thought"}},
		}, nil, nil
	})
	return srv
}

func thinks(json.RawMessage, tool.Place) (*mcp.Server, error) { return thinker(), nil }

func thinkers(t *testing.T, limits string) *tenon.Gateway {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return thinker() }, nil))
	t.Cleanup(web.Close)
	return open(t, tenon.Options{
		Config: write(t, "version: 1\nservers:\n  ours: {bundled: thinker}\n  stranger: {url: "+web.URL+"}\n  friend: {url: "+web.URL+", trust_usage: true}\n"+
			"  deputy: {agent: {tool: ours/think, argument: x}}\npolicy: {limits: ["+limits+"]}\n"),
		Bundled: []tenon.Bundled{{
			Name: "thinker", New: func(json.RawMessage, tool.Place) (*mcp.Server, error) { return thinker(), nil },
			Meta: map[string]tool.Meta{"think": {Registered: true, ReadOnly: true, AsksModels: true}},
		}},
	})
}

func think(t *testing.T, g *tenon.Gateway, server, usage string, c tool.Call) (*tool.Result, *tool.Usage) {
	t.Helper()
	c.Server, c.Tool, c.Arguments = server, "think", json.RawMessage(`{"usage": `+usage+`}`)
	res := g.Call(context.WithoutCancel(t.Context()), c)
	rec, ok := g.CallRecord(res.ID)
	if !ok {
		t.Fatal("the call is not in the record")
	}
	return res, rec.Usage
}

const used = `{"provider": "Acme", "model": "m-1", "requests": 1, "input_tokens": 900, "output_tokens": 100, "cost": 0.5}`

// TestUsageIsRecorded takes what servers say that models took, of those that are believed.
func TestUsageIsRecorded(t *testing.T) {
	g := thinkers(t, "{per: caller, cost: 1000}")
	for server, believed := range map[string]bool{"ours": true, "friend": true, "stranger": false} {
		res, u := think(t, g, server, used, tool.Call{})
		if res.Kind != "" || (u != nil) != believed {
			t.Errorf("%s: %s: %s, usage %+v", server, res.Kind, res.Text(), u)
		}
		if u != nil && (u.Model != "m-1" || u.Input != 900 || u.Output != 100 || u.Price() != 0.5) {
			t.Errorf("%s: %+v", server, u)
		}
		page, err := g.Record().Calls(t.Context(), tenon.CallFilter{Server: server})
		if err != nil || len(page.Calls) != 1 || (page.Calls[0].Usage != nil) != believed {
			t.Errorf("%s: the list of calls has %+v, %v", server, page.Calls, err)
		}
	}
	for _, odd := range []string{
		`{"requests": 1, "input_tokens": -5000}`, `{"requests": 1, "cost": -7}`, `{"requests": 1e300}`, `"all"`, `{}`, `null`,
		`{"requests": 1, "model": "` + strings.Repeat("x", 5000) + `"}`,
	} {
		if _, u := think(t, g, "ours", odd, tool.Call{}); u != nil {
			t.Errorf("%s is taken as %+v", odd, u)
		}
	}
}

// TestUsageIsSummed asks the REST API what models took, by caller, server and model.
func TestUsageIsSummed(t *testing.T) {
	for _, state := range []string{"", t.TempDir()} {
		g := open(t, tenon.Options{
			Config: write(t, "version: 1\nservers: {ours: {bundled: thinker}, more: {bundled: thinker}}\n"), StateDir: state,
			Bundled: []tenon.Bundled{{Name: "thinker", New: func(json.RawMessage, tool.Place) (*mcp.Server, error) { return thinker(), nil }}},
		})
		ann, other := tool.Call{Caller: tool.Caller{Name: "ann", Via: "rest"}}, strings.Replace(used, "m-1", "m-2", 1)
		think(t, g, "ours", used, ann)
		think(t, g, "ours", used, ann)
		think(t, g, "ours", other, ann)
		think(t, g, "ours", `{}`, ann)
		think(t, g, "more", strings.Replace(used, `, "cost": 0.5`, "", 1), tool.Call{Caller: tool.Caller{Via: "mcp"}})
		web := httptest.NewServer(rest.New(g, rest.Options{}))
		c, err := rest.NewClient(web.URL, tool.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			f    tenon.CallFilter
			want string
		}{
			{tenon.CallFilter{}, "ann ours m-1 2 2 1800 200 1\nann ours m-2 1 1 900 100 0.5\nmcp more m-1 1 1 900 100 0\n"},
			{tenon.CallFilter{Server: "more", Since: time.Now().Add(-time.Hour)}, "mcp more m-1 1 1 900 100 0\n"},
			{tenon.CallFilter{Until: time.Now().Add(-time.Hour)}, ""},
		} {
			sums, err := rest.RecordClient{Client: c}.Usage(t.Context(), tt.f)
			var got strings.Builder
			for _, s := range sums {
				fmt.Fprintln(&got, s.Caller, s.Server, s.Model, s.Calls, s.Requests, s.Input, s.Output, s.Price())
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("state %q, %+v: %v\n%s", state, tt.f, err, got.String())
			}
		}
		_ = c.Close()
		web.Close()
	}
}

// TestOneAgentHasALimitOfItsOwn: what it takes is no matter of others of the same caller.
func TestOneAgentHasALimitOfItsOwn(t *testing.T) {
	m := &scripted{says: []string{done}}
	url := m.start(t)
	priced := "model: {base_url: " + url + ", name: m, key: " + fakeKey + ", price_in: 1000000, price_out: 1000000}"
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n  evidence_collector: {agent: {"+priced+"}}\n  other: {agent: {"+priced+"}}\n"+
		"policy: {limits: [{per: caller, tools: [\"evidence_collector/*\"], cost: 1, every: 24h}]}\n")})
	for _, tt := range []struct {
		server string
		kind   tool.Kind
	}{{"other", ""}, {"other", ""}, {"evidence_collector", ""}, {"evidence_collector", tool.Denied}, {"other", ""}} {
		if res := subtask(t, g, tt.server, tool.Call{}); res.Kind != tt.kind || tt.kind != "" && !strings.Contains(res.Text(), "a cost of models of 1 (in the currency of their prices) in 24h for this caller is used up") {
			t.Errorf("%s: %q %s", tt.server, res.Kind, res.Text())
		}
	}
}

// TestBudgetsOfModels refuses calls before they run once tokens or money are used up.
func TestBudgetsOfModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ limit, want string }{
		{"{per: caller, tokens: 1500}", "1500 tokens of models for this caller is used up"},
		{"{per: caller, cost: 0.9, every: 24h}", "a cost of models of 0.9 (in the currency of their prices) in 24h for this caller is used up. It is given back in 24h, at 20"},
		{"{per: session, tokens: 1500}", "for this session"},
	} {
		g := thinkers(t, tt.limit)
		who := tool.Call{Caller: tool.Caller{Name: "ann"}, Session: "s"}
		for range 3 { // of one whom nobody believes nothing counts
			think(t, g, "stranger", used, who)
		}
		for range 2 {
			if res, _ := think(t, g, "ours", used, who); res.Kind != "" {
				t.Fatalf("%s: %s: %s", tt.limit, res.Kind, res.Text())
			}
		}
		res, u := think(t, g, "ours", used, who)
		if res.Kind != tool.Denied || !strings.Contains(res.Text(), tt.want) || !strings.Contains(res.Text(), "Tools that ask no model can be called") || u != nil {
			t.Errorf("%s: %s: %s, usage %+v", tt.limit, res.Kind, res.Text(), u)
		}
		for server, kind := range map[string]tool.Kind{"friend": tool.Denied, "stranger": ""} { // the last asks none that counts
			if res, _ := think(t, g, server, "{}", who); res.Kind != kind {
				t.Errorf("%s: %s: %s: %s", tt.limit, server, res.Kind, res.Text())
			}
		}
		if res, _ := think(t, g, "ours", used, tool.Call{Caller: tool.Caller{Name: "bob"}, Session: "s"}); res.Kind != "" {
			t.Errorf("%s: somebody else: %s: %s", tt.limit, res.Kind, res.Text())
		}
	}
}
