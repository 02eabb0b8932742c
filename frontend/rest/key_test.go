package rest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// counting opens a gateway with one tool that counts its calls.
func counting(t *testing.T) (*tenon.Gateway, *atomic.Int64) {
	t.Helper()
	type in struct {
		Text string `json:"text,omitempty"`
	}
	type out struct {
		Count int64 `json:"count"`
	}
	var calls atomic.Int64
	var o tenon.Options
	tenon.AddTool(&o, tenon.Function{Name: "send"}, func(context.Context, in) (out, error) {
		return out{calls.Add(1)}, nil
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
	return gw, &calls
}

// TestIdempotencyKey: a call that is repeated with its key runs once, whichever
// way the key is given.
func TestIdempotencyKey(t *testing.T) {
	gw, calls := counting(t)
	srv := serve(t, gw)
	const path, header = "/api/v1/calls", "Idempotency-Key"
	_, body := do(t, srv, "POST", path, `{"server":"go","tool":"send","arguments":{"text":"a"},"idempotency_key":"k"}`)
	first := decode[tool.Result](t, body)
	_, body = do(t, srv, "POST", path, `{"server":"go","tool":"send","arguments":{"text":"a"}}`, header, "k")
	second := decode[tool.Result](t, body)
	if calls.Load() != 1 || first.Text() != second.Text() || first.ID == second.ID {
		t.Errorf("%d calls: %s, then %s", calls.Load(), first.Text(), second.Text())
	}
	if len(first.Notes) != 0 || len(second.Notes) != 1 || second.Notes[0].Stage != "ledger" || !strings.Contains(second.Notes[0].Text, first.ID) {
		t.Errorf("notes %v, then %v", first.Notes, second.Notes)
	}
	_, body = do(t, srv, "POST", path, `{"server":"go","tool":"send","arguments":{"text":"b"}}`, header, "k")
	if r := decode[tool.Result](t, body); r.Kind != tool.Invalid || calls.Load() != 1 {
		t.Errorf("other arguments: %q after %d calls: %s", r.Kind, calls.Load(), r.Text())
	}
	// The body goes before the header.
	do(t, srv, "POST", path, `{"server":"go","tool":"send","idempotency_key":"k2"}`, header, "k")
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
	res := newClient(t, srv.URL).Call(t.Context(), tool.Call{Server: "go", Tool: "send", Arguments: []byte(`{"text":"a"}`), IdempotencyKey: "k"})
	if calls.Load() != 2 || res.Text() != first.Text() {
		t.Errorf("the client: %d calls, %s", calls.Load(), res.Text())
	}
}

// TestIdempotencyKeyOfBatch: each call of a batch has a key of its own.
func TestIdempotencyKeyOfBatch(t *testing.T) {
	gw, calls := counting(t)
	srv := serve(t, gw)
	for range 2 {
		do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[{"server":"go","tool":"send"},{"server":"go","tool":"send","arguments":{"text":"x"}},{"server":"go","tool":"send"}]}`, "Idempotency-Key", "k")
	}
	if calls.Load() != 3 {
		t.Errorf("%d calls, want 3", calls.Load())
	}
}
