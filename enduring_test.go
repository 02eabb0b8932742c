package tenon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// crasher is a configuration with the server "s", whose tool crash writes a line
// and dies so often.
func crasher(t *testing.T, more string) (path, file string) {
	t.Helper()
	s := upstreamtest.Script{Extra: []string{upstreamtest.CrashTool, `{"name":"get_crashes","inputSchema":{"type":"object"}}`}}
	return write(t, "version: 1\nservers:\n"+entry(t, "s", s, "")+entry(t, "t", upstreamtest.Script{}, "")+more), filepath.Join(t.TempDir(), "lines")
}

func crash(file string, times int) tool.Call {
	args, _ := json.Marshal(map[string]any{"file": file, "times": times})
	return tool.Call{Server: "s", Tool: "crash", Arguments: args}
}

func noteTexts(res *tool.Result) string {
	var b strings.Builder
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Stage, n.Text)
	}
	return b.String()
}

// TestReadIsRepeated: a tool that only reads is called again when its server dies
// of it, and a new server answers.
func TestReadIsRepeated(t *testing.T) {
	t.Parallel()
	path, file := crasher(t, "tools: {s/crash: {read_only: true}}\n")
	g := open(t, tenon.Options{Config: path})
	res := g.Call(t.Context(), crash(file, 2))
	if res.Kind != "" || res.Text() != "3" || res.Attempts != 3 || !strings.Contains(noteTexts(res), "retry: tried 3 times") {
		t.Errorf("%q after %d attempts: %s %s", res.Kind, res.Attempts, res.Text(), noteTexts(res))
	}
	res = g.Call(t.Context(), crash(file, 100))
	if res.Kind != tool.Unavailable || res.Attempts != 3 || upstreamtest.Starts(t, file) != 6 {
		t.Errorf("%q after %d attempts, %d runs: %s", res.Kind, res.Attempts, upstreamtest.Starts(t, file), res.Text())
	}
}

// TestWriteIsNotRepeated: a write whose answer was lost runs once, with and without
// a key, and the error says how to check.
func TestWriteIsNotRepeated(t *testing.T) {
	path, file := crasher(t, "tools: {s/get_crashes: {read_only: true}}\n")
	g := open(t, tenon.Options{Config: path})
	c := crash(file, 1)
	c.IdempotencyKey = "k"
	for range 2 {
		res := g.Call(t.Context(), c)
		if res.Kind != tool.OutcomeUnknown || !strings.Contains(res.Text(), "get_crashes of server s may tell") || upstreamtest.Starts(t, file) != 1 {
			t.Errorf("%q, %d runs: %s", res.Kind, upstreamtest.Starts(t, file), res.Text())
		}
	}
	c.IdempotencyKey = "another"
	for range 2 {
		if res := g.Call(t.Context(), c); res.Kind != "" || res.Text() != "2" {
			t.Errorf("%q: %s", res.Kind, res.Text())
		}
	}
}

// TestKeyOutlivesReload: what ran is known after the configuration changed.
func TestKeyOutlivesReload(t *testing.T) {
	path, file := crasher(t, "")
	g := open(t, tenon.Options{Config: path})
	c := crash(file, 0)
	c.IdempotencyKey = "k"
	first := g.Call(t.Context(), c)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, werr := f.WriteString("gateway: {call_timeout: 1m}\n")
	if err := errors.Join(werr, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := g.Call(t.Context(), c); first.Text() != "1" || second.Text() != "1" {
		t.Errorf("%s, then %s", first.Text(), second.Text())
	}
}

// TestFallbacksOfTheConfiguration: a tool that dies is replaced by another one.
func TestFallbacksOfTheConfiguration(t *testing.T) {
	t.Parallel()
	path, file := crasher(t, `tools: {s/crash: {read_only: true}}
gateway: {retry: {attempts: 1}}
fallbacks:
  "s/cr*": [gone/x, {tool: t/echo, arguments: {was: "${arguments.times}"}}]
  anything: [s/crash, {tool: t/echo, arguments: {called: "for ${arguments.times}"}}]
`)
	g := open(t, tenon.Options{Config: path})
	c := crash(file, 9)
	res := g.Call(t.Context(), c)
	if res.Text() != `{"was":9}` || res.Server != "t" || !strings.Contains(noteTexts(res), "answered by t/echo, because s/crash failed (unavailable): ") || !strings.Contains(noteTexts(res), "gone/x was passed over: there is no server gone") {
		t.Errorf("%q: %s\n%s", res.Kind, res.Text(), noteTexts(res))
	}
	c.Server, c.Tool = "", "anything"
	if res := g.Call(t.Context(), c); res.Text() != `{"called":"for 9"}` {
		t.Errorf("%q: %s\n%s", res.Kind, res.Text(), noteTexts(res))
	}
}

// TestEnduringOverHTTP: what was done to a call is seen over REST and MCP alike, and
// a key given to one of them counts for the other.
func TestEnduringOverHTTP(t *testing.T) {
	t.Parallel()
	path, file := crasher(t, `tools: {s/crash: {read_only: true}}
gateway: {retry: {attempts: 1}}
fallbacks:
  search: [s/crash, {tool: t/echo, arguments: {q: "${arguments.times}"}}]
`)
	g := open(t, tenon.Options{Config: path})
	api := httptest.NewServer(rest.New(g, rest.Options{}))
	defer api.Close()
	front := mcp.New(g, mcp.Options{})
	defer front.Close()
	over := httptest.NewServer(front)
	defer over.Close()
	args := string(crash(file, 9).Arguments)

	body := send(t, api, "/api/v1/calls", `{"tool":"search","arguments":`+args+`}`)
	for _, want := range []string{`"server_name":"t"`, `"tool_name":"echo"`, `"result":"{\"q\":9}"`, `"stage":"fallback"`, "because s/crash failed (unavailable)"} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s: %s", want, body)
		}
	}
	call := `{"server":"t","tool":"count","idempotency_key":"k"}`
	first, second := send(t, api, "/api/v1/calls", call), send(t, api, "/api/v1/calls", call)
	third := send(t, over, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t__count","arguments":{},"_meta":{"tenon/idempotency_key":"k","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "t__count")
	if !strings.Contains(first, `"result":"1"`) || !strings.Contains(second, `"result":"1"`) || !strings.Contains(second, `"stage":"ledger"`) ||
		!strings.Contains(third, `"text":"1"`) || !strings.Contains(third, `"stage":"ledger"`) || !strings.Contains(third, "[already done at ") {
		t.Errorf("%s\n%s\n%s", first, second, third)
	}
}

// send sends JSON to a listener and returns the answer.
func send(t *testing.T, srv *httptest.Server, path, body string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPageOfAScraper: where a tool that scrapes fails, the page is fetched
// directly, and never from where the content rules forbid.
func TestPageOfAScraper(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html><title>T</title><p>The text of the page.</p></html>")
	})
	mux.Handle("/away", http.RedirectHandler("https://huggingface.co/datasets/x/y", http.StatusFound))
	site := httptest.NewServer(mux)
	defer site.Close()
	type in struct {
		URL string `json:"url"`
	}
	o := tenon.Options{Bundled: []tenon.Bundled{}}
	tenon.FetchHere(&o)
	tenon.AddTool(&o, tenon.Function{Name: "scrape"}, func(context.Context, in) (struct{}, error) {
		return struct{}{}, errors.New("the site answered 403")
	})
	g := open(t, o)
	get := func(path string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "go", Tool: "scrape", Arguments: []byte(`{"url":"` + site.URL + path + `"}`), Timeout: time.Minute})
	}
	res := get("/page")
	if res.Kind != "" || !strings.Contains(res.Text(), ")\nTitle: T\n\nThe text of the page.\nUNTRUSTED ") || res.Server != "tenon" || res.Tool != "fetch" ||
		!strings.Contains(noteTexts(res), "fallback: answered by the direct fetch, because go/scrape failed (failed): the site answered 403") {
		t.Errorf("%q of %s/%s: %s\n%s", res.Kind, res.Server, res.Tool, res.Text(), noteTexts(res))
	}
	res = get("/away")
	if res.Kind != tool.Failed || res.Text() != "the site answered 403" || !strings.Contains(noteTexts(res), "the direct fetch failed (denied)") {
		t.Errorf("%q: %s\n%s", res.Kind, res.Text(), noteTexts(res))
	}
	if rec := g.Calls(1); len(rec) != 1 || rec[0].Server != "go" || rec[0].Attempts != 2 {
		t.Errorf("record %+v", rec)
	}
}
