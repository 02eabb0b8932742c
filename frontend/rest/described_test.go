package rest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
)

// serve serves the API of gw. Every request and every answer is compared with the
// OpenAPI document that the API serves.
func serve(t *testing.T, gw *tenon.Gateway) *httptest.Server {
	t.Helper()
	api := rest.New(gw, rest.Options{Version: "1.2.3"})
	d := describe(t, api)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, r)
		d.compare(t, r, body, rec)
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	t.Cleanup(srv.Close)
	return srv
}

// A description is the OpenAPI document of an API.
type description struct {
	schemas  map[string]any
	paths    map[string]map[string]operation
	compiled *sync.Map // *jsonschema.Resolved by place
}

type operation struct {
	Body      content            `json:"requestBody"`
	Responses map[string]content `json:"responses"`
}

type content struct {
	Content map[string]struct {
		Schema any `json:"schema"`
	} `json:"content"`
}

// described keeps what was once found to be a description in order: by its text, as
// nearly every gateway has the same.
var described sync.Map

// describe reads the document that an API serves, and checks that it is one.
func describe(t *testing.T, api http.Handler) description {
	t.Helper()
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, rest.Prefix+"/openapi.json", nil))
	if d, ok := described.Load(rec.Body.String()); ok {
		return d.(description)
	}
	meta, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var of jsonschema.Schema
	if err := json.Unmarshal(meta, &of); err != nil {
		t.Fatal(err)
	}
	validate(t, "the document", &of, rec.Body.Bytes())
	// Within a schema of its own, a component is a definition.
	text := strings.ReplaceAll(rec.Body.String(), "#/components/schemas/", "#/$defs/")
	doc := decode[struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]any }
	}](t, []byte(text))
	for _, s := range doc.Components.Schemas { // what is in a document is a schema too
		compile(t, map[string]any{"$defs": doc.Components.Schemas, "allOf": []any{s}})
	}
	d := description{doc.Components.Schemas, doc.Paths, &sync.Map{}}
	described.Store(rec.Body.String(), d)
	return d
}

// compare tells where a request or its answer is not as documented.
func (d description) compare(t *testing.T, r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	t.Helper()
	path := strings.TrimPrefix(r.URL.Path, rest.Prefix)
	if id, ok := strings.CutPrefix(path, "/calls/"); ok && id != "batch" {
		path = "/calls/{id}"
	}
	if strings.HasPrefix(path, "/handles/") {
		path = "/handles/{id}"
	}
	if strings.HasPrefix(path, "/skills/") {
		path = "/skills/{name}"
	}
	if id, ok := strings.CutPrefix(path, "/approvals/"); ok {
		path = "/approvals/{id}"
		if strings.HasSuffix(id, "/decide") {
			path += "/decide"
		}
	}
	method := strings.ToLower(r.Method)
	if r.Method == http.MethodHead { // it is answered as GET is
		method = "get"
	}
	op, ok := d.paths[path][method]
	if !ok {
		if rec.Code != http.StatusNotFound && rec.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s %s gives %d, but is not documented", r.Method, path, rec.Code)
		}
		return
	}
	place := r.Method + " " + path + " gives " + strconv.Itoa(rec.Code)
	answer, ok := op.Responses[strconv.Itoa(rec.Code)].Content[rec.Header().Get("Content-Type")]
	if !ok {
		t.Errorf("%s of type %s, which is not documented", place, rec.Header().Get("Content-Type"))
		return
	}
	if rec.Header().Get("Content-Type") == "application/json" {
		d.matches(t, place, answer.Schema, rec.Body.Bytes(), true)
	}
	// With any other status it was refused for something else than its form.
	formal := rec.Code == http.StatusOK || rec.Code == http.StatusBadRequest
	if request, ok := op.Body.Content["application/json"]; ok && formal && json.Valid(body) && utf8.Valid(body) {
		d.matches(t, place+" for its body, which", request.Schema, body, rec.Code == http.StatusOK)
	}
}

// matches checks whether a text is as the schema says.
func (d description) matches(t *testing.T, place string, schema any, text []byte, want bool) {
	t.Helper()
	s, ok := d.compiled.Load(place)
	if !ok {
		s = compile(t, map[string]any{"$defs": d.schemas, "allOf": []any{schema}})
		d.compiled.Store(place, s)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Errorf("%s: %v", place, err)
		return
	}
	if err := s.(*jsonschema.Resolved).Validate(v); (err == nil) != want {
		t.Errorf("%s: as documented is %v, want %v: %v\n%.300s", place, err == nil, want, err, text)
	}
}

func compile(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	raw, err := json.Marshal(strict(schema))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func validate(t *testing.T, what string, s *jsonschema.Schema, text []byte) {
	t.Helper()
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(decode[any](t, text)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// strict closes every object that names its properties, so that an answer with a
// member that is not documented does not match.
func strict(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		out := make(map[string]any, len(s)+1)
		for k, v := range s {
			out[k] = strict(v)
		}
		_, properties := s["properties"].(map[string]any)
		if _, says := s["additionalProperties"]; properties && !says {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, v := range s {
			out[i] = strict(v)
		}
		return out
	}
	return schema
}
