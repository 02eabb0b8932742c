package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	tenon "github.com/tenon-mcp/tenon"
)

// An elder is a server of the legacy era over HTTP. It has tasks, a tool that runs only as
// one, and a tool for clients that let it sample.
type elder struct{ sessions atomic.Int64 }

// ServeHTTP implements http.Handler. The name of a session says what its client can do.
func (e *elder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Capabilities struct{ Sampling json.RawMessage }
		}
	}
	_ = json.Unmarshal(body, &m)
	tools := `{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`
	if strings.HasPrefix(r.Header.Get("Mcp-Session-Id"), "able") {
		tools += `,{"name":"think","inputSchema":{"type":"object"}}`
	}
	result := `{}`
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "initialize":
		name := fmt.Sprint("plain", e.sessions.Add(1))
		if m.Params.Capabilities.Sampling != nil {
			name = fmt.Sprint("able", e.sessions.Add(1))
		}
		w.Header().Set("Mcp-Session-Id", name)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}}},"serverInfo":{"name":"elder","version":"1"}}`
	case m.Method == "tools/list":
		result = `{"tools":[` + tools + `]}`
	case m.Method != "ping":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// younger is a server of the modern era that answers with a list.
func younger(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	answer := `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":""}}`
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Header.Get("Mcp-Protocol-Version") < "2026-07-28":
		w.WriteHeader(http.StatusBadRequest)
	case m.Method == "server/discover":
		answer = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"younger","version":"1"},"ttlMs":0,"cacheScope":"private"}`
	case m.Method == "tools/list":
		answer = `"result":{"resultType":"complete","tools":[{"name":"lines","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}],"ttlMs":0,"cacheScope":"private"}`
	default:
		answer = `"error":{"code":-32601,"message":"no"}`
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// TestCheckSaysWhatCannotBeBridged: for each server, what clients of the other era do not
// have, in words and as JSON; and what its tools want of a client.
func TestCheckSaysWhatCannotBeBridged(t *testing.T) {
	old, young := listen(t, &elder{}), listen(t, http.HandlerFunc(younger))
	config := configFile(t, fmt.Sprintf("version: 1\nservers:\n  old: {url: %q, transport: http}\n  older: {url: %q, transport: http, isolation: session}\n  young: {url: %q, transport: http}\n  time: {bundled: time}\n", old, old, young))
	var out bytes.Buffer
	c := command{args: []string{"check", "--connect", "--config", config}, stdout: &out}
	if code := c.run(t.Context(), t); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, &out, &c.log)
	}
	for _, want := range []string{
		"goes in another way, for clients of MCP 2026-07-28 of old, older: its tasks are those of 2025-11-25",
		"tools that run only so: long\n",
		"cannot be bridged, for clients of older: it can ask its client nothing",
		"goes in another way, for clients of MCP 2026-07-28 of old: what it asks",
		"goes in another way, for clients of old: only clients that declare elicitation, roots, sampling are offered: think\n",
		"goes in another way, for clients of MCP up to 2025-11-25 of young: its tasks are those of the extension",
		"cannot be bridged, for clients of MCP up to 2025-11-25 of young: structured results that are no objects",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	out.Reset()
	c = command{args: []string{"check", "--connect", "--config", config, "--output", "json"}, stdout: &out}
	if code := c.run(t.Context(), t); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, &out, &c.log)
	}
	var got struct{ Gaps []tenon.Gap }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, g := range got.Gaps {
		of = append(of, fmt.Sprintf("%s %s %v", g.Server, g.Client, g.Lost))
	}
	want := []string{
		"old modern false", "old modern false", "old  false",
		"older  true", "older modern false",
		"young legacy false", "young legacy false", "young legacy true",
	}
	if diff := cmp.Diff(want, of); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
