package scrape_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// TestFirecrawlsOwnWords holds what is sent to Firecrawl, and the double that answers, to
// the description that the service publishes. Neither may use a name that is not in it.
func TestFirecrawlsOwnWords(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(testenv.Root(t), "internal", "upstreamtest", "doubles", "testdata", "specs", "firecrawl-v2-scrape.json"))
	var spec struct{ Request, Response *jsonschema.Schema }
	if err == nil {
		err = json.Unmarshal(b, &spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	hold := func(what string, s *jsonschema.Schema, body []byte) map[string]any {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		resolved, err := s.Resolve(nil)
		if err == nil {
			err = resolved.Validate(v)
		}
		if err != nil {
			t.Errorf("%s is not as described: %v\n%s", what, err, body)
		}
		for name := range v {
			if s.Properties[name] == nil {
				t.Errorf("%s has %q, which is not described", what, name)
			}
		}
		return v
	}
	w := newWorld(t, func(o *scrape.Options) { o.Jina, o.Serper = scrape.Service{}, scrape.Service{} })
	w.firecrawl.Fail(doubles.Fault{Warning: "the page was slow", Times: 1})
	p := w.good(t, lighthouse)
	if p.Via != "firecrawl" || !strings.Contains(notes(p), "the page was slow") {
		t.Fatalf("%s: %q", p.Via, p.Notes)
	}
	call := w.firecrawl.Calls()[0]
	hold("the request", spec.Request, call.Body)
	for _, fault := range []doubles.Fault{{}, {Warning: "the page was slow"}, {Empty: true}} {
		w.firecrawl.Fail(fault)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, call.Path, strings.NewReader(string(call.Body)))
		r.Header = call.Header.Clone()
		rec := httptest.NewRecorder()
		w.firecrawl.ServeHTTP(rec, r)
		answer := hold("the answer", spec.Response, rec.Body.Bytes())
		data, _ := answer["data"].(map[string]any)
		for name := range data {
			if spec.Response.Properties["data"].Properties[name] == nil {
				t.Errorf("the answer has data.%s, which is not described", name)
			}
		}
	}
}

// TestJinasOwnWords holds the reader of Jina to what its source says of it.
func TestJinasOwnWords(t *testing.T) {
	jina := doubles.Jina(doubles.NewWeb())
	w := newWorld(t, func(o *scrape.Options) {
		siteOnly(o)
		o.Jina = scrape.Service{Base: doubles.Held(t, jina, "jina-reader"), Key: doubles.Key}
	})
	jina.Fail(doubles.Fault{Warning: "This page maybe not yet fully loaded", Times: 1})
	if p := w.good(t, lighthouse); p.Via != "jina" || len(jina.Calls()) != 2 {
		t.Errorf("%+v", p)
	}
}
