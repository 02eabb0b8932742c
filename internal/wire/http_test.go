package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// parse reads the message in the body of a request.
func parse(t testing.TB, r *http.Request) *wire.Message {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("body: %v", err)
	}
	m, err := wire.Parse(tool.OneOf(b))
	if err != nil {
		t.Errorf("message %q: %v", b, err)
		return &wire.Message{}
	}
	return m
}

// serve starts a server that ends with the test.
func serve(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// dial returns a client that is closed before the servers of the test.
func dial(t testing.TB, o wire.HTTPOptions) *wire.HTTP {
	t.Helper()
	c := wire.NewHTTP(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestHTTPCall(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m := parse(t, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+string(m.Params.Join())+`}`)
	})
	c := dial(t, wire.HTTPOptions{URL: s.URL})
	for range 3 {
		const params = `{"n":9007199254740993,"z":1,"a":{"unknown":[1,2.50,1e400]}}`
		got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(params)})
		if err != nil || string(got.Join()) != params {
			t.Fatalf("got %s, %v", got.Join(), err)
		}
	}
}
