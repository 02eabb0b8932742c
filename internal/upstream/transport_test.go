package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstream"
)

// TestWrongTransport: a server that refuses the transport which is configured for it is
// told with what to write instead, and one that is refused on both is not.
func TestWrongTransport(t *testing.T) {
	var status atomic.Int64
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(far.Close)
	for _, c := range []struct {
		transport string
		status    int64
		hint      bool
	}{
		{upstream.StreamableHTTP, http.StatusNotFound, true},
		{upstream.StreamableHTTP, http.StatusMethodNotAllowed, true},
		{upstream.SSE, http.StatusMethodNotAllowed, true},
		{upstream.StreamableHTTP, http.StatusForbidden, false},
		{upstream.SSE, http.StatusInternalServerError, false},
		{upstream.Auto, http.StatusNotFound, false},
	} {
		status.Store(c.status)
		err := open(t, upstream.Options{URL: far.URL, Transport: c.transport, Retries: -1}).Connect(t.Context())
		if err == nil || strings.Contains(err.Error(), "transport: auto") != c.hint {
			t.Errorf("%s, %d: %v", c.transport, c.status, err)
		}
	}
}
