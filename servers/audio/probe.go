package audio

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks each endpoint that is set up for its list of models, which costs nothing.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s, err := build(o, getenv, nil)
	if err != nil {
		return nil // the server is not made either, and says why
	}
	return modeltool.Probes(ctx, "set WHISPER_BASE_URL or OPENAI_API_KEY; without them pocketsphinx alone writes down speech", s.writer, s.listener)
}
