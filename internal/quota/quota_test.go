package quota_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/tool"
)

func configured(limits ...quota.Limit) *quota.Quota {
	q := new(quota.Quota)
	q.Configure(limits)
	return q
}

func use(caller, session, name string) quota.Use {
	return quota.Use{Caller: caller, Session: session, Tool: tool.ID{Server: "s", Name: name}}
}

func TestNoLimitBoundsNothing(t *testing.T) {
	for _, q := range []*quota.Quota{new(quota.Quota), configured()} {
		for range 100 {
			taken, over := q.Take(use("a", "", "t"))
			if over != nil {
				t.Fatal(over.Text())
			}
			taken.Done(1<<40, time.Hour)
		}
	}
}

// TestWhoShares: each takes twice of a limit of two, in this order.
func TestWhoShares(t *testing.T) {
	uses := []quota.Use{use("a", "1", "t"), use("a", "2", "t"), use("b", "1", "t"), use("a", "1", "u")}
	for per, want := range map[quota.Per]string{
		quota.PerAll:     "++ -- -- --",
		quota.PerCaller:  "++ -- ++ --",
		quota.PerSession: "++ ++ ++ --",
		quota.PerTool:    "++ -- -- ++",
	} {
		q := configured(quota.Limit{Per: per, Calls: 2})
		got := ""
		for i, u := range uses {
			if i > 0 {
				got += " "
			}
			for range 2 {
				if _, over := q.Take(u); over != nil {
					got += "-"
				} else {
					got += "+"
				}
			}
		}
		if got != want {
			t.Errorf("per %s: %s, want %s", per, got, want)
		}
	}
}

func TestForWhom(t *testing.T) {
	q := configured(
		quota.Limit{Name: "guests", Per: quota.PerCaller, Calls: 1},
		quota.Limit{Per: quota.PerCaller, Tools: []tool.ID{{Server: "s", Name: "dear_*"}}, Calls: 2},
	)
	take := func(u quota.Use) string {
		if _, over := q.Take(u); over != nil {
			return over.What
		}
		return ""
	}
	guest := use("g", "", "t")
	guest.Names = []string{"others", "guests"}
	for i, want := range []string{"", "1 calls"} {
		if got := take(guest); got != want {
			t.Errorf("call %d of a guest: %q, want %q", i+1, got, want)
		}
	}
	for i, want := range []string{"", "", "2 calls"} {
		if got := take(use("a", "", "dear_one")); got != want {
			t.Errorf("call %d of a dear tool: %q, want %q", i+1, got, want)
		}
		if got := take(use("a", "", "cheap")); got != "" {
			t.Errorf("a cheap tool: %q", got)
		}
	}
}

// TestAllOrNothing: a call that one limit refuses takes nothing from another.
func TestAllOrNothing(t *testing.T) {
	q := configured(
		quota.Limit{Per: quota.PerAll, Calls: 3},
		quota.Limit{Per: quota.PerTool, Tools: []tool.ID{{Server: "s", Name: "t"}}, Calls: 1},
	)
	got := ""
	for _, name := range []string{"t", "t", "t", "u", "u", "u"} {
		if _, over := q.Take(use("a", "", name)); over != nil {
			got += "-"
		} else {
			got += "+"
		}
	}
	if got != "+--++-" {
		t.Error(got)
	}
}

// TestKnownAfterwards: bytes and time stop the call after the one that crosses the
// limit, spend the one that would.
func TestKnownAfterwards(t *testing.T) {
	for name, limit := range map[string]quota.Limit{
		"100 bytes of answers": {Per: quota.PerSession, Bytes: 100},
		"10s of calls":         {Per: quota.PerSession, Time: 10 * time.Second},
		"2.5 units of spend":   {Per: quota.PerSession, Spend: 2.5},
	} {
		q := configured(limit)
		u := use("a", "1", "t")
		u.Spend = 1
		for i := range 2 {
			taken, over := q.Take(u)
			if over != nil {
				t.Fatalf("%s: call %d: %s", name, i+1, over.Text())
			}
			taken.Done(60, 6*time.Second)
		}
		_, over := q.Take(u)
		if over == nil || over.What != name || over.After != 0 {
			t.Errorf("%s: the third call gives %+v", name, over)
		}
	}
}

// TestAnyMinute: whatever 60 seconds one looks at, no more calls began in them,
// and none is refused that need not be. The model keeps all times.
func TestAnyMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 0))
			limit := 1 + random.IntN(5)
			q := configured(quota.Limit{Per: quota.PerCaller, CallsPerMinute: limit})
			kept := limit // of how many calls the times are known for sure
			var began []time.Time
			for range 40 {
				time.Sleep(time.Duration(random.IntN(40)) * time.Second)
				if random.IntN(10) == 0 {
					limit = 1 + random.IntN(5)
					kept = min(kept, limit)
					q.Configure([]quota.Limit{{Per: quota.PerCaller, CallsPerMinute: limit}})
				}
				within := 0
				for _, b := range began {
					if time.Since(b) < time.Minute {
						within++
					}
				}
				_, over := q.Take(use("a", "", "t"))
				switch {
				case over != nil && within < limit:
					t.Fatalf("seed %d: %d calls within a minute, and one was refused by a limit of %d: %s", seed, within, limit, over.Text())
				case over == nil && within >= limit && kept == limit:
					t.Fatalf("seed %d: %d calls within a minute, and one more was let through a limit of %d", seed, within, limit)
				case over == nil:
					began = append(began, time.Now())
					kept = min(kept+1, limit)
				case over.After <= 0 || over.After > time.Minute:
					t.Fatalf("seed %d: to wait %s", seed, over.After)
				}
			}
		}
	})
}

// TestReloadKeepsCounts: a limit that is raised goes on from what was used.
func TestReloadKeepsCounts(t *testing.T) {
	q := configured(quota.Limit{Per: quota.PerCaller, Calls: 2})
	for range 2 {
		q.Take(use("a", "", "t"))
	}
	q.Configure([]quota.Limit{{Per: quota.PerAll, Calls: 1000}, {Per: quota.PerCaller, Calls: 3}})
	if _, over := q.Take(use("a", "", "t")); over != nil {
		t.Error(over.Text())
	}
	if _, over := q.Take(use("a", "", "t")); over == nil {
		t.Error("a reload gave a fresh limit")
	}
}

// TestCrowd: a hundred at once get no more than the limit.
func TestCrowd(t *testing.T) {
	q := configured(quota.Limit{Per: quota.PerAll, Calls: 10}, quota.Limit{Per: quota.PerAll, Name: "x", Spend: 5})
	var let atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			u := use("a", "", "t")
			u.Names, u.Spend = []string{"x"}, 1
			if taken, over := q.Take(u); over == nil {
				let.Add(1)
				taken.Done(1, 1)
			}
		})
	}
	wg.Wait()
	if n := let.Load(); n != 5 {
		t.Errorf("%d calls were let through, want 5", n)
	}
}

// TestMadeUpNames: whoever makes up sessions is refused at some point, and pushes
// nobody out.
func TestMadeUpNames(t *testing.T) {
	q := configured(quota.Limit{Per: quota.PerSession, Calls: 1})
	q.Take(use("honest", "1", "t"))
	refused := 0
	for i := range 30_000 {
		if _, over := q.Take(use("a", fmt.Sprint(i), "t")); over != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("names without end are counted")
	}
	if _, over := q.Take(use("honest", "1", "t")); over == nil || over.What != "1 calls" {
		t.Errorf("what somebody had used was forgotten: %+v", over)
	}
}

func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := configured(quota.Limit{Per: quota.PerSession, Calls: 1})
		q.Take(use("a", "1", "t"))
		time.Sleep(26 * time.Hour)
		if _, over := q.Take(use("a", "1", "t")); over != nil {
			t.Error("a session of yesterday is still counted")
		}
	})
}

func BenchmarkTake(b *testing.B) {
	q := configured(
		quota.Limit{Per: quota.PerSession, Calls: 1 << 60, Bytes: 1 << 60},
		quota.Limit{Per: quota.PerCaller, Spend: 1e18},
	)
	u := use("a", "1", "t")
	b.ReportAllocs()
	for b.Loop() {
		taken, _ := q.Take(u)
		taken.Done(100, time.Millisecond)
	}
}

// TestModels: what models take counts at once, and a limit with a time gives it back.
func TestModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := configured(
			quota.Limit{Per: quota.PerCaller, Tokens: 100, Every: 24 * time.Hour},
			quota.Limit{Per: quota.PerCaller, Cost: 5},
		)
		asks := func(caller string) quota.Use {
			u := use(caller, "", "t")
			u.Models = true
			return u
		}
		taken, over := q.Take(asks("a"))
		if over != nil || taken.Over() != nil {
			t.Fatal("nothing was used")
		}
		taken.Spend(99, 0.5)
		if taken.Over() != nil {
			t.Error("99 of 100 tokens are too many")
		}
		taken.Spend(1, 0.5)
		if e := taken.Over(); e == nil || e.What != "100 tokens of models in 24h" || e.After != 24*time.Hour {
			t.Errorf("the call goes on: %+v", e)
		}
		if _, over := q.Take(asks("a")); over == nil {
			t.Error("another call begins")
		}
		if _, over := q.Take(use("a", "", "t")); over != nil {
			t.Errorf("a call that asks no model: %s", over.Text())
		}
		if _, over := q.Take(asks("b")); over != nil {
			t.Error(over.Text())
		}
		time.Sleep(24 * time.Hour)
		taken, over = q.Take(asks("a"))
		if over != nil {
			t.Fatalf("a day later: %s", over.Text())
		}
		taken.Spend(0, 4)
		if e := taken.Over(); e == nil || e.What != "a cost of models of 5 (in the currency of their prices)" || e.After != 0 {
			t.Errorf("money comes back: %+v", e)
		}
	})
}
