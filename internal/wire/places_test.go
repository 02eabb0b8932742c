package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// TestSessionsAreShared: no caller can have all sessions, and one that ends some can
// have others.
func TestSessionsAreShared(t *testing.T) {
	h := &echo{}
	srv := wire.NewServer(wire.ServerOptions{
		Stateless: h, Open: func(*wire.Session) wire.Handler { return h }, MaxSessions: 12,
		Modern: func(http.Header, *jsonrpc.Message) bool { return false },
		Admit: func(_ http.ResponseWriter, r *http.Request) (tool.Caller, bool) {
			return tool.Caller{Name: r.Header.Get("X-Caller")}, true
		},
	})
	ts := httptest.NewServer(srv)
	t.Cleanup(func() { _ = srv.Close(); ts.Close() })
	open := func(caller string) reply {
		return do(t, t.Context(), "POST", ts.URL, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "X-Caller", caller)
	}
	var last string
	for i := range 12 {
		r := open("ann")
		switch {
		case i < 9 && r.status != 200:
			t.Fatalf("session %d: %d %s", i, r.status, r.body)
		case i >= 9 && (r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "too many sessions of this caller")):
			t.Errorf("session %d of one caller: %d %s", i, r.status, r.body)
		case i < 9:
			last = r.header.Get(wire.HeaderSession)
		}
	}
	for _, caller := range []string{"bob", "", "eve"} {
		if r := open(caller); r.status != 200 {
			t.Errorf("caller %q: %d %s", caller, r.status, r.body)
		}
	}
	if r := open("late"); r.status != http.StatusServiceUnavailable {
		t.Errorf("one more than there are: %d %s", r.status, r.body)
	}
	if r := do(t, t.Context(), "DELETE", ts.URL, "", "X-Caller", "ann", wire.HeaderSession, last); r.status != 204 {
		t.Fatalf("delete: %d %s", r.status, r.body)
	}
	if r := open("late"); r.status != 200 {
		t.Errorf("after one has ended: %d %s", r.status, r.body)
	}
}
