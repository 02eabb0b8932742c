package proc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

func closeWith(t *testing.T, s *proc.Spawner) *proc.Spawner {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestTooManyProcesses(t *testing.T) {
	s := closeWith(t, proc.New(proc.Options{MaxProcesses: 2}))
	first := start(t, s, command("cat", ""))
	start(t, s, command("cat", ""))
	if _, err := s.Start(t.Context(), proc.Command{Path: "/no/such/program"}); !isLimit(err) {
		t.Errorf("one too many: %v", err)
	}
	stop(t, first)
	for range 5 { // what does not start takes no place
		if _, err := s.Start(t.Context(), proc.Command{Path: "/no/such/program"}); err == nil || isLimit(err) {
			t.Errorf("no program: %v", err)
		}
	}
	start(t, s, command("cat", ""))
}

func TestTooOften(t *testing.T) {
	s := closeWith(t, proc.New(proc.Options{Rate: 1}))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	for i := range 10 {
		_, err := s.Start(ctx, proc.Command{Path: "/no/such/program"})
		if ctx.Err() != nil {
			t.Skip("this machine is too busy for that: five starts took ", time.Since(began))
		}
		if isLimit(err) != (i >= 5) {
			t.Errorf("start %d: %v", i, err)
		}
	}
}

func isLimit(err error) bool {
	_, ok := errors.AsType[*proc.LimitError](err)
	return ok
}
