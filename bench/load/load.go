// Package load keeps an MCP server busy with a fixed number of callers, each of
// which sends its next call when it has the answer to the last, and tells how
// long the calls took and what CPU time some processes used meanwhile.
//
//	r, err := load.Run(ctx, load.Options{
//		Callers:  []load.Caller{{Session: s, Requests: []*client.Request{call}}},
//		Duration: time.Second,
//		Watch:    []usage.Process{gateway},
//	})
//
// Callers work either for a time or for a number of calls. A time suits short
// calls: what is under way at its two ends hardly counts. A number suits long
// ones: nothing is under way at either end.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/usage"
)

// Overtime bounds how long a run may last beyond its time: calls that have
// not ended by then are errors.
const Overtime = 60 * time.Second

// A Caller makes one call after the other on a session of its own.
type Caller struct {
	Session  *client.Session
	Requests []*client.Request // sent in turn; together they are one call
	Want     int64             // least size of an answer in bytes; a shorter one is an error
}

// Options say what to run.
type Options struct {
	Callers  []Caller
	Count    int           // calls of each caller; 0: as many as Duration allows
	Duration time.Duration // how long to measure, where Count is 0
	Warm     time.Duration // how long to call before measuring, where Count is 0
	Watch    []usage.Process
}

// A Result is what one run showed.
type Result struct {
	Calls   int // that were answered as they should be
	Errors  int
	Err     error // the first error of a call
	Elapsed time.Duration
	P50     time.Duration
	P99     time.Duration
	CPU     []time.Duration // of each watched process; empty where it cannot be measured
}

// Rate returns the calls a second.
func (r *Result) Rate() float64 { return float64(r.Calls) / r.Elapsed.Seconds() }

// CPUPerCall returns the CPU time of the i-th watched process for one call, and
// whether it was measured.
func (r *Result) CPUPerCall(i int) (time.Duration, bool) {
	if i >= len(r.CPU) || r.Calls == 0 {
		return 0, false
	}
	return r.CPU[i] / time.Duration(r.Calls), true
}

// Percentile returns the smallest of the sorted values that at least the share
// p of them do not exceed (nearest rank), or 0 of no values.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// A phase says what the callers do.
type phase int32

const (
	warming phase = iota
	measuring
	over
)

// caller is a Caller at work and what it has to show.
type caller struct {
	Caller
	answer    client.Answer
	latencies []time.Duration
	errors    int
	err       error
}

// Run makes the calls. It returns an error where it was stopped; calls that
// fail are counted in the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	callers := make([]*caller, len(o.Callers))
	for i, c := range o.Callers {
		callers[i] = &caller{Caller: c, latencies: make([]time.Duration, 0, max(o.Count, 1<<14))}
		if err := c.Session.SetDeadline(time.Now().Add(o.Warm + o.Duration + Overtime)); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() {
		for _, c := range o.Callers {
			_ = c.Session.SetDeadline(time.Unix(1, 0)) // a session that is closed needs none
		}
	})
	defer stop()
	r := &Result{}
	var err error
	if o.Count > 0 {
		err = r.counted(o, callers)
	} else {
		err = r.timed(ctx, o, callers)
	}
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	r.gather(callers)
	return r, nil
}

// counted runs the callers until each has made its calls.
func (r *Result) counted(o Options, callers []*caller) error {
	before, err := cpu(o.Watch)
	if err != nil {
		return err
	}
	var working sync.WaitGroup
	start := time.Now()
	for _, c := range callers {
		working.Go(func() {
			for range o.Count {
				if !c.call(true) {
					return
				}
			}
		})
	}
	working.Wait()
	r.Elapsed = time.Since(start)
	r.CPU, err = since(before, o.Watch)
	return err
}

// timed runs the callers for a time.
func (r *Result) timed(ctx context.Context, o Options, callers []*caller) error {
	var now atomic.Int32
	var working sync.WaitGroup
	for _, c := range callers {
		working.Go(func() {
			for {
				at := phase(now.Load())
				if at == over || !c.call(at == measuring) {
					return
				}
			}
		})
	}
	defer working.Wait()
	defer now.Store(int32(over))
	if err := pause(ctx, o.Warm); err != nil {
		return err
	}
	before, err := cpu(o.Watch)
	if err != nil {
		return err
	}
	start := time.Now()
	now.Store(int32(measuring))
	if err := pause(ctx, o.Duration); err != nil {
		return err
	}
	now.Store(int32(over))
	r.Elapsed = time.Since(start)
	r.CPU, err = since(before, o.Watch)
	return err
}

// call makes one call, and reports whether the caller can make another.
func (c *caller) call(counts bool) bool {
	start := time.Now()
	for _, request := range c.Requests {
		err := c.Session.Do(request, &c.answer)
		if err == nil && c.answer.Size < c.Want {
			err = fmt.Errorf("an answer of %d bytes, want %d or more: %.200s", c.answer.Size, c.Want, c.answer.Head)
		}
		if err != nil {
			c.errors++
			if c.err == nil {
				c.err = err
			}
			// A refused call leaves the session as it was, and a gateway that
			// refuses is worth going on with. After so many there is no more to learn.
			const enough = 100
			return c.errors < enough && !errors.Is(err, client.ErrBroken)
		}
	}
	if counts {
		c.latencies = append(c.latencies, time.Since(start))
	}
	return true
}

// gather sums up what the callers have to show.
func (r *Result) gather(callers []*caller) {
	var all []time.Duration
	for _, c := range callers {
		all = append(all, c.latencies...)
		r.Errors += c.errors
		if r.Err == nil {
			r.Err = c.err
		}
	}
	slices.Sort(all)
	r.Calls = len(all)
	r.P50, r.P99 = Percentile(all, 0.50), Percentile(all, 0.99)
}

// cpu returns the CPU time of each process up to now; of none where that cannot
// be measured here.
func cpu(processes []usage.Process) ([]time.Duration, error) {
	var used []time.Duration
	for _, p := range processes {
		t, err := p.CPU()
		if errors.Is(err, usage.ErrUnsupported) {
			return []time.Duration{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("CPU time of process %d: %w", p.PID(), err)
		}
		used = append(used, t)
	}
	return used, nil
}

// since returns the CPU time of each process since before was taken.
func since(before []time.Duration, processes []usage.Process) ([]time.Duration, error) {
	after, err := cpu(processes)
	if err != nil {
		return nil, err
	}
	for i := range after {
		after[i] -= before[i]
	}
	return after, nil
}

// pause waits for a time or for the end of the context, whose cause it returns.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
