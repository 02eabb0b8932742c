package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/tool"
)

// asking is a pool whose tool remove a person has to approve, and how often it ran.
func asking(t *testing.T, policy string) (*tenon.Gateway, *mcp.Server, string, *atomic.Int64) {
	t.Helper()
	var removed atomic.Int64
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte("version: 1\npolicy: {mode: ask_destructive, block_high_risk: false"+policy+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type in struct {
		Path string `json:"path"`
	}
	o := tenon.Options{Config: path}
	tenon.AddTool(&o, tenon.Function{Name: "remove", Meta: &tool.Meta{Destructive: true}}, func(context.Context, in) (struct{}, error) {
		removed.Add(1)
		return struct{}{}, nil
	})
	gw, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.New(gw, mcp.Options{})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close()
		ts.Close()
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	return gw, s, ts.URL, &removed
}

// says is a person at a client of the official SDK, who answers in turn.
func says(t *testing.T, answers ...*sdk.ElicitResult) (*sdk.ClientOptions, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		n := int(asked.Add(1))
		if !strings.Contains(r.Params.Message, "asks to run remove of go") || !strings.Contains(r.Params.Message, `"path": "/`) ||
			!strings.Contains(r.Params.Message, "irreversible") {
			t.Errorf("asked: %s", r.Params.Message)
		}
		if n > len(answers) {
			t.Errorf("asked %d times", n)
			return &sdk.ElicitResult{Action: "cancel"}, nil
		}
		return answers[n-1], nil
	}}, &asked
}

func accept(decision string) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "reason": "because"}}
}

func remove(t *testing.T, cs *sdk.ClientSession, path string) (string, bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "go__remove", Arguments: map[string]any{"path": path}})
	if err != nil {
		t.Fatal(err)
	}
	return text(res), res.IsError
}

// The name of a caller writes no lines of its own into what a person reads.
func TestElicitationShowsTheCallerAsItIs(t *testing.T) {
	params, err := mcp.Question(tool.Approval{ID: "apv_1", Caller: tool.Caller{Name: "oidc:a\u202e\u3164\nImpact: none"}, Server: "go", Tool: "remove", Arguments: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var q struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(params, &q); err != nil || !strings.HasPrefix(q.Message, `The caller oidc:a\u202e\u3164\u000aImpact: none asks to run remove of go`) {
		t.Errorf("%v, %q", err, q.Message)
	}
}

// The official client is asked in both eras, and what its person says holds.
func TestElicitation(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			_, _, url, removed := asking(t, "")
			o, asked := says(t, accept("allow once"), accept("deny"), &sdk.ElicitResult{Action: "decline"}, &sdk.ElicitResult{Action: "cancel"}, accept("allow once"))
			cs := connect(t, url, version, o)
			for i, want := range []struct {
				failed bool
				text   string
			}{
				{false, "approved by the person at the client"},
				{true, "denied by the person at the client"},
				{true, "denied"},
				{true, "dismissed"},
				{false, ": because"},
			} {
				if got, failed := remove(t, cs, "/a"); failed != want.failed || !strings.Contains(got, want.text) {
					t.Errorf("%d: %v %s", i, failed, got)
				}
			}
			if removed.Load() != 2 || asked.Load() != 5 {
				t.Errorf("removed %d times, asked %d times", removed.Load(), asked.Load())
			}
		})
	}
}

func TestElicitationForTheSession(t *testing.T) {
	_, _, url, removed := asking(t, "")
	o, asked := says(t, accept("allow for this session"), accept("deny"))
	cs := connect(t, url, "2025-11-25", o)
	for _, path := range []string{"/a", "/b", "/c"} {
		if got, failed := remove(t, cs, path); failed {
			t.Error(got)
		}
	}
	if removed.Load() != 3 || asked.Load() != 1 {
		t.Errorf("removed %d times, asked %d times", removed.Load(), asked.Load())
	}
	other := connect(t, url, "2025-11-25", o)
	if got, failed := remove(t, other, "/a"); !failed || asked.Load() != 2 {
		t.Errorf("another session: %s", got)
	}
}

// Who cannot be asked, or must not be, waits for somebody else.
func TestNoElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		policy, version string
		asks            bool
	}{
		"no form":      {", approvals: {timeout: 1s}", "2025-11-25", false},
		"too old":      {", approvals: {timeout: 1s}", "2025-03-26", true},
		"switched off": {", approvals: {timeout: 1s, elicitation: off}", "2025-11-25", true},
		"modern":       {", approvals: {timeout: 1s}", "2026-07-28", false},
		"modern, off":  {", approvals: {timeout: 1s, elicitation: off}", "2026-07-28", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, url, removed := asking(t, c.policy)
			o, asked := says(t)
			if !c.asks {
				o = nil
			}
			if got, failed := remove(t, connect(t, url, c.version, o), "/a"); !failed || !strings.Contains(got, "status timeout") || asked.Load() != 0 || removed.Load() != 0 {
				t.Errorf("asked %d times: %s", asked.Load(), got)
			}
		})
	}
}

// Somebody else may be first: then the client's form is taken back.
func TestSomebodyElseIsFirst(t *testing.T) {
	gw, _, url, removed := asking(t, "")
	told := gw.Approvals().Watch(t.Context())
	shown, taken := make(chan struct{}), make(chan struct{})
	cs := connect(t, url, "2025-11-25", &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		close(shown)
		<-ctx.Done()
		close(taken)
		return nil, ctx.Err()
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		<-shown
		if a, ok := <-told; ok {
			if _, err := gw.Approvals().Decide(t.Context(), a.ID, tool.Verdict{Approved: true, By: "bert"}); err != nil {
				t.Error(err)
			}
		}
	})
	if got, failed := remove(t, cs, "/a"); failed || removed.Load() != 1 || !strings.Contains(got, "approved by bert") {
		t.Error(got)
	}
	<-taken
	wg.Wait()
}

// callModern sends a call of the modern era as it is, and returns its result or error.
func callModern(t *testing.T, url, args, more string) (result struct {
	ResultType    string
	InputRequests map[string]json.RawMessage
	RequestState  string
	IsError       bool
	Content       []struct{ Text string }
}, failure string,
) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"go__remove","arguments":` + args + more +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "go__remove",
	} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Result json.RawMessage
		Error  struct{ Message string }
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if m.Result != nil {
		if err := json.Unmarshal(m.Result, &result); err != nil {
			t.Fatal(err)
		}
	}
	return result, m.Error.Message
}

const yes = `,"inputResponses":{"approval":{"action":"accept","content":{"decision":"allow once"}}}`

func with(state string) string { return `,"requestState":"` + state + `"` + yes }

// The state that a client gives back is good for one call, of one caller, for a while.
func TestRequestState(t *testing.T) {
	gw, _, url, removed := asking(t, "")
	const args = `{"path":"/a"}`
	first, _ := callModern(t, url, args, "")
	if first.ResultType != "input_required" || first.RequestState == "" || !strings.Contains(string(first.InputRequests["approval"]), `"method":"elicitation/create"`) {
		t.Fatalf("%+v", first)
	}
	if again, _ := callModern(t, url, args, ""); again.ResultType != "input_required" || removed.Load() != 0 {
		t.Errorf("without an answer: %+v", again)
	}
	if all, err := gw.Approvals().Pending(t.Context(), 10); err != nil || len(all) != 1 {
		t.Errorf("%d questions wait, %v", len(all), err)
	}
	body, mac, _ := strings.Cut(first.RequestState, ".")
	flipped := []byte(body)
	flipped[10] ^= 1
	for name, c := range map[string]struct{ args, state, why string }{
		"forged":            {args, "e30." + mac, "has not made it"},
		"altered":           {args, string(flipped) + "." + mac, "has not made it"},
		"unsigned":          {args, body, "has not made it"},
		"tampered":          {args, first.RequestState + "-TAMPERED", "has not made it"},
		"of another call":   {`{"path":"/b"}`, first.RequestState, "other arguments"},
		"with more":         {`{"path":"/a","path2":1}`, first.RequestState, "other arguments"},
		"of another server": {args, "eyJpZCI6IngifQ.AAAA", "has not made it"},
	} {
		if res, failure := callModern(t, url, c.args, with(c.state)); !strings.Contains(failure, c.why) || removed.Load() != 0 {
			t.Errorf("%s: %s %+v", name, failure, res)
		}
	}
	if res, _ := callModern(t, url, args, `,"requestState":"`+first.RequestState+`"`); res.ResultType != "input_required" {
		t.Errorf("with no answer: %+v", res)
	}
	done, failure := callModern(t, url, args, with(first.RequestState))
	if done.ResultType != "complete" || done.IsError || removed.Load() != 1 {
		t.Fatalf("%s %+v", failure, done)
	}
	if res, failure := callModern(t, url, args, with(first.RequestState)); !strings.Contains(failure, "was used") || removed.Load() != 1 {
		t.Errorf("a second time: %s %+v", failure, res)
	}
}

// Of many that come with the same state one runs.
func TestRequestStateRace(t *testing.T) {
	_, _, url, removed := asking(t, "")
	first, _ := callModern(t, url, `{"path":"/a"}`, "")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { callModern(t, url, `{"path":"/a"}`, with(first.RequestState)) })
	}
	wg.Wait()
	if removed.Load() != 1 {
		t.Errorf("removed %d times", removed.Load())
	}
}

// Somebody else may decide before the client comes again.
func TestDecidedMeanwhile(t *testing.T) {
	gw, _, url, removed := asking(t, "")
	for _, approved := range []bool{true, false} {
		first, _ := callModern(t, url, `{"path":"/a"}`, "")
		all, err := gw.Approvals().Pending(t.Context(), 1)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d questions wait, %v", len(all), err)
		}
		if _, err := gw.Approvals().Decide(t.Context(), all[0].ID, tool.Verdict{Approved: approved, By: "bert"}); err != nil {
			t.Fatal(err)
		}
		res, failure := callModern(t, url, `{"path":"/a"}`, with(first.RequestState))
		if failure != "" || res.IsError == approved || !strings.Contains(res.Content[0].Text, "by bert") {
			t.Errorf("%v: %s %+v", approved, failure, res)
		}
		if approved {
			continue
		}
		// What was denied is not answered by the old answer: the question is put again.
		if res, failure := callModern(t, url, `{"path":"/a"}`, with(first.RequestState)); res.ResultType != "input_required" {
			t.Errorf("again: %s %+v", failure, res)
		}
	}
	if removed.Load() != 1 {
		t.Errorf("removed %d times", removed.Load())
	}
}

// A state that has expired is refused.
func TestRequestStateExpires(t *testing.T) {
	gw, _, url, removed := asking(t, ", approvals: {timeout: 1s}")
	told := gw.Approvals().Watch(t.Context())
	first, _ := callModern(t, url, `{"path":"/a"}`, "")
	for a := range told {
		if a.Status == tool.ApprovalTimeout {
			break
		}
	}
	if res, failure := callModern(t, url, `{"path":"/a"}`, with(first.RequestState)); !strings.Contains(failure, "expired") && !strings.Contains(failure, "over") || removed.Load() != 0 {
		t.Errorf("%s %+v", failure, res)
	}
}

// On a stream the question comes between request and answer.
func TestElicitationOnStdio(t *testing.T) {
	_, s, _, removed := asking(t, "")
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.ServeStdio(t.Context(), in, out); err != nil {
			t.Error(err)
		}
		_ = out.Close()
	})
	o, asked := says(t, accept("allow once"), accept("deny"))
	c := sdk.NewClient(&sdk.Implementation{Name: "oracle", Version: "1"}, o)
	cs, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	if got, failed := remove(t, cs, "/a"); failed {
		t.Error(got)
	}
	if got, failed := remove(t, cs, "/b"); !failed {
		t.Error(got)
	}
	if removed.Load() != 1 || asked.Load() != 2 {
		t.Errorf("removed %d times, asked %d times", removed.Load(), asked.Load())
	}
	_ = cs.Close()
	wg.Wait()
}
