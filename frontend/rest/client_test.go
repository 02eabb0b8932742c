package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

func newClient(t *testing.T, url string) *rest.Client {
	t.Helper()
	c, err := rest.NewClient(url, tool.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The client gives what the gateway gives.
func TestClientGivesWhatTheGatewayGives(t *testing.T) {
	gw := pool(t)
	c := newClient(t, serve(t, gw).URL)
	ctx := t.Context()

	status, err := c.Status(ctx)
	if diff := cmp.Diff(gw.Status(), status, cmpopts.EquateApproxTime(time.Millisecond)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	want, _ := gw.Tools(ctx, tenon.ListOptions{})
	got, err := c.Tools(ctx, tenon.ListOptions{})
	// The raw object of a tool is not part of the listing, and < is written \u003c.
	opts := cmp.Options{cmpopts.IgnoreFields(tool.Tool{}, "Raw"), cmpopts.IgnoreFields(tool.Meta{}, "Exclusive"), cmp.Transformer("json", func(r json.RawMessage) any {
		var v any
		if len(r) > 0 && json.Unmarshal(r, &v) != nil {
			t.Errorf("%s", r)
		}
		return v
	})}
	if diff := cmp.Diff(want, got, opts); diff != "" || err != nil {
		t.Error(diff, err)
	}
	wantFound, _ := gw.Find(ctx, tenon.FindOptions{Words: "echo", Limit: 3})
	found, err := c.Find(ctx, tenon.FindOptions{Words: "echo", Limit: 3})
	if diff := cmp.Diff(wantFound, found); diff != "" || err != nil {
		t.Error(diff, err)
	}
	res := c.Call(ctx, tool.Call{Server: "words", Tool: "echo", Arguments: json.RawMessage(`{"zeta":9007199254740993}`), Session: "s", Task: "t", Mode: tool.ModeNormal, Timeout: time.Minute})
	if res.Kind != "" || !strings.Contains(res.Text(), "9007199254740993") || len(res.Content()) != 2 {
		t.Errorf("got %+v", res)
	}
	if res := c.Call(ctx, tool.Call{Server: "words", Tool: "wait", Timeout: 50 * time.Millisecond}); res.Kind != tool.Timeout || res.ID == "" {
		t.Errorf("got %+v, want a timeout that the gateway tells", res)
	}
	batch := c.CallBatch(ctx, []tool.Call{{Server: "words", Tool: "fail"}, {Server: "words", Tool: "echo"}})
	if len(batch) != 2 || batch[0].Kind != tool.Failed || batch[1].Kind != "" {
		t.Errorf("got %+v", batch)
	}
	calls, err := c.Calls(ctx, 10)
	if diff := cmp.Diff(gw.Calls(10), calls, cmpopts.EquateApproxTime(time.Millisecond)); diff != "" || err != nil || len(calls) != 4 {
		t.Error(diff, err)
	}
	one, err := c.CallRecord(ctx, res.ID)
	if err != nil || one.Session != "s" || one.Task != "t" {
		t.Errorf("got %+v, %v", one, err)
	}
}

func TestClientErrors(t *testing.T) {
	c := newClient(t, serve(t, pool(t)).URL)
	_, err := c.Tools(t.Context(), tenon.ListOptions{Server: "word"})
	e, ok := errors.AsType[*rest.Error](err)
	if !ok || e.Kind != tool.NotFound || !strings.Contains(e.Text, "words") {
		t.Errorf("got %v", err)
	}
	if _, err := c.CallRecord(t.Context(), "no/such id"); err == nil {
		t.Error("got a record of no call")
	}
	if res := c.Call(t.Context(), tool.Call{}); res.Kind != tool.Invalid || !strings.Contains(res.Text(), "/tool") {
		t.Errorf("got %+v", res)
	}
}

func TestClientURL(t *testing.T) {
	srv := serve(t, pool(t))
	for _, suffix := range []string{"", "/", "/mcp", "/api/v1", "/api/v1/"} {
		if _, err := newClient(t, srv.URL+suffix).Status(t.Context()); err != nil {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	for _, bad := range []string{"", "127.0.0.1:8400", "localhost", "ftp://localhost", "http://", "http://a b"} {
		if _, err := rest.NewClient(bad, tool.Secret{}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: got %v, want invalid", bad, err)
		}
	}
}

// A canceled context ends the call on the gateway too.
func TestClientCancels(t *testing.T) {
	gw := pool(t)
	c := newClient(t, serve(t, gw).URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	until := func(what string, is func() bool) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for limit := time.Now().Add(time.Minute); !is(); <-tick.C {
			if time.Now().After(limit) {
				t.Error(what)
				return
			}
		}
	}
	var canceling sync.WaitGroup
	canceling.Go(func() {
		defer cancel()
		until("the call never runs", func() bool {
			return slices.ContainsFunc(gw.Status(), func(s tool.ServerStatus) bool { return s.Running > 0 })
		})
	})
	defer canceling.Wait()
	if res := c.Call(ctx, tool.Call{Server: "words", Tool: "wait"}); res.Kind != tool.Timeout && res.Kind != tool.Canceled {
		t.Errorf("got %+v", res)
	}
	until("the call goes on without its caller", func() bool { return len(gw.Calls(1)) > 0 })
	if calls := gw.Calls(1); len(calls) == 1 && calls[0].Kind != tool.Canceled {
		t.Errorf("the gateway has it as %s", calls[0].Kind)
	}
}

// What is known of a call whose answer did not come depends on how far it got.
func TestClientWithoutAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	breaks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer breaks.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer odd.Close()
	for _, c := range []struct {
		url  string
		call tool.Kind
		list tool.Kind
	}{
		{nobody, tool.Unavailable, tool.Unavailable},
		{breaks.URL, tool.OutcomeUnknown, tool.Unavailable},
		{other.URL, tool.Unavailable, tool.Unavailable},
		{odd.URL, tool.Internal, tool.Internal},
	} {
		client := newClient(t, c.url)
		if res := client.Call(t.Context(), tool.Call{Server: "s", Tool: "t"}); res.Kind != c.call || res.Text() == "" || res.Tool != "t" {
			t.Errorf("call: got %s %s, want %s", res.Kind, res.Text(), c.call)
		}
		for _, res := range client.CallBatch(t.Context(), []tool.Call{{Tool: "a"}, {Tool: "b"}}) {
			if res.Kind != c.call {
				t.Errorf("batch: got %s, want %s", res.Kind, c.call)
			}
		}
		if _, err := client.Status(t.Context()); tool.KindOf(err) != c.list {
			t.Errorf("status: got %v, want %s", err, c.list)
		}
	}
}

// A call whose gateway is killed in between may be made again where its tool only reads,
// and says so.
func TestClientKnowsWhatIsSafeToRepeat(t *testing.T) {
	api := rest.New(pool(t), rest.Options{Version: "1"})
	asked := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-asked
			panic(http.ErrAbortHandler) // the gateway is gone
		}
		api.ServeHTTP(w, r)
		asked <- struct{}{}
	}))
	defer srv.Close()
	c := newClient(t, srv.URL)
	for name, want := range map[string]tool.Kind{"echo": tool.Unavailable, "fail": tool.OutcomeUnknown} {
		res := c.Call(t.Context(), tool.Call{Server: "words", Tool: name})
		if res.Kind != want || strings.Contains(res.Text(), "again without harm") != (want == tool.Unavailable) {
			t.Errorf("%s: %q %s", name, res.Kind, res.Text())
		}
	}
}
