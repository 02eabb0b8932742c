package reading

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks each reader that is set up for one small page.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s, err := build(o, getenv)
	if err != nil {
		return nil // the server is not made either, and says why
	}
	chain, err := s.chain(document.New(document.Options{Tesseract: "-"}))
	if err != nil {
		return nil
	}
	return probe.All(ctx, chain.Probes()...)
}
