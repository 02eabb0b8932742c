package e2bdouble

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// TestPublished compares what the double is made from with the whole of what E2B
// publishes of its control plane.
func TestPublished(t *testing.T) {
	b, err := os.ReadFile(testenv.Vectors(t, "api", "e2b-openapi.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var whole, part map[string]any
	if err := yaml.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(bare(whole)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	if b, err = published.ReadFile("testdata/openapi.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &part); err != nil {
		t.Fatal(err)
	}
	at := func(v any, names ...string) any {
		for _, n := range names {
			o, _ := v.(object)
			v = o[n]
		}
		return v
	}
	n := 0
	compare := func(names ...string) {
		n++
		if diff := cmp.Diff(at(whole, names...), at(part, names...)); diff != "" {
			t.Errorf("%v: %s", names, diff)
		}
	}
	for path, methods := range part["paths"].(object) {
		for method := range methods.(object) {
			compare("paths", path, method)
		}
	}
	for kind, all := range part["components"].(object) {
		for name := range all.(object) {
			compare("components", kind, name)
		}
	}
	if n < 30 {
		t.Errorf("only %d parts", n)
	}
}

// bare leaves out what is for people.
func bare(v any) any {
	switch v := v.(type) {
	case object:
		for name, w := range v {
			_, isObject := w.(object)
			switch name {
			case "security":
				delete(v, name)
				continue
			case "description", "summary", "tags", "example":
				if !isObject {
					delete(v, name)
					continue
				}
			}
			v[name] = bare(w)
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
	}
	return v
}

// TestChecked holds that what is not described is refused and reported.
func TestChecked(t *testing.T) {
	s, err := newSpec()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"POST", "/sandboxes", 0, `{}`},
		{"POST", "/sandboxes", 0, `{"templateID":"x","timeout":"5"}`},
		{"POST", "/sandboxes/abc/timeout", 0, `{"timeout":-1}`},
		{"POST", "/sandboxes", 201, `{"sandboxID":"x"}`},
		{"POST", "/sandboxes", 200, `{}`},
		{"PUT", "/sandboxes", 0, `{}`},
		{"GET", "/sandboxes/abc", 404, `{"message":"no code"}`},
		{"DELETE", "/sandboxes/abc", 0, `{}`},
	} {
		if s.check(bad.method, bad.path, bad.status, []byte(bad.body)) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	start := s.methods["/process.Process/Start"].Input()
	if _, err := asMessage(start, object{"process": object{"cmd": "x", "nothing": 1}}); err == nil {
		t.Error("a field that is not described is taken")
	}
	if err := (strict{}).Unmarshal([]byte(`{"proces":{}}`), mustMessage(t, s)); err == nil {
		t.Error("a field that is not described is taken")
	}
}

// TestChecksAtOnce has many requests checked by one description, none of which was asked
// for before.
func TestChecksAtOnce(t *testing.T) {
	s, err := newSpec()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		for _, c := range []struct {
			method, path string
			status       int
			body         string
		}{
			{"POST", "/sandboxes", 0, `{"templateID":"x"}`},
			{"POST", "/sandboxes/abc/timeout", 0, `{"timeout":1}`},
			{"GET", "/sandboxes", 200, `[]`},
			{"GET", "/sandboxes/abc", 404, `{"code":404,"message":"none"}`},
		} {
			wg.Go(func() {
				if err := s.check(c.method, c.path, c.status, []byte(c.body)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func mustMessage(t *testing.T, s *spec) *message {
	t.Helper()
	m, err := asMessage(s.methods["/process.Process/Start"].Input(), object{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
