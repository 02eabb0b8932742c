package proc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

func TestTalk(t *testing.T) {
	c := command("cat", "")
	c.StdinGrace = 30 * time.Second // it may take its time on a busy machine
	p := start(t, newSpawner(t), c)
	fmt.Fprintln(p.Stdin(), "hello")
	if got := readLine(t, p.Stdout()); got != "hello" {
		t.Errorf("read %q", got)
	}
	if got := p.Exit(); got != "" {
		t.Errorf("exit before its end: %q", got)
	}
	stop(t, p)
	if got := p.Exit(); got != "exit status 0" {
		t.Errorf("exit: %q", got)
	}
}

func TestReadDeadline(t *testing.T) {
	p := start(t, newSpawner(t), command("cat", ""))
	if err := p.Stdout().SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
}

// TestTryWrite: it writes what fits and does not wait for the child to read.
// unheeding is a child that never looks at its input, and is not given time to.
func unheeding() proc.Command {
	c := command("deaf", "")
	c.StdinGrace = time.Millisecond
	return c
}

func TestTryWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there it writes nothing")
	}
	p := start(t, newSpawner(t), unheeding())
	const size = 1 << 20
	n := p.Stdin().TryWrite(make([]byte, size))
	if n <= 0 || n >= size {
		t.Errorf("wrote %d of %d bytes to a child that does not read", n, size)
	}
	if more := p.Stdin().TryWrite(make([]byte, size)); more != 0 {
		t.Errorf("wrote %d bytes to a pipe that is full", more)
	}
}

func TestWriteDeadline(t *testing.T) {
	p := start(t, newSpawner(t), unheeding())
	if err := p.Stdin().SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write to a child that does not read: %v", err)
	}
}

// What a child said before it ended is not lost, on either stream.
func TestLastWords(t *testing.T) {
	s := newSpawner(t)
	p := start(t, s, command("exit", "3"))
	<-p.Done()
	if got := p.Exit(); got != "exit status 3" {
		t.Errorf("exit: %q", got)
	}
	if got := p.Stderr(); got != "leaving with 3\n" {
		t.Errorf("stderr: %q", got)
	}
	for range 10 {
		p := start(t, s, command("flood", "1"))
		<-p.Done()
		if got := p.Stderr(); !strings.HasSuffix(got, "the last line\n") {
			t.Errorf("stderr when it is done ends with %q", got[max(0, len(got)-20):])
		}
		stop(t, p)
	}
	last := command("say", "a last word")
	last.StdinGrace, last.TermGrace = time.Hour, time.Hour
	p = start(t, s, last)
	<-p.Done()
	if got := readLine(t, p.Stdout()); got != "a last word" {
		t.Errorf("stdout: %q", got)
	}
	if took := stop(t, p); took > 30*time.Second {
		t.Errorf("stopping what has ended took %v", took)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("stdout after Stop: %v", err)
	}
}

func TestStopLadder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what CTRL+BREAK reaches depends on the console of the test")
	}
	// long is a step that the role never waits out, however busy the machine.
	const long = 30 * time.Second
	for _, tt := range []struct {
		role        string
		stdin, term time.Duration
		exit        string
		atLeast     time.Duration
	}{
		{"cat", long, long, "exit status 0", 0},
		{"slow", long, long, "exit status 7", 300 * time.Millisecond},
		{"deaf", 200 * time.Millisecond, long, "killed by signal 15 (terminated)", 200 * time.Millisecond},
		{"stubborn", 200 * time.Millisecond, 300 * time.Millisecond, "killed by signal 9 (killed)", 500 * time.Millisecond},
	} {
		t.Run(tt.role, func(t *testing.T) {
			c := command(tt.role, "-")
			c.StdinGrace, c.TermGrace = tt.stdin, tt.term
			p := start(t, newSpawner(t), c)
			pids(t, p.Stdout(), 1) // it does by now what its role says
			if took := stop(t, p); took < tt.atLeast || took > long {
				t.Errorf("took %v", took)
			}
			if p.Exit() != tt.exit {
				t.Errorf("exit: %q, want %q", p.Exit(), tt.exit)
			}
		})
	}
}

// A context that ends shortens the ladder but does not leave it unfinished.
func TestStopInAHurry(t *testing.T) {
	c := command("stubborn", "")
	c.StdinGrace, c.TermGrace = time.Hour, time.Hour
	p := start(t, newSpawner(t), c)
	pids(t, p.Stdout(), 1)
	ctx, cancel := context.WithCancel(context.Background())
	var patient sync.WaitGroup
	patient.Go(func() { stop(t, p) })
	cancel()
	if err := p.Stop(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("Stop returned before the end")
	}
	patient.Wait()
}

func TestNoGrace(t *testing.T) {
	c := command("stubborn", "")
	c.StdinGrace, c.TermGrace = -1, -1
	best := time.Hour
	for try := 0; try < 5 && best > time.Second; try++ { // others work on this machine
		p := start(t, newSpawner(t), c)
		pids(t, p.Stdout(), 1)
		best = min(best, stop(t, p))
	}
	if best > time.Second { // the usual grace is four
		t.Errorf("took %v", best)
	}
}

func TestStopManyTimes(t *testing.T) {
	p := start(t, newSpawner(t), command("cat", ""))
	var stops sync.WaitGroup
	for range 10 {
		stops.Go(func() { stop(t, p) })
	}
	stops.Wait()
	stop(t, p)
}

func TestStartAndStopConcurrently(t *testing.T) {
	s := newSpawner(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p, err := s.Start(t.Context(), command("cat", ""))
			if err != nil {
				t.Error(err)
				return
			}
			word := fmt.Sprint("word ", i)
			fmt.Fprintln(p.Stdin(), word)
			if err := p.Stdin().Close(); err != nil {
				t.Error(err)
			}
			got, err := io.ReadAll(p.Stdout())
			if err != nil || string(got) != word+"\n" {
				t.Errorf("read %q, %v", got, err)
			}
			stop(t, p)
		})
	}
	all.Wait()
}

func TestClose(t *testing.T) {
	s := proc.New(proc.Options{})
	ended := start(t, s, command("exit", "0"))
	<-ended.Done()
	running := []*proc.Process{ended}
	for range 3 {
		running = append(running, start(t, s, command("cat", "")))
	}
	var closes sync.WaitGroup
	for range 3 {
		closes.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closes.Wait()
	for _, p := range running {
		select {
		case <-p.Done():
		default:
			t.Errorf("process %d runs after Close", p.Pid())
		}
		stop(t, p) // closes its standard output
	}
	if _, err := s.Start(t.Context(), command("exit", "0")); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("start after Close: %v", err)
	}
	if err := proc.New(proc.Options{}).Close(); err != nil {
		t.Errorf("close of one that was never used: %v", err)
	}
}

// Close while others start: each start either succeeds, and its child has ended
// when Close returns, or is refused.
func TestCloseDuringStarts(t *testing.T) {
	for range 10 {
		s := proc.New(proc.Options{})
		var (
			starts  sync.WaitGroup
			started = make(chan *proc.Process, 1000)
		)
		for range 4 {
			starts.Go(func() {
				for range 100 {
					p, err := s.Start(t.Context(), command("cat", ""))
					if err != nil {
						if !errors.Is(err, proc.ErrClosed) {
							t.Error(err)
						}
						return
					}
					started <- p
				}
			})
		}
		stop(t, <-started)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		starts.Wait()
		close(started)
		for p := range started {
			if p.Exit() == "" {
				t.Errorf("process %d runs after Close", p.Pid())
			}
			stop(t, p)
		}
	}
}

// A child that is not ours keeps its exit status for whoever started it.
func TestReapsOnlyItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(self)
	other.Env = roleEnv("exit", "42")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	s := newSpawner(t)
	for range 3 {
		p := start(t, s, command("exit", "0"))
		<-p.Done()
		stop(t, p)
	}
	var exit *exec.ExitError
	if err := other.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Errorf("wait for a child of the program's own: %v", err)
	}
}

// Linux ends a child when the thread that forked it ends, and Go ends threads.
func TestChildrenOutliveOtherThreads(t *testing.T) {
	s := newSpawner(t)
	var children []*proc.Process
	for range 10 {
		children = append(children, start(t, s, command("cat", "")))
		var threads sync.WaitGroup
		for range 10 {
			threads.Go(runtime.LockOSThread) // the thread ends with its goroutine
		}
		threads.Wait()
	}
	for _, p := range children {
		fmt.Fprintln(p.Stdin(), "there?")
		if got := readLine(t, p.Stdout()); got != "there?" {
			t.Errorf("child %d said %q", p.Pid(), got)
		}
	}
}

func TestFlood(t *testing.T) {
	mib := "256"
	if testing.Short() {
		mib = "64"
	}
	const keep = 100_000 // more than is read at once
	c := command("flood", mib)
	c.StderrTail = keep
	p := start(t, newSpawner(t), c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the child is held up by what it writes")
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 4<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
	tail := p.Stderr()
	if len(tail) > keep || !strings.HasSuffix(tail, "x\nthe last line\n") || !strings.HasPrefix(tail, "xx") {
		t.Errorf("kept %d bytes, to %q", len(tail), tail[max(0, len(tail)-100):])
	}
	for line := range strings.Lines(tail) {
		if len(line) != 128 && line != "the last line\n" {
			t.Errorf("a line in part: %q", line)
		}
	}
}

func TestOnStderr(t *testing.T) {
	c := command("exit", "0")
	var got []string
	c.OnStderr = func(line string) { got = append(got, line) }
	p := start(t, newSpawner(t), c)
	<-p.Done()
	if len(got) != 1 || got[0] != "leaving with 0" {
		t.Errorf("lines: %q", got)
	}
}
