// Package suite measures a gateway from the outside. It starts the gateway as a
// user does, puts the least possible MCP server behind it, and compares what a
// client sees through the gateway with what the same client sees without it,
// in one run, in turns, on one machine: a ratio says something on any machine,
// a figure only on the one it was taken on.
//
//	report, err := suite.Run(ctx, suite.Options{
//		Gateway:  []string{"./tenon"},
//		Upstream: []string{self, "upstream"},
//		Dir:      dir,
//		Plan:     suite.Quick(),
//	})
//	err = report.WriteTable(os.Stdout)
//
// It has five parts; docs/performance.md tells what each measures and how.
//
//	load      calls of three sizes by few and many callers
//	list      tools/list of thousands of tools
//	ready     how long a start takes beyond that of the servers behind it
//	builtin   how long a start takes without any configuration
//	sessions  what a client's session costs in memory
//
// All processes that it starts are its children, are ended before Run returns,
// and end by themselves where this process dies first.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/bench/usage"
)

// The sizes in bytes that the goals speak of.
const (
	Small  = 32
	Medium = 32 << 10
	Large  = 20 << 20
)

// A Plan says how much is measured.
type Plan struct {
	Name         string
	Sizes        []int         // of an answer in bytes
	Callers      []int         // at a time
	LargeCallers []int         // at a time, for answers of 1 MiB and more
	Rounds       int           // of each measurement; the median counts
	Round        time.Duration // of calls shorter than 1 MiB
	Warm         time.Duration // before each round
	LargeCalls   int           // of all callers together in a round of large calls, or one of each

	ListTools int // tools in the list
	Lists     int // how often it is asked for in a round

	Ready       []int // servers behind the gateway
	ReadyRounds int
	Sessions    int
}

// Quick is a plan that takes less than a minute.
func Quick() Plan {
	return Plan{
		Name: "quick", Sizes: []int{Small, Medium, Large}, Callers: []int{1, 16, 64}, LargeCallers: []int{1},
		Rounds: 3, Round: 500 * time.Millisecond, Warm: 100 * time.Millisecond, LargeCalls: 6,
		ListTools: 5000, Lists: 20, Ready: []int{1, 10, 50}, ReadyRounds: 3, Sessions: 200,
	}
}

// Full is a plan that takes less than six minutes.
func Full() Plan {
	p := Quick()
	p.Name, p.LargeCallers, p.Rounds, p.Round, p.Warm = "full", []int{1, 16, 64}, 5, time.Second, 200*time.Millisecond
	p.LargeCalls, p.Lists, p.ReadyRounds = 12, 50, 7
	return p
}

// Options say what to measure and with what.
type Options struct {
	Gateway  []string  // command of the gateway, which is given: serve [--config FILE] --listen ADDR
	Upstream []string  // command of the server behind it, which is given the flags of upstream.Main
	Env      []string  // base environment of both, as os.Environ gives it; what would configure the gateway is taken out
	Dir      string    // an empty folder to work in
	Plan     Plan      // Full where it is empty
	Parts    []string  // names as in Parts; all where it is empty
	Progress io.Writer // is told what is being measured; nil: nobody
}

// A part is one of the things that are measured.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

// parts returns the parts in the order in which they run.
func parts() []part {
	return []part{
		{"load", (*bench).load},
		{"list", (*bench).list},
		{"ready", (*bench).ready},
		{"builtin", (*bench).builtin},
		{"sessions", (*bench).sessions},
	}
}

// Parts returns the names of the parts.
func Parts() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// bench is one run.
type bench struct {
	Options
	report *Report
	self   usage.Process
	starts int // how many gateways were started, to give each a folder
}

// Run measures what the options ask for. A part that fails is a problem in the
// report, and the others still run. The error is that of options that are of
// no use, or of the context.
func Run(ctx context.Context, o Options) (*Report, error) {
	if len(o.Gateway) == 0 || len(o.Upstream) == 0 || o.Dir == "" {
		return nil, errors.New("a gateway, an upstream and a folder are needed")
	}
	if o.Plan.Rounds == 0 {
		o.Plan = Full()
	}
	if len(o.Parts) == 0 {
		o.Parts = Parts()
	}
	for _, name := range o.Parts {
		if !slices.Contains(Parts(), name) {
			return nil, fmt.Errorf("no part %q; there are %v", name, Parts())
		}
	}
	b := &bench{Options: o, self: usage.Of(os.Getpid()), report: &Report{
		Plan:    o.Plan.Name,
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
	}}
	start := time.Now()
	for _, p := range parts() {
		if !slices.Contains(o.Parts, p.name) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			b.problem("%s: %v", p.name, err)
		}
	}
	b.report.Seconds = time.Since(start).Seconds()
	b.report.Goals = b.report.goals(o.Parts)
	return b.report, nil
}

// problem adds to what the report says that went wrong.
func (b *bench) problem(format string, args ...any) {
	b.report.Problems = append(b.report.Problems, fmt.Sprintf(format, args...))
}

// tell says what is being measured.
func (b *bench) tell(format string, args ...any) {
	if b.Progress != nil {
		fmt.Fprintf(b.Progress, format+"\n", args...)
	}
}

// folder makes an empty folder for one gateway.
func (b *bench) folder() (string, error) {
	b.starts++
	dir := filepath.Join(b.Dir, fmt.Sprint(b.starts))
	return dir, os.Mkdir(dir, 0o700)
}

// median returns the middle of the values, or the mean of the two in the middle.
func median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[T])
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
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
