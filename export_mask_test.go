package tenon

import (
	"log/slog"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// MaskedLog returns a logger as a gateway has one that knows this secret.
func MaskedLog(h slog.Handler, secret string) *slog.Logger {
	r, err := redact.New(redact.Options{Secrets: []tool.Secret{tool.NewSecret(secret)}})
	if err != nil {
		panic(err)
	}
	return slog.New(maskingHandler{h, r})
}

// Hiding returns a peer to whom no secret is told.
func Hiding(g *Gateway, p tool.Peer) tool.Peer { return g.hiding(p) }

// LogOf returns the log of a gateway.
func LogOf(g *Gateway) *slog.Logger { return g.log }
