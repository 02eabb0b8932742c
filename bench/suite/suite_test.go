package suite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/suite"
	"github.com/tenon-mcp/tenon/bench/upstream"
)

// TestMain runs another program instead of the tests where the suite starts
// this binary as a gateway or as the server behind it.
func TestMain(m *testing.M) {
	if role := slices.Index([]string{"relay", "upstream"}, append(os.Args, "", "")[1]); role >= 0 {
		ctx := context.Background()
		var err error
		if role == 0 {
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
			err = relayMain(ctx, os.Args[2:])
			stop()
		} else {
			err = upstream.Main(ctx, os.Args[2:], os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Programs that are built to find races wait a second before they end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// options returns those of a run that takes moments, of a relay with a fault.
func options(t *testing.T, fault string, parts ...string) suite.Options {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { noStrays(t, dir) })
	return suite.Options{
		Gateway: []string{os.Args[0], "relay", fault}, Upstream: []string{os.Args[0], "upstream"},
		Env: append(os.Environ(), "TENON_CONFIG=/nowhere"), Dir: dir, Parts: parts,
		Plan: suite.Plan{
			Name: "moment", Sizes: []int{suite.Small, 1 << 20}, Callers: []int{1, 16}, LargeCallers: []int{1},
			Rounds: 2, Round: 50 * time.Millisecond, Warm: 10 * time.Millisecond, LargeCalls: 1,
			ListTools: 10, Lists: 5, Ready: []int{1, 3}, ReadyRounds: 1, Sessions: 5,
		},
	}
}

// noStrays fails the test where a process that the suite started still runs.
// It finds them by their home, and nothing where there is no /proc.
func noStrays(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Error(err)
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte("HOME="+dir)) {
			t.Errorf("%s still runs", filepath.Dir(file))
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	r, err := suite.Run(t.Context(), options(t, "sound"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		t.Fatalf("problems: %q", r.Problems)
	}
	// At 1 caller four paths, at 16 three; large answers at 1 alone.
	if len(r.Load) != 4+3+4 {
		t.Errorf("%d rows of calls", len(r.Load))
	}
	linux := runtime.GOOS == "linux"
	for _, row := range r.Load {
		through := row.Path == suite.GatewayHTTP || row.Path == suite.GatewayStdio
		known := row.Path != suite.UpstreamStdio
		if row.Calls == 0 || row.Errors > 0 || row.Rate <= 0 || row.P50 <= 0 || row.P99 < row.P50 ||
			(row.Path != suite.UpstreamHTTP) != (row.Ratio > 0 && row.AddedP50 != nil && row.AddedP99 != nil) ||
			(row.OwnCPU != nil && *row.OwnCPU > 0) != linux ||
			(row.CPU != nil && *row.CPU > 0) != (linux && known) || (row.PeakMiB != nil) != (linux && through) {
			t.Errorf("%+v", row)
		}
	}
	if l := r.List; l == nil || l.Tools != 12 || l.Pages != 1 || l.Bytes < 10*upstream.DummySize || l.P50 <= 0 || (l.CPU != nil) != linux {
		t.Errorf("list %+v", l)
	}
	if len(r.Ready) != 2 || r.Ready[1].Alone <= 0 || r.Ready[1].Gateway <= 0 || r.Ready[1].Ratio <= 0 {
		t.Errorf("ready %+v", r.Ready)
	}
	if b := r.Builtin; b == nil || b.Tools != 1 || b.Readyz <= 0 || b.Listed < b.Readyz {
		t.Errorf("builtin %+v", b)
	}
	if s := r.Sessions; linux && (s == nil || s.Sessions != 5 || s.BeforeMiB <= 0) {
		t.Errorf("sessions %+v", s)
	}
	measured := 0
	for _, g := range r.Goals {
		if g.Figure == nil && g.Met {
			t.Errorf("met without a figure: %+v", g)
		}
		if g.Figure != nil {
			measured++
		}
	}
	// 16 callers and 1 caller (two), 1 server, and no configuration: the other
	// goals are of sizes and numbers that this run does not have.
	if linux && measured != 5 {
		t.Errorf("%d goals measured: %+v", measured, r.Goals)
	}
	written(t, r)
}

// written checks the two forms in which a report is written.
func written(t *testing.T, r *suite.Report) {
	t.Helper()
	var table, object bytes.Buffer
	if err := errors.Join(r.WriteTable(&table), r.WriteJSON(&object)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"moment run", "1 MiB", "gateway to stdio", "12 tools", "3 servers", "not measured", "peak memory"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	var back suite.Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || len(back.Load) != len(r.Load) || len(back.Goals) != len(r.Goals) {
		t.Errorf("JSON: %v\n%s", err, &object)
	}
	if testing.Verbose() {
		t.Logf("\n%s", &table)
	}
}

// What a gateway does wrong must show.
func TestRunTellsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fault, want string }{
		{"dies", "no gateway today"},
		{"changes", "something else than the text"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.fault, "load")
			o.Plan.Sizes = []int{suite.Small}
			r, err := suite.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(r.Goals, func(g suite.Goal) bool { return g.Part != "load" }) {
				t.Errorf("goals of parts that did not run: %+v", r.Goals)
			}
			if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], c.want) || r.Met() {
				t.Errorf("problems %q, met: %v; want %q", r.Problems, r.Met(), c.want)
			}
		})
	}
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		o := options(t, "refuses", "load")
		o.Plan.Sizes = []int{suite.Small}
		r, err := suite.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var table bytes.Buffer
		if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "too many calls") || r.Met() {
			t.Errorf("refused calls do not show: met %v, %v\n%s", r.Met(), err, &table)
		}
	})
}

func TestRunEndsWithContext(t *testing.T) {
	t.Parallel()
	for _, part := range suite.Parts() {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			stopped := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			o := options(t, "sound", part)
			o.Plan.Round = time.Hour
			o.Plan.Lists, o.Plan.ReadyRounds, o.Plan.Sessions = 1<<30, 1<<30, 1<<30
			time.AfterFunc(300*time.Millisecond, func() { cancel(stopped) })
			if r, err := suite.Run(ctx, o); !errors.Is(err, stopped) {
				t.Errorf("Run = %+v, %v; want the context's cause", r, err)
			}
		})
	}
}

func TestRunRejects(t *testing.T) {
	t.Parallel()
	o := options(t, "sound", "load", "lunch")
	o.Progress = io.Discard
	if _, err := suite.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "lunch") {
		t.Errorf("an unknown part: %v", err)
	}
	if _, err := suite.Run(t.Context(), suite.Options{}); err == nil {
		t.Error("no gateway: want an error")
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := suite.Median(c.values); got != c.want {
			t.Errorf("median of %v = %v, want %v", c.values, got, c.want)
		}
	}
}
