// Package meaning asks models what texts mean: for their embeddings, by the API that
// OpenAI published and others follow (POST /embeddings), and for an order of texts by
// what they have to do with a question (POST /rerank, as Jina, Cohere, vLLM and
// others have it).
//
//	m := meaning.Model{Client: client, BaseURL: "http://127.0.0.1:8080/v1", Name: "bge-m3", Key: key}
//	vectors, err := m.Embed(ctx, []string{"disk full"})
//
// The errors are sentences that name the endpoint and never the key.
package meaning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// maxDimensions bounds a vector.
const maxDimensions = 8192

// A Model is an endpoint and what it is to use.
type Model struct {
	Client  *egress.Client // that reaches the endpoint
	BaseURL string         // as in https://api.openai.com/v1
	Name    string
	Key     string // bearer token, or nothing
}

// Embed returns the vector of each text, in their order.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	err := m.post(ctx, "/embeddings", map[string]any{"model": m.Name, "input": texts, "encoding_format": "float"}, &answer, egress.Seconds(1, 2))
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(texts) || len(d.Embedding) == 0 || len(d.Embedding) > maxDimensions {
			return nil, fmt.Errorf("the model of embeddings at %s gave a vector of %d numbers for text %d of %d", m.BaseURL, len(d.Embedding), d.Index, len(texts))
		}
		vectors[d.Index] = d.Embedding
	}
	for i, v := range vectors {
		if v == nil {
			return nil, fmt.Errorf("the model of embeddings at %s gave no vector for text %d of %d", m.BaseURL, i, len(texts))
		}
	}
	return vectors, nil
}

// A Rank is a text and how much it has to do with a question.
type Rank struct {
	Index int
	Score float64
}

// Rerank returns the texts in the order of what they have to do with the question.
// Texts that the endpoint does not name are left out.
func (m *Model) Rerank(ctx context.Context, question string, texts []string) ([]Rank, error) {
	var answer struct {
		Results []struct {
			Index int      `json:"index"`
			Score *float64 `json:"relevance_score"`
			Other float64  `json:"score"` // as text-embeddings-inference names it
		} `json:"results"`
	}
	err := m.post(ctx, "/rerank", map[string]any{"model": m.Name, "query": question, "documents": texts, "top_n": len(texts)}, &answer, nil)
	if err != nil {
		return nil, err
	}
	var ranks []Rank
	seen := make([]bool, len(texts))
	for _, r := range answer.Results {
		if r.Index < 0 || r.Index >= len(texts) || seen[r.Index] {
			return nil, fmt.Errorf("the reranker at %s named text %d of %d, or named it twice", m.BaseURL, r.Index, len(texts))
		}
		seen[r.Index] = true
		score := r.Other
		if r.Score != nil {
			score = *r.Score
		}
		ranks = append(ranks, Rank{r.Index, score})
	}
	if len(ranks) == 0 {
		return nil, fmt.Errorf("the reranker at %s ranked nothing", m.BaseURL)
	}
	return ranks, nil
}

func (m *Model) post(ctx context.Context, path string, body map[string]any, answer any, waits []time.Duration) error {
	if m.Name == "" {
		delete(body, "model") // servers of one model want none
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if m.Key != "" {
		h.Set("Authorization", "Bearer "+m.Key)
	}
	resp, err := m.Client.Do(ctx, egress.Request{
		Method: http.MethodPost, URL: strings.TrimRight(m.BaseURL, "/") + path, Header: h, Body: b,
		MaxBody: 64 << 20, Retry: egress.Retry{Waits: waits, Unsafe: true}, // it changes nothing there
	})
	if err != nil {
		return fmt.Errorf("the model at %s: %w", m.BaseURL, err)
	}
	if !resp.OK() {
		return fmt.Errorf("the model at %s answered %d %s: %s", m.BaseURL, resp.Status, http.StatusText(resp.Status), said(resp.Body))
	}
	if err := json.Unmarshal(resp.Body, answer); err != nil {
		return fmt.Errorf("the model at %s gave no JSON of the form that was expected: %s", m.BaseURL, egress.Plain(string(resp.Body), 200))
	}
	return nil
}

// said returns what an error answer says, as OpenAI and others write it.
func said(body []byte) string {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &e) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		_ = json.Unmarshal(e.Error, &inner) // one of both
		_ = json.Unmarshal(e.Error, &text)
		if s := cmp.Or(inner.Message, text, e.Message, e.Detail); s != "" {
			return egress.Plain(s, 300)
		}
	}
	return egress.Plain(string(body), 300)
}
