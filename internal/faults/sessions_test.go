package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// A session is one agent's run, on some front end.
type session interface {
	// call calls a tool without arguments and returns its text.
	call(t *testing.T, name string) string
	// end ends the session.
	end(t *testing.T)
}

// TestSessions: none of many sessions at once sees what another one did, and the
// process of one that ends is ended.
func TestSessions(t *testing.T) {
	many := 200
	if slow {
		many = 50
	}
	for name, front := range map[string]func(t *testing.T, g *tenon.Gateway) func(t *testing.T, n int) session{
		"mcp": overMCP, "rest": overREST,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			starts := filepath.Join(dir, "starts")
			g := openGateway(t, "version: 1\ngateway: {spawn_rate: 10000}\nservers:\n"+
				child("s", upstreamtest.Script{CountFile: starts}, fmt.Sprintf(", isolation: session, max_sessions: %d", many)), dir)
			open := front(t, g)
			sessions := make([]session, many)
			pids := make([]int, many)
			var wg sync.WaitGroup
			for i := range sessions {
				wg.Go(func() {
					sessions[i] = open(t, i)
					pids[i] = lives(t, sessions[i])
				})
			}
			wg.Wait()
			whose := map[int]int{}
			for i, pid := range pids {
				if other, taken := whose[pid]; taken {
					t.Errorf("sessions %d and %d have one process, %d", other, i, pid)
				}
				whose[pid] = i
			}
			for i := 0; i < many; i += 2 {
				sessions[i].end(t)
			}
			for i, pid := range pids {
				until := time.Now().Add(patience)
				for i%2 == 0 && isAlive(pid) && time.Now().Before(until) {
					<-time.After(10 * time.Millisecond)
				}
				if alive := isAlive(pid); alive != (i%2 == 1) {
					t.Errorf("session %d: its process lives: %t", i, alive)
				}
			}
			for i, s := range sessions {
				if got := s.call(t, "count"); i%2 == 1 && got != "4" {
					t.Errorf("session %d counts %s after the others have ended, want 4", i, got)
				}
				if i > 20 {
					break
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// lives counts in a session, and returns the id of its process.
func lives(t *testing.T, s session) int {
	for want := 1; want <= 3; want++ {
		if got := s.call(t, "count"); got != strconv.Itoa(want) {
			t.Errorf("the session counts %s, want %d", got, want)
		}
	}
	pid, err := strconv.Atoi(s.call(t, "pid"))
	if err != nil {
		t.Error(err)
	}
	return pid
}

// A mcpSession is a session of MCP before 2026-07-28.
type mcpSession struct{ url, id string }

func overMCP(t *testing.T, g *tenon.Gateway) func(*testing.T, int) session {
	t.Helper()
	front := mcp.New(g, mcp.Options{})
	srv := httptest.NewServer(front)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); _ = front.Close() })
	return func(t *testing.T, _ int) session {
		s := mcpSession{url: srv.URL}
		_, h := ask(t, http.MethodPost, s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, "")
		s.id = h.Get("Mcp-Session-Id")
		return s
	}
}

func (s mcpSession) call(t *testing.T, name string) string {
	body, _ := ask(t, http.MethodPost, s.url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__`+name+`","arguments":{}}}`, s.id)
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Result.Content) == 0 {
		return string(body)
	}
	return answer.Result.Content[0].Text
}

func (s mcpSession) end(t *testing.T) { ask(t, http.MethodDelete, s.url, "", s.id) }

// A restSession is one that a caller of the REST API names.
type restSession struct {
	g         *tenon.Gateway
	url, name string
}

func overREST(t *testing.T, g *tenon.Gateway) func(*testing.T, int) session {
	t.Helper()
	srv := httptest.NewServer(rest.New(g, rest.Options{}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return func(_ *testing.T, n int) session { return restSession{g, srv.URL, fmt.Sprint("session ", n)} }
}

func (s restSession) call(t *testing.T, name string) string {
	body, _ := ask(t, http.MethodPost, s.url+"/api/v1/calls", `{"server":"s","tool":"`+name+`","session":"`+s.name+`"}`, "")
	var answer struct{ Result, Error string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error != "" {
		return string(body)
	}
	return answer.Result
}

func (s restSession) end(*testing.T) { s.g.EndSession(tool.Caller{}, s.name) }

// ask sends a request, and returns the answer.
func ask(t *testing.T, method, url, body, session string) ([]byte, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return text, res.Header
}
