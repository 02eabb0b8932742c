package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// curious is an upstream whose tools want an answer of a model, and more.
func curious(t *testing.T, spoken string) *upstream {
	t.Helper()
	u := newUpstream(t, "u", spoken)
	question := func(text string) *sdk.CreateMessageParams {
		return &sdk.CreateMessageParams{MaxTokens: 9, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
	}
	// In the modern era: twice one after the other, the second time beside a question to the person.
	sdk.AddTool(u.Server, &sdk.Tool{Name: "wonder"}, func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
		said, err := json.Marshal(r.Params.InputResponses)
		if err != nil {
			return nil, nil, err
		}
		switch r.Params.RequestState {
		case "":
			return &sdk.CallToolResult{RequestState: "one", InputRequests: sdk.InputRequestMap{"m": question("First?")}}, nil, nil
		case "one":
			if !strings.Contains(string(said), "First?") {
				return nil, nil, fmt.Errorf("got %s", said)
			}
			return &sdk.CallToolResult{RequestState: "two", InputRequests: sdk.InputRequestMap{
				"m": question("Second?"), "q": &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`)},
			}}, nil, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.RequestState + " " + string(said)}}}, nil, nil
	})
	// In the legacy era: as often as there are answers.
	sdk.AddTool(u.Server, &sdk.Tool{Name: "insist"}, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
		for i := range 20 {
			if _, err := r.Session.CreateMessage(ctx, question("Again?")); err != nil {
				return nil, nil, fmt.Errorf("after %d: %w", i, err)
			}
		}
		return nil, nil, nil
	})
	return u
}

// TestWhoAnswersForAModel: the client where it can, else the model of the pool, never both.
func TestWhoAnswersForAModel(t *testing.T) {
	for _, c := range []struct{ client, server string }{
		{legacy, legacyOnly}, {latest, legacyOnly}, {legacy, modernOnly}, {latest, modernOnly},
	} {
		t.Run(c.client+" to "+c.server, func(t *testing.T) {
			d := doubles.OpenAI()
			url := gateway(t, fmt.Sprintf("sampling: {servers: [s1], per_call: 3, model: {base_url: \"%s/v1\", name: gpt-4o, key: %s}}\n", doubles.Start(t, d), doubles.Key), curious(t, c.server), newUpstream(t, "v", c.server))
			able := dialIn(t, url+"/mcp/s/s1", c.client, true, "ann")
			deaf := dialIn(t, url+"/mcp/s/s1", c.client, false, "bob")
			other := dialIn(t, url+"/mcp/s/s2", c.client, false, "bob")
			if c.server == modernOnly {
				if got := able.call(t, "wonder"); len(d.Calls()) != 0 {
					t.Errorf("the model was asked in place of a client that can: %s", got)
				}
				if got := deaf.call(t, "wonder"); !strings.Contains(got, "elicitation") || len(d.Calls()) != 2 {
					t.Errorf("got %q, after %d questions", got, len(d.Calls()))
				}
				if got := answering(t, url+"/mcp/s/s1", c.client, "accept", map[string]any{"who": "cleo"}).call(t, "wonder"); !strings.HasPrefix(got, "two ") || !strings.Contains(got, "cleo") || !strings.Contains(got, "Second?") {
					t.Errorf("got %q", got)
				}
				return
			}
			if got := able.call(t, "sample"); got != "model of ann" || len(d.Calls()) != 0 {
				t.Errorf("a client that can: %q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := deaf.call(t, "sample"); !strings.HasPrefix(got, "gpt-4o") || len(d.Calls()) != 1 {
				t.Errorf("a client that cannot: %q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := deaf.call(t, "insist"); !strings.Contains(got, "after 3:") || len(d.Calls()) != 4 {
				t.Errorf("insisting: %q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := deaf.call(t, "elicit"); !strings.Contains(got, "does not support elicitation") {
				t.Errorf("what the model is not for: %q", got)
			}
			if got := other.call(t, "sample"); !strings.HasPrefix(got, "calling \"sampling/createMessage\"") || len(d.Calls()) != 4 {
				t.Errorf("a server that may not ask: %q, and the model was asked %d times", got, len(d.Calls()))
			}
		})
	}
}

// TestWhoAnswersWhereNothingIsShared: servers with a link for each session or call ask the
// model too, and only for the call that runs on the link.
func TestWhoAnswersWhereNothingIsShared(t *testing.T) {
	for _, c := range []struct{ isolation, client, server string }{
		{"session", legacy, legacyOnly}, {"session", latest, legacyOnly}, {"call", legacy, legacyOnly}, {"session", latest, modernOnly}, {"call", latest, modernOnly},
	} {
		t.Run(c.isolation+": "+c.client+" to "+c.server, func(t *testing.T) {
			d := doubles.OpenAI()
			u := curious(t, c.server)
			entry := "  %s: {url: %q, transport: streamable-http, retries: 0, isolation: %s}\n"
			url := gatewayOf(t, fmt.Sprintf(entry+entry+"policy: {mode: bypass}\nsampling: {servers: [u], per_call: 3, model: {base_url: \"%s/v1\", name: gpt-4o, key: %s}}\n",
				"u", u.url, c.isolation, "v", u.url, c.isolation, doubles.Start(t, d), doubles.Key))
			deaf := dialIn(t, url+"/mcp/s/u", c.client, false, "bob")
			if c.server == modernOnly {
				if got := answering(t, url+"/mcp/s/u", c.client, "accept", map[string]any{"who": "cleo"}).call(t, "wonder"); !strings.HasPrefix(got, "two ") || !strings.Contains(got, "Second?") {
					t.Errorf("got %q", got)
				}
				return
			}
			if got := deaf.call(t, "sample"); !strings.HasPrefix(got, "gpt-4o") || len(d.Calls()) != 1 {
				t.Errorf("%q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := deaf.call(t, "insist"); !strings.Contains(got, "after 3:") || len(d.Calls()) != 4 {
				t.Errorf("insisting: %q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := deaf.call(t, "elicit"); !strings.Contains(got, "does not support elicitation") {
				t.Errorf("what the model is not for: %q", got)
			}
			if got := dialIn(t, url+"/mcp/s/v", c.client, false, "bob").call(t, "sample"); strings.Contains(got, "gpt-4o") || len(d.Calls()) != 4 {
				t.Errorf("a server that may not ask: %q, and the model was asked %d times", got, len(d.Calls()))
			}
			if got := dialIn(t, url+"/mcp/s/u", c.client, true, "ann").call(t, "sample"); c.client == legacy && (got != "model of ann" || len(d.Calls()) != 4) {
				t.Errorf("a client that can: %q, and the model was asked %d times", got, len(d.Calls()))
			}
		})
	}
}
