package upstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestStates is the whole state machine as a table: where each event leads from
// each state, and . where it means nothing.
func TestStates(t *testing.T) {
	states := []tool.State{tool.StateIdle, tool.StateStarting, tool.StateInstalling, tool.StateReady, tool.StateFailed, tool.StateStopped}
	var b strings.Builder
	row := func(first string, cell func(tool.State) string) {
		fmt.Fprintf(&b, "%-9s", first)
		for _, s := range states {
			fmt.Fprintf(&b, "%-11s", cell(s))
		}
		b.WriteString("\n")
	}
	row("", func(s tool.State) string { return string(s) })
	for _, e := range upstream.Events() {
		row(e, func(s tool.State) string {
			to := upstream.Leads(s, e)
			if to == s {
				return "."
			}
			return string(to)
		})
	}
	want := strings.TrimLeft(`
         idle       starting   installing ready      failed     stopped
begins   starting   .          .          .          starting   .
dies     .          .          .          failed     .          .
fails    failed     failed     failed     .          .          .
installs installing .          .          .          installing .
rests    .          idle       idle       idle       idle       .
serves   .          ready      ready      .          .          .
stops    stopped    stopped    stopped    stopped    stopped    .
`, "\n")
	var got strings.Builder
	for line := range strings.Lines(b.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBackoff: doubled up to a minute, and never the same twice.
func TestBackoff(t *testing.T) {
	for failures, most := range map[int]time.Duration{0: 0, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		seen := make(map[time.Duration]bool)
		for range 100 {
			wait := upstream.Backoff(failures)
			if wait < most/2 || wait > most {
				t.Errorf("after %d failures %s, want %s to %s", failures, wait, most/2, most)
			}
			seen[wait] = true
		}
		if most > 0 && len(seen) < 50 {
			t.Errorf("after %d failures only %d different waits of 100", failures, len(seen))
		}
	}
}

// TestNextTryIsKept: a gateway tries again when it said that it would.
func TestNextTryIsKept(t *testing.T) {
	best := time.Hour
	for range 5 {
		p := start(t, upstreamtest.Script{ExitAtOnce: true}, upstream.Options{Keep: true})
		planned := *p.await(t).NextTry
		p.until(t, "a second start", func() bool {
			st := p.Status() // it may have failed again before anybody looked
			return st.State != tool.StateFailed || st.NextTry != nil && st.NextTry.After(planned)
		})
		off := time.Since(planned)
		if off < -10*time.Millisecond {
			t.Errorf("tried again %s before its next try", -off)
		}
		if best = min(best, off); best <= 500*time.Millisecond { // others work on this machine too
			return
		}
	}
	t.Errorf("tried again %s after its next try", best)
}
