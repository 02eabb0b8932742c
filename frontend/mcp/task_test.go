package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// taskServer is a modern server of which each call becomes a task, and which answers
// anything with what it was asked.
func taskServer(t *testing.T, name string) *upstream {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		result := fmt.Sprintf(`{"resultType":"complete","server":%q,"method":%q,"name":%q,"big":9007199254740993}`, name, m.Method, r.Header.Get("Mcp-Name"))
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
			result = `{"resultType":"complete","tools":[{"name":"slow","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"resultType":"task","taskId":"task of ` + name + `","status":"working","unknown":[1, 2]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{url: ts.URL}
}

func TestTasksGoToTheirServer(t *testing.T) {
	url := gateway(t, "", taskServer(t, "a"), taskServer(t, "b"))
	for _, path := range []string{"/mcp", "/mcp/s/s2"} {
		tool := "slow"
		if path == "/mcp" {
			tool = "s2__slow"
		}
		got := sendModern(t, url+path, "tools/call", tool, `"name":"`+tool+`","arguments":{}`)
		if !strings.Contains(got, `{"resultType":"task","taskId":"task of b","status":"working","unknown":[1, 2]}`) {
			t.Fatal(got)
		}
		got = sendModern(t, url+path, "tasks/get", "task of b", `"taskId":"task of b"`)
		if want := `{"resultType":"complete","server":"b","method":"tasks/get","name":"task of b","big":9007199254740993}`; !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	for _, c := range []struct{ path, id string }{{"/mcp", "nobody's"}, {"/mcp/s/s1", "task of b"}} {
		if got := sendModern(t, url+c.path, "tasks/cancel", c.id, `"taskId":"`+c.id+`"`); !strings.Contains(got, "there is no task") {
			t.Errorf("%s, %s: got %s", c.path, c.id, got)
		}
	}
	// A method that nobody knows goes where the URL says, and nowhere from the pool.
	if got := sendModern(t, url+"/mcp/s/s1", "new/thing", "", ""); !strings.Contains(got, `"server":"a","method":"new/thing"`) {
		t.Error(got)
	}
	if got := sendModern(t, url+"/mcp", "new/thing", "", ""); !strings.Contains(got, "-32601") {
		t.Error(got)
	}
}
