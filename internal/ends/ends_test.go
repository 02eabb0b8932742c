package ends_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/ends"
)

func TestAllOnce(t *testing.T) {
	var e ends.Ends
	if err := e.Run(); err != nil {
		t.Error(err)
	}
	var n atomic.Int32
	e.Add(func() error { n.Add(1); return errors.New("one") })
	e.Add(func() error { n.Add(1); return errors.New("two") })
	if err := e.Run(); err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("got %v", err)
	}
	if err := e.Run(); err != nil || n.Load() != 2 {
		t.Errorf("got %v, %d ran", err, n.Load())
	}
}

func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e ends.Ends
		e.Add(func() error { time.Sleep(time.Minute); return nil })
		began := time.Now()
		if err := e.Run(); err == nil || time.Since(began) != ends.Limit {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}
