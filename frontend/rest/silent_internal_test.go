package rest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// silent is a gateway that takes requests and does not answer them, but after a while,
// where it lives.
type silent struct {
	lives bool
	after time.Duration // 0 is never
	hurt  time.Duration // from when on it does not live any more; 0 is never
	begun time.Time
}

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodHead && s.lives && (s.hurt == 0 || time.Since(s.begun) < s.hurt) {
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
	}
	var done <-chan time.Time
	if s.after > 0 && r.Method != http.MethodHead {
		done = time.After(s.after)
	}
	select {
	case <-done:
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

// TestSilentGateway: calls with timeouts end soon after them although the gateway says
// nothing, a batch once all of them could have ended one after the other, and those
// without once it has left unanswered for long whether it lives.
func TestSilentGateway(t *testing.T) {
	second := tool.Call{Tool: "a", Timeout: time.Second}
	for _, test := range []struct {
		name    string
		gateway silent
		calls   []tool.Call
		kind    tool.Kind
		took    time.Duration
	}{
		{"a call with a timeout", silent{}, []tool.Call{second}, tool.Timeout, time.Second + lateAfter},
		{"a batch of them", silent{}, []tool.Call{second, {Tool: "b", Timeout: 2 * time.Second}}, tool.Timeout, 3*time.Second + lateAfter},
		{"a long timeout", silent{}, []tool.Call{{Tool: "a", Timeout: time.Hour}}, tool.OutcomeUnknown, pulseEvery + silentAfter},
		{"one that passes meanwhile", silent{}, []tool.Call{{Tool: "a", Timeout: 15 * time.Second}}, tool.Timeout, 15*time.Second + lateAfter},
		{"none", silent{}, []tool.Call{{Tool: "a"}}, tool.OutcomeUnknown, pulseEvery + silentAfter},
		{"a batch without", silent{}, []tool.Call{{Tool: "a"}, second}, tool.OutcomeUnknown, pulseEvery + silentAfter},
		{"a gateway that lives, and does not see that time is over", silent{lives: true}, []tool.Call{second}, tool.Timeout, time.Second + answerGrace},
		{"a long call", silent{lives: true, after: 9 * time.Hour}, []tool.Call{{Tool: "a"}}, "", 9 * time.Hour},
		{"a long call on a gateway that hangs then", silent{lives: true, after: 9 * time.Hour, hurt: 65 * time.Second}, []tool.Call{{Tool: "a"}}, tool.OutcomeUnknown, 70*time.Second + silentAfter},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.gateway.begun = time.Now()
				c := &Client{base: "http://127.0.0.1:1", http: &http.Client{Transport: test.gateway}}
				var results []*tool.Result
				if len(test.calls) == 1 {
					results = append(results, c.Call(t.Context(), test.calls[0]))
				} else {
					results = c.CallBatch(t.Context(), test.calls)
				}
				took := time.Since(test.gateway.begun)
				for _, res := range results {
					if res.Kind != test.kind {
						t.Errorf("%q, want %q: %s", res.Kind, test.kind, res.Text())
					}
				}
				// A call that was lost looks for a moment whether it may be repeated.
				if len(results) == 1 && test.kind == tool.OutcomeUnknown {
					took -= min(took-test.took, lookMost)
				}
				if took != test.took {
					t.Errorf("ended after %v, want %v", took, test.took)
				}
			})
		})
	}
}

// TestSilentReads: what only looks does not wait for a silent gateway either.
func TestSilentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{base: "http://127.0.0.1:1", http: &http.Client{Transport: silent{}}}
		begun := time.Now()
		_, err := c.Status(t.Context())
		if took := time.Since(begun); tool.KindOf(err) != tool.Unavailable || took != pulseEvery+silentAfter {
			t.Errorf("after %v: %v", took, err)
		}
		var last error
		for _, err := range (Approvals{c}).Watch(t.Context()) {
			last = err
		}
		if tool.KindOf(last) != tool.Unavailable {
			t.Errorf("watching: %v", last)
		}
	})
}
