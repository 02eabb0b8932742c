package reasoning

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks each endpoint that is set up for its list of models, which costs nothing.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s, err := build(o, getenv)
	if err != nil {
		return nil // the server is not made either, and says why
	}
	return modeltool.Probes(ctx, "set REASONING_BASE_URL with REASONING_MODEL_NAME, OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY", s.thinker)
}
