package doubles

import (
	"embed"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed testdata/specs/*.json
var specs embed.FS

// A spec is what a service says of one of its calls: the files in testdata/specs.
type spec struct {
	Method, Path string
	Query        *jsonschema.Schema // of the parameters, all of which are strings
	Headers      *jsonschema.Schema // of those that begin with X-
	Request      *jsonschema.Schema // of the body
	Response     *jsonschema.Schema // of an answer with the status 200
	Inner        *struct {
		At     []string // where in the answer there are texts that are JSON again
		Schema *jsonschema.Schema
	}
}

// Held starts a double as [Start] does, and holds what passes to what the service itself
// publishes, in the file of that name in testdata/specs: the calls of a client as well
// as the answers of the double. Neither may use a name or a value that is not in it.
// A call of another path fails the test too.
func Held(tb testing.TB, d *Double, name string) string {
	tb.Helper()
	b, err := specs.ReadFile("testdata/specs/" + name + ".json")
	var s spec
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return Start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{header: http.Header{}}
		tee := &teed{ResponseWriter: w, rec: rec, status: http.StatusOK}
		before := len(d.Calls())
		d.ServeHTTP(tee, r)
		calls := d.Calls()
		if len(calls) <= before {
			tb.Errorf("%s was not asked", name)
			return
		}
		s.call(tb, name, calls[len(calls)-1])
		if tee.status == http.StatusOK {
			s.answer(tb, name, rec.body.Bytes())
		}
	}))
}

// A teed writer keeps what it writes.
type teed struct {
	http.ResponseWriter
	rec    *recorder
	status int
}

// Write implements [http.ResponseWriter].
func (t *teed) Write(b []byte) (int, error) {
	_, _ = t.rec.Write(b)
	return t.ResponseWriter.Write(b)
}

// WriteHeader implements [http.ResponseWriter].
func (t *teed) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (s *spec) call(tb testing.TB, name string, c Call) {
	if c.Method != s.Method || s.Path != "" && c.Path != s.Path {
		tb.Errorf("%s was asked by %s %s, which is not described: %s %s is", name, c.Method, c.Path, s.Method, s.Path)
	}
	flat := func(values url.Values) map[string]any {
		out := map[string]any{}
		for k, v := range values {
			out[k] = strings.Join(v, ",")
		}
		return out
	}
	if s.Query != nil {
		hold(tb, name+": the parameters", s.Query, flat(c.Query))
	}
	if s.Headers != nil {
		own := url.Values{}
		for k, v := range c.Header {
			if strings.HasPrefix(k, "X-") {
				own[k] = v
			}
		}
		hold(tb, name+": the headers", s.Headers, flat(own))
	}
	if s.Request != nil {
		hold(tb, name+": the request", s.Request, decoded(tb, c.Body))
	}
}

func (s *spec) answer(tb testing.TB, name string, body []byte) {
	v := decoded(tb, body)
	hold(tb, name+": the answer", s.Response, v)
	if s.Inner == nil {
		return
	}
	for _, step := range s.Inner.At {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	texts, _ := v.([]any)
	for _, t := range texts {
		text, _ := t.(string)
		hold(tb, name+": a text of the answer", s.Inner.Schema, decoded(tb, []byte(text)))
	}
}

func decoded(tb testing.TB, b []byte) any {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		tb.Errorf("%v: %s", err, b)
	}
	return v
}

func hold(tb testing.TB, what string, s *jsonschema.Schema, v any) {
	resolved, err := s.Resolve(nil)
	if err == nil {
		err = resolved.Validate(v)
	}
	if err != nil {
		b, _ := json.Marshal(v)
		tb.Errorf("%s is not as described: %v\n%.2000s", what, err, b)
	}
}
