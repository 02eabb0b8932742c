//go:build unix

package hostlog_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipe does not wait for somebody to write into a pipe that lies among the logs.
func TestPipe(t *testing.T) {
	dir := folder(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	cs := connect(t, dir)
	begin := time.Now()
	if text := refused(t, cs, "query_host_log", map[string]any{"source": "pipe.log"}); !strings.Contains(text, "no log") && !strings.Contains(text, "regular file") {
		t.Error(text)
	}
	if _, out := call[hits](t, cs, "query_host_log", nil); len(out.Entries) != 20 {
		t.Errorf("%+v", out)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Error(took)
	}
}
