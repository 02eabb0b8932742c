package local

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Launch is the first process of a sandbox: it makes the walls, runs what it is told,
// and ends with everything in the sandbox as soon as the socket to the program that
// has started it is closed, which the kernel does when that one is killed.
func Launch() error {
	var p plan
	if _, err := receive(socketFD, &p); err != nil {
		return errors.New("this is the first process of a sandbox; a server starts it")
	}
	l := &launcher{plan: p, work: make(chan func()), running: make(map[int]uint64)}
	var said report
	if err := l.build(); err != nil {
		said.Error = err.Error()
	}
	said.Notes = l.notes
	err := l.say(said, l.outlet...)
	closeAll(l.outlet)
	if err != nil || said.Error != "" {
		return err
	}
	defer l.end()
	for {
		var o order
		files, err := receive(socketFD, &o)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		r, out := l.obey(o, files)
		closeAll(files)
		r.ID = o.ID
		err = l.say(r, out...)
		closeAll(out)
		if err != nil {
			return err
		}
	}
}

// A launcher runs in the sandbox.
type launcher struct {
	plan   plan
	notes  []string
	home   int // descriptor of the private folder
	dir    string
	outlet []int       // socket where code finds the proxy, for who serves it outside
	work   chan func() // for the thread that is confined

	mu      sync.Mutex
	running map[int]uint64 // orders by the process that they have started
	sending sync.Mutex
	tasks   sync.WaitGroup // they end with this process
}

func (l *launcher) say(r report, files ...int) error {
	b, oob, err := pack(r, files)
	if err != nil {
		b, oob, err = pack(report{ID: r.ID, Error: err.Error(), Kind: sandbox.Limit}, nil)
	}
	if err != nil {
		return err
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	return unix.Sendmsg(socketFD, b, oob, nil, unix.MSG_NOSIGNAL)
}

// build makes the walls, and the thread inside of them that starts everything.
func (l *launcher) build() error {
	// Nor is what the program above has inherited itself for anybody in here.
	if err := unix.CloseRange(socketFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(socketFD)
		for fd := socketFD; fd < 4096; fd++ {
			unix.CloseOnExec(fd)
		}
	}
	// Nobody inside may look into this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("dumpable: %w", err)
	}
	var enter func() error
	var err error
	if l.plan.Level == sandbox.LevelNamespaces {
		l.dir = sandbox.Home
		err = l.buildRoot()
		enter = dropCapabilities
	} else {
		l.dir = l.plan.Home
		enter, err = l.buildRules()
	}
	if err != nil {
		return err
	}
	if l.home, err = unix.Open(l.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("private folder: %w", err)
	}
	if err := l.limit(); err != nil {
		return err
	}
	ready := make(chan error)
	l.tasks.Go(func() { l.confined(enter, ready) })
	if err := <-ready; err != nil {
		return err
	}
	ended := make(chan os.Signal, 16)
	signal.Notify(ended, unix.SIGCHLD)
	// Caught and not ignored, for what is ignored stays so in what is started.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE, unix.SIGQUIT)
	l.tasks.Go(func() {
		for range ended {
			l.reap()
		}
	})
	return nil
}

// confined enters the walls with one thread, for good, and does there what it is
// given. What it forks is inside.
func (l *launcher) confined(enter func() error, ready chan<- error) {
	runtime.LockOSThread()
	err := enter()
	if err == nil {
		err = filterCalls(l.plan.Level, landlockABI() >= abiScopes)
	}
	ready <- err
	if err != nil {
		return
	}
	for f := range l.work {
		f()
	}
}

// inside runs f behind the walls.
func (l *launcher) inside(f func()) {
	done := make(chan struct{})
	l.work <- func() { defer close(done); f() }
	<-done
}

// limit bounds what each process may use, this one too.
func (l *launcher) limit() error {
	for _, r := range []struct {
		what string
		id   int
		max  uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"fsize", unix.RLIMIT_FSIZE, uint64(l.plan.Disk)},
		{"nofile", unix.RLIMIT_NOFILE, maxOpen},
		{"nproc", unix.RLIMIT_NPROC, uint64(l.plan.Procs + l.plan.Counted + ownThreads)},
		{"memlock", unix.RLIMIT_MEMLOCK, 64 << 10},
		{"msgqueue", unix.RLIMIT_MSGQUEUE, 64 << 10},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(r.id, &now); err != nil {
			return fmt.Errorf("limit %s: %w", r.what, err)
		}
		r.max = min(r.max, now.Max)
		if err := syscall.Setrlimit(r.id, &syscall.Rlimit{Cur: r.max, Max: r.max}); err != nil {
			return fmt.Errorf("limit %s: %w", r.what, err)
		}
	}
	unix.Umask(0o022)
	return nil
}

func (l *launcher) obey(o order, files []int) (r report, out []int) {
	switch o.Do {
	case "start":
		r.PID, r.Error = l.start(o, files)
	case "signal":
		_ = unix.Kill(-o.PID, unix.Signal(o.Signal)) // it may have ended
	case "open":
		l.inside(func() { r, out = l.open(o) })
	case "list":
		l.inside(func() { r = l.list(o) })
	case "probe":
		l.inside(func() { r.Leaks = probe(o.Probe) })
	default:
		r.Error = "unknown order"
	}
	return r, out
}

// start runs a program, as the leader of a session of its own. It gets less memory
// than the sandbox may have in all, so that it hears of the end of it from its
// allocator, and not by being killed.
func (l *launcher) start(o order, files []int) (pid int, failed string) {
	if len(o.Argv) == 0 || len(files) < 3 {
		return 0, "nothing to start"
	}
	attr := &syscall.ProcAttr{Dir: l.dir, Env: o.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	if l.plan.Level != sandbox.LevelNamespaces {
		attr.Sys.Pdeathsig = unix.SIGKILL
	}
	for _, fd := range files {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	most := uint64(l.plan.Memory) * 7 / 8 // the launcher uses some too
	if l.plan.Level != sandbox.LevelNamespaces {
		o.Argv = append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -d %d; exec "$@"`, most>>10), "sh"}, o.Argv...)
	}
	l.mu.Lock() // the end is noticed after it is known
	defer l.mu.Unlock()
	var err error
	l.inside(func() { pid, err = syscall.ForkExec(o.Argv[0], o.Argv, attr) })
	if err != nil {
		return 0, fmt.Sprintf("start %s: %v", o.Argv[0], err)
	}
	if l.plan.Level == sandbox.LevelNamespaces { // elsewhere it may be another user's
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil) // it may have ended
	}
	l.running[pid] = o.ID
	return pid, ""
}

// reap takes note of all that has ended.
func (l *launcher) reap() {
	for {
		var status unix.WaitStatus
		l.mu.Lock()
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		id, ours := l.running[pid]
		delete(l.running, pid)
		l.mu.Unlock()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ours {
			code := status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			_ = l.say(report{ID: id, Exit: true, PID: pid, Code: code}) // who does not hear it is gone
		}
	}
}

// end kills what is left. With a process namespace the kernel does that itself when
// its first process ends.
func (l *launcher) end() {
	if l.plan.Level == sandbox.LevelNamespaces {
		return
	}
	signal.Reset(unix.SIGCHLD)
	for range 1000 {
		below := descendants(os.Getpid())
		for _, pid := range below {
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
		for _, pid := range below {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for {
			_, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
			if errors.Is(err, unix.ECHILD) {
				return
			}
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
	}
}

// descendants returns the processes below one, as /proc shows them.
func descendants(pid int) []int {
	var all []int
	todo := []int{pid}
	for len(todo) > 0 && len(all) < 100_000 {
		next := todo[0]
		todo = todo[1:]
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(next) + "/task")
		for _, t := range tasks {
			b, _ := os.ReadFile("/proc/" + strconv.Itoa(next) + "/task/" + t.Name() + "/children")
			for f := range strings.FieldsSeq(string(b)) {
				if n, err := strconv.Atoi(f); err == nil {
					all, todo = append(all, n), append(todo, n)
				}
			}
		}
	}
	return all
}
