package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A worker is a server of one era whose only tool is a task, which asks who is there when a
// test wants it to, and is done when it knows.
type worker struct {
	modern bool

	mu     sync.Mutex
	status string
	who    string        // the answer to what it asks
	moved  chan struct{} // closed at each change
	said   []string
}

const question = `{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"}}}}}`

// now changes the state of the task.
func (s *worker) now(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *worker) is() (status string, moved <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.moved
}

func (s *worker) heard(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.said, "\n"), what)
}

// task is what the server says of its task.
func (s *worker) task() string {
	status, _ := s.is()
	if !s.modern {
		return `"taskId":"t1","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":10`
	}
	out := `"taskId":"t1","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":10`
	switch status {
	case "input_required":
		out += `,"inputRequests":{"who":` + question + `}`
	case "completed":
		out += `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	case "failed":
		out += `,"error":{"code":-32603,"message":"it broke"}`
	}
	return out
}

func (s *worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
		Params struct {
			Task           json.RawMessage
			InputResponses json.RawMessage
			Meta           json.RawMessage `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	s.said = append(s.said, m.Method+" "+string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch isModern := r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"; {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.Method == "":
		s.mu.Lock()
		s.who = string(m.Result)
		s.mu.Unlock()
		s.now("completed")
		w.WriteHeader(http.StatusAccepted)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case isModern != s.modern:
		code := `-32601,"message":"no"`
		if s.modern {
			code = `-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":""}`
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%s}}`, m.ID, code)
		return
	}
	result := ""
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"x","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"x","version":"1"},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		result = `{"resultType":"complete","tools":[{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"quick","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`
	case "tools/call":
		switch {
		case strings.Contains(string(body), `"quick"`):
			result = `{"resultType":"complete","content":[{"type":"text","text":"at once"}]}`
		case s.modern && strings.Contains(string(m.Params.Meta), "io.modelcontextprotocol/tasks"):
			result = `{"resultType":"task",` + s.task() + `}`
		case !s.modern && m.Params.Task != nil:
			result = `{"task":{` + s.task() + `}}`
		}
	case "tasks/get":
		result = `{"resultType":"complete",` + s.task() + `}`
	case "tasks/update":
		s.mu.Lock()
		s.who = string(m.Params.InputResponses)
		s.mu.Unlock()
		s.now("completed")
		result = `{"resultType":"complete"}`
	case "tasks/cancel":
		s.now("cancelled")
		result = `{"resultType":"complete",` + s.task() + `}`
	case "tasks/result", "subscriptions/listen":
		s.stream(w, r, m.ID, m.Method == "tasks/result")
		return
	}
	if result == "" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"it runs only as a task"}}`, m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// stream answers a request for the result when there is one, and asks what the task wants to
// know; or it tells of each change.
func (s *worker) stream(w http.ResponseWriter, r *http.Request, id json.RawMessage, wantsResult bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(format string, args ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", args...)
		w.(http.Flusher).Flush()
	}
	if !wantsResult {
		send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["t1"]}}}`)
	}
	for asked := false; ; {
		status, moved := s.is()
		switch {
		case !wantsResult:
			send(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{%s}}`, s.task())
		case status == "input_required" && !asked:
			asked = true
			send(`{"jsonrpc":"2.0","id":77,%s`, question[1:])
		case status == "completed":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
			return
		case status == "failed":
			send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"it broke"}}`, id)
			return
		}
		select {
		case <-moved:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *worker) serve(t *testing.T) *upstream {
	s.status, s.moved = "working", make(chan struct{})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{url: ts.URL}
}

// A rawClient is a client of the legacy era that says what a test wants it to say.
type rawClient struct {
	t                           *testing.T
	url, session, authorization string
}

func newRaw(t *testing.T, url string) *rawClient {
	c := &rawClient{t: t, url: url}
	c.hello()
	return c
}

func (c *rawClient) hello() {
	c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"tasks":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// post sends a message, answers what it is asked meanwhile, and returns all that comes.
func (c *rawClient) post(body string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.read(req)
}

func (c *rawClient) read(req *http.Request) string {
	c.t.Helper()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return ""
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	var all strings.Builder
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"elicitation/create"`) {
			id := regexp.MustCompile(`"id":("[^"]*"|\d+)`).FindStringSubmatch(lines.Text())[1]
			c.post(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"who":"ann"}}}`)
		}
	}
	return all.String()
}

// ask sends a request.
func (c *rawClient) ask(method, params string) string {
	c.t.Helper()
	return c.post(`{"jsonrpc":"2.0","id":5,"method":"` + method + `","params":{` + params + `}}`)
}

var handle = regexp.MustCompile(`"taskId":"(tenon-[^"]+)"`)

// handleOf returns the handle in an answer.
func handleOf(t *testing.T, answer string) string {
	t.Helper()
	m := handle.FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no handle: %s", answer)
	}
	return m[1]
}

// wants fails a test unless an answer has all texts.
func wants(t *testing.T, answer string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(answer, text) {
			t.Errorf("no %s in %s", text, answer)
		}
	}
}

// TestLegacyClientsHaveHandlesOfModernTasks: got, listed, asked for, canceled, and nobody else's.
func TestLegacyClientsHaveHandlesOfModernTasks(t *testing.T) {
	for path, name := range map[string]string{"/mcp": "s1__long", "/mcp/s/s1": "long"} {
		t.Run(name, func(t *testing.T) {
			s := &worker{modern: true}
			url := gateway(t, "", s.serve(t)) + path
			soon(t, "the server", func() bool { return s.heard("tools/list") })
			c, other := newRaw(t, url), newRaw(t, url)
			begin := func() string {
				answer := c.ask("tools/call", `"name":"`+name+`","arguments":{},"task":{"ttl":5000}`)
				wants(t, answer, `"task":{"taskId":"tenon-`, `"status":"working"`, `"ttl":60000`, `"pollInterval":10`)
				return `"taskId":"` + handleOf(t, answer) + `"`
			}
			id := begin()
			if s.heard(`"task":{"ttl"`) {
				t.Error("the server was sent a member of the other era")
			}
			answer := c.ask("tasks/get", id)
			wants(t, answer, id, `"status":"working"`, `"ttl":60000`)
			if strings.Contains(answer, "ttlMs") {
				t.Errorf("a member of the other era: %s", answer)
			}
			wants(t, c.ask("tasks/list", ""), id, `"tasks":[{`)
			wants(t, other.ask("tasks/list", ""), `"tasks":[]`)

			s.now("input_required")
			wants(t, c.ask("tasks/get", id), `"status":"input_required"`)
			answer = c.ask("tasks/result", id)
			wants(t, answer, `"elicitation/create"`, `"text":"done"`, `"io.modelcontextprotocol/related-task":{`+id)
			if s.who != `{"who":{"action":"accept","content":{"who":"ann"}}}` {
				t.Errorf("the server was told %s", s.who)
			}
			wants(t, c.ask("tasks/get", id), `"status":"completed"`)
			wants(t, c.ask("tasks/cancel", id), "it has ended")

			s.now("working")
			id = begin()
			wants(t, c.ask("tasks/cancel", id), id, `"status":"cancelled"`)
			s.now("working")
			id = begin()
			s.now("failed")
			wants(t, c.ask("tasks/result", id), "it broke")

			answer = c.ask("tools/call", strings.ReplaceAll(`"name":"long","arguments":{},"task":{}`, "long", strings.Replace(name, "long", "quick", 1)))
			wants(t, answer, `"status":"completed"`)
			wants(t, c.ask("tasks/result", `"taskId":"`+handleOf(t, answer)+`"`), "at once")
			wants(t, c.ask("tasks/get", id[:len(id)-2]+`x"`), "-32602")
		})
	}
}

// TestLegacyClientsHearOfModernTasks on the stream of their session.
func TestLegacyClientsHearOfModernTasks(t *testing.T) {
	s := &worker{modern: true}
	url := gateway(t, "", s.serve(t)) + "/mcp/s/s1"
	c := newRaw(t, url)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", c.session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	id := handleOf(t, c.ask("tools/call", `"name":"long","arguments":{},"task":{}`))
	soon(t, "the subscription", func() bool { return s.heard("subscriptions/listen") })
	s.now("completed")
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line, "notifications/tasks/status") && strings.Contains(line, `"completed"`) {
			wants(t, line, id, `"ttl":60000`)
			return
		}
	}
	t.Error("no notification came")
}

// sendKnowing sends a modern request of a client that knows tasks.
func sendKnowing(t *testing.T, url, method, name, members string) string {
	t.Helper()
	res := openKnowing(t, url, method, name, members)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func openKnowing(t *testing.T, url, method, name, members string) *http.Response {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}},` + members + `}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": latest, "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestModernClientsHaveHandlesOfLegacyTasks: got, answered, canceled, told of, and nobody else's.
func TestModernClientsHaveHandlesOfLegacyTasks(t *testing.T) {
	for path, name := range map[string]string{"/mcp": "s1__long", "/mcp/s/s1": "long"} {
		t.Run(name, func(t *testing.T) {
			s := &worker{}
			url := gateway(t, "", s.serve(t)) + path
			soon(t, "the server", func() bool { return s.heard("tools/list") })
			about := func(method, id, more string) string {
				return sendKnowing(t, url, method, id, `"taskId":"`+id+`"`+more)
			}
			begin := func() string {
				answer := sendKnowing(t, url, "tools/call", name, `"name":"`+name+`","arguments":{}`)
				wants(t, answer, `"resultType":"task"`, `"status":"working"`, `"ttlMs":60000`, `"pollIntervalMs":10`)
				return handleOf(t, answer)
			}
			wants(t, sendKnowing(t, url, "server/discover", "", `"x":1`), `"io.modelcontextprotocol/tasks":{}`)
			id := begin()
			told := openKnowing(t, url, "subscriptions/listen", "", `"notifications":{"taskIds":["`+id+`","t1"]}`)
			defer told.Body.Close()
			lines := bufio.NewScanner(told.Body)
			next := func() string {
				for lines.Scan() {
					if strings.HasPrefix(lines.Text(), "data: {") {
						return lines.Text()
					}
				}
				t.Fatal("the stream has ended")
				return ""
			}
			if answer := next(); !strings.Contains(answer, `acknowledged`) || !strings.Contains(answer, `"taskIds":["`+id+`"`) {
				t.Error(answer)
			}
			wants(t, next(), "notifications/tasks", id, `"status":"working"`, `"io.modelcontextprotocol/subscriptionId":9`)

			s.now("input_required")
			answer := about("tasks/get", id, "")
			wants(t, answer, `"status":"input_required"`, `"inputRequests":{"input_1":{"method":"elicitation/create"`)
			wants(t, next(), `"input_1"`)
			wants(t, about("tasks/update", id, `,"inputResponses":7`), "-32602")
			wants(t, about("tasks/update", id, `,"inputResponses":{"input_1":{"action":"accept","content":{"who":"bob"}}}`), `"resultType":"complete"`)
			soon(t, "the answer", func() bool { status, _ := s.is(); return status == "completed" })
			if !strings.Contains(s.who, `"who":"bob"`) {
				t.Errorf("the server was told %s", s.who)
			}
			wants(t, about("tasks/get", id, ""), `"status":"completed"`, `"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
			wants(t, next(), `"status":"completed"`, `"text":"done"`)

			s.now("working")
			id = begin()
			wants(t, about("tasks/cancel", id, ""), `"result":{"resultType":"complete"}`)
			wants(t, about("tasks/get", id, ""), `"status":"cancelled"`)
			s.now("working")
			id = begin()
			s.now("failed")
			wants(t, about("tasks/get", id, ""), `"status":"failed"`, `"error":{"code":-32603`)
			wants(t, about("tasks/get", id[:len(id)-2]+"x", ""), `"error"`)
			// What a client is to come again with is no handle, and a handle no such state.
			wants(t, sendKnowing(t, url, "tools/call", name, `"name":"`+name+`","arguments":{},"requestState":"`+id+`"`), "requestState is refused")
		})
	}
}
