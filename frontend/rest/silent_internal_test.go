package rest

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// silent is a gateway that takes requests and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSilentGateway: calls with timeouts end although the gateway says nothing, a batch
// once all of them could have ended one after the other.
func TestSilentGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{base: "http://127.0.0.1:1", http: &http.Client{Transport: silent{}}}
		begun := time.Now()
		calls := []tool.Call{{Tool: "a", Timeout: time.Second}, {Tool: "b", Timeout: 2 * time.Second}}
		for _, res := range append(c.CallBatch(t.Context(), calls), c.Call(t.Context(), calls[0])) {
			if res.Kind != tool.Timeout {
				t.Errorf("%q: %s", res.Kind, res.Text())
			}
		}
		if took, want := time.Since(begun), 4*time.Second+2*answerGrace; took != want {
			t.Errorf("ended after %v, want %v", took, want)
		}
	})
}
