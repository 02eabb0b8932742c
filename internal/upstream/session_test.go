package upstream_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// notes keeps what a call was told.
type notes []string

func (n *notes) Note(stage, format string, args ...any) {
	*n = append(*n, stage+": "+fmt.Sprintf(format, args...))
}

// in calls in a session and returns the answer and what the caller was told.
func (p *one) in(t *testing.T, session, name, args string) (string, notes) {
	t.Helper()
	var told notes
	c := call(name, args)
	c.Key.Session, c.Notes = session, &told
	return p.text(t, c), told
}

func (p *one) count(t *testing.T, session string) string {
	t.Helper()
	got, told := p.in(t, session, "count", "{}")
	return strings.Join(append([]string{got}, told...), " ")
}

func TestSessionsSeeOnlyThemselves(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerSession})
	for _, step := range []struct{ session, want string }{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"a", "3"}, {"", "1"}} {
		if got := p.count(t, step.session); got != step.want {
			t.Fatalf("session %q counts %s, want %s", step.session, got, step.want)
		}
	}
	p.EndSession(upstream.Key{Session: "a"})
	if got := p.count(t, "a"); got != "1" {
		t.Errorf("after its end the session counts %s, and nobody asked for more", got)
	}
}

// TestTooManySessions: the one that was unused for the longest time makes place,
// and where all are in use the next one has to wait.
func TestTooManySessions(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerSession, MaxSessions: 2})
	p.count(t, "a")
	p.count(t, "b")
	p.count(t, "a")
	p.count(t, "c") // takes the place of b
	if got := p.count(t, "a"); got != "3" {
		t.Errorf("a counts %s: not the session unused for the longest time was ended", got)
	}
	p.wait(t, "a")
	waits := p.wait(t, "c")
	c := call("count", "{}")
	c.Key.Session = "d"
	_, err := p.Call(t.Context(), c)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "max_sessions is 2") {
		t.Errorf("one too many: %v", err)
	}
	p.EndSession(upstream.Key{Session: "c"})
	if err := <-waits; err == nil {
		t.Error("a call of a session that was ended was answered")
	}
	got, told := p.in(t, "b", "count", "{}")
	if want := "others needed the place (max_sessions is 2)"; got != "1" || len(told) != 1 || !strings.Contains(told[0], want) {
		t.Errorf("b counts %s and is told %q", got, told)
	}
}

// TestBrokenSessionIsReplaced: only the session whose process died is told, once.
func TestBrokenSessionIsReplaced(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerSession})
	p.count(t, "a")
	p.count(t, "b")
	c := call("exit", "{}")
	c.Key.Session = "a"
	_, err := p.Call(t.Context(), c)
	if lost, ok := errors.AsType[*upstream.LostError](err); !ok || !lost.Died() || !strings.Contains(lost.Error(), "exit status 7") {
		t.Fatalf("got %v", err)
	}
	if got, told := p.in(t, "a", "count", "{}"); got != "1" || len(told) != 1 ||
		!strings.Contains(told[0], "what this session had before at server script is gone, since its process ended (exit status 7)") {
		t.Errorf("counts %s, told %q", got, told)
	}
	for _, session := range []string{"a", "b"} {
		if got := p.count(t, session); got != "2" {
			t.Errorf("session %s counts %s", session, got)
		}
	}
}

func TestIdleSessionEnds(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{Isolation: upstream.PerSession, IdleTimeout: 50 * time.Millisecond})
	p.count(t, "a")
	limit := time.After(time.Minute)
	for {
		select {
		case <-limit:
			t.Fatal("the session is still there")
		case <-time.After(200 * time.Millisecond):
		}
		got := p.count(t, "a")
		if strings.HasPrefix(got, "1 ") {
			if !strings.Contains(got, "it was unused for 50ms") {
				t.Errorf("told %q", got)
			}
			return
		}
	}
}

// TestSessionsThatCannotOpen: one that fails keeps nobody waiting, several do,
// so that callers who ask again and again start no storm.
func TestSessionsThatCannotOpen(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{ExitAtOnce: true, CountFile: count}, upstream.Options{Isolation: upstream.PerSession, Tools: nothing})
	for i := range 50 {
		c := call("count", "{}")
		c.Key.Session = fmt.Sprint(i)
		if _, err := p.Call(t.Context(), c); tool.KindOf(err) != tool.Unavailable {
			t.Fatal(err)
		}
	}
	if n := upstreamtest.Starts(t, count); n < 3 || n > 10 {
		t.Errorf("started %d times for 50 calls", n)
	}
	if st := p.Status(); st.State != tool.StateFailed || st.NextTry == nil || !strings.Contains(st.Reason, "exit status 3") {
		t.Errorf("status %+v", st)
	}
}
