package templates_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/hostlog/templates"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mined(lines ...string) []string {
	m := templates.New(100)
	for i, l := range lines {
		m.Add("p", l, 8, begin.Add(time.Duration(i)*time.Second))
	}
	var list []string
	for _, t := range m.Top(50) {
		list = append(list, fmt.Sprintf("%d %s", t.Count, t.Text))
	}
	return list
}

func TestMarks(t *testing.T) {
	for line, want := range map[string]string{
		"from 10.0.0.7 port 4711":                         "from <ip> port <num>",
		"peer [fd00::1]:443, ok":                          "peer <ip>, ok",
		"to 10.0.0.7:80 and 10.0.0.0/8":                   "to <ip> and <ip>",
		"took 12.5ms (99%)":                               "took <num>ms (<num>%)",
		"open /var/lib/x/y.db: gone":                      "open <path>: gone",
		"get https://example.com/a?b=1":                   "get <url>",
		"id=3f2504e0-4f89-11d3-9a0c-0305e82c3301 done":    "id=<id> done",
		"commit deadbeef12 at 0x7ffe":                     "commit <hex> at <hex>",
		"worker-3 on eth0 at 03:04:05":                    "worker-<num> on eth<num> at <num>",
		"token abcdefghijklmnopqrstuvwxyzabcdefgh":        "token <id>",
		"plain words, nothing to hide: facade bad add":    "plain words, nothing to hide: facade bad add",
		"user=bob size=12 path=\"/a/b/c\"":                "user=bob size=<num> path=\"<path>\"",
		"container 8f4e2a9c1b7d8f4e2a9c1b7d8f4e2a9c died": "container <hex> died",
	} {
		if got := mined(line)[0]; got != "1 "+want {
			t.Errorf("%s\n got %s\nwant 1 %s", line, got, want)
		}
	}
}

func TestWordsThatDiffer(t *testing.T) {
	want := []string{"2 Failed password for <*> from <ip> port <num> ssh<num>", "1 Accepted key for bob from <ip> port <num> ssh<num>"}
	got := mined("Failed password for bob from 10.0.0.7 port 4711 ssh2", "Accepted key for bob from 10.0.0.7 port 1 ssh2", "Failed password for eve from 10.0.0.8 port 4712 ssh2")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHundredThousandLines mines the lines of a machine: few templates, the same ones
// every time, in little memory.
func TestHundredThousandLines(t *testing.T) {
	mine := func(n int) *templates.Miner {
		m := templates.New(1000)
		for i := range n {
			line := [...]string{
				fmt.Sprintf("Failed password for user%d from 10.0.%d.%d port %d ssh2", i%977, i%251, i%7, 1024+i%60000),
				fmt.Sprintf("GET /api/items/%d HTTP/1.1 200 %d %dms", i, i%5000, i%300),
				fmt.Sprintf("session %08x opened for user u%d by (uid=%d)", i*7919, i%50, i%1000),
				fmt.Sprintf("Out of memory: Killed process %d (java) total-vm:%dkB", i, i*13),
				fmt.Sprintf("connection to db-%d.internal:5432 timed out after %d.%ds", i%9, i%30, i%10),
			}[i%5]
			m.Add([]string{"sshd", "nginx", "kernel"}[i%3], line, i%8, begin.Add(time.Duration(i)*time.Second))
		}
		return m
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a := mine(100_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	top := a.Top(20)
	if a.Count() > 20 || a.Lines() != 100_000 || a.Beyond() != 0 || len(top) != a.Count() {
		t.Errorf("%d templates of %d lines", a.Count(), a.Lines())
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	if !top[0].First.Before(top[0].Last) || top[0].Example == "" {
		t.Errorf("%+v", top[0])
	}
	text := func(list []*templates.Template) (s string) {
		for _, t := range list {
			s += fmt.Sprintln(t.Count, t.Program, t.Text, t.Example)
		}
		return s
	}
	if diff := cmp.Diff(text(mine(10_000).Top(20)), text(mine(10_000).Top(20))); diff != "" {
		t.Error(diff)
	}
}

func TestBounds(t *testing.T) {
	m := templates.New(10)
	for i := range 100 {
		m.Add("p", strings.Repeat("w ", i+1)+strings.Repeat("z", 10_000), 8, time.Time{})
	}
	if m.Count() != 10 || m.Beyond() < 30 || len(m.Top(99)) != 10 {
		t.Errorf("%d templates, %d lines beyond", m.Count(), m.Beyond())
	}
}
