package record_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ids returns the IDs of entries, in their order.
func ids(entries []record.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

func TestLastIsNewestFirst(t *testing.T) {
	r := record.New(record.Options{})
	for i := range 200 { // more than are read under one hold of the lock
		r.Add(record.Entry{ID: fmt.Sprint(i)})
	}
	if got, want := ids(r.Last(3)), []string{"199", "198", "197"}; !slices.Equal(got, want) {
		t.Errorf("Last(3) = %v, want %v", got, want)
	}
	all := ids(r.Last(1000))
	if len(all) != 200 || all[0] != "199" || all[199] != "0" {
		t.Errorf("Last(1000) has %d entries from %v to %v, want 200 from 199 to 0", len(all), all[0], all[len(all)-1])
	}
	if got := r.Last(0); len(got) != 0 {
		t.Errorf("Last(0) = %v, want none", got)
	}
}

func TestOldestEntriesGiveWay(t *testing.T) {
	// The limits lie around the size of a chunk of the ring.
	for _, limit := range []int{1, 2, 255, 256, 257, 600} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			r := record.New(record.Options{Limit: limit})
			n := 2*limit + 1
			for i := range n {
				r.Add(record.Entry{ID: fmt.Sprint(i)})
			}
			last := ids(r.Last(n))
			if len(last) != limit {
				t.Fatalf("%d entries are kept, want %d", len(last), limit)
			}
			for i, id := range last {
				if want := fmt.Sprint(n - 1 - i); id != want {
					t.Fatalf("entry %d from the newest is %s, want %s", i, id, want)
				}
			}
			if _, ok := r.Get(fmt.Sprint(n - limit)); !ok {
				t.Error("Get does not find the oldest entry that is kept")
			}
			if _, ok := r.Get(fmt.Sprint(n - limit - 1)); ok {
				t.Error("Get finds an entry that should be overwritten")
			}
		})
	}
}

func TestEntryComesBackWhole(t *testing.T) {
	want := record.Entry{
		ID: "c_1", Server: "files", Tool: "read", Kind: tool.Failed, Caller: tool.Caller{Name: "ann", Via: "rest"},
		Session: "s", Task: "t", Skill: "k", Started: time.Unix(1, 2), Elapsed: 3, Bytes: 4, Attempts: 5,
		Notes: []tool.Note{{Stage: "retry", Text: "sent twice"}},
	}
	r := record.New(record.Options{})
	r.Add(want)
	got, ok := r.Get("c_1")
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("Get = %+v, %v\nwant %+v", got, ok, want)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	r := record.New(record.Options{})
	r.Add(record.Entry{
		ID: long, Server: long, Tool: long, Caller: tool.Caller{Name: long, Via: long},
		Session: long, Task: long, Skill: long,
	})
	e := r.Last(1)[0]
	for i, s := range []string{e.ID, e.Server, e.Tool, e.Caller.Name, e.Caller.Via, e.Session, e.Task, e.Skill} {
		if want := strings.Repeat("ä", 128); s != want {
			t.Errorf("text %d has %d bytes, want 256", i, len(s))
		}
	}
}

func TestCountersAddUp(t *testing.T) {
	r := record.New(record.Options{Limit: 1}) // what is forgotten is counted still
	add := func(server, name string, kind tool.Kind) {
		r.Add(record.Entry{Server: server, Tool: name, Kind: kind, Attempts: 2, Bytes: 10, Elapsed: time.Second})
	}
	add("b", "x", "")
	add("a", "z", tool.Failed)
	add("a", "z", "")
	add("a", "y", "")
	add("b", "x", "")
	// Names that do not exist must not become counters of their own.
	add("nowhere", "x", tool.NotFound)
	add("a", "nothing", tool.NotFound)

	count := func(server, name string, kind tool.Kind, calls int64) record.Counter {
		return record.Counter{
			Server: server, Tool: name, Kind: kind, Calls: calls,
			Attempts: 2 * calls, Bytes: 10 * calls, Elapsed: time.Duration(calls) * time.Second,
		}
	}
	want := []record.Counter{
		count("", "", tool.NotFound, 2),
		count("a", "y", "", 1),
		count("a", "z", "", 1),
		count("a", "z", tool.Failed, 1),
		count("b", "x", "", 2),
	}
	if got := r.Counters(); !slices.Equal(got, want) {
		t.Errorf("Counters() = %+v\nwant %+v", got, want)
	}
}

func TestCountersAreBounded(t *testing.T) {
	r := record.New(record.Options{Limit: 1})
	const n = 25_000
	for i := range n {
		r.Add(record.Entry{Server: "s", Tool: fmt.Sprint(i), Kind: tool.Denied})
	}
	all := r.Counters()
	if len(all) > 20_001 {
		t.Errorf("there are %d counters, want at most 20,001", len(all))
	}
	var sum int64
	for _, c := range all {
		sum += c.Calls
	}
	if sum != n {
		t.Errorf("%d calls are counted, want %d", sum, n)
	}
}

func TestWatchersGetWhatIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record.New(record.Options{})
		r.Add(record.Entry{ID: "before"})
		ctx, cancel := context.WithCancel(t.Context())
		one, two := r.Watch(ctx), r.Watch(t.Context())
		r.Add(record.Entry{ID: "first"})
		if a, b := <-one, <-two; a.ID != "first" || b.ID != "first" {
			t.Errorf("watchers got %q and %q, want first", a.ID, b.ID)
		}
		cancel()
		synctest.Wait()
		r.Add(record.Entry{ID: "second"})
		if e, open := <-one; open {
			t.Errorf("a watcher that left got %q", e.ID)
		}
		if e := <-two; e.ID != "second" {
			t.Errorf("the other watcher got %q, want second", e.ID)
		}
	})
}

func TestSlowWatcherLosesEntries(t *testing.T) {
	r := record.New(record.Options{})
	slow := r.Watch(t.Context())
	const n = 1000
	for i := range n {
		r.Add(record.Entry{ID: fmt.Sprint(i)}) // would hang here if it waited
	}
	kept := len(slow)
	if kept == 0 || kept == n {
		t.Fatalf("the watcher holds %d of %d entries, want some", kept, n)
	}
	if got := r.Lost(); got != uint64(n-kept) {
		t.Errorf("Lost() = %d, want %d", got, n-kept)
	}
	if e := <-slow; e.ID != "0" {
		t.Errorf("the first entry is %q, want 0: a slow watcher keeps the oldest", e.ID)
	}
}

func TestConcurrentUse(t *testing.T) {
	const writers, each = 4, 2000
	r := record.New(record.Options{Limit: 300})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r.Add(record.Entry{ID: record.NewID(), Server: fmt.Sprint(w), Tool: fmt.Sprint(i % 7), Attempts: 1})
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			seen := make(map[string]bool)
			for _, e := range r.Last(300) {
				if e.ID == "" || seen[e.ID] {
					t.Errorf("Last has %q twice, or an empty entry", e.ID)
				}
				seen[e.ID] = true
			}
			r.Get("absent")
			r.Counters()
		}
	})
	wg.Go(func() {
		for range 50 {
			ctx, cancel := context.WithCancel(ctx)
			watch := r.Watch(ctx)
			cancel()
			for range watch { // must be closed
			}
		}
	})
	wg.Wait()
	var calls int64
	for _, c := range r.Counters() {
		calls += c.Calls
	}
	if calls != writers*each {
		t.Errorf("%d calls are counted, want %d", calls, writers*each)
	}
	if n := len(r.Last(1000)); n != 300 {
		t.Errorf("%d entries are kept, want 300", n)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	r := record.New(record.Options{Limit: 100})
	e := record.Entry{ID: record.NewID(), Server: "s", Tool: "t"}
	for range 100 {
		r.Add(e)
	}
	if n := testing.AllocsPerRun(1000, func() { r.Add(e) }); n != 0 {
		t.Errorf("Add allocates %v times, want 0", n)
	}
}
