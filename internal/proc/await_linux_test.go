package proc_test

import (
	"os"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// TestNoThreadEach: a child that lives has no thread that waits for it, so that starts
// keep nobody from running, and many children cost little.
func TestNoThreadEach(t *testing.T) {
	const children = 40
	s := newSpawner(t)
	start(t, s, command("cat", "")) // what the first one needs
	before := threads(t)
	var all []*proc.Process
	for range children {
		all = append(all, start(t, s, command("cat", "")))
	}
	if more := threads(t) - before; more > children/2 {
		t.Errorf("%d children have %d threads", children, more)
	}
	for _, p := range all {
		if err := p.Stdin().Close(); err != nil {
			t.Error(err)
		}
	}
	for _, p := range all {
		if <-p.Done(); p.Exit() != "exit status 0" {
			t.Errorf("ended with %q", p.Exit())
		}
	}
}

// threads returns how many threads this process has.
func threads(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
