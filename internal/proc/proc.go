// Package proc starts tool servers as child processes and sees to it that
// none of them outlives its usefulness: a tree of processes that is asked to
// stop is gone when Stop returns, and every tree is gone when this process is,
// whatever killed it. The package knows nothing of what the children say.
//
// A [Spawner] starts children. A [Process] is one of them together with
// everything that it has started in turn. A [Command] says what to run.
//
//	spawner := proc.New(proc.Options{})
//	defer spawner.Close()
//	p, err := spawner.Start(ctx, proc.Command{
//		Path: "npx",
//		Args: []string{"-y", "@modelcontextprotocol/server-everything"},
//		Env:  proc.Environ(os.Environ(), nil),
//	})
//	if err != nil {
//		return err // says what to do
//	}
//	defer p.Stop(ctx)
//	fmt.Fprintln(p.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
//	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
//
// Filter is for a program that takes one input and gives one output.
//
// # What belongs to a tree
//
// A child leads a session of its own. Its tree is every process of that
// session, every child of a member, every process of a session that a member
// has opened, and every process that has inherited the tree's mark in its
// environment (TENON_TREE). So a helper that was detached or forked twice
// still belongs to it. On Windows the tree is a job object.
//
// # Death with the parent
//
// Three things work together where there is no job object:
//
//   - Linux kills a direct child as soon as the thread that forked it ends
//     (PR_SET_PDEATHSIG). That covers one process, and follows a thread; so one
//     thread, locked for as long as the Spawner lives, forks all children.
//   - A guard, one small shell for each Spawner in a session of its own, holds
//     the read end of a pipe. At its end this process is gone, and the guard
//     kills what is left of every tree. It is fed one line for each child.
//   - Stop and Close do the same in good order while this process lives.
//
// What was not taken: running the own executable again as the guard (a program
// that links this package is not ours to run), becoming a subreaper (it would
// change how the rest of the program reaps), PID namespaces and cgroups (not
// to be had without privileges in an ordinary container).
//
// # Limits and confinement
//
// A Command may bound what its tree uses, by a cgroup of version 2 or 1 where one
// can be made and else by what a process can set for itself. A small shell joins
// the cgroup, lowers the limits and becomes the program, so nothing of it runs
// outside them.
//
// It may also confine what the tree reaches, by Landlock and seccomp. Both belong
// to a thread and are inherited by what it forks: so a thread of its own takes
// them on, forks the child, and ends with it. No helper program is needed, and
// nothing else of this process is confined.
//
// # What is not covered
//
// Exactly the children started here are reaped. Where this process is process 1
// of a container, orphans of a tree become its children and stay as zombies
// unless an init process reaps them (docker run --init).
//
// A process is lost that has left its session, has dropped its environment and
// has outlived its parent, all three; so is one that runs as another user and
// may not be killed, which Stop reports. When guard and this process are killed
// in the same moment, Linux still ends the direct children, but their helpers
// stay. Without /bin/sh there is no guard, which Options.Logger is told.
package proc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/time/rate"
)

// ErrClosed is returned by Start once the Spawner is closed.
var ErrClosed = errors.New("start a process: the spawner is closed")

// Options configures a Spawner. The zero value is useful.
type Options struct {
	// Logger is told when the guard cannot be started or has died. Nil discards.
	Logger *slog.Logger
	// Rate is how many children may be started in a second in the long run, and
	// five times as many at once; 0 is 50. MaxProcesses is how many may run; 0 is
	// 512. So no fault of a caller makes a storm of processes.
	Rate         float64
	MaxProcesses int
}

// A LimitError says that a child was not started because there are too many, or
// were too many of late. Nothing is wrong with its command.
type LimitError struct{ Text string }

// Error returns the text.
func (e *LimitError) Error() string { return e.Text }

// A Spawner starts child processes from one thread and keeps the guard that
// outlives this process. It costs nothing before the first Start. All methods
// may be called concurrently.
type Spawner struct {
	log  *slog.Logger
	pool string // random: the first part of the mark of every tree
	rate *rate.Limiter
	most int // children at once

	requests chan func(*guard) // run on the thread that forks
	quit     chan struct{}
	tasks    sync.WaitGroup // the thread that forks, and one task for each child
	starts   sync.WaitGroup // calls of Start under way

	mu      sync.Mutex
	running bool // the thread that forks
	closed  bool
	serial  int
	taken   int // children that run or are being started
	live    map[*Process]struct{}
}

// New returns a Spawner. Close it when the program ends in good order; when it
// does not, the guard does the work.
func New(o Options) *Spawner {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	perSecond := cmp.Or(o.Rate, 50)
	return &Spawner{
		log:      log,
		pool:     rand.Text(),
		rate:     rate.NewLimiter(rate.Limit(perSecond), max(1, int(5*perSecond))),
		most:     cmp.Or(o.MaxProcesses, 512),
		requests: make(chan func(*guard)),
		quit:     make(chan struct{}),
		live:     make(map[*Process]struct{}),
	}
}

// Start runs c. It waits while too many children were started of late, at most
// until ctx ends; once the child runs, ctx means nothing to it. The errors name
// the command and say what to do; they wrap fs.ErrNotExist where the command, its
// interpreter or its folder is missing, fs.ErrPermission where it may not be run,
// and are a *LimitError where there are too many. They hold neither arguments
// nor values of the environment. Every Process must be stopped, also one that
// has ended by itself.
func (s *Spawner) Start(ctx context.Context, c Command) (*Process, error) {
	if err := s.rate.Wait(ctx); err != nil { // at once where the wait would be too long
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &LimitError{fmt.Sprintf("start %q: too many processes were started of late, and no more than %v a second may be; try again later", c.Path, s.rate.Limit())}
	}
	mark, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer s.starts.Done()

	p, err := c.process(s, mark)
	if err != nil {
		s.forgo()
		return nil, fmt.Errorf("start %q: %w", c.Path, err)
	}
	if err := s.fork(p); err != nil {
		s.forgo()
		p.discard()
		return nil, fmt.Errorf("start %q: %w", c.Path, explain(p.launch.path, err))
	}
	s.mu.Lock()
	s.live[p] = struct{}{}
	s.mu.Unlock()
	p.watch()
	return p, nil
}

// fork runs p on the thread that forks, and tells the guard.
func (s *Spawner) fork(p *Process) error {
	if p.launch.cage.confined() {
		if err := s.forkConfined(p); err != nil {
			return err
		}
		s.requests <- func(g *guard) {
			g.add(p.tree.id())
			g.ensure()
		}
		return nil
	}
	forked := make(chan error)
	s.requests <- func(g *guard) {
		err := p.fork()
		if err == nil {
			g.add(p.tree.id())
		}
		forked <- err
		// Only now, so that the first child does not wait for its guard. If we
		// die before it runs, its mark and Linux take care of this child.
		if err == nil {
			g.ensure()
		}
	}
	return <-forked
}

// forkConfined runs p from a thread of its own, which takes on what confines the
// child and is never used for anything else. It stays as long as the child does,
// because Linux kills a child when the thread that forked it ends.
func (s *Spawner) forkConfined(p *Process) error {
	forked := make(chan error)
	s.spare(func() {
		err := p.launch.cage.enter()
		if err == nil {
			err = p.fork()
		}
		forked <- err
		if err == nil {
			<-p.reaped
		}
	})
	return <-forked
}

// spare runs f on a thread that ends with it. The main thread of a process cannot
// end, and would stay for good what f makes of it: where it is given to us, it is
// held until another one was found.
func (s *Spawner) spare(f func()) {
	s.tasks.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if !onMainThread() {
			f()
			return
		}
		found := make(chan struct{})
		s.spare(func() {
			close(found)
			f()
		})
		<-found
		runtime.UnlockOSThread()
	})
}

// Close stops every child that still runs, all at once, each by its own
// ladder, and then the guard. It is idempotent, and concurrent calls wait for
// the end too.
func (s *Spawner) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	running := s.running
	s.mu.Unlock()
	s.starts.Wait()

	left := s.processes()
	errs := make([]error, len(left))
	var stops sync.WaitGroup
	for i, p := range left {
		stops.Go(func() { errs[i] = p.stop() })
	}
	stops.Wait()
	if first && running {
		close(s.quit)
	}
	s.tasks.Wait()
	return errors.Join(errs...)
}

// begin counts a call of Start in, gives its tree a mark and, the first time,
// starts the thread that forks.
func (s *Spawner) begin() (mark string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrClosed
	}
	if s.taken >= s.most {
		return "", &LimitError{fmt.Sprintf("%d processes run already, and no more may; end some, or raise the limit", s.taken)}
	}
	s.taken++
	if !s.running {
		s.running = true
		s.tasks.Go(s.run)
	}
	s.starts.Add(1)
	s.serial++
	return fmt.Sprintf("%s.%d;", s.pool, s.serial), nil
}

// run forks every child and feeds the guard, from one thread that it never
// gives back: Linux kills a child when the thread that forked it ends.
func (s *Spawner) run() {
	runtime.LockOSThread()
	g := newGuard(s.log, s.pool)
	defer g.close()
	for {
		select {
		case request := <-s.requests:
			request(g)
		case <-g.wake:
			g.replace()
		case <-s.quit:
			return
		}
	}
}

// forget is called once nothing is left of p's tree.
func (s *Spawner) forget(p *Process) {
	s.requests <- func(g *guard) { g.drop(p.tree.id()) }
	s.mu.Lock()
	delete(s.live, p)
	s.taken--
	s.mu.Unlock()
}

// forgo is called where a start that begin has counted came to nothing.
func (s *Spawner) forgo() {
	s.mu.Lock()
	s.taken--
	s.mu.Unlock()
}

func (s *Spawner) processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.live))
}
