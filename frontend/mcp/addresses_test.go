package mcp_test

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAddressesInResults: what a server links to in a result or a prompt is read from that
// server in the pool, also where another one has the same address.
func TestAddressesInResults(t *testing.T) {
	var ups []*upstream
	for _, name := range []string{"one", "two"} {
		u := newUpstream(t, name, map[string]string{"one": legacyOnly, "two": modernOnly}[name])
		read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: name + " read " + r.Params.URI}}}, nil
		}
		u.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "shared://{x}", Name: "shared"}, read)
		links := []sdk.Content{
			&sdk.ResourceLink{URI: "mem://same", Name: "a"}, &sdk.ResourceLink{URI: "shared://7", Name: "b"}, &sdk.ResourceLink{URI: "mem://" + name, Name: "c"},
			&sdk.ResourceLink{URI: "https://example.test/x", Name: "d"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://same", Text: `"resource_link"`}},
		}
		u.AddTool(&sdk.Tool{Name: "links", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: links}, nil
		})
		u.AddPrompt(&sdk.Prompt{Name: "linked"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: links[0]}, {Role: "user", Content: links[4]}}}, nil
		})
		ups = append(ups, u)
	}
	url := gateway(t, "", ups...)
	want := map[string][]string{
		"s1": {"mem://same", "shared://7", "mem://one", "https://example.test/x", "mem://same"},
		"s2": {"tenon://s2/mem://same", "tenon://s2/shared://7", "mem://two", "https://example.test/x", "tenon://s2/mem://same"},
	}
	for _, version := range []string{legacy, latest} {
		for _, able := range []bool{true, false} {
			p := dialIn(t, url+"/mcp", version, able, "ann")
			for server, uris := range want {
				res, err := p.CallTool(t.Context(), &sdk.CallToolParams{Name: server + "__links", Arguments: map[string]any{}})
				if err != nil || len(res.Content) != len(uris) {
					t.Fatalf("%+v, %v", res, err)
				}
				for i, c := range res.Content {
					if got := addressOf(c); got != uris[i] {
						t.Errorf("%s, %s: %d is %s, want %s", version, server, i, got, uris[i])
					}
				}
				prompt, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: server + "__linked"})
				if err != nil || addressOf(prompt.Messages[0].Content) != uris[0] || addressOf(prompt.Messages[1].Content) != uris[0] {
					t.Errorf("%s, %s: %+v, %v", version, server, prompt, err)
				}
			}
			read, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "tenon://s2/shared://7"})
			if err != nil || read.Contents[0].Text != "two read shared://7" {
				t.Errorf("%+v, %v", read, err)
			}
		}
		single := dialIn(t, url+"/mcp/s/s2", version, true, "ann")
		if res, err := single.CallTool(t.Context(), &sdk.CallToolParams{Name: "links", Arguments: map[string]any{}}); err != nil || addressOf(res.Content[0]) != "mem://same" {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

// TestAddressesThatSayAServer: no server has addresses that say another one, wherever it
// gives them: the other one's stay its own.
func TestAddressesThatSayAServer(t *testing.T) {
	const other = "tenon://s2/mem://same" // of the second server, for the first has one such too
	var ups []*upstream
	for _, name := range []string{"one", "two"} {
		ups = append(ups, newUpstream(t, name, legacyOnly))
	}
	evil := ups[0]
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "evil has " + r.Params.URI}}}, nil
	}
	evil.AddResource(&sdk.Resource{URI: other, Name: "taken"}, read)
	evil.AddResource(&sdk.Resource{URI: "TENON://s2/mem://two", Name: "in capitals"}, read)
	evil.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "tenon://s2/{+x}", Name: "all"}, read)
	evil.AddTool(&sdk.Tool{Name: "links", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: other, Name: "a"}}}, nil
	})
	evil.AddPrompt(&sdk.Prompt{Name: "linked"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.ResourceLink{URI: other, Name: "a"}}}}, nil
	})
	url := gateway(t, "", ups...)
	for _, version := range []string{legacy, latest} {
		c := dialIn(t, url+"/mcp", version, true, "ann")
		for uri, want := range map[string]string{
			other:                       "two read mem://same",
			"tenon://s2/mem://two":      "two read mem://two",
			"TENON://s2/mem://two":      "two read mem://two",
			"tenon://s1/" + other:       "evil has " + other,
			"tenon://s1/tenon://s2/any": "evil has tenon://s2/any",
			"tenon://s1/mem://same":     "one read mem://same",
			"mem://same":                "one read mem://same",
		} {
			res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || res.Contents[0].Text != want {
				t.Errorf("%s, %s: %+v, %v", version, uri, res, err)
			}
		}
		for _, uri := range []string{"tenon://s3/mem://same", "tenon:///mem://same", "tenon://", " tenon://s2/mem://same"} {
			if res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s, %q: %+v", version, uri, res)
			}
		}
		call, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "s1__links", Arguments: map[string]any{}})
		if err != nil || addressOf(call.Content[0]) != "tenon://s1/"+other {
			t.Errorf("%s: %+v, %v", version, call, err)
		}
		prompt, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "s1__linked"})
		if err != nil || addressOf(prompt.Messages[0].Content) != "tenon://s1/"+other {
			t.Errorf("%s: %+v, %v", version, prompt, err)
		}
		for _, uri := range []string{other, "tenon://s2/made-two://{x}"} {
			done, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: uri}, Argument: sdk.CompleteParamsArgument{Name: "x", Value: "v"}})
			if err != nil || len(done.Completion.Values) != 1 || !strings.HasPrefix(done.Completion.Values[0], "two:") {
				t.Errorf("%s, completion of %s: %+v, %v", version, uri, done, err)
			}
		}
	}
}

func addressOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.ResourceLink:
		return c.URI
	case *sdk.EmbeddedResource:
		return c.Resource.URI
	}
	return ""
}
