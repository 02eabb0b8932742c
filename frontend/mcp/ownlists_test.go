package mcp_test

import (
	"context"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asks reports whether a request came on a connection of a client that may be asked.
func asks(r sdk.Request) bool {
	session, _ := r.GetSession().(*sdk.ServerSession)
	p := session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil
}

// TestWhatASessionAloneHas: a prompt and a resource that a server has for one session are
// that client's in the pool too, listed and read, and nobody else's.
func TestWhatASessionAloneHas(t *testing.T) {
	u := newUpstream(t, "one", legacyOnly)
	u.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if !asks(r) {
				return res, err
			}
			switch list := res.(type) {
			case *sdk.ListResourcesResult:
				own := *list
				own.Resources = append(slices.Clone(list.Resources), &sdk.Resource{URI: "mem://session", Name: "session"})
				return &own, err
			case *sdk.ListPromptsResult:
				own := *list
				own.Prompts = append(slices.Clone(list.Prompts), &sdk.Prompt{Name: "mine"})
				return &own, err
			}
			switch p := r.GetParams().(type) {
			case *sdk.ReadResourceParams:
				if p.URI == "mem://session" {
					return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: p.URI, Text: "yours"}}}, nil
				}
			case *sdk.GetPromptParams:
				if p.Name == "mine" {
					return &sdk.GetPromptResult{Description: "yours"}, nil
				}
			}
			return res, err
		}
	})
	url := gateway(t, "", u, newUpstream(t, "two", modernOnly))
	for _, version := range []string{legacy, latest} {
		able, other := dialIn(t, url+"/mcp", version, true, "ann"), dialIn(t, url+"/mcp", version, false, "bob")
		if got := able.call(t, "s1__elicit"); got != "accept ann" { // which opens its connection
			t.Fatal(got)
		}
		for _, p := range []struct {
			*person
			has bool
		}{{able, true}, {other, false}} {
			list, err := p.ListResources(t.Context(), nil)
			if err != nil || slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool { return r.URI == "mem://session" }) != p.has || len(list.Resources) < 4 {
				t.Errorf("%s: listed %v, %v, want its own: %v", version, list, err, p.has)
			}
			read, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "mem://session"})
			if (err == nil && read.Contents[0].Text == "yours") != p.has {
				t.Errorf("%s: read %v, %v, want its own: %v", version, read, err, p.has)
			}
			got, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "s1__mine"})
			if (err == nil && got.Description == "yours") != p.has {
				t.Errorf("%s: got %v, %v, want its own: %v", version, got, err, p.has)
			}
		}
	}
}
