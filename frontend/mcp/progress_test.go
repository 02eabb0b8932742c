package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// bursts is a modern server whose tool tells of as much progress as it is asked to, all
// of it and the answer in one go.
func bursts(t *testing.T) *upstream {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments struct {
					Times int `json:"times"`
				} `json:"arguments"`
				Meta struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			} `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := func(result string) string {
			return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
		}
		switch m.Method {
		case "server/discover":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`))
		case "tools/list":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer(`{"resultType":"complete","tools":[{"name":"burst","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`))
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			var b strings.Builder
			for i := range m.Params.Arguments.Times {
				fmt.Fprintf(&b, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", m.Params.Meta.Token, i+1)
			}
			_, _ = io.WriteString(w, b.String()+"data: "+answer(`{"resultType":"complete","content":[]}`)+"\n\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(ts.Close)
	return &upstream{url: ts.URL}
}

// TestProgressIsWhole has many clients that read, on a machine that is busy: each gets
// all the progress of its call, in order, and then the answer, however much of it comes
// at once.
func TestProgressIsWhole(t *testing.T) {
	url := gateway(t, "", bursts(t))
	var burning, clients sync.WaitGroup
	var stop atomic.Bool
	for range 2 * runtime.NumCPU() {
		burning.Go(func() {
			for n := 0; !stop.Load(); n++ { // keeps a processor busy
			}
		})
	}
	for i := range 12 {
		clients.Go(func() {
			for j := range 6 {
				times := 3
				if j == 3 {
					times = 2000
				}
				token := fmt.Sprintf("mine %d-%d", i, j)
				if err := progresses(t, url, token, times); err != nil {
					t.Errorf("%s: %v", token, err)
				}
			}
		})
	}
	clients.Wait()
	stop.Store(true)
	burning.Wait()
}

func progresses(t *testing.T, url, token string, times int) error {
	body := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"s1__burst","arguments":{"times":` + strconv.Itoa(times) + `},"_meta":{"progressToken":"` + token + `",` + meta[len(`"_meta":{`):] + `}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {latest}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"s1__burst"},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	seen := 0
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m struct {
			Result json.RawMessage
			Params struct {
				ProgressToken string
				Progress      int
			}
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return err
		}
		if m.Result != nil {
			if seen != times {
				return fmt.Errorf("%d of %d notifications before the answer", seen, times)
			}
			return nil
		}
		if seen++; m.Params.Progress != seen || m.Params.ProgressToken != token {
			return fmt.Errorf("notification %d is %s", seen, data)
		}
	}
	return fmt.Errorf("no answer after %d notifications", seen)
}
