package tenon_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/tool"
)

// TestSamplingOfARealServer has the reference server ask the model of the pool, over its
// transports.
func TestSamplingOfARealServer(t *testing.T) {
	t.Parallel()
	everything := testenv.NPM(t, "mcp-server-everything")
	d := doubles.OpenAI()
	url := doubles.Start(t, d)
	port := runEverything(t, everything, "streamableHttp")
	config := fmt.Sprintf("version: 1\npolicy: {block_high_risk: false, limits: [{per: caller, tokens: 240}]}\nservers:\n  stdio: {command: %[1]q}\n  http: {url: \"http://127.0.0.1:%[2]d/mcp\"}\n  other: {command: %[1]q}\n"+
		"sampling: {servers: [stdio, http], per_call: 2, model: {base_url: \"%[3]s/v1\", name: gpt-4o, key: %[4]s, max_tokens: 50, price_in: 1, price_out: 1}}\n",
		everything, port, url, doubles.Key)
	g := open(t, tenon.Options{Config: write(t, config)})
	for i, server := range []string{"stdio", "http"} {
		res := g.Call(context.WithoutCancel(t.Context()), tool.Call{Server: server, Tool: "trigger-sampling-request", Arguments: []byte(`{"prompt": "Why is it blue?", "maxTokens": 400}`)})
		if res.Kind != "" || !strings.Contains(res.Text(), "Why is it blue?") || !strings.Contains(res.Text(), "gpt-4o") {
			t.Fatalf("%s: %s: %s", server, res.Kind, res.Text())
		}
		if len(d.Calls()) != i+1 || !strings.Contains(string(d.Calls()[i].Body), `"max_tokens":50`) {
			t.Errorf("%s: asked %s", server, d.Calls()[len(d.Calls())-1].Body)
		}
		rec, _ := g.CallRecord(res.ID)
		if u := rec.Usage; u == nil || u.Tokens() != 120 || u.Cost == nil {
			t.Errorf("%s: usage %+v", server, u)
		}
	}
	// The server that is not named has no such tool; and what is used up is used up.
	if res := g.Call(context.WithoutCancel(t.Context()), tool.Call{Server: "other", Tool: "trigger-sampling-request", Arguments: []byte(`{"prompt": "x"}`)}); res.Kind == "" && res.Server == "other" {
		t.Errorf("a server that may not ask: %s", res.Text())
	}
	res := g.Call(context.WithoutCancel(t.Context()), tool.Call{Server: "stdio", Tool: "trigger-sampling-request", Arguments: []byte(`{"prompt": "x"}`)})
	if res.Kind != tool.Denied || !strings.Contains(res.Text(), "tokens of models") || len(d.Calls()) != 2 {
		t.Errorf("over the budget: %s: %s, asked %d times", res.Kind, res.Text(), len(d.Calls()))
	}
}

// TestSamplingOfABundledServer opens a pool in which a bundled server of which nothing is
// declared may ask the model: its tools are known before there is a server.
func TestSamplingOfABundledServer(t *testing.T) {
	t.Parallel()
	plain := tenon.Bundled{Name: "plain", New: mirrors}
	config := "version: 1\nservers: {plain: {bundled: plain}}\n" +
		"sampling: {servers: [plain], model: {base_url: \"http://127.0.0.1:1/v1\", name: m, key: " + doubles.Key + ", price_in: 1, price_out: 1}}\n"
	g := open(t, tenon.Options{Config: write(t, config), Bundled: []tenon.Bundled{plain}})
	if res := g.Call(context.WithoutCancel(t.Context()), tool.Call{Server: "plain", Tool: "no_such_tool"}); res.Kind != tool.NotFound {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
}
