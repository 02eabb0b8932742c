package upstream_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstream"
)

// TestRunning: the newest call that still runs is asked, in whatever order calls end, and a
// call that runs twice is two.
func TestRunning(t *testing.T) {
	var calls upstream.Running[string]
	newest := func(want string) {
		t.Helper()
		if got, ok := calls.Newest(); got != want || ok != (want != "") {
			t.Errorf("the newest is %q, %v, want %q", got, ok, want)
		}
	}
	newest("")
	endA, endB, endAgain := calls.Begin("a"), calls.Begin("b"), calls.Begin("a")
	newest("a")
	endA()
	newest("a")
	endAgain()
	newest("b")
	endB()
	endB()
	newest("")
}
