package approval_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/tool"
)

// round answers requests by a function.
type round func(*http.Request) int

func (f round) RoundTrip(r *http.Request) (*http.Response, error) {
	status := f(r)
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	h := http.Header{}
	if status == http.StatusTemporaryRedirect {
		h.Set("Location", "https://elsewhere.example.com/")
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
}

func TestWebhook(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []int
		want    int // requests
		took    time.Duration
	}{
		{"taken", []int{204}, 1, 0},
		{"taken at last", []int{0, 503, 429, 200}, 4, 7 * time.Second},
		{"never", []int{500, 500, 500, 500, 500, 500}, 5, 15 * time.Second},
		{"refused", []int{403}, 1, 0},
		{"sent elsewhere", []int{307}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				last := begun
				n := 0
				w := approval.NewWebhook(t.Context(), approval.WebhookOptions{
					URL: "https://hooks.example.com/x", Secret: tool.NewSecret("not-a-real-key-000"),
					Client: &http.Client{Transport: round(func(r *http.Request) int {
						body, err := io.ReadAll(r.Body)
						if err != nil {
							t.Error(err)
						}
						var a tool.Approval
						if err := json.Unmarshal(body, &a); err != nil || a.ID != "apv_1" || string(a.Arguments) != `{"a":1}` {
							t.Errorf("%s: %v", body, err)
						}
						signed := approval.Sign([]byte("not-a-real-key-000"), r.Header.Get(approval.HeaderTimestamp), body)
						if r.Header.Get(approval.HeaderSignature) != signed || r.Header.Get(approval.HeaderDelivery) != "apv_1-pending" || r.URL.Host != "hooks.example.com" {
							t.Errorf("%s: %v", r.URL, r.Header)
						}
						n++
						last = time.Now()
						return c.answers[n-1]
					})},
				})
				w.Tell(tool.Approval{ID: "apv_1", Status: tool.ApprovalPending, Arguments: []byte(`{"a":1}`), ExpiresAt: begun.Add(time.Minute)})
				time.Sleep(time.Hour)
				_ = w.Close()
				if n != c.want || last.Sub(begun) != c.took {
					t.Errorf("%d requests in %s", n, last.Sub(begun))
				}
			})
		})
	}
}

func TestSignature(t *testing.T) {
	const want = "sha256=c6ef4734033cee2367414a0939385eca0397754aa7a59716da7463a9298b5146" // by another implementation
	if got := approval.Sign([]byte("k"), "1700000000", []byte(`{}`)); got != want {
		t.Errorf("%s", got)
	}
}
