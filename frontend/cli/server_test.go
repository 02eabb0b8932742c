package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
)

// TestServerOverHTTPKnowsCallers: a bundled server of its own wants what a gateway
// wants of a credential, and binds a session to who opened it.
func TestServerOverHTTPKnowsCallers(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "tenon.yaml")
	if err := os.WriteFile(config, []byte("version: 1\nauth: {keys: keys.json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := tenon.OpenKeys(tenon.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	key := map[string]string{"nobody": "not-a-real-key-000"}
	for name, scope := range map[string]tenon.Scope{"ann": {Caller: true}, "bob": {Caller: true, Limits: "small"}, "judge": {Approver: true}} {
		_, secret, err := keys.Create(name, scope, 0)
		if err != nil {
			t.Fatal(err)
		}
		key[name] = secret.Reveal()
	}
	for _, c := range []struct {
		addr, more string
		local      int // status of who brings none
	}{{"127.0.0.1:0", "", 200}, {"0.0.0.0:0", "", 401}, {"127.0.0.1:0", "required: true, ", 401}} {
		if err := os.WriteFile(config, []byte("version: 1\nauth: {"+c.more+"keys: keys.json}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe()
		cmd := command{args: []string{"server", "time", "--http", c.addr, "--config", config}, stderr: w}
		_, interrupt := cmd.start(t)
		url := ""
		lines := bufio.NewScanner(r)
		for url == "" && lines.Scan() { // a warning may come first
			_, url, _ = strings.Cut(lines.Text(), "MCP at ")
		}
		var drain sync.WaitGroup // it logs who is refused
		drain.Go(func() { _, _ = io.Copy(io.Discard, r) })
		url = strings.NewReplacer("0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1").Replace(url)
		tr := &http.Transport{}
		send := func(who, session, body string) (int, string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				req.Header.Set("Mcp-Session-Id", session)
			}
			if key[who] != "" {
				req.Header.Set("Authorization", "Bearer "+key[who])
			}
			res, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			return res.StatusCode, res.Header.Get("Mcp-Session-Id")
		}
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		for who, want := range map[string]int{"": c.local, "ann": 200, "judge": 403, "nobody": 401} {
			if got, _ := send(who, "", hello); got != want {
				t.Errorf("%s, %s%q: status %d, want %d", c.addr, c.more, who, got, want)
			}
		}
		_, session := send("ann", "", hello)
		own, _ := send("ann", session, list)
		other, _ := send("bob", session, list)
		if own != 200 || other != 403 && other != 404 {
			t.Errorf("%s: the session of ann answers her with %d, and bob with %d", c.addr, own, other)
		}
		tr.CloseIdleConnections()
		if code := interrupt(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		w.Close()
		drain.Wait()
	}
}

// TestRefusedServeTellsOfNoFault: a gateway that may not listen ends while it still
// opens the record of approvals, and that says nothing about the record.
func TestRefusedServeTellsOfNoFault(t *testing.T) {
	config := configFile(t, "version: 1\n")
	for range 3 { // with a new record each
		c := command{
			args: []string{"serve", "--listen", "0.0.0.0:0", "--config", config},
			env:  []string{"XDG_STATE_HOME=" + t.TempDir(), "HOME=" + t.TempDir()},
		}
		code := c.run(t.Context(), t)
		if log := c.log.String(); code != 2 || !strings.Contains(log, "nobody has a key") || strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
			t.Fatalf("exit code %d: %s", code, log)
		}
	}
}
