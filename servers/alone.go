package servers

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/tool"
)

// untrusted is what the _meta of an answer says where strangers wrote it.
const untrusted = "tenon/untrusted"

// alone marks the answers of tools that give what strangers wrote, where the server runs
// without a gateway, which does it else. What a server has marked itself stays as it is.
func alone(meta map[string]tool.Meta) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			call, _ := req.(*mcp.CallToolRequest)
			r, ok := res.(*mcp.CallToolResult)
			if !ok || r == nil || err != nil || r.IsError || call == nil || call.Params == nil || r.Meta[untrusted] != nil ||
				!slices.Contains(meta[call.Params.Name].Labels, tool.LabelUntrusted) {
				return res, err
			}
			if r.Meta == nil {
				r.Meta = mcp.Meta{}
			}
			r.Meta[untrusted] = true
			fence(r.Content)
			return r, nil
		}
	}
}

// fence puts the texts of an answer between two lines.
func fence(content []mcp.Content) {
	var texts []*mcp.TextContent
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok && t.Text != "" {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 {
		return
	}
	head, tail := answer.Fences()
	texts[len(texts)-1].Text += tail
	texts[0].Text = head + texts[0].Text
}
