package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

func seekCatalog(t *testing.T, n int) *catalog.Snapshot {
	t.Helper()
	c, err := catalog.New(catalog.Options{Servers: []string{"one", "two"}})
	if err != nil {
		t.Fatal(err)
	}
	list := func(server string) []tool.Tool {
		var out []tool.Tool
		for i := range n {
			parsed, err := catalog.Parse(fmt.Appendf(nil, `{"name":"diskUsage_%d","description":"How full a disk is. 磁盘空间查询 %s","inputSchema":{"type":"object"}}`, i, server))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, parsed)
		}
		return out
	}
	c.Set("one", list("alpha"))
	c.Set("two", list("beta"))
	return c.Snapshot()
}

// What may not be seen is not found, whatever its rank, and none of its words is
// told.
func TestSeekFindsOnlyWhatPasses(t *testing.T) {
	s := seekCatalog(t, 100)
	for _, server := range []string{"one", "two"} {
		for _, limit := range []int{1, 7, 100, 500} {
			hits, unmatched := s.Seek("disk usage beta frobnicate the", limit, func(t *tool.Tool) bool { return t.Server == server })
			if len(hits) != min(limit, 100) || slices.ContainsFunc(hits, func(h catalog.Hit) bool { return h.Tool.Server != server }) {
				t.Errorf("%s, %d: %d hits", server, limit, len(hits))
			}
			want := "frobnicate"
			if server == "one" {
				want = "beta frobnicate"
			}
			if got := strings.Join(unmatched, " "); got != want {
				t.Errorf("%s: %q is unmatched, want %q", server, got, want)
			}
		}
	}
	if hits, _ := s.Seek("disk", 5, func(*tool.Tool) bool { return false }); len(hits) != 0 {
		t.Errorf("got %v", hits)
	}
}

// Where all pass it is Search.
func TestSeekIsSearch(t *testing.T) {
	s := largeCatalog(t).Snapshot()
	for _, words := range []string{"calendar event", "show the deployments of a cluster", "issue_id", "no such word here frob", "", "the of"} {
		hits, _ := s.Seek(words, 10, func(*tool.Tool) bool { return true })
		want := s.Search(words, 10)
		if len(hits) != len(want) {
			t.Fatalf("%q: %d hits, want %d", words, len(hits), len(want))
		}
		for i := range hits {
			if hits[i].Tool != want[i].Tool {
				t.Errorf("%q: %d is %s, want %s", words, i, hits[i].Tool.ID, want[i].Tool.ID)
			}
		}
	}
	if _, unmatched := s.Seek("frob", 10, func(*tool.Tool) bool { return true }); len(unmatched) != 1 {
		t.Errorf("got %v", unmatched)
	}
}

func TestSeekKnowsScripts(t *testing.T) {
	s := seekCatalog(t, 1)
	for _, words := range []string{"磁盘空间", "查询磁盘", "disk-usage", "DISK usages", "diskUsage_0", "disk_usage"} {
		if hits, unmatched := s.Seek(words, 5, func(*tool.Tool) bool { return true }); len(hits) != 2 || len(unmatched) > 0 {
			t.Errorf("%q: %d hits, %q unmatched", words, len(hits), unmatched)
		}
	}
}

func TestUnmatchedWordsOfScripts(t *testing.T) {
	s := seekCatalog(t, 1)
	for words, want := range map[string]string{
		"磁盘天气预报":       "盘天气预报",
		"天气预报 disk":    "天气预报",
		"空间磁盘":         "",
		"météo":        "météo",
		"🚀 disk":       "",
		"ДИСК disk":    "ДИСК",
		"wetter_heute": "wetter heute",
	} {
		if _, got := s.Seek(words, 5, func(*tool.Tool) bool { return true }); strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}

// The bound is for 5,000 tools of which half may not be seen, and words that only these
// have.
func BenchmarkSeek(b *testing.B) {
	s := largeCatalog(b).Snapshot()
	keep := func(t *tool.Tool) bool { return len(t.Server)%2 == 0 }
	s.Seek("index", 1, keep) // not the cost of the first one
	b.ReportAllocs()
	for b.Loop() {
		s.Seek("show me the deployments of the cluster that have an open alert in this region", 10, keep)
	}
}
