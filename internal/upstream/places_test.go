package upstream_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestOwnConnectionsAreShared: the connections of single clients to a server on stdio are
// a process each. Their number is bounded, and one caller cannot have all of them.
func TestOwnConnectionsAreShared(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{MaxSessions: 8})
	p.text(t, call("echo", "{}"))
	before := upstreamtest.Starts(t, count)
	open := func(caller string) (*upstream.Link, error) {
		return upstream.Open(t.Context(), p.Server, upstream.Greeting{Caller: caller})
	}
	var links []*upstream.Link
	for range 6 {
		l, err := open("ann")
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	_, err := open("ann")
	if !errors.Is(err, upstream.ErrTooMany) || !errors.Is(err, share.ErrShare) || !strings.Contains(err.Error(), "of 8, each a process (max_sessions)") {
		t.Errorf("one more of the same caller: %v", err)
	}
	for _, caller := range []string{"bob", ""} {
		l, err := open(caller)
		if err != nil {
			t.Fatalf("caller %q: %v", caller, err)
		}
		links = append(links, l)
	}
	if _, err := open("late"); !errors.Is(err, upstream.ErrTooMany) || !errors.Is(err, share.ErrFull) {
		t.Errorf("one more than there are: %v", err)
	}
	if n := upstreamtest.Starts(t, count) - before; n != 8 {
		t.Errorf("%d processes were started for 8 connections", n)
	}
	links[0].Close()
	links[0].Close() // gives one place back
	l, err := open("late")
	if err != nil {
		t.Fatalf("after one has ended: %v", err)
	}
	if _, err := open("later"); !errors.Is(err, upstream.ErrTooMany) {
		t.Errorf("a place was given back twice: %v", err)
	}
	for _, l := range append(links[1:], l) {
		l.Close()
	}
}

// TestIsolatedSessionsAreShared: who opens many sessions pays for them with its own, and
// not with those of others.
func TestIsolatedSessionsAreShared(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerSession, MaxSessions: 8})
	count := func(caller, session string) string {
		c := call("count", "{}")
		c.Key = upstream.Key{Caller: caller, Session: session}
		return p.text(t, c)
	}
	for i := range 2 {
		if got := count("bob", fmt.Sprint(i)); got != "1" {
			t.Fatal(got)
		}
	}
	for i := range 12 {
		if got := count("eve", fmt.Sprint(i)); got != "1" {
			t.Fatalf("session %d of eve counts %s", i, got)
		}
	}
	for i := range 2 {
		if got := count("bob", fmt.Sprint(i)); got != "2" {
			t.Errorf("session %d of bob counts %s: it paid for the sessions of eve", i, got)
		}
	}
	// In use, they cannot be taken away: she gets no more, and there is one for the next.
	busy := 0
	for ; busy < 10; busy++ {
		c := call("count", "{}")
		c.Key = upstream.Key{Caller: "eve", Session: fmt.Sprint("busy ", busy)}
		if _, err := p.Call(t.Context(), c); err != nil {
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "no caller can have them all") {
				t.Error(err)
			}
			break
		}
		p.waitAs(t, c.Key)
	}
	if busy != 4 {
		t.Errorf("eve has %d sessions in use of 8, of which bob has 2", busy)
	}
	if got := count("ann", "1"); got != "1" {
		t.Errorf("ann counts %s", got)
	}
}
