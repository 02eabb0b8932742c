package proc_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
)

func TestFilter(t *testing.T) {
	s := newSpawner(t)
	text := strings.Repeat("0123456789abcdef", 1<<16) // more than pipes hold, both ways
	var got []byte
	p, err := s.Filter(t.Context(), command("cat", ""), strings.NewReader(text), func(p *proc.Process) bool {
		var err error
		if got, err = io.ReadAll(p.Stdout()); err != nil {
			t.Error(err)
		}
		return true
	})
	if err != nil || string(got) != text || p.Exit() != "exit status 0" {
		t.Errorf("%d bytes, %v, %s", len(got), err, p.Exit())
	}
}

// endless is an input without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestFilterKilled has programs that do not end by themselves, whatever step of Stop they
// heed, with an input that never ends either.
func TestFilterKilled(t *testing.T) {
	s := newSpawner(t)
	c := command("stubborn", "")
	p, err := s.Filter(t.Context(), c, endless{}, func(p *proc.Process) bool {
		pids(t, p.Stdout(), 1)
		return false // had enough
	})
	if err != nil || p.Exit() == "" || p.Exit() == "exit status 0" {
		t.Errorf("%v, %s", err, p.Exit())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err = s.Filter(ctx, c, endless{}, func(p *proc.Process) bool {
		pids(t, p.Stdout(), 1)
		cancel()
		_, err := io.ReadAll(p.Stdout()) // until it is killed
		return err == nil
	})
	if err != nil || p == nil {
		t.Fatalf("%v", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("it runs on")
	}
	c.Path += "-missing"
	if _, err := s.Filter(t.Context(), c, endless{}, func(*proc.Process) bool { t.Error("nothing runs"); return true }); err == nil {
		t.Error("a program that is not there runs")
	}
}
