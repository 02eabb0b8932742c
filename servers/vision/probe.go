package vision

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
	if s.look == nil {
		s.look = &looker{Client: s.gemini}
	}
	return modeltool.Probes(ctx, "set VISION_BASE_URL with VISION_MODEL_NAME, ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY; without them tesseract alone reads letters", s.look.Client, s.gemini)
}
