package upstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/upstream"
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
