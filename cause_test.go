package tenon_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestTimeoutTellsItsCause: a call whose time is over says what it hung on, where the
// server that carries it out knows; and who is told only that there were too many
// requests is told so soon.
func TestTimeoutTellsItsCause(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := json.NewDecoder(r.Body)
		var in struct{ Q string }
		_ = body.Decode(&in) // a test sends JSON
		mu.Lock()
		asked[in.Q]++
		again := asked[in.Q] > 1
		mu.Unlock()
		switch {
		case in.Q == "broken" && again, in.Q == "busy" && again: // until the client goes
			<-r.Context().Done()
		case in.Q == "busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case in.Q == "often":
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = w.Write([]byte("<html>")) // the client may be gone
		}
	}))
	t.Cleanup(service.Close)
	g := open(t, tenon.Options{Bundled: bundled(), Config: write(t, `version: 1
servers:
  searching: {bundled: searching, in_process: true, options: {serper_api_key: not-a-real-key-000, serper_base_url: "`+service.URL+`", allow: ["`+strings.TrimPrefix(service.URL, "http://")+`"]}}
`)})
	for _, tt := range []struct {
		q, want string
		timeout time.Duration
		kind    tool.Kind
	}{
		{"broken", "nothing that is JSON", 3 * time.Second, tool.Timeout},
		{"busy", "503", 3 * time.Second, tool.Timeout},
		{"html", "nothing that is JSON", 5 * time.Second, tool.Failed},
		{"often", "429", 0, tool.Failed},
	} {
		t.Run(tt.q, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			res := g.Call(t.Context(), tool.Call{Server: "searching", Tool: "google_search", Arguments: json.RawMessage(`{"q":"` + tt.q + `"}`), Timeout: tt.timeout})
			if res.Kind != tt.kind || !strings.Contains(res.Text(), tt.want) || time.Since(start) > 30*time.Second {
				t.Errorf("%q after %s: %s", res.Kind, time.Since(start), res.Text())
			}
		})
	}
}
