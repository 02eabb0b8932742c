package proc

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// How long the steps of Stop last unless a Command says otherwise (bundled servers do). Of the
// servers that people run, many never look at the end of their input but leave
// within half a second of TERM; the slowest in good order need just under
// three seconds.
const (
	defaultStdinGrace = time.Second
	defaultTermGrace  = 3 * time.Second
)

const (
	// killBound limits the last step of Stop. Only processes that the kernel
	// itself holds (a dead network disk) outlast it.
	killBound = 5 * time.Second
	// There is no event for the end of a process that is not a child, so the
	// rest of a tree is looked for at intervals that grow from first to last.
	firstPoll = 5 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// A Process is a running child and everything that it has started. All methods
// may be called concurrently.
type Process struct {
	spawner *Spawner
	launch  launch
	os      *os.Process
	tree    *tree

	stdin, stdout *os.File
	stderr        *tail
	deaf          chan struct{} // nobody reads stdin any more

	reaped   chan struct{} // the direct child is, and exit is set
	exit     string
	done     chan struct{} // and its last words are read
	stopping event         // Stop was called
	killing  event         // a caller of Stop waits no longer
	gone     chan struct{} // nothing is left of the tree, and err is set
	err      error
}

// An event happens once, however often it is announced; then c is closed.
type event struct {
	c        chan struct{}
	announce func()
}

func newEvent() event {
	c := make(chan struct{})
	return event{c, sync.OnceFunc(func() { close(c) })}
}

// Pid is the process id of the direct child.
func (p *Process) Pid() int { return p.os.Pid }

// Stdin is the child's standard input. Its end asks most servers to leave. Stop
// closes it.
func (p *Process) Stdin() Input { return Input{p.stdin} }

// Stdout is the child's standard output: a pipe that takes deadlines. What the
// child wrote before it ended can be read after Done. Stop closes it.
func (p *Process) Stdout() *os.File { return p.stdout }

// Done is closed when the direct child has ended and been reaped, and what it
// wrote to its standard error has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended is closed when the direct child has ended and been reaped. Its last words
// may still be on their way: see Done.
func (p *Process) Ended() <-chan struct{} { return p.reaped }

// Deaf is closed when nobody can read what is written to the child's standard
// input any more: it has closed that, or has ended. Only Linux tells, and not once Stop has closed it.
func (p *Process) Deaf() <-chan struct{} { return p.deaf }

// Exit says how the direct child ended: "exit status 3", or "killed by signal
// 9 (killed)", and which of its limits the tree had reached. It is empty before Done is closed.
func (p *Process) Exit() string {
	if isClosed(p.done) {
		return p.exit
	}
	return ""
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Stderr returns the last that the tree wrote to its standard error, as valid
// UTF-8 and from the start of a line where one starts in it. Once Done is
// closed it holds the direct child's last words.
func (p *Process) Stderr() string { return p.stderr.String() }

// StderrAt returns when the last came of what p.Stderr returns; the zero time where that is
// nothing.
func StderrAt(p *Process) time.Time { return p.stderr.last() }

// Stop ends the tree: it closes the child's standard input and waits, asks
// every process of the tree to terminate and waits, and kills what is left.
// A step is skipped when nothing is left, and both waits end early when ctx
// does: Stop with a context that is over kills at once. Stop returns when no
// process of the tree runs any more and all pipes are closed; its error names
// those that even the kernel could not kill. It is idempotent, and concurrent
// calls wait for the same end.
func (p *Process) Stop(ctx context.Context) error {
	p.stopping.announce()
	select {
	case <-p.gone:
	case <-ctx.Done():
		p.killing.announce()
	}
	return p.stop()
}

// Kill is Stop for a process that nothing is worth waiting for.
func (p *Process) Kill() error {
	p.killing.announce()
	return p.stop()
}

// stop is Stop by a caller with all the time that the ladder takes.
func (p *Process) stop() error {
	p.stopping.announce()
	<-p.gone
	_ = p.stdout.Close() // an earlier Stop may have closed it
	return p.err
}

// fork runs the child. It must be called on the thread of the Spawner.
func (p *Process) fork() error {
	started, err := p.launch.start()
	if err != nil {
		return err
	}
	t, err := adopt(started, p.launch.mark)
	if err != nil {
		_ = started.Kill() // the error of adopt is the one to tell
		_, _ = started.Wait()
		return err
	}
	p.os, p.tree = started, t
	return nil
}

// watch follows the process to its end, in goroutines that end with the tree.
func (p *Process) watch() {
	p.spawner.tasks.Go(func() {
		var tasks sync.WaitGroup
		tasks.Go(p.stderr.read)
		tasks.Go(p.reap)
		tasks.Go(func() {
			if hungUp(p.stdin) || isClosed(p.reaped) { // its end closes our end, maybe before it is looked at
				close(p.deaf)
			}
		})
		p.err = p.supervise()
		_ = p.stdin.Close() // its user may have closed it
		p.stderr.close()
		if p.err == nil { // else the kernel holds the child, perhaps for ever
			tasks.Wait()
		}
		p.tree.close()
		p.launch.cage.close()
		p.spawner.forget(p)
		close(p.gone)
	})
}

// reap waits for the direct child, and for no other process.
func (p *Process) reap() {
	await(p.os)
	state, err := p.os.Wait()
	p.exit = describe(state, err)
	if why := p.launch.cage.verdict(); why != "" {
		p.exit += ": " + why
	}
	close(p.reaped)
	p.stderr.drain()
	close(p.done)
}

// supervise is the ladder. It starts at the first step when Stop is called, and
// at the second when the child ends by itself and leaves others behind.
func (p *Process) supervise() error {
	select {
	case <-p.reaped:
	case <-p.stopping.c:
		_ = p.stdin.Close() // its user may have closed it
		p.ended(time.After(p.launch.stdinGrace))
	}
	grace := time.After(p.launch.termGrace)
	if len(p.tree.terminate()) == 0 {
		<-p.reaped
		return nil
	}
	if p.ended(grace) && p.emptied(grace) {
		return nil
	}
	return p.kill()
}

// ended waits for the direct child until the time is up or somebody hurries.
func (p *Process) ended(timeout <-chan time.Time) bool {
	if isClosed(p.reaped) {
		return true
	}
	select {
	case <-p.reaped:
		return true
	case <-timeout:
	case <-p.killing.c:
	}
	return false
}

// emptied waits likewise until the tree has no member left.
func (p *Process) emptied(timeout <-chan time.Time) bool {
	for pause := firstPoll; len(p.tree.members()) > 0; pause = min(2*pause, lastPoll) {
		select {
		case <-time.After(pause):
		case <-timeout:
			return false
		case <-p.killing.c:
			return false
		}
	}
	return true
}

// kill kills until nothing is left, because a process may fork while it is
// being looked for.
func (p *Process) kill() error {
	limit := time.After(killBound)
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		left := p.tree.kill()
		if len(left) == 0 {
			<-p.reaped
			return nil
		}
		select {
		case <-time.After(pause):
		case <-limit:
			return fmt.Errorf("stop %q: processes %v survive being killed", p.launch.path, left)
		}
	}
}
