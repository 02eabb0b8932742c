package tenon

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
)

// modelOf returns the client of a model of the configuration. It reaches the host of the
// base URL and nothing else. A model may think for long before it says a word.
func modelOf(cfg *config.Config, use string, c *config.Model) (*model.Client, error) {
	limit := cfg.Gateway.MaxCallTimeout
	out, err := egress.New(egress.Options{Server: use, Proxy: c.Proxy.Reveal(), CAFile: c.CAFile, Times: egress.Times{Header: limit, Total: limit}})
	if err != nil {
		return nil, err
	}
	service, err := out.Service(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	kinds := map[string]model.Kind{"openai": model.OpenAI, "anthropic": model.Anthropic, "gemini": model.Gemini}
	return &model.Client{
		Kind: kinds[c.Kind], HTTP: service, BaseURL: c.BaseURL, Name: c.Name, Key: c.Key.Reveal(), KeyName: use + ".model.key",
		Prices: model.Priced(c.Name, c.Price[0], c.Price[1]), Waits: egress.Seconds(1, 2),
	}, nil
}
