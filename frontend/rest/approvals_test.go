package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

const approverToken = "not-a-real-token-000"

// asking is a pool whose tool remove a person has to approve.
func asking(t *testing.T, timeout string) *tenon.Gateway {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte("version: 1\npolicy: {mode: ask_destructive, block_high_risk: false, approvals: {timeout: "+timeout+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := tenon.Options{Config: path, Env: []string{"TENON_APPROVER_TOKEN=" + approverToken}}
	type in struct {
		Path string `json:"path"`
	}
	tenon.AddTool(&o, tenon.Function{Name: "remove", Meta: &tool.Meta{Destructive: true}}, func(context.Context, in) (struct{}, error) {
		return struct{}{}, nil
	})
	gw, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	return gw
}

// removing makes a call that waits for a person, and returns its approval and what
// will come of it.
func removing(t *testing.T, gw *tenon.Gateway) (tool.Approval, <-chan *tool.Result) {
	t.Helper()
	told := gw.Approvals().Watch(t.Context())
	out := make(chan *tool.Result, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		out <- gw.Call(t.Context(), tool.Call{Server: "go", Tool: "remove", Session: "s", Caller: tool.Caller{Name: "x\u200b"}, Arguments: json.RawMessage(`{"path":"/tmp/<a>"}`)})
	})
	t.Cleanup(wg.Wait)
	for p := range told {
		if p.Status == tool.ApprovalPending {
			return p, out
		}
	}
	t.Fatal("nobody was asked")
	return tool.Approval{}, nil
}

// as sends a request with a credential.
func as(t *testing.T, srv *httptest.Server, token, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+rest.Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
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
	return res.StatusCode, string(b)
}

func TestApprovals(t *testing.T) {
	gw := asking(t, "1m")
	srv := serve(t, gw)
	p, got := removing(t, gw)
	path := "/approvals/" + p.ID

	for _, c := range []struct {
		name, token, method, path, body string
		status                          int
		text                            string
	}{
		{"list, as anybody", "", "GET", "/approvals", "", 401, "approver"},
		{"list, with a wrong token", "wrong", "GET", "/approvals", "", 401, ""},
		{"one, as anybody", "", "GET", path, "", 401, ""},
		{"decide, as anybody", "", "POST", path + "/decide", `{"decision":"approved"}`, 401, ""},
		{"events, as anybody", "", "GET", "/events", "", 401, ""},
		{"list", approverToken, "GET", "/approvals", "", 200, `"path":"/tmp/<a>"`},
		{"list the pending", approverToken, "GET", "/approvals?status=pending&limit=1", "", 200, p.ID},
		{"list the last", approverToken, "GET", "/approvals?status=recent", "", 200, `"status":"pending"`},
		{"list what is not known", approverToken, "GET", "/approvals?status=old", "", 400, "pending or recent"},
		{"list too many", approverToken, "GET", "/approvals?limit=201", "", 400, ""},
		{"one", approverToken, "GET", path, "", 200, `"impact":"risk high · irreversible · arguments path"`},
		{"one that is not there", approverToken, "GET", "/approvals/apv_none", "", 404, "no approval apv_none"},
		{"decide one that is not there", approverToken, "POST", "/approvals/apv_none/decide", `{"decision":"denied"}`, 404, ""},
		{"decide nothing", approverToken, "POST", path + "/decide", `{}`, 400, "/decision"},
		{"decide something else", approverToken, "POST", path + "/decide", `{"decision":"cancelled"}`, 400, "/decision"},
		{"decide for ever", approverToken, "POST", path + "/decide", `{"decision":"approved","scope":"forever"}`, 400, "forever"},
		{"decide as somebody else", approverToken, "POST", path + "/decide", `{"decision":"approved","decided_by":"x"}`, 400, "/decided_by"},
		{"decide for a list", approverToken, "POST", path + "/decide", `{"decision":"approved","scope":"pattern","pattern":["*"]}`, 400, "/pattern"},
		{"decide for another call", approverToken, "POST", path + "/decide", `{"decision":"approved","scope":"pattern","pattern":{"path":"/etc/*"}}`, 422, "does not match"},
		{"decide", approverToken, "POST", path + "/decide", `{"decision":"approved","scope":"pattern","pattern":{"path":"/tmp/*"},"reason":"fine"}`, 200, `"decided_by":"approver"`},
		{"decide twice", approverToken, "POST", path + "/decide", `{"decision":"approved"}`, 409, "approved already"},
		{"list none", approverToken, "GET", "/approvals", "", 200, `{"items":[]}`},
	} {
		status, body := as(t, srv, c.token, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if res := <-got; res.Kind != "" {
		t.Errorf("%s", res.Text())
	}
}

func TestApprovalExpires(t *testing.T) {
	gw := asking(t, "1s")
	srv := serve(t, gw)
	p, got := removing(t, gw)
	if res := <-got; res.Kind != tool.Denied {
		t.Errorf("%s", res.Text())
	}
	if status, body := as(t, srv, approverToken, "POST", "/approvals/"+p.ID+"/decide", `{"decision":"approved"}`); status != 410 {
		t.Errorf("%d %s", status, body)
	}
}

func TestClientDecides(t *testing.T) {
	gw := asking(t, "1m")
	srv := serve(t, gw)
	p, got := removing(t, gw)
	c, err := rest.NewClient(srv.URL, tool.NewSecret(approverToken))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.Approvals().List(t.Context(), false, 10)
	if err != nil || len(all) != 1 || all[0].ID != p.ID {
		t.Errorf("%+v, %v", all, err)
	}
	if one, err := c.Approvals().Get(t.Context(), p.ID); err != nil || one.Hash != p.Hash {
		t.Errorf("%+v, %v", one, err)
	}
	if done, err := c.Approvals().Decide(t.Context(), p.ID, tool.Verdict{Why: "no"}); err != nil || done.Status != tool.ApprovalDenied || done.Why != "no" {
		t.Errorf("%+v, %v", done, err)
	}
	<-got
	if recent, err := c.Approvals().List(t.Context(), true, 10); err != nil || len(recent) != 1 || recent[0].Status != tool.ApprovalDenied {
		t.Errorf("%+v, %v", recent, err)
	}
	if _, err := c.Approvals().Decide(t.Context(), p.ID, tool.Verdict{Approved: true}); tool.KindOf(err) != tool.Invalid {
		t.Error(err)
	}
}

// The name of a caller is shown as it is, wherever an approval is.
func TestApprovalsShowTheCallerAsItIs(t *testing.T) {
	gw := asking(t, "1m")
	srv := serve(t, gw)
	const name, want = "oidc:a\u202e\u3164\nb", `"name":"oidc:a\\u202e\\u3164\\u000ab"`
	told := gw.Approvals().Watch(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		gw.Call(t.Context(), tool.Call{Server: "go", Tool: "remove", Caller: tool.Caller{Name: name}, Arguments: json.RawMessage(`{"path":"/tmp/a"}`)})
	})
	p := <-told
	if compared, err := gw.Approvals().Get(t.Context(), p.ID); err != nil || compared.Caller.Name != name {
		t.Errorf("what is compared is %q, %v", compared.Caller.Name, err)
	}
	for _, c := range [][3]string{
		{"GET", "/approvals", ""}, {"GET", "/approvals?status=recent", ""}, {"GET", "/approvals/" + p.ID, ""}, {"POST", "/approvals/" + p.ID + "/decide", `{"decision":"denied"}`},
	} {
		if status, body := as(t, srv, approverToken, c[0], c[1], c[2]); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", c[1], status, body)
		}
	}
}

// The stream begins with what waits, tells what comes, and ends with the gateway.
func TestEvents(t *testing.T) {
	gw := asking(t, "1m")
	srv := httptest.NewServer(rest.New(gw, rest.Options{}))
	t.Cleanup(srv.Close)
	p, got := removing(t, gw)
	req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+rest.Prefix+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+approverToken)
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", res.Status, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	next := func() (name string, a tool.Approval) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(text), &a); err != nil {
					t.Error(err)
				}
				return name, a
			}
		}
		return "", a
	}
	if name, a := next(); name != "tool_pending_approval" || a.ID != p.ID || a.Caller.Name != `x\u200b` {
		t.Errorf("%s %+v", name, a)
	}
	if _, err := gw.Approvals().Decide(t.Context(), p.ID, tool.Verdict{By: "x"}); err != nil {
		t.Fatal(err)
	}
	if name, a := next(); name != "tool_approval_resolved" || a.ID != p.ID || a.Status != tool.ApprovalDenied {
		t.Errorf("%s %+v", name, a)
	}
	<-got
	begun := time.Now()
	gw.Approvals().Leave()
	if name, _ := next(); name != "" || time.Since(begun) > 30*time.Second {
		t.Errorf("%s after %s", name, time.Since(begun))
	}
}

// Whoever may both call and decide does not decide about their own calls.
func TestNobodyDecidesAboutTheirOwnCall(t *testing.T) {
	gw, keys, calls := keyed(t, "policy: {mode: ask_destructive}\n")
	srv := serve(t, gw)
	told := gw.Approvals().Watch(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { as(t, srv, keys["both"], "POST", "/calls", `{"server":"go","tool":"send"}`) })
	p := <-told
	path := "/approvals/" + p.ID + "/decide"
	for _, c := range []struct {
		token  string
		status int
	}{{"", 401}, {keys["ann"], 403}, {keys["both"], 403}, {keys["judge"], 200}} {
		if status, body := as(t, srv, c.token, "POST", path, `{"decision":"approved"}`); status != c.status {
			t.Errorf("%d, want %d: %s", status, c.status, body)
		}
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}
