package tenon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/tool"
)

func agentAt(t *testing.T, url, more string) *tenon.Gateway {
	t.Helper()
	g, _ := agents(t, fmt.Sprintf("version: 1\nservers:\n  there: {agent: {a2a: %q, headers: {Authorization: Bearer %s}%s}}\n", url, fakeKey, more), tenon.Options{})
	return g
}

func tell(text string) tool.Call {
	b, _ := json.Marshal(map[string]string{"subtask": text})
	return tool.Call{Arguments: b}
}

// bindings starts an agent for each way to speak to one.
func bindings(t *testing.T) map[string]*doubles.Agent {
	t.Helper()
	return map[string]*doubles.Agent{
		"with streams": doubles.StartAgent(t, true, ""), "without": doubles.StartAgent(t, false, ""), "HTTP+JSON": doubles.StartRESTAgent(t),
	}
}

// TestAnAgentElsewhere speaks to a server of the official SDK, with and without streams.
func TestAnAgentElsewhere(t *testing.T) {
	for binding, d := range bindings(t) {
		g := agentAt(t, d.URL, "")
		var progress []string
		for word, want := range map[string]string{
			"hello": "Hello, world!", "depth": "depth 1", "fail": "gave up: its task is failed: It is too hard.", "login": "wants a login",
			"ask": "nobody can be asked here, so its task was canceled. Call it again with the answer in the subtask. It asked: Which host?",
		} {
			c := tell(word)
			c.Progress = func(p json.RawMessage) { progress = append(progress, string(p)) }
			if res := subtask(t, g, "there", c); !strings.Contains(res.Text(), want) || (res.Kind == "") != (word == "hello" || word == "depth") {
				t.Errorf("%s: %s: %s: %s", binding, word, res.Kind, res.Text())
			}
		}
		if binding != "without" && !strings.Contains(strings.Join(progress, "\n"), "I am at it.") {
			t.Errorf("progress %q", progress)
		}
		await(t, "the tasks that wait to be canceled", func() bool { return d.Canceled() == 2 })
		for _, key := range d.Requests() {
			if key != "Bearer "+fakeKey {
				t.Errorf("asked with %q", key)
			}
		}
	}
}

// TestWhatAnAgentMakes becomes content of MCP.
func TestWhatAnAgentMakes(t *testing.T) {
	for binding, d := range bindings(t) {
		g := agentAt(t, d.URL, "")
		res := subtask(t, g, "there", tell("make"))
		var got struct {
			Content    []map[string]any `json:"content"`
			Structured map[string]any   `json:"structuredContent"`
		}
		if err := json.Unmarshal(res.Raw.Join(), &got); err != nil || len(got.Content) != 7 { // the last one is the line behind
			t.Fatalf("%s: %s, %v", res.Kind, res.Raw.Join(), err)
		}
		var kinds []string
		for _, b := range got.Content {
			kinds = append(kinds, b["type"].(string))
		}
		resource, _ := got.Content[4]["resource"].(map[string]any)
		if strings.Join(kinds, " ") != "text text text image resource resource_link text" || got.Structured["hosts"] != 3.0 || got.Content[1]["text"] != "part two" ||
			!strings.HasSuffix(fmt.Sprint(resource["uri"]), "/.._report__1.pdf") || got.Content[5]["uri"] != "https://example.com/x.csv" {
			t.Errorf("%s: %s", binding, res.Raw.Join())
		}
	}
	g := agentAt(t, doubles.StartAgent(t, true, "").URL, ", max_result_chars: 100")
	if res := subtask(t, g, "there", tell("make")); len(res.Text()) > 400 {
		t.Errorf("%d characters", len(res.Text()))
	}
}

// TestABrokenStreamIsTakenUp goes on with the task where the connection broke.
func TestABrokenStreamIsTakenUp(t *testing.T) {
	t.Parallel()
	for _, d := range []*doubles.Agent{doubles.StartAgent(t, true, ""), doubles.StartRESTAgent(t)} {
		g := agentAt(t, d.URL, "")
		d.Break(2)
		var wg sync.WaitGroup
		var res *tool.Result
		wg.Go(func() { res = subtask(t, g, "there", tell("slow")) })
		await(t, "the stream to be taken up", func() bool { return len(d.Requests()) >= 3 })
		close(d.Release)
		if wg.Wait(); res.Kind != "" || inFence(res) != "late" {
			t.Errorf("%s: %s", res.Kind, res.Text())
		}
	}
}

// TestAnAgentElsewhereIsCanceled with the call that it works for.
func TestAnAgentElsewhereIsCanceled(t *testing.T) {
	for binding, d := range bindings(t) {
		g := agentAt(t, d.URL, "")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var res *tool.Result
		var said atomic.Bool
		c := tell("wait")
		c.Server, c.Tool, c.Progress = "there", "execute_subtask", func(json.RawMessage) { said.Store(true) }
		wg.Go(func() { res = g.Call(ctx, c) })
		await(t, "the task to begin", func() bool { return said.Load() || binding == "without" && len(d.Requests()) >= 2 })
		cancel()
		if wg.Wait(); res.Kind != tool.Canceled {
			t.Errorf("%s: %s", res.Kind, res.Text())
		}
		await(t, "tasks/cancel", func() bool { return d.Canceled() == 1 })
	}
}

// TestAnAgentElsewhereCannotBeHad says why.
func TestAnAgentElsewhereCannotBeHad(t *testing.T) {
	far := doubles.StartAgent(t, true, "http://10.1.2.3:99/invoke")
	for url, want := range map[string]string{
		far.URL:                                "names only addresses at other hosts (10.1.2.3:99)",
		cardOf(t, "https://HOST/invoke"):       "names only addresses",
		cardOf(t, "file://HOST/invoke"):        "names only addresses",
		cardOf(t, "http://ann:pw@HOST/invoke"): "names only addresses",
		cardOf(t, "http://HOST/x/../../admin"): "names only addresses",
		cardOf(t, "http://HOST/moved"):         "redirects to another place",
		far.URL + "/nothing":                   "HTTP status 404",
		"http://127.0.0.1:1":                   "Nothing was begun: do the subtask yourself",
	} {
		if res := subtask(t, agentAt(t, url, ""), "there", tell("hello")); res.Kind != tool.Unavailable || res.Attempts != 1 || !strings.Contains(res.Text(), want) || !strings.Contains(res.Text(), "Nothing was begun") {
			t.Errorf("%s: %s: %s", url, res.Kind, res.Text())
		}
	}
	if n := len(far.Requests()); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	g := agentAt(t, "http://169.254.169.254/", "")
	if res := subtask(t, g, "there", tell("hello")); res.Kind != tool.Unavailable {
		t.Errorf("the address of a cloud's credentials: %s: %s", res.Kind, res.Text())
	}
	d := doubles.StartAgent(t, true, "")
	c := tell("hello")
	c.Params = json.RawMessage(`{"name": "x", "arguments": {"subtask": "hello"}, "_meta": {"tenon/depth": 2}}`)
	if res := subtask(t, agentAt(t, d.URL, ""), "there", c); res.Kind != tool.Failed || !strings.Contains(res.Text(), "2 deep") || len(d.Requests()) != 0 {
		t.Errorf("too deep: %s: %s", res.Kind, res.Text())
	}
}

// cardOf serves the card of an agent that says it is at an address, where HOST is its own
// host, and that sends whoever asks at /moved elsewhere.
func cardOf(t *testing.T, at string) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	at = strings.Replace(at, "HOST", strings.TrimPrefix(srv.URL, "http://"), 1)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"x","description":"x","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[],
			"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, at)
	})
	mux.Handle("/moved", http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked at %s", r.URL) })
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestAnAgentThatSaysTooMuch is stopped.
func TestAnAgentThatSaysTooMuch(t *testing.T) {
	t.Parallel()
	d := doubles.StartAgent(t, true, "")
	res := subtask(t, agentAt(t, d.URL, ""), "there", tell("flood"))
	if res.Kind != tool.Failed || !strings.Contains(res.Text(), "says too much") {
		t.Errorf("%s: %.300s", res.Kind, res.Text())
	}
	await(t, "tasks/cancel", func() bool { return d.Canceled() == 1 })
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
