package proc_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// BenchmarkStart is the cost of Start alone, for a child that is ready when it
// was forked.
func BenchmarkStart(b *testing.B) {
	for _, heap := range []struct {
		name string
		size int
	}{{"small heap", 0}, {"heap of 1 GiB", 1 << 30}} {
		b.Run(heap.name, func(b *testing.B) {
			ballast := make([]byte, heap.size)
			for i := 0; i < len(ballast); i += 4096 {
				ballast[i] = 1
			}
			s := newSpawner(b)
			stop(b, start(b, s, command("cat", "")))
			var least time.Duration
			for b.Loop() {
				began := time.Now()
				p := start(b, s, proc.Command{Path: "/bin/cat"})
				took := time.Since(began)
				if least == 0 || took < least {
					least = took
				}
				b.StopTimer()
				stop(b, p)
				b.StartTimer()
			}
			b.ReportMetric(float64(least.Microseconds()), "least-µs/op")
			_ = ballast[len(ballast)/2:]
		})
	}
}

// BenchmarkStart50 starts 50 children at once and waits until all are forked.
func BenchmarkStart50(b *testing.B) {
	for b.Loop() {
		s := proc.New(proc.Options{})
		var starts sync.WaitGroup
		for range 50 {
			starts.Go(func() { start(b, s, proc.Command{Path: "/bin/cat"}) })
		}
		starts.Wait()
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
}

// BenchmarkStop is the cost of stopping a child that leaves at once.
func BenchmarkStop(b *testing.B) {
	s := newSpawner(b)
	for b.Loop() {
		b.StopTimer()
		p := start(b, s, proc.Command{Path: "/bin/cat"})
		b.StartTimer()
		if err := p.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkClose50 stops 50 children that leave at once.
func BenchmarkClose50(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := proc.New(proc.Options{})
		for range 50 {
			start(b, s, proc.Command{Path: "/bin/cat"})
		}
		b.StartTimer()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}
