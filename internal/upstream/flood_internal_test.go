package upstream

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFlood: a server that never pauses is told of, once in a while, and one that says
// much for a moment, or something now and then, is not.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flood
		var log bytes.Buffer
		l := slog.New(slog.NewTextHandler(&log, nil))
		say := func(n int, pause time.Duration) (told int) {
			log.Reset()
			for range n {
				f.heard(l)
				time.Sleep(pause)
			}
			time.Sleep(time.Minute)
			return strings.Count(log.String(), "without a pause")
		}
		for _, c := range []struct {
			n     int
			pause time.Duration
			want  int
		}{
			{floodMost - 1, 0, 0},
			{3 * floodMost, 10 * time.Millisecond, 0},
			{3 * floodMost, 0, 1},
			{100_000, time.Millisecond / 2, 5},
		} {
			if got := say(c.n, c.pause); got != c.want {
				t.Errorf("%d notifications, one in %v: told %d times, want %d", c.n, c.pause, got, c.want)
			}
		}
	})
}
