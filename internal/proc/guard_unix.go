//go:build unix

package proc

import (
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed guard.sh
var guardScript string

const (
	guardShell = "/bin/sh"
	guardPath  = "PATH=/usr/bin:/bin:/usr/sbin:/sbin"
	// guardBound limits a write to the guard and the wait for its end. It only
	// reads, so one that takes longer was stopped by somebody.
	guardBound = time.Second
	// guardPause is the least time from one start of the guard to the next.
	guardPause = time.Second
)

// A guard is the shell that kills the trees when this process is gone. It is
// used by the thread of the Spawner alone.
type guard struct {
	log  *slog.Logger
	mark string           // what the marks of all trees hold
	live map[int]struct{} // the ids that it has to know

	pipe *os.File // its standard input; nil while it does not run
	proc *os.Process

	wake  chan struct{} // it has ended: call ensure
	quit  chan struct{}
	tasks sync.WaitGroup
	mute  bool // that it cannot be started has been said
}

func newGuard(log *slog.Logger, pool string) *guard {
	return &guard{
		log:  log,
		mark: pool + ".",
		live: make(map[int]struct{}),
		wake: make(chan struct{}),
		quit: make(chan struct{}),
	}
}

// add tells the guard of a tree.
func (g *guard) add(id int) {
	g.live[id] = struct{}{}
	g.tell(fmt.Sprintf("+%d\n", id))
}

// drop tells the guard that nothing is left of a tree.
func (g *guard) drop(id int) {
	delete(g.live, id)
	g.tell(fmt.Sprintf("-%d\n", id))
}

// ensure starts the guard where it does not run, and tells it all that lives.
func (g *guard) ensure() {
	if g.pipe != nil {
		return
	}
	if err := g.start(); err != nil {
		if !g.mute {
			g.mute = true
			g.log.Warn("no guard: if this process is killed, helpers of tool servers may stay behind", "error", err)
		}
		return
	}
	g.mute = false
	var all strings.Builder
	all.WriteString(g.mark + "\n")
	for id := range g.live {
		fmt.Fprintf(&all, "+%d\n", id)
	}
	g.tell(all.String())
}

func (g *guard) start() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer closeAll([]*os.File{null})
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer closeAll([]*os.File{r}) // the guard has its own
	p, err := os.StartProcess(guardShell, []string{"sh", "-c", guardScript, "tenon-guard"}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{guardPath},
		Files: []*os.File{r, null, null},
		// Out of reach of what kills our session or our group.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = w.Close() // nothing was written
		return err
	}
	g.pipe, g.proc = w, p
	started := time.Now()
	g.tasks.Go(func() { g.wait(p, started) })
	return nil
}

// wait waits for the guard's end and has it replaced, but not too often.
func (g *guard) wait(p *os.Process, started time.Time) {
	await(p)
	state, err := p.Wait()
	select {
	case <-g.quit:
		return
	default:
	}
	g.log.Warn("the guard has ended; starting another", "exit", describe(state, err))
	select {
	case <-time.After(guardPause - time.Since(started)):
	case <-g.quit:
		return
	}
	select {
	case g.wake <- struct{}{}:
	case <-g.quit:
	}
}

// replace starts another guard in place of one that has ended.
func (g *guard) replace() {
	_ = g.pipe.Close() // nobody reads it
	g.pipe = nil
	g.ensure()
}

// tell writes to the guard. What it does not hear now, its successor is told.
func (g *guard) tell(lines string) {
	if g.pipe == nil {
		return
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(guardBound)) // pipes take deadlines
	if _, err := g.pipe.WriteString(lines); err != nil {
		_ = g.proc.Kill() // it has ended already, or does not read
	}
}

// close ends the guard while this process goes on.
func (g *guard) close() {
	close(g.quit)
	if g.pipe == nil {
		return
	}
	g.tell("q\n")
	_ = g.pipe.Close() // an error would be of no use to anybody
	hung := time.AfterFunc(guardBound, func() { _ = g.proc.Kill() })
	g.tasks.Wait()
	hung.Stop()
}
