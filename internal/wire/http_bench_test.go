package wire_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/wire"
)

// echoHTTP answers with the given result, and does as little as a server can.
func echoHTTP(b *testing.B, contentType, result string) string {
	return serveHTTP(b, func(w http.ResponseWriter, r *http.Request) {
		id := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, id); err != nil {
			b.Error(err)
		}
		_, id, _ = bytes.Cut(id, []byte(`"id":`))
		id = id[:bytes.IndexByte(id, ',')]
		w.Header()["Content-Type"] = []string{contentType}
		head := `{"jsonrpc":"2.0","id":`
		if contentType == "text/event-stream" {
			head = "event: message\ndata: " + head
		}
		_, _ = io.WriteString(w, head+string(id)+`,"result":`)
		_, _ = io.WriteString(w, result)
		_, _ = io.WriteString(w, "}\n\n")
	}).URL
}

// BenchmarkHTTPCall is a call with its server, both sides of net/http included.
// Compare with plain, which is net/http alone on the client's side.
func BenchmarkHTTPCall(b *testing.B) {
	small := `{"content":[{"type":"text","text":"0123"}]}`
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 100<<10) + `"}]}`
	params := []byte(`{"name":"echo","arguments":{"text":"0123"}}`)
	for _, c := range []struct{ name, contentType, result, version string }{
		{"json/32B", "application/json", small, "2025-11-25"},
		{"json/32B/modern", "application/json", small, "2026-07-28"},
		{"json/100KB", "application/json", large, "2025-11-25"},
		{"sse/32B", "text/event-stream", small, "2025-11-25"},
		{"sse/100KB", "text/event-stream", large, "2025-11-25"},
	} {
		b.Run(c.name, func(b *testing.B) {
			client := dialHTTP(b, wire.HTTPOptions{URL: echoHTTP(b, c.contentType, c.result)})
			client.SetVersion(c.version)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Call(b.Context(), &wire.Request{Method: "tools/call", Params: params}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/64", func(b *testing.B) {
			client := dialHTTP(b, wire.HTTPOptions{URL: echoHTTP(b, c.contentType, c.result)})
			client.SetVersion(c.version)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := client.Call(b.Context(), &wire.Request{Method: "tools/call", Params: params}); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(c.name+"/plain", func(b *testing.B) {
			url := echoHTTP(b, c.contentType, c.result)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + string(params) + `}`
			b.ReportAllocs()
			for b.Loop() {
				resp, err := client.Post(url, "application/json", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}
