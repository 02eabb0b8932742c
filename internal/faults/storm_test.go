package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	stormCalls = 10_000
	// stormTime bounds each of the two storms where everything is slow.
	stormTime = 10 * time.Second
	killEvery = 200 * time.Millisecond
	callers   = 32
)

// A storm is what came of calls while the child of their server is killed again
// and again.
type storm struct {
	*tenon.Gateway
	dir string

	mu      sync.Mutex
	kinds   map[tool.Kind]int // of writes; "" is an answer
	reads   map[tool.Kind]int
	longest time.Duration
	writes  map[string]tool.Kind // by the id of the call
	met     atomic.Bool          // a write met the death of the child
}

// TestStorm: every call ends in its time, no write runs twice for one call, what
// is told of it is true, and nothing is left.
func TestStorm(t *testing.T) {
	for _, isolation := range []string{"shared", "session"} {
		t.Run(isolation, func(t *testing.T) {
			s := &storm{dir: t.TempDir(), kinds: map[tool.Kind]int{}, reads: map[tool.Kind]int{}, writes: map[string]tool.Kind{}}
			starts := filepath.Join(s.dir, "starts")
			script := upstreamtest.Script{CountFile: starts, Extra: upstreamtest.BadTools}
			s.Gateway = openGateway(t, "version: 1\ngateway: {spawn_rate: 10000}\ntools: {s/bad_read: {read_only: true}}\nservers:\n"+
				child("s", script, ", isolation: "+isolation), s.dir)
			began := time.Now()
			made := s.rage(t)
			took := time.Since(began)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			t.Logf("%d calls in %s, %d children; writes: %v, reads: %v; the longest call took %s", made, took.Round(time.Millisecond),
				upstreamtest.Starts(t, starts), s.kinds, s.reads, s.longest.Round(time.Millisecond))
			s.check(t)
			nothingLeft(t, starts)
		})
	}
}

// rage makes the calls, and kills the child meanwhile. It returns how many there
// were.
func (s *storm) rage(t *testing.T) int64 {
	t.Helper()
	var calls sync.WaitGroup
	var made atomic.Int64
	until := time.Now().Add(stormTime)
	limit := time.Now().Add(time.Minute)
	for range callers {
		calls.Go(func() {
			for n := made.Add(1); ; n = made.Add(1) {
				met := s.met.Load() || time.Now().After(limit) // where all is fast, none may have met a death yet
				if met && (n > stormCalls || slow && time.Now().After(until)) {
					return
				}
				s.one(t, n)
			}
		})
	}
	over := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		ticks := time.NewTicker(killEvery)
		defer ticks.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticks.C:
				s.kill(t)
			}
		}
	})
	calls.Wait()
	close(over)
	killer.Wait()
	return made.Load() - callers
}

// one makes one call, a read where n is a multiple of four.
func (s *storm) one(t *testing.T, n int64) {
	name, id := "bad", strconv.FormatInt(n, 10)
	if n%4 == 0 {
		name = "bad_read"
	}
	args := upstreamtest.Fault{Ran: filepath.Join(s.dir, name), ID: id}
	res := s.Call(t.Context(), tool.Call{Server: "s", Tool: name, Arguments: args.Arguments(), Timeout: patience, Session: someSession(n)})
	switch res.Kind {
	case "", tool.OutcomeUnknown, tool.Unavailable:
	case tool.Timeout, tool.Canceled, tool.Invalid, tool.NotFound, tool.Denied, tool.Failed, tool.Internal:
		t.Errorf("call %d ended with %q after %s: %s", n, res.Kind, res.Elapsed, res.Text())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, res.Elapsed)
	if name == "bad_read" {
		s.reads[res.Kind]++
		return
	}
	s.kinds[res.Kind]++
	s.writes[id] = res.Kind
	if res.Kind == tool.OutcomeUnknown {
		s.met.Store(true)
	}
}

// check compares what was told of the writes with what ran.
func (s *storm) check(t *testing.T) {
	t.Helper()
	ran := map[string]int{}
	b, err := os.ReadFile(filepath.Join(s.dir, "bad"))
	if err != nil {
		t.Fatal(err)
	}
	for id := range strings.FieldsSeq(string(b)) {
		ran[id]++
	}
	for id, kind := range s.writes {
		least, most := 0, 1 // outcome_unknown
		if kind == "" {
			least = 1
		}
		if kind == tool.Unavailable {
			most = 0
		}
		if n := ran[id]; n < least || n > most {
			t.Errorf("write %s was told to be %q, and ran %d times", id, kind, n)
		}
	}
	if s.longest > patience+time.Second {
		t.Errorf("a call took %s", s.longest)
	}
	if s.reads[tool.OutcomeUnknown] > 0 {
		t.Error("the outcome of a read is unknown")
	}
	if s.kinds[""] == 0 || s.reads[""] == 0 || s.kinds[tool.OutcomeUnknown] == 0 {
		t.Errorf("it was no storm: writes %v, reads %v", s.kinds, s.reads)
	}
}

// kill kills the child of some session.
func (s *storm) kill(t *testing.T) {
	res := s.Call(t.Context(), tool.Call{Server: "s", Tool: "pid", Timeout: patience, Session: someSession(rand.Int64())})
	pid, err := strconv.Atoi(res.Text())
	if err != nil {
		return // it was about to start
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Error(err)
		return
	}
	_ = p.Kill() // it may have ended since
	_ = p.Release()
}

func someSession(n int64) string { return fmt.Sprint("s", n%8) }
