//go:build unix

package winlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/servers/winlog"
)

// TestPipe does not wait for somebody to write into a pipe that took the place of a log.
func TestPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "System.evtx")
	if err := os.WriteFile(file, mixed(), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := winlog.NewAt(file, now)
	cs := connect(t, srv, err)
	if a := call(t, cs, "query_windows_event", nil); a.isError || len(a.data.Events) == 0 {
		t.Fatal(a.text)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"query_windows_event", "list_event_channels"} {
		if a := call(t, cs, tool, nil); !strings.Contains(a.text, "regular file") {
			t.Errorf("%s: %s", tool, a.text)
		}
	}
}
