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
