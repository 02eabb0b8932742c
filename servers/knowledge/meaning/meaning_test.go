package meaning_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/knowledge/meaning"
)

// model answers with a body, and keeps what it was asked.
func model(t *testing.T, status int, body string) (*meaning.Model, *http.Request, map[string]any) {
	t.Helper()
	var last http.Request
	asked := map[string]any{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = http.Request{Method: r.Method, URL: r.URL, Header: r.Header}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	out, err := egress.New(egress.Options{Server: "knowledge", Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := out.Service(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &meaning.Model{Client: client, BaseURL: srv.URL + "/v1/", Name: "small", Key: "not-a-real-key-000"}, &last, asked
}

func TestEmbed(t *testing.T) {
	m, last, asked := model(t, 200, `{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{}}`)
	got, err := m.Embed(t.Context(), []string{"a", "b"})
	if err != nil || len(got) != 2 || got[0][0] != 1 || got[1][1] != 4 {
		t.Fatalf("got %v, %v", got, err)
	}
	if last.URL.Path != "/v1/embeddings" || last.Header.Get("Authorization") != "Bearer not-a-real-key-000" || asked["model"] != "small" {
		t.Errorf("asked %s %v %v", last.URL, last.Header, asked)
	}
}

func TestRerank(t *testing.T) {
	m, last, asked := model(t, 200, `{"results":[{"index":2,"relevance_score":0.9},{"index":0,"score":0.1}]}`)
	got, err := m.Rerank(t.Context(), "q", []string{"a", "b", "c"})
	if err != nil || len(got) != 2 || got[0] != (meaning.Rank{Index: 2, Score: 0.9}) || got[1].Score != 0.1 {
		t.Fatalf("got %v, %v", got, err)
	}
	if last.URL.Path != "/v1/rerank" || asked["query"] != "q" || len(asked["documents"].([]any)) != 3 {
		t.Errorf("asked %s %v", last.URL, asked)
	}
}

func TestWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{401, `{"error":{"message":"Incorrect API key"}}`, "401 Unauthorized: Incorrect API key"},
		{404, `{"detail":"no such model"}`, "no such model"},
		{400, "nonsense\x1b[31m", "400 Bad Request: nonsense"},
		{200, "<html>", "no JSON"},
		{200, `{"data":[{"index":7,"embedding":[1]}]}`, "text 7 of 1"},
		{200, `{"data":[{"index":0,"embedding":[]}]}`, "0 numbers"},
		{200, `{"data":[]}`, "no vector for text 0"},
	} {
		m, _, _ := model(t, c.status, c.body)
		_, err := m.Embed(t.Context(), []string{"a"})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
	for _, body := range []string{`{}`, `{"results":[{"index":1}]}`, `{"results":[{"index":0},{"index":0}]}`} {
		m, _, _ := model(t, 200, body)
		if got, err := m.Rerank(t.Context(), "q", []string{"a"}); err == nil {
			t.Errorf("%s: %v", body, got)
		}
	}
}
