package usage_test

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/bench/usage"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		want       time.Duration
	}{
		{"plain", "6218 (tenon) S 6177 6164 3125 0 -1 4194304 1921 0 0 0 48 7 99 98 20 0 1 0 84953", 550 * time.Millisecond},
		{"name with parentheses and numbers", "1 (a) 1 2 (b c) R 1 1 1 0 -1 0 0 0 0 0 100 200 0 0 20", 3 * time.Second},
		{"days of work", "1 (x) R 1 1 1 0 -1 0 0 0 0 0 90000000 1 0 0", 900000*time.Second + 10*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := usage.ParseStat([]byte(c.line))
			if err != nil || got != c.want {
				t.Errorf("ParseStat = %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestParseStatRejects(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "1 tenon R 1", "1 (x) R 1 1 1", "1 (x) R 1 1 1 0 -1 0 0 0 0 0 ten 1 0 0"} {
		if got, err := usage.ParseStat([]byte(line)); err == nil {
			t.Errorf("ParseStat(%q) = %v, want an error", line, got)
		}
	}
}

func TestParseKB(t *testing.T) {
	t.Parallel()
	const status = "Name:\tVmRSS\nVmHWMX:\t  1 kB\nVmHWM:\t   13504 kB\nVmRSS:\t 12 kB\nThreads:\t1\n"
	for name, want := range map[string]int64{"VmHWM": 13504 << 10, "VmRSS": 12 << 10} {
		if got, err := usage.ParseKB([]byte(status), name); err != nil || got != want {
			t.Errorf("ParseKB(%s) = %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"VmSwap", "Threads", "Name"} {
		if got, err := usage.ParseKB([]byte(status), name); err == nil {
			t.Errorf("ParseKB(%s) = %d, want an error", name, got)
		}
	}
}
