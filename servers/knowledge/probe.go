package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/servers/knowledge/meaning"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks the endpoints that are set up for the meaning of one word.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	var embedder, reranker *meaning.Model
	if setModel(&embedder, "embeddings_url", o.EmbeddingsURL, o.EmbeddingsModel, cmp.Or(o.EmbeddingsKey, getenv("KNOWLEDGE_EMBEDDINGS_KEY")), o.CAFile) != nil ||
		setModel(&reranker, "rerank_url", o.RerankURL, o.RerankModel, cmp.Or(o.RerankKey, getenv("KNOWLEDGE_RERANK_KEY")), o.CAFile) != nil {
		return nil // the server is not made either, and says why
	}
	var asks []probe.Ask
	if embedder != nil {
		asks = append(asks, ask(embedder, "embeddings", "KNOWLEDGE_EMBEDDINGS_KEY", "/embeddings", map[string]any{"input": []string{"disk"}}))
	}
	if reranker != nil {
		asks = append(asks, ask(reranker, "rerank", "KNOWLEDGE_RERANK_KEY", "/rerank", map[string]any{"query": "disk", "documents": []string{"disk"}, "top_n": 1}))
	}
	return probe.All(ctx, asks...)
}

func ask(m *meaning.Model, service, key, path string, body map[string]any) probe.Ask {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if m.Name != "" {
		body["model"] = m.Name
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and numbers can be written
	}
	if m.Key != "" {
		h.Set("Authorization", "Bearer "+m.Key)
	}
	return probe.Ask{Service: service, Key: key, Do: probe.HTTP(m.Client, egress.Request{
		Method: http.MethodPost, URL: strings.TrimRight(m.BaseURL, "/") + path, Header: h, Body: b,
	}, nil)}
}
