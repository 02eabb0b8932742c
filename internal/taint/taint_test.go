package taint_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/taint"
	"github.com/tenon-mcp/tenon/tool"
)

var (
	logs = taint.Source{Tool: tool.ID{Server: "docker", Name: "docker_logs"}, Call: "c_1"}
	page = taint.Source{Tool: tool.ID{Server: "web", Name: "scrape"}, Call: "c_2"}
)

func labels(l ...tool.Label) []tool.Label { return l }

func TestBothMakeIt(t *testing.T) {
	tr := taint.New()
	mine, other := taint.Key{Caller: "a", Session: "1"}, taint.Key{Caller: "a", Session: "2"}
	stranger := taint.Key{Caller: "b", Session: "1"}
	tr.Read(mine, labels(tool.LabelEgress), page)
	tr.Read(mine, labels(tool.LabelPrivate, tool.LabelEgress), logs)
	if tr.Trail(mine).Complete() {
		t.Error("private data alone is enough")
	}
	tr.Read(other, labels(tool.LabelUntrusted), page)
	if tr.Trail(mine).Complete() || tr.Trail(other).Complete() {
		t.Error("two sessions were taken for one")
	}
	tr.Read(mine, labels(tool.LabelUntrusted), page)
	tr.Read(mine, labels(tool.LabelUntrusted), taint.Source{Tool: tool.ID{Server: "later", Name: "one"}})
	trail := tr.Trail(mine)
	if !trail.Complete() {
		t.Fatal("both together are not enough")
	}
	for _, want := range []string{"docker/docker_logs (call c_1", "web/scrape (call c_2"} {
		if !strings.Contains(trail.Text(), want) {
			t.Errorf("%q lacks %q", trail.Text(), want)
		}
	}
	if tr.Trail(stranger).Complete() {
		t.Error("another caller's session of the same name is marked")
	}
}

// TestHandles: what one session left behind a handle marks whoever opens it.
func TestHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := taint.New()
		tr.Kept("h_1", labels(tool.LabelPrivate, tool.LabelUntrusted), logs, time.Now().Add(time.Hour))
		reader := taint.Key{Caller: "a", Session: "2"}
		tr.Opened(reader, "h_2")
		if tr.Trail(reader).Complete() {
			t.Error("a handle of nothing marks")
		}
		tr.Opened(reader, "h_1")
		if trail := tr.Trail(reader); !trail.Complete() || trail.Private.Tool != logs.Tool {
			t.Errorf("%+v", trail)
		}
		time.Sleep(2 * time.Hour)
		tr.Read(reader, labels(tool.LabelPrivate), page) // sweeps
		late := taint.Key{Caller: "a", Session: "3"}
		tr.Opened(late, "h_1")
		if tr.Trail(late).Complete() {
			t.Error("a handle that has expired is remembered")
		}
	})
}

// TestForgets: a session is clean again a day after its last call, and no sooner.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := taint.New()
		k := taint.Key{Caller: "a"}
		tr.Read(k, labels(tool.LabelPrivate, tool.LabelUntrusted), logs)
		for range 5 {
			time.Sleep(20 * time.Hour)
			tr.Read(taint.Key{Caller: "b"}, labels(tool.LabelPrivate), logs) // sweeps
			if !tr.Trail(k).Complete() {
				t.Fatal("forgotten while it was in use")
			}
		}
		time.Sleep(25 * time.Hour)
		tr.Read(taint.Key{Caller: "b"}, labels(tool.LabelPrivate), logs)
		if tr.Trail(k).Complete() {
			t.Error("never forgotten")
		}
	})
}

// TestTooMany: what is not known any more counts as the worst.
func TestTooMany(t *testing.T) {
	tr := taint.New()
	for i := range 30_000 {
		tr.Read(taint.Key{Caller: "a", Session: fmt.Sprint(i)}, labels(tool.LabelPrivate), logs)
	}
	if tr.Trail(taint.Key{Caller: "a", Session: "1"}).Complete() {
		t.Error("a session that is known is taken for lost")
	}
	trail := tr.Trail(taint.Key{Caller: "a", Session: "29999"})
	if !trail.Complete() || !strings.Contains(trail.Text(), "too many") {
		t.Errorf("%+v", trail)
	}
	for i := range 60_000 {
		tr.Kept(fmt.Sprint("h_", i), labels(tool.LabelPrivate), logs, time.Now().Add(time.Hour))
	}
	k := taint.Key{Caller: "a", Session: "1"}
	tr.Opened(k, "h_59999")
	if !tr.Trail(k).Complete() {
		t.Error("a handle that could not be remembered counts as clean")
	}
}

func BenchmarkTrail(b *testing.B) {
	tr := taint.New()
	k := taint.Key{Caller: "a", Session: "1"}
	tr.Read(k, labels(tool.LabelPrivate), logs)
	b.ReportAllocs()
	for b.Loop() {
		tr.Trail(k)
	}
}
