package hostlog_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// grow writes a log of at least that many bytes, whose lines are evenly spread over a
// hundred days up to now, and returns their number.
func grow(t *testing.T, path string, bytes int) int {
	t.Helper()
	const line = 105 // bytes of one, about
	lines := bytes / line
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	step := 100 * 24 * time.Hour / time.Duration(lines)
	at := now.Add(-100 * 24 * time.Hour)
	for i := range lines {
		at = at.Add(step)
		level := "INFO "
		if i%50 == 0 {
			level = "ERROR"
		}
		fmt.Fprintf(w, "%s %s [worker-%d] shop.Orders - order %d of user%d took %d ms at 10.0.%d.%d\n",
			at.Format("2006-01-02 15:04:05.000"), level, i%16, i, i%977, i%300, i%250, i%200)
	}
	if err := errorsOf(w.Flush(), f.Close(), os.Chtimes(path, now, now)); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestLargeLog asks about an hour of a log that is much longer: what that costs does
// not follow from its size.
func TestLargeLog(t *testing.T) {
	dir := t.TempDir()
	lines := grow(t, filepath.Join(dir, "app.log"), 16<<20)
	largeLog(t, dir, lines, 8<<20, 5*time.Second)
}

func TestGigabyteLog(t *testing.T) {
	testenv.Long(t)
	dir := t.TempDir()
	lines := grow(t, filepath.Join(dir, "app.log"), 1<<30)
	largeLog(t, dir, lines, 64<<20, 5*time.Second)
	begin := time.Now()
	text, out := call[struct{ Total int }](t, connect(t, dir), "log_statistics", map[string]any{"last_minutes": 525600})
	t.Logf("statistics of all: %d entries in %v", out.Total, time.Since(begin))
	if took := time.Since(begin); took > 25*time.Second {
		t.Errorf("%v: %s", took, text)
	}
}

func largeLog(t *testing.T, dir string, lines int, memory uint64, most time.Duration) {
	t.Helper()
	cs := connect(t, dir)
	an := lines / 2400 // in an hour
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		least     int
	}{
		{"query_host_log", map[string]any{"level": "error"}, min(20, an/50)},
		{"query_host_log", map[string]any{"grep": "user97[0-9] ", "max_count": 200}, min(1, an/1000)},
		{"query_host_log", map[string]any{"end": "2026-01-10T12:00:00Z", "max_count": 5}, 5},
		{"log_statistics", nil, an - 2},
		{"log_patterns", nil, an - 2},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		_, out := call[struct {
			Entries []any
			Total   int
		}](t, cs, c.tool, c.arguments)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s %v: %d of %d lines, %v, %d KiB allocated in all", c.tool, c.arguments, len(out.Entries)+out.Total, lines, took.Round(time.Millisecond), used>>10)
		if n := len(out.Entries) + out.Total; n < c.least || took > most || used > memory {
			t.Errorf("%d results, %v, %d bytes", n, took, used)
		}
	}
}
