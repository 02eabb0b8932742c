package spelling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spelling"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "abc", 3},
		{"list", "list", 0},
		{"list", "lists", 1},
		{"list", "lost", 1},
		{"list", "lsit", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
		{"größe", "grösse", 2},
		{"日本", "本日", 1},
		{long, long + "y", 0},
		{long, "", 128},
		{"\xff", "\xfe", 0},
	} {
		if got, back := spelling.Distance(c.a, c.b), spelling.Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%.20q, %.20q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"node_cpu_seconds_total", "NODE_memory", strings.Repeat("node", 100), "cpu_node", "up", "other"}
	for want, is := range map[string][]string{
		"node_cpu": {"cpu_node", "node_cpu_seconds_total"}, "node_memry": {"NODE_memory", "cpu_node"}, "up": {"up"}, "zzz": nil, "": nil, "u": nil,
	} {
		if got := spelling.Nearest(want, names, 2); !slices.Equal(got, is) {
			t.Errorf("%s: %q, want %q", want, got, is)
		}
	}
}

// TestNearestOfMetrics: names that have words in common.
func TestNearestOfMetrics(t *testing.T) {
	names := []string{"node_load1", "node_load15", "node_memory_MemFree_bytes", "go_threads", "up", "x"}
	for want, first := range map[string]string{"node_lod1": "node_load1", "memory_free_bytes": "node_memory_MemFree_bytes", "NODE_LOAD15": "node_load15", "thread": "go_threads"} {
		if got := spelling.Nearest(want, names, 3); len(got) == 0 || got[0] != first {
			t.Errorf("%s: %v, want %s", want, got, first)
		}
	}
	if got := spelling.Nearest("kubernetes", names, 3); got != nil {
		t.Errorf("%v", got)
	}
}
