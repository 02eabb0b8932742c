package local

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
	"github.com/tenon-mcp/tenon/internal/sandbox/local/cage"
)

// A box is one sandbox, seen from outside.
type box struct {
	b      *Backend
	python interpreter
	spec   sandbox.Spec
	level  string
	notes  []string
	dir    string // the private folder on the host, for landlock

	cmd  *exec.Cmd
	said *sandbox.Clip // what the launcher wrote to its standard error
	link *link
	cage *cage.Cage

	outlet net.Listener // where code finds the proxy, or nil
	cells  *kernel.Session
	seen   seen
	tasks  sync.WaitGroup
	life
}

// A life is the end of a sandbox.
type life struct {
	quit chan struct{} // it has begun to end
	once sync.Once     // closes quit
	done chan struct{}
	mu   sync.Mutex
	why  string
}

// Done is closed at the end of the sandbox.
func (l *life) Done() <-chan struct{} { return l.done }

// Why says what has ended it.
func (l *life) Why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// leave begins the end.
func (l *life) leave() { l.once.Do(func() { close(l.quit) }) }

// gone is the error of what is asked after the end, or in it.
func (l *life) gone() error {
	why := l.Why()
	if why == "" {
		why = "its first process has ended"
	}
	return &sandbox.Error{Kind: sandbox.Gone, Text: "the sandbox has ended: " + why + ". Create another one; files and variables of this one are lost"}
}

// seen is which limits were met when a cell has last told of them.
type seen struct {
	mu  sync.Mutex
	met met
}

// launch starts a launcher and gives it its plan.
func (b *Backend) launch(ctx context.Context, f *found, spec sandbox.Spec) (*box, error) {
	spec = spec.Filled()
	if spec.Network != nil && f.status.Level != sandbox.LevelNamespaces {
		return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "no network can be given to sandboxes here: at the level " + f.status.Level +
			" nothing holds code to the hosts that are allowed, so there are no sockets at all. An operator can take the option network away, or allow user namespaces on this machine"}
	}
	cages, folder, err := b.place(f.status.Level)
	if err != nil {
		return nil, err
	}
	x := &box{
		b: b, python: f.python, spec: spec, level: f.status.Level, said: sandbox.NewClip(4000),
		life: life{done: make(chan struct{}), quit: make(chan struct{})},
	}
	x.cells = kernel.NewSession(x.interpreter)
	p := plan{Level: x.level, UID: os.Geteuid(), Prefix: f.python.prefix, Disk: spec.Disk, Memory: spec.Memory, Procs: spec.Processes, Network: spec.Network != nil}
	if p.Drop = p.UID == 0; p.Drop {
		p.UID = strangerID()
	}
	if x.level == sandbox.LevelLandlock {
		if x.dir, err = folder.make(p.UID); err != nil {
			return nil, err
		}
		p.Home = x.dir
		if !p.Drop {
			p.Counted = threadsOf(p.UID)
		}
	}
	if cages != nil {
		x.cage, err = cages.Add(spec.Memory+x.files(), spec.Processes+ownThreads)
		if err != nil {
			x.cage, x.notes = nil, append(x.notes, "no cgroup: "+err.Error())
		}
	}
	if err := x.start(ctx, p); err != nil {
		x.finish("it did not start")
		return nil, err
	}
	if err := b.add(x); err != nil {
		x.finish("it was not wanted any more")
		return nil, err
	}
	x.tasks.Go(x.watch)
	if x.outlet != nil {
		x.tasks.Go(x.serve)
	}
	return x, nil
}

// files is how much memory its files may take, besides that of its processes.
func (x *box) files() int64 {
	if x.level == sandbox.LevelNamespaces {
		return x.spec.Disk
	}
	return 0
}

// strangerID is a user of the host that nobody is. Each sandbox has another one where
// this machine has so many users.
func strangerID() int {
	text, _ := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(text))
	if len(f) == 3 && f[0] == "0" && f[2] == "4294967295" {
		var b [4]byte
		_, _ = rand.Read(b[:]) // it never fails
		return 1<<30 + int(binary.LittleEndian.Uint32(b[:])>>3)
	}
	return 65534
}

// start starts the launcher, and waits until the walls stand.
func (x *box) start(ctx context.Context, p plan) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "sandbox"), os.NewFile(uintptr(pair[1]), "launcher")
	defer func() { _ = theirs.Close() }() // the launcher has its own
	conn, err := net.FileConn(ours)
	_ = ours.Close() // conn has its own
	if err != nil {
		return err
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return errors.New("no socket")
	}
	x.link = newLink(socket)
	x.cmd = exec.Command(x.b.o.Launcher[0], x.b.o.Launcher[1:]...)
	x.cmd.Env = []string{"GOMAXPROCS=2", "GOGC=50", "GORACE=atexit_sleep_ms=0"}
	x.cmd.Dir, x.cmd.Stderr, x.cmd.WaitDelay = "/", x.said, time.Second
	x.cmd.ExtraFiles = []*os.File{theirs}
	x.cmd.SysProcAttr = attributes(p)
	if err := x.cmd.Start(); err != nil {
		x.cmd = nil
		return fmt.Errorf("start the launcher: %w", err)
	}
	if x.cage != nil {
		if err := x.cage.Join(x.cmd.Process.Pid); err != nil {
			return fmt.Errorf("join the cgroup: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	first, err := x.link.first(ctx, p)
	if err == nil && p.Network {
		x.outlet, err = listenerOf(first.files)
	} else {
		closeAll(first.files)
	}
	if err != nil {
		_ = x.cmd.Process.Kill() // so that it has said all
		_ = x.cmd.Wait()         // it was killed
		said, _ := x.said.Text()
		x.cmd = nil
		return fmt.Errorf("%w %s", err, strings.TrimSpace(said))
	}
	x.notes = append(x.notes, first.Notes...)
	x.tasks.Go(func() {
		x.link.read()
		x.leave()
	})
	return nil
}

// attributes are how the launcher is started: as the first process of new namespaces,
// where only a stranger to the host is mapped, with what it needs to build the root.
func attributes(p plan) *syscall.SysProcAttr {
	if p.Level != sandbox.LevelNamespaces {
		return &syscall.SysProcAttr{Setsid: true}
	}
	group := os.Getegid()
	if p.Drop {
		group = p.UID
	}
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: insideID, HostID: p.UID, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: insideID, HostID: group, Size: 1}},
		GidMappingsEnableSetgroups: p.Drop,
		AmbientCaps:                []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_CHROOT},
	}
}

// Kill ends it.
func (x *box) Kill(context.Context) error {
	x.finish("it was killed")
	return nil
}

// finish ends everything in the sandbox, and waits for that.
func (x *box) finish(why string) {
	x.mu.Lock()
	if x.why != "" {
		x.mu.Unlock()
		<-x.done
		return
	}
	x.why = why
	x.mu.Unlock()
	x.leave()
	if x.link != nil {
		x.link.close()
	}
	if x.outlet != nil {
		_ = x.outlet.Close() // nobody is served any more
	}
	if x.cmd != nil {
		x.end()
	}
	x.tasks.Wait()
	x.cells.Close(startLimit) // what a cell waits for has ended
	x.cage.Close()
	if x.dir != "" {
		_ = removeAll(x.dir) // the folder above it is swept
	}
	x.b.remove(x)
	close(x.done)
}

// end ends the processes. In a process namespace the kernel ends all with the first.
// Elsewhere the launcher does that when it has heard that its socket is closed.
func (x *box) end() {
	if x.level == sandbox.LevelNamespaces {
		_ = x.cmd.Process.Kill() // it may have ended
		_ = x.cmd.Wait()         // it was killed
		return
	}
	slow := time.AfterFunc(startLimit, func() { _ = x.cmd.Process.Kill() })
	_ = x.cmd.Wait() // however it ended
	slow.Stop()
}
