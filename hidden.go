package tenon

import (
	"context"

	"github.com/tenon-mcp/tenon/tool"
)

// hidden returns what a server tells or asks of a client without secrets, where
// results have none either.
func (g *Gateway) hidden(params []byte) []byte {
	if !g.pool.Load().cfg.Policy.Redact.Results {
		return params
	}
	out, _ := g.secrets.Result(tool.OneOf(params))
	return out.Join()
}

// A hidingPeer is the way to a client on which secrets are hidden.
type hidingPeer struct {
	tool.Peer

	g *Gateway
}

// hiding returns a peer to whom no secret is told. Nil stays nil.
func (g *Gateway) hiding(p tool.Peer) tool.Peer {
	if p == nil {
		return nil
	}
	return hidingPeer{p, g}
}

// Ask implements tool.Peer.
func (p hidingPeer) Ask(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	return p.Peer.Ask(ctx, method, p.g.hidden(params))
}

// Notify implements tool.Peer.
func (p hidingPeer) Notify(method string, params []byte) error {
	return p.Peer.Notify(method, p.g.hidden(params))
}
