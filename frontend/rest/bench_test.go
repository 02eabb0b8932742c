package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// What POST /calls costs beside the call itself and the routing of net/http:
// compare "rest" with the sum of "nothing" and "gateway".
func BenchmarkCall(b *testing.B) {
	gw := pool(b)
	const body = `{"server":"words","tool":"echo","arguments":{"alpha":"hello there","zeta":9007199254740993},"session":"s1","timeout":"30s"}`
	request := func() *http.Request {
		return httptest.NewRequest("POST", "/api/v1/calls", strings.NewReader(body))
	}
	run := func(b *testing.B, h http.Handler) {
		b.ReportAllocs()
		for b.Loop() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request())
			if w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	}
	b.Run("nothing", func(b *testing.B) {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /api/v1/calls", func(http.ResponseWriter, *http.Request) {})
		run(b, mux)
	})
	b.Run("gateway", func(b *testing.B) {
		c := tool.Call{Server: "words", Tool: "echo", Arguments: json.RawMessage(`{"alpha":"hello there","zeta":9007199254740993}`)}
		b.ReportAllocs()
		for b.Loop() {
			if res := gw.Call(b.Context(), c); res.Kind != "" {
				b.Fatal(res.Text())
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := rest.DecodeCall([]byte(body), ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		res := gw.Call(b.Context(), tool.Call{Server: "words", Tool: "echo", Arguments: json.RawMessage(`{"alpha":"hello there"}`)})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := res.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
	// A call that ends in the pipeline costs little itself, so what is left is the
	// way through the API.
	b.Run("rest without server", func(b *testing.B) {
		api := rest.New(gw, rest.Options{})
		b.ReportAllocs()
		for b.Loop() {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/calls", strings.NewReader(`{"server":"broken","tool":"x","arguments":{"alpha":"hello there"},"timeout":"30s"}`)))
		}
	})
	b.Run("gateway without server", func(b *testing.B) {
		c := tool.Call{Server: "broken", Tool: "x", Arguments: json.RawMessage(`{"alpha":"hello there"}`)}
		b.ReportAllocs()
		for b.Loop() {
			gw.Call(b.Context(), c)
		}
	})
	b.Run("rest", func(b *testing.B) { run(b, rest.New(gw, rest.Options{})) })
}
