package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
)

const (
	// interrupted is how long a process has to end once it was killed.
	interrupted = 2 * time.Second
)

// environ is all that code in the sandbox finds in its environment.
func (x *box) environ() []string {
	home, tmp := sandbox.Home, "/tmp"
	if x.level == sandbox.LevelLandlock {
		home, tmp = x.dir, x.dir
	}
	path := "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
	for _, dir := range x.python.prefix {
		path = dir + "/bin:" + path
	}
	env := []string{
		"PATH=" + path, "HOME=" + home, "TMPDIR=" + tmp, "USER=user", "LOGNAME=user", "SHELL=/bin/sh", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
		"MPLBACKEND=Agg", "MPLCONFIGDIR=" + tmp + "/.matplotlib", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "OPENBLAS_NUM_THREADS=2", "OMP_NUM_THREADS=2",
	}
	if x.outlet != nil {
		env = append(env, x.spec.ProxyEnviron()...)
	}
	return env
}

// Command runs a line of the shell, once.
func (x *box) Command(ctx context.Context, c sandbox.Command) (*sandbox.Output, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	before := limitsMet(x.cage)
	p, err := x.begin(ctx, []string{"/bin/sh", "-c", c.Line}, false)
	if err != nil {
		return nil, err
	}
	var code int
	var late bool
	o := sandbox.Collect(c.Keep, p.stdout, p.stderr, func() { code, late, err = x.await(ctx, p, c.Timeout) }, p.close)
	o.ExitCode, o.TimedOut = code, late
	o.Note = noteSince(limitsMet(x.cage), x.spec, before)
	return o, err
}

// await waits for the end of a process, and ends it where it takes too long.
func (x *box) await(ctx context.Context, p *process, limit time.Duration) (code int, late bool, err error) {
	var timeout <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case r, ok := <-p.exit:
		if !ok {
			return 0, false, x.gone()
		}
		return r.Code, false, nil
	case <-timeout:
		late = true
	case <-ctx.Done():
		err = ctx.Err()
	}
	x.link.signal(ctx, p.pid, unix.SIGKILL)
	t := time.NewTimer(interrupted)
	defer t.Stop()
	select {
	case <-p.exit:
	case <-t.C:
	}
	return 128 + int(unix.SIGKILL), late, err
}

// signal signals the group of a process.
func (l *link) signal(ctx context.Context, pid int, s unix.Signal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interrupted)
	defer cancel()
	_, _, _ = l.ask(ctx, order{Do: "signal", PID: pid, Signal: int(s)}) // where the sandbox has ended, so has the process
}

// A process runs in the sandbox.
type process struct {
	pid               int
	exit              <-chan report
	stdout, stderr    *os.File
	requests, answers *os.File // of an interpreter
}

func (p *process) close() {
	for _, f := range []*os.File{p.stdout, p.stderr, p.requests, p.answers} {
		if f != nil {
			_ = f.Close() // nothing is lost
		}
	}
}

// begin starts a program, with pipes to it.
func (x *box) begin(ctx context.Context, argv []string, talks bool) (*process, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	theirs := []*os.File{null}
	p := &process{}
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the process has its own
		}
	}()
	for _, end := range []**os.File{&p.stdout, &p.stderr, &p.requests, &p.answers} {
		if (end == &p.requests || end == &p.answers) && !talks {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		if end == &p.requests {
			r, w = w, r
		}
		*end, theirs = r, append(theirs, w)
	}
	h, exit, err := x.link.ask(ctx, order{Do: "start", Argv: argv, Env: x.environ()}, theirs...)
	if err != nil {
		p.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e, ok := errors.AsType[*sandbox.Error](err); ok {
			return nil, e
		}
		if h.Error != "" {
			return nil, &sandbox.Error{Kind: sandbox.Limit, Text: "the sandbox cannot start a process (" + h.Error + "): it may have too many already. End some from Python code in it, or create another sandbox"}
		}
		return nil, x.gone()
	}
	p.pid, p.exit = h.PID, exit
	return p, nil
}

// Code runs a cell.
func (x *box) Code(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	before := limitsMet(x.cage)
	o, err := x.cells.Run(ctx, c, x.done)
	select {
	case <-x.quit:
		if o == nil || o.Restarted {
			return o, x.gone()
		}
	default:
	}
	if o == nil || err != nil {
		return o, err
	}
	now := limitsMet(x.cage)
	last := x.seen.swap(now)
	if o.Lost != "" { // what has ended the one before may have been a limit
		before = last
	}
	o.Note = noteSince(now, x.spec, before)
	return o, nil
}

func (s *seen) swap(now met) met {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.met
	s.met = now
	return last
}

// interpreter starts one.
func (x *box) interpreter(ctx context.Context) (*kernel.Process, error) {
	p, err := x.begin(ctx, []string{x.python.path, "-c", kernel.Source}, true)
	if err != nil {
		return nil, err
	}
	return &kernel.Process{
		Pipes:     kernel.Pipes{Requests: p.requests, Answers: p.answers, Stdout: p.stdout, Stderr: p.stderr},
		Interrupt: func(ctx context.Context) { x.link.signal(ctx, p.pid, unix.SIGINT) },
		Kill:      func(ctx context.Context) { x.link.signal(ctx, p.pid, unix.SIGKILL) },
	}, nil
}

// Put makes or replaces a file.
func (x *box) Put(ctx context.Context, path string, r io.Reader, limit int64) (sandbox.File, error) {
	f, file, err := x.open(ctx, path, true)
	if err != nil {
		return f, err
	}
	stop := context.AfterFunc(ctx, func() { _ = file.Close() })
	defer stop()
	n, err := io.Copy(file, io.LimitReader(r, min(limit, x.spec.Disk)+1))
	err = errors.Join(err, file.Close())
	f.Size = n
	if err == nil && n <= min(limit, x.spec.Disk) {
		return f, nil
	}
	// Half a file is of no use.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), interrupted)
	defer cancel()
	_, _ = x.Command(rest, sandbox.Command{Line: "rm -f -- " + quote(strings.TrimPrefix(f.Path, sandbox.Home+"/"))})
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case errors.Is(err, unix.ENOSPC):
		return f, &sandbox.Error{Kind: sandbox.Limit, Text: "the disk of the sandbox is full: remove files, or create another sandbox"}
	case err != nil:
		return f, err
	}
	return f, &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("the file is larger than %d MiB, the most that is taken", min(limit, x.spec.Disk)>>20)}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Get opens a file.
func (x *box) Get(ctx context.Context, path string) (sandbox.File, io.ReadCloser, error) {
	f, file, err := x.open(ctx, path, false)
	if err != nil {
		return f, nil, err
	}
	return f, file, nil
}

func (x *box) open(ctx context.Context, path string, write bool) (sandbox.File, *os.File, error) {
	rel, err := sandbox.Clean(outer(x.dir, path))
	if err != nil {
		return sandbox.File{}, nil, err
	}
	h, err := x.ask(ctx, order{Do: "open", Path: rel, Write: write})
	if err != nil {
		return sandbox.File{}, nil, err
	}
	if len(h.files) != 1 || h.File == nil {
		closeAll(h.files)
		return sandbox.File{}, nil, errors.New("no file came")
	}
	return *h.File, os.NewFile(uintptr(h.files[0]), rel), nil
}

// outer names a path of the folder that code sees at the level "landlock" as others do.
func outer(dir, path string) string {
	if dir != "" && (path == dir || strings.HasPrefix(path, dir+"/")) {
		return sandbox.Home + strings.TrimPrefix(path, dir)
	}
	return path
}

// List lists a folder.
func (x *box) List(ctx context.Context, path string, limit int) (*sandbox.Listing, error) {
	rel, err := sandbox.Clean(outer(x.dir, path))
	if err != nil {
		return nil, err
	}
	h, err := x.ask(ctx, order{Do: "list", Path: rel, Max: limit})
	if err != nil {
		return nil, err
	}
	closeAll(h.files)
	if h.List == nil {
		return nil, errors.New("no list came")
	}
	return h.List, nil
}

func (x *box) ask(ctx context.Context, o order) (heard, error) {
	h, _, err := x.link.ask(ctx, o)
	if err != nil && ctx.Err() == nil && h.Error == "" {
		if _, ok := errors.AsType[*sandbox.Error](err); !ok {
			err = x.gone()
		}
	}
	return h, err
}
