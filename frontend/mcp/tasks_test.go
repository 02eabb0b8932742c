package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tasker is a server of one era with a tool that runs only as a task: it takes a while,
// and the modern one asks who is there meanwhile.
type tasker struct {
	modern, endless bool

	mu   sync.Mutex
	said []string // of what came
	gets int
}

func (s *tasker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Task           json.RawMessage
			TaskID         string
			InputResponses json.RawMessage
			Meta           struct {
				Can struct{ Extensions map[string]json.RawMessage } `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	isModern := r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
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
	_, knows := m.Params.Meta.Can.Extensions["io.modelcontextprotocol/tasks"]
	s.mu.Lock()
	s.said = append(s.said, m.Method+" "+m.Params.TaskID)
	if m.Method == "tasks/get" {
		s.gets++
	}
	round := s.gets
	s.mu.Unlock()
	const tool = `"tools":[{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]`
	result := ""
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"x","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"x","version":"1"},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		result = `{"resultType":"complete",` + tool + `}`
	case "tools/call":
		switch {
		case s.modern && knows:
			result = `{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":1}`
		case !s.modern && m.Params.Task != nil:
			result = `{"task":{"taskId":"t1","status":"working","ttl":null}}`
		}
	case "tasks/result":
		select {
		case <-time.After(20 * time.Millisecond):
			if s.endless {
				<-r.Context().Done()
			}
		case <-r.Context().Done():
		}
		result = `{"content":[{"type":"text","text":"done"}]}`
	case "tasks/get":
		switch { // it works, asks, works, and is done
		case s.endless:
			result = `{"resultType":"complete","taskId":"t1","status":"working","pollIntervalMs":1}`
		case round == 2:
			result = `{"resultType":"complete","taskId":"t1","status":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"}}}}}}}`
		case round < 4:
			result = `{"resultType":"complete","taskId":"t1","status":"working","pollIntervalMs":1}`
		default:
			result = `{"resultType":"complete","taskId":"t1","status":"completed","result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}`
		}
	case "tasks/update":
		s.mu.Lock()
		s.said = append(s.said, string(m.Params.InputResponses))
		s.mu.Unlock()
		result = `{"resultType":"complete"}`
	case "tasks/cancel":
		result = `{"resultType":"complete"}`
	}
	if result == "" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"it runs only as a task"}}`, m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *tasker) heard(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.said, "\n"), what)
}

func (s *tasker) serve(t *testing.T) *upstream {
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{url: ts.URL}
}

// TestToolsThatRunOnlyAsTasks: a client that knows no tasks of the server's kind gets the result
// when the task is done, and is asked what the task wants to know.
func TestToolsThatRunOnlyAsTasks(t *testing.T) {
	t.Run("legacy server, modern client", func(t *testing.T) {
		s := &tasker{}
		url := gateway(t, "", s.serve(t))
		if got := sendModern(t, url+"/mcp/s/s1", "server/discover", "", ""); strings.Contains(got, `"tasks"`) {
			t.Errorf("tasks of the other era are offered: %s", got)
		}
		if got := sendModern(t, url+"/mcp", "tools/call", "s1__long", `"name":"s1__long","arguments":{}`); !strings.Contains(got, `"text":"done"`) {
			t.Error(got)
		}
	})
	t.Run("legacy server, legacy client", func(t *testing.T) {
		s := &tasker{}
		p := dialIn(t, gateway(t, "", s.serve(t))+"/mcp", "2025-11-25", false, "ann")
		if got := p.call(t, "s1__long"); got != "done" {
			t.Error(got)
		}
	})
	t.Run("modern server, legacy client", func(t *testing.T) {
		s := &tasker{modern: true}
		p := dialIn(t, gateway(t, "", s.serve(t))+"/mcp", "2025-11-25", true, "ann")
		if got := p.call(t, "s1__long"); got != "done" || !s.heard(`"who":"ann"`) || !s.heard("tasks/update t1") {
			t.Errorf("%s; %q", got, s.said)
		}
	})
	t.Run("modern server, modern client", func(t *testing.T) {
		s := &tasker{modern: true}
		url := gateway(t, "", s.serve(t)) + "/mcp"
		if got := sendModern(t, url, "tools/call", "s1__long", `"name":"s1__long","arguments":{}`); !strings.Contains(got, "it runs only as a task") {
			t.Errorf("what the server says of what its client lacks is lost: %s", got)
		}
		for _, forged := range []string{"t1", "task t1"} { // no state of a client is the name of a task
			if got := sendModern(t, url, "tools/call", "s1__long", `"name":"s1__long","arguments":{},"requestState":"`+forged+`"`); !strings.Contains(got, "error") {
				t.Errorf("%s: %s", forged, got)
			}
		}
	})
}

// TestWhoeverGivesUpEndsTheTask: nobody waits for it any more, and the server is told so.
func TestWhoeverGivesUpEndsTheTask(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := &tasker{modern: modern, endless: true}
		url := gateway(t, "", s.serve(t))
		ctx, cancel := context.WithCancel(t.Context())
		p := dialIn(t, url+"/mcp", "2025-11-25", false, "ann")
		var calling sync.WaitGroup
		calling.Go(func() { _, _ = p.CallTool(ctx, &sdk.CallToolParams{Name: "s1__long"}) })
		began := "tasks/result t1"
		if modern {
			began = "tasks/get t1"
		}
		soon(t, began, func() bool { return s.heard(began) })
		cancel()
		soon(t, "the end of the task", func() bool { return s.heard("tasks/cancel t1") })
		calling.Wait()
	}
}

// soon waits until something is so.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s is not there", what)
		}
	}
}
