package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

func TestMain(m *testing.M) { upstreamtest.Main(m) }

// front opens a pool of scripted servers and shows it over HTTP.
func front(t testing.TB, scripts map[string]upstreamtest.Script, more string) (*mcp.Server, string) {
	t.Helper()
	cfg := "version: 1\nservers:\n"
	for _, name := range []string{"one", "two", "dead"} {
		s, ok := scripts[name]
		if !ok {
			continue
		}
		key, value := s.Env()
		env, _ := json.Marshal(map[string]string{key: value, "GORACE": "atexit_sleep_ms=0"})
		cfg += fmt.Sprintf("  %s: {command: %q, env: %s, retries: 0}\n", name, upstreamtest.Executable(t), env)
	}
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte(cfg+more), 0o600); err != nil {
		t.Fatal(err)
	}
	gw, err := tenon.Open(t.Context(), tenon.Options{Config: path, Env: append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.New(gw, mcp.Options{Version: "1.2.3"})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close()
		ts.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := gw.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, ts.URL
}

var good = map[string]upstreamtest.Script{"one": {Tools: 3}, "two": {Modern: true}}

// connect is the official SDK as the client, in the era of the version.
func connect(t *testing.T, url, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	hc := &http.Client{Transport: &http.Transport{}}
	c := sdk.NewClient(&sdk.Implementation{Name: "oracle", Version: "1"}, o)
	cs, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: hc}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close(); hc.CloseIdleConnections() })
	return cs
}

func TestOfficialClient(t *testing.T) {
	_, url := front(t, good, "")
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			progress := make(chan float64, 10)
			cs := connect(t, url, version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					progress <- r.Params.Progress
				},
			})
			if got := cs.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s", got)
			}
			var names []string
			for tool, err := range cs.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if len(names) != 30 || names[0] != "one__echo" || names[16] != "two__echo" {
				t.Errorf("%d tools: %q", len(names), names)
			}
			for _, name := range []string{"one__echo", "two__echo"} {
				res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(`{"n":9007199254740993}`)})
				if err != nil || res.IsError || text(res) != `{"n":9007199254740993}` {
					t.Errorf("%s: %v, %s", name, err, text(res))
				}
			}
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "one__fail"})
			if err != nil || !res.IsError || text(res) != "it did not work" {
				t.Errorf("fail: %v, %s", err, text(res))
			}
			params := &sdk.CallToolParams{Name: "one__progress"}
			params.SetProgressToken("mine")
			if res, err = cs.CallTool(t.Context(), params); err != nil || text(res) != "done" {
				t.Errorf("progress: %v, %s", err, text(res))
			}
			for want := 1.0; want <= 3; want++ { // the client hands them on when it likes
				select {
				case got := <-progress:
					if got != want {
						t.Errorf("progress %v, want %v", got, want)
					}
				case <-time.After(time.Minute):
					t.Fatalf("progress %v never came", want)
				}
			}
		})
	}
}

func text(res *sdk.CallToolResult) string {
	if res == nil || len(res.Content) == 0 {
		return ""
	}
	var out []string
	for _, c := range res.Content {
		if tc, ok := c.(*sdk.TextContent); ok {
			out = append(out, tc.Text)
		}
	}
	return strings.Join(out, "\n")
}

// post sends one raw message.
func post(t *testing.T, url, body string, header ...string) (status int, answer string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modern(method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`
}

func TestModernRequests(t *testing.T) {
	_, url := front(t, good, "")
	v := []string{"Mcp-Protocol-Version", "2026-07-28"}
	for _, c := range []struct {
		name, body string
		header     []string
		status     int
		want       []string
	}{
		{"discover", modern("server/discover", ""), append(v, "Mcp-Method", "server/discover"), 200, []string{`"supportedVersions":["2026-07-28"]`, `"version":"1.2.3"`, `"ttlMs"`}},
		{"list", modern("tools/list", ""), append(v, "Mcp-Method", "tools/list"), 200, []string{`"resultType":"complete"`, `"ttlMs":0`, `"cacheScope":"private"`, `"name":"two__echo"`}},
		{"call of a legacy server", modern("tools/call", `"name":"one__echo","arguments":{"a":1}`), append(v, "Mcp-Method", "tools/call", "Mcp-Name", "one__echo"), 200, []string{`{"resultType":"complete","content":[{"type":"text","text":"{\"a\":1}"}]}`}},
		{"name in base64", modern("tools/call", `"name":"one__echo"`), append(v, "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?b25lX19lY2hv?="), 200, []string{`"result"`}},
		{"era of the body", modern("tools/list", ""), []string{"Mcp-Method", "tools/list"}, 200, []string{`"ttlMs"`}},
		{"another name in the header", modern("tools/call", `"name":"one__echo"`), append(v, "Mcp-Method", "tools/call", "Mcp-Name", "two__echo"), 400, []string{"-32020"}},
		{"another method in the header", modern("tools/list", ""), append(v, "Mcp-Method", "tools/call"), 400, []string{"-32020"}},
		{"no method in the header", modern("tools/list", ""), v, 400, []string{"-32020"}},
		{"no meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, append(v, "Mcp-Method", "tools/list"), 400, []string{"-32602"}},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, append(v, "Mcp-Method", "tools/list"), 400, []string{"-32602", "clientCapabilities"}},
		{"a version to come", strings.ReplaceAll(modern("tools/list", ""), "2026-07-28", "2027-01-01"), []string{"Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/list"}, 400, []string{"-32022", `"supported":["2026-07-28"]`, `"requested":"2027-01-01"`}},
		{"a version to come, and nothing else", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Protocol-Version", "2027-01-01"}, 400, []string{"-32022", `"requested":"2027-01-01"`}},
		{"a version to come in its body alone", strings.ReplaceAll(modern("tools/list", ""), "2026-07-28", "2027-01-01"), nil, 400, []string{"-32022", `"requested":"2027-01-01"`}},
		{"initialize in a version to come", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, []string{"Mcp-Protocol-Version", "2027-01-01"}, 400, []string{"-32022"}},
		{"a version that is none", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Protocol-Version", "banana"}, 400, []string{"-32022", `"requested":"banana"`}},
		{"a number for a version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`, nil, 200, []string{"-32602", "protocolVersion is of the wrong type: number"}},
		{"versions that differ", modern("tools/list", ""), []string{"Mcp-Protocol-Version", "2026-07-29", "Mcp-Method", "tools/list"}, 400, []string{"-32020"}},
		{"unknown method", modern("no/such", ""), append(v, "Mcp-Method", "no/such"), 404, []string{"-32601"}},
		{"ping is gone", modern("ping", ""), append(v, "Mcp-Method", "ping"), 404, []string{"-32601"}},
		{"call without a name", modern("tools/call", ""), append(v, "Mcp-Method", "tools/call"), 400, []string{"-32602"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer, _ := post(t, url, c.body, c.header...)
			if status != c.status {
				t.Errorf("status %d: %.300s", status, answer)
			}
			for _, w := range c.want {
				if !strings.Contains(answer, w) {
					t.Errorf("lacks %s: %.300s", w, answer)
				}
			}
		})
	}
}

// session opens a legacy session.
func session(t *testing.T, url string) string {
	t.Helper()
	_, answer, h := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if !strings.Contains(answer, `"protocolVersion":"2025-11-25"`) {
		t.Fatal(answer)
	}
	return h.Get("Mcp-Session-Id")
}

func TestWhatWasDoneIsSaid(t *testing.T) {
	_, url := front(t, map[string]upstreamtest.Script{"one": {Tools: 2}, "two": {}, "dead": {ExitAtOnce: true, Stderr: "no key"}}, "blacklist: [[one, pid]]\n")
	id := session(t, url)
	call := func(name, args string) string {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`}}`, "Mcp-Session-Id", id)
		return answer
	}
	list := func() string {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", id)
		return answer
	}
	if first, second := list(), list(); first != second || strings.Contains(first, "one__pid") || !json.Valid([]byte(first)) {
		t.Errorf("list: %.300s", first)
	}
	for _, c := range []struct {
		name, tool, args string
		want             []string
	}{
		{"byte for byte", "one__echo", `{"z":1,"a":2}`, []string{`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"z\":1,\"a\":2}"}]}}`}},
		{"corrected", "wrong__tool_0001", `{}`, []string{`isError`, `-32602`}},
		{"plain name", "tool_0000", `{}`, []string{`-32602`}},
		{"unknown", "one__nothing", `{}`, []string{`"isError":true`, `"tenon/error_kind":"not_found"`}},
		{"denied", "one__pid", `{}`, []string{`"isError":true`, `"tenon/error_kind":"denied"`}},
		{"unavailable", "dead__echo", `{}`, []string{`"isError":true`, `"tenon/error_kind":"unavailable"`, "no key"}},
		{"the tool's error", "one__fail", `{}`, []string{`"isError":true`, "it did not work"}},
		{"cut", "one__big", `{"size":50000}`, []string{`[cut from 50000 to 16000 characters; what the server gave is kept whole as handle h_`, `"tenon/notes":[{"stage":"shape"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := call(c.tool, c.args)
			if c.name == "corrected" || c.name == "plain name" {
				// The script does not know its dummy tools: what counts is that the
				// call reached the only server that lists it.
				if !strings.Contains(answer, "tool_000") || !strings.Contains(answer, "one") {
					t.Errorf("got %s", answer)
				}
				return
			}
			for _, w := range c.want {
				if !strings.Contains(answer, w) {
					t.Errorf("lacks %s: %.400s", w, answer)
				}
			}
		})
	}
	// A failed server is named when a client says hello.
	_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`)
	if !strings.Contains(answer, "Server dead is not available") || !strings.Contains(answer, "it is tried again in ") || !strings.Contains(answer, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("hello: %s", answer)
	}
}

func TestListChangedReachesClients(t *testing.T) {
	_, url := front(t, good, "")
	told := make(chan struct{}, 10)
	cs := connect(t, url, "2025-11-25", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} },
	})
	limit := time.After(time.Minute)
	for {
		// The client opens its stream when it likes: change the list until it hears of it.
		if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "one__change"}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
			return
		case <-limit:
			t.Fatal("the client was not told")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func TestStdio(t *testing.T) {
	s, _ := front(t, good, "")
	in, w := io.Pipe()
	r, out := io.Pipe()
	done := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { done <- s.ServeStdio(t.Context(), in, out) })
	defer wg.Wait()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for _, c := range []struct{ send, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `"protocolVersion":"2025-06-18"`},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"one__echo","arguments":{"k":[1]}}}`, `{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"{\"k\":[1]}"}]}}`},
		{modern("server/discover", ""), `"supportedVersions"`},
		{modern("tools/call", `"name":"two__echo"`), `"resultType":"complete"`},
		{`{"jsonrpc":"2.0","id":5,"method":"resources/list"}`, `{"resources":[]}`},
		{`{"jsonrpc":"2.0","id":6,"method":"no/such"}`, `-32601`},
	} {
		if _, err := io.WriteString(w, c.send+"\n"); err != nil {
			t.Fatal(err)
		}
		for {
			if !lines.Scan() {
				t.Fatal(lines.Err())
			}
			if !bytes.Contains(lines.Bytes(), []byte("list_changed")) { // servers are still starting
				break
			}
		}
		if got := lines.Bytes(); !bytes.Contains(got, []byte(c.want)) {
			t.Errorf("sent %s\ngot %.300s\nwant %s", c.send, got, c.want)
		}
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func BenchmarkCall(b *testing.B) {
	s, _ := front(b, map[string]upstreamtest.Script{"one": {}}, "tools:\n  \"*/*\": {max_result_chars: 0}\n")
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__echo","arguments":{"text":"` + strings.Repeat("x", 32) + `"},` + meta + `}}`
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "one__echo")
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		if rec.Code != 200 {
			b.Fatal(rec.Body)
		}
	}
}
