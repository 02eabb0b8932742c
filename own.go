package tenon

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/tool"
)

// ownTools are the gateway's own tools: the one that reads long results, and those that
// stand in place of a long list.
type ownTools struct{ read, search, execute *tool.Tool }

// newOwnTools returns them. They bound their own answers, so they never need a handle
// themselves. Nothing is ever decided about execute, since the tool that it names runs in
// its place.
func newOwnTools() ownTools {
	reads := tool.Meta{
		Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
		SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
	}
	hint := reads
	hint.SearchHint = "handle"
	return ownTools{
		read:    ownTool(json.RawMessage(readDefinition), hint),
		search:  ownTool(lazy.Definition(lazy.Search), reads),
		execute: ownTool(lazy.Definition(lazy.Execute), tool.Meta{Registered: true, SideEffect: tool.EffectExternal, RiskLevel: tool.RiskLow}),
	}
}

func ownTool(definition json.RawMessage, meta tool.Meta) *tool.Tool {
	t, err := catalog.Parse(definition)
	if err != nil {
		panic("tenon: the definition of a tool of its own: " + err.Error()) // a constant
	}
	t.Server, t.Meta = ownServer, meta
	return &t
}

// of returns the tool of this ID, or nil.
func (o ownTools) of(id tool.ID) *tool.Tool {
	if id.Server != ownServer {
		return nil
	}
	switch id.Name {
	case call.ReadTool:
		return o.read
	case lazy.Search:
		return o.search
	case lazy.Execute:
		return o.execute
	}
	return nil
}

// has reports whether a tool is one of them.
func (o ownTools) has(t *tool.Tool) bool { return t == o.read || t == o.search || t == o.execute }

// sendOwn carries out a call of one of them.
func (v view) sendOwn(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
	switch r.Target {
	case v.own.search:
		return lazyTools{v}.search(ctx, r)
	case v.own.execute:
		return nil, lazyTools{v}.refuse(r)
	}
	return v.readResult(ctx, r, params)
}
