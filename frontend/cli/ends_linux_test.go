package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/e2bdouble"
)

// TestServerGivesBack ends a bundled server that has a rented machine, in every way short
// of killing it, and wants the machine ended at once.
func TestServerGivesBack(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	const create = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_sandbox","arguments":{}}}` + "\n"
	for name, end := range map[string]func(t *testing.T, c *command){
		"input ends": func(t *testing.T, c *command) {
			var out strings.Builder
			c.stdin, c.stdout = strings.NewReader(hello+create), &out
			if code := c.run(t.Context(), t); code != 0 || !strings.Contains(out.String(), "sbx_") {
				t.Errorf("code %d: %s", code, out.String())
			}
		},
		"interrupt": func(t *testing.T, c *command) {
			r, w := io.Pipe()
			c.stdin = r
			var writer sync.WaitGroup
			writer.Go(func() { _, _ = io.WriteString(w, hello+create) })
			out, interrupt := c.start(t)
			for _, want := range []string{`"id":1`, "sbx_"} {
				if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, want) {
					t.Errorf("%s %v", line, err)
				}
			}
			writer.Wait()
			if code := interrupt(); code != 0 {
				t.Errorf("code %d", code)
			}
			w.Close()
		},
		"interrupt of HTTP": func(t *testing.T, c *command) {
			r, w := io.Pipe()
			c.args, c.stderr = append(c.args, "--http=127.0.0.1:0"), w
			_, interrupt := c.start(t)
			line, err := bufio.NewReader(r).ReadString('\n')
			_, url, _ := strings.Cut(strings.TrimSpace(line), "MCP at ")
			var drain sync.WaitGroup
			drain.Go(func() { _, _ = io.Copy(io.Discard, r) })
			tr, session := &http.Transport{}, ""
			for _, body := range []string{hello, create} {
				req, err2 := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
				if err2 != nil || err != nil {
					t.Fatal(line, err, err2)
				}
				req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
				res, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if session = res.Header.Get("Mcp-Session-Id"); res.StatusCode != http.StatusOK {
					t.Errorf("%d %s", res.StatusCode, b)
				}
			}
			tr.CloseIdleConnections()
			if code := interrupt(); code != 0 {
				t.Errorf("code %d", code)
			}
			w.Close()
			drain.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := e2bdouble.New(t)
			c := &command{args: []string{"server", "python", "--backend=e2b", "--proxy=none", "--dir=" + t.TempDir()}, env: []string{
				"E2B_API_KEY=" + e2bdouble.Key, "E2B_API_URL=" + d.URL, "E2B_SANDBOX_URL=" + d.URL, "DEFAULT_TEMPLATE_ID=code-interpreter-v1",
			}}
			end(t, c)
			if made, left := d.Calls("POST /sandboxes"), d.Machines(); len(made) == 0 || len(left) != 0 {
				t.Errorf("%d were made, and %v are left: %s", len(made), left, c.log.String())
			}
		})
	}
}
