package call

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/mapping"
	"github.com/tenon-mcp/tenon/tool"
)

// pages is the built-in fallback of tools that scrape a page, which agents know by
// these two names on many servers.
var pages = Fallback{
	Match: func(id tool.ID) bool { return id.Name == "scrape" || id.Name == "scrape_website" },
	pages: true,
}

// converter reads pages and documents, and fetched is what a page fetched here is
// called.
const converter = "convert_to_markdown"

var fetched = tool.ID{Server: "tenon", Name: "fetch"}

// readers returns what can read the page of a call: the tool that converts, where
// a server has one, then this process itself.
func (f *fallbacks) readers(r *Request) []Member {
	if pageOf(r.Arguments) == "" {
		return nil
	}
	var out []Member
	there := r.View.WithName(converter)
	for _, t := range there {
		if t.Server == "reading" || len(there) == 1 {
			out = append(out, Member{Tool: t.ID, Arguments: f.uri})
		}
	}
	if _, refused := r.View.Find(fetched); f.o.Fetch != nil && refused == nil {
		out = append(out, Member{Tool: fetched, fetch: true})
	}
	return out
}

// uriOfURL is how the tool that converts is told the address.
func uriOfURL() *mapping.Template {
	t, err := mapping.Parse([]byte(`{"uri":"${arguments.url}"}`))
	if err != nil {
		panic(err) // it is a constant
	}
	return t
}

// pageOf returns the address among the arguments of a tool that scrapes, or "".
func pageOf(args json.RawMessage) string {
	var span [1]jsonrpc.Span
	b := tool.OneOf(args)
	if len(args) == 0 || jsonrpc.Members(b, []string{"url"}, span[:]) != nil || !span[0].Found() {
		return ""
	}
	url, _ := jsonrpc.String(span[0].In(b).Join())
	if l := strings.ToLower(url); strings.HasPrefix(l, "http://") || strings.HasPrefix(l, "https://") {
		return url
	}
	return ""
}

// fetch reads the page of a call in this process, if the caller may do that as a
// tool of its own.
func (t *trial) fetch(ctx context.Context, r *Request) *tool.Result {
	asked := &tool.Tool{ID: tool.ID{Server: r.Server, Name: r.Tool}, Meta: tool.DefaultMeta()}
	if t.as.Target != nil {
		asked = t.as.Target
	}
	r.Target = &tool.Tool{ID: fetched, Meta: tool.Meta{
		Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
		SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskMedium, MaxResultChars: asked.Meta.MaxResultChars,
		Labels: []tool.Label{tool.LabelUntrusted, tool.LabelEgress},
	}}
	return authorize(t.o, func(ctx context.Context, r *Request) *tool.Result {
		return t.read(ctx, r, asked)
	})(ctx, r)
}

// read reads the page. What must not be reached through the tool that was called
// must not be reached this way either.
func (t *trial) read(ctx context.Context, r *Request, asked *tool.Tool) *tool.Result {
	refuse := func(url string) error {
		if t.o.Rules == nil {
			return nil
		}
		args := append(jsonrpc.Quote([]byte(`{"url":`), url), '}')
		if refusal := t.o.Rules.Refuse(asked, args); refusal != "" {
			return &tool.Error{Kind: tool.Denied, Text: refusal}
		}
		return nil
	}
	r.Attempts++
	text, err := t.o.Fetch(ctx, pageOf(r.Arguments), refuse)
	if err != nil {
		if _, ok := errors.AsType[*tool.Error](err); !ok {
			err = &tool.Error{Kind: tool.Failed, Text: err.Error(), Err: err}
		}
		return failed(r, err)
	}
	res := r.result()
	res.Raw = tool.OneOf(append(jsonrpc.Quote([]byte(`{"content":[{"type":"text","text":`), text), `}]}`...))
	if t.o.Rules == nil {
		return res
	}
	cleaned, note, refusal := t.o.Rules.Clean(asked, res.Raw)
	if refusal != "" {
		return r.fail(tool.Denied, "%s", refusal)
	}
	if note != "" {
		r.Note("rules", "%s", note)
	}
	res.Raw = cleaned
	return res
}
