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

// namingServer is a legacy server that names its tasks as its caller wants it to, and
// whose results say which one they are of.
func namingServer(t *testing.T, name string) *upstream {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				TaskID    string
				Arguments struct{ ID string }
			}
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		if m.ID == nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		task := func(id string) string {
			return `{"taskId":"` + id + `","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`
		case "tools/call":
			result = `{"task":` + task(m.Params.Arguments.ID) + `}`
		case "tasks/list":
			result = `{"tasks":[` + task("a1") + `,` + task("b1") + `]}`
		case "tasks/result":
			result = `{"content":[{"type":"text","text":"` + name + ` has done ` + m.Params.TaskID + `"}]}`
		case "tasks/get", "tasks/cancel":
			result = task(m.Params.TaskID)
		}
		if result == "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{url: ts.URL}
}

// as lets a client of the legacy era come with a credential.
func (c *rawClient) as(authorization string) *rawClient {
	c.authorization, c.session = authorization, ""
	c.hello()
	return c
}

func begins(t *testing.T, c *rawClient, name, id string) {
	t.Helper()
	wants(t, c.ask("tools/call", `"name":"`+name+`","arguments":{"id":"`+id+`"},"task":{"ttl":60000}`), `"status":"working"`)
}

// TestTasksAreTheirCallers: nobody reads, cancels or is shown what another caller has begun,
// whether the gateway knows of it or not, and however many he begins himself.
func TestTasksAreTheirCallers(t *testing.T) {
	section, as := keyed(t, "")
	url := gateway(t, section, namingServer(t, "first"), namingServer(t, "second"))
	at := func(who, path string) *rawClient { return (&rawClient{t: t, url: url + path}).as(as[who]) }
	ann, bob := at("ann", "/mcp/s/s1"), at("bob", "/mcp/s/s1")
	begins(t, ann, "slow", "a1")
	const a1, gone = `"taskId":"a1"`, "there is no task"
	theirs := func(when string) {
		t.Helper()
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			for _, id := range []string{a1, `"taskId":"of an earlier process"`} {
				if got := bob.ask(method, id); !strings.Contains(got, gone) {
					t.Errorf("%s, %s %s of another caller: %s", when, method, id, got)
				}
			}
		}
		wants(t, ann.ask("tasks/result", a1), "first has done a1")
	}
	theirs("at first")
	begins(t, bob, "slow", "b1")
	if got := bob.ask("tasks/list", ""); strings.Contains(got, `"a1"`) || !strings.Contains(got, `"b1"`) {
		t.Errorf("bob's tasks: %s", got)
	}
	begins(t, bob, "slow", "a1") // the server is made to name it so
	theirs("after one of the same name")
	begins(t, at("bob", "/mcp/s/s2"), "slow", "a1")
	theirs("after one of the same name at another server")
	wants(t, at("bob", "/mcp/s/s2").ask("tasks/result", a1), "second has done a1")
}

// TestTasksOfOneNameAtTwoServers: from the pool it has to be said which one is meant.
func TestTasksOfOneNameAtTwoServers(t *testing.T) {
	url := gateway(t, "", namingServer(t, "first"), namingServer(t, "second"))
	c := newRaw(t, url+"/mcp")
	begins(t, c, "s1__slow", "1")
	wants(t, c.ask("tasks/result", `"taskId":"1"`), "first has done 1")
	begins(t, c, "s2__slow", "1")
	wants(t, c.ask("tasks/result", `"taskId":"1"`), "-32602", "servers s1 and s2")
	wants(t, newRaw(t, url+"/mcp/s/s1").ask("tasks/result", `"taskId":"1"`), "first has done 1")
	// Where there is but one caller, it goes on with what it has begun before a restart.
	wants(t, newRaw(t, url+"/mcp/s/s1").ask("tasks/result", `"taskId":"earlier"`), "first has done earlier")
}

// TestTasksAreNamedOnce: where two readers could take another task for the one that is
// meant, nobody's is.
func TestTasksAreNamedOnce(t *testing.T) {
	section, as := keyed(t, "")
	url := gateway(t, section, namingServer(t, "first"))
	at := func(who string) *rawClient { return (&rawClient{t: t, url: url + "/mcp/s/s1"}).as(as[who]) }
	begins(t, at("ann"), "slow", "a1")
	bob := at("bob")
	for _, params := range []string{
		`"taskId":"nope","taskId":"a1"`, `"taskId":"a1","taskId":"nope"`, `"taskId":null,"taskId":"a1"`, `"taskId":"","taskId":"a1"`,
		`"taskId":"nope","task\u0049d":"a1"`, `"taskId":"nope","taskID":"a1"`, `"taskid":"a1"`, `"taskId":["a1"]`, `"taskId":""`, ``,
	} {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel", "tasks/other"} {
			wants(t, bob.ask(method, params), `"error":{"code":-32602`)
		}
	}
}

// TestMethodsThatNobodyKnows: what MCP does not define is carried on but for those who may
// only read, and nothing that a lax server would take for something else.
func TestMethodsThatNobodyKnows(t *testing.T) {
	for mode, want := range map[string]string{
		"bypass": `"message":"no"`, "normal": `"message":"no"`, // the server's own answer
		"ask_destructive": "may do harm", "read_only": "may do harm",
	} {
		url := gatewayOf(t, "policy: {mode: "+mode+"}\ntools: {\"s1/*\": {read_only: true}}\n", namingServer(t, "first"))
		c := newRaw(t, url+"/mcp/s/s1")
		wants(t, c.ask("x/wipe", `"name":"slow"`), want)
		wants(t, c.ask("Tools/Call", `"name":"slow"`), `-32601`, `there is \"tools/call\"`)
		wants(t, c.ask("tools/call ", `"name":"slow"`), `-32601`, `no name of a method`)
	}
}
