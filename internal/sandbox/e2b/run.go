package e2b

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	user = "user" // of the machine, to whom Home belongs
	root = "root" // who can end what the user has started as another one

	// ending is how long a command or a cell has to end after it was told to.
	ending = 2 * time.Second
)

// wrapper runs a command so that its end is told when it ends, and not when all have
// ended that it has left in the background: these hold pipes of their own.
const wrapper = `d=$(mktemp -d "${TMPDIR:-/tmp}/.run.XXXXXXXX") && mkfifo "$d/1" "$d/2" || exit 125
cat "$d/1" & a=$!
cat "$d/2" >&2 & b=$!
sh -c 'rm -rf -- "$1"; exec /bin/sh -c "$2"' sh "$d" "$1" >"$d/1" 2>"$d/2" </dev/null
c=$?
(sleep 0.3; kill $a $b) >/dev/null 2>&1 & k=$!
wait $a $b 2>/dev/null
kill $k 2>/dev/null
exit $c`

// environ is what commands find in their environment besides what the machine gives.
func environ() map[string]string {
	return map[string]string{"TMPDIR": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
}

// Command runs a line of the shell, once.
func (x *box) Command(ctx context.Context, c sandbox.Command) (*sandbox.Output, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := x.gone(); err != nil {
		return nil, err
	}
	out, errs := sandbox.NewClip(c.Keep), sandbox.NewClip(c.Keep)
	p := x.begin(ctx, user, processConfig{
		// The process begins a group, so that all of it can be ended.
		Cmd: "/usr/bin/setsid", Args: []string{"/bin/sh", "-c", wrapper, "sh", c.Line}, Envs: environ(), Cwd: sandbox.Home,
	}, out, errs)
	defer p.close()
	o := &sandbox.Output{}
	end, err := p.wait(ctx, c.Timeout, x.quit)
	switch {
	case err == nil:
		o.ExitCode = end.code()
	case errors.Is(err, errLate):
		o.TimedOut, o.ExitCode, err = true, 137, nil
	case ctx.Err() == nil && x.gone() == nil && p.refused():
		err = x.trouble(ctx, "start the command", err, "")
	default:
		err = x.trouble(ctx, "say what came of the command", err, "It may have run, in part or in whole; what was left of it was ended, and it was not run again. ")
	}
	if err != nil || o.TimedOut {
		p.kill(ctx)
	}
	p.close()
	var left int64
	o.Stdout, o.Left = out.Text()
	o.Stderr, left = errs.Text()
	o.Left += left
	return o, err
}

var errLate = errors.New("it took too long")

// code is the exit code as shells have it.
func (e *endEvent) code() int {
	if e.Exited || e.ExitCode >= 0 {
		return e.ExitCode
	}
	if name, ok := strings.CutPrefix(e.Status, "signal: "); ok {
		if n := map[string]int{"hangup": 1, "interrupt": 2, "killed": 9, "segmentation fault": 11, "terminated": 15}[name]; n != 0 {
			return 128 + n
		}
	}
	return 137
}

// A process runs in the machine, and its output comes as a stream.
type process struct {
	x      *box
	tag    string
	cancel context.CancelFunc
	reader sync.WaitGroup

	begun chan struct{} // closed when it has a number
	pid   uint32
	done  chan struct{} // closed after the last event
	end   *endEvent
	err   error
}

// begin has a program started. What goes wrong with that, wait says.
func (x *box) begin(ctx context.Context, as string, c processConfig, stdout, stderr io.Writer) *process {
	// The stream outlives ctx, for what it says after the end was ordered.
	stream, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{x: x, tag: "tenon-" + strings.ToLower(rand.Text()), cancel: cancel, begun: make(chan struct{}), done: make(chan struct{})}
	no := false
	r := request(x.w, as, &startRequest{Process: c, Tag: p.tag, Stdin: &no})
	r.Header().Set("Keepalive-Ping-Interval", "50")
	p.reader.Go(func() {
		defer close(p.done)
		p.err = p.read(stream, r, stdout, stderr)
	})
	return p
}

func (p *process) read(ctx context.Context, r *connect.Request[startRequest], stdout, stderr io.Writer) error {
	s, err := p.x.w.start.CallServerStream(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // its end is known
	for s.Receive() {
		e := &s.Msg().Event
		switch {
		case e.Start != nil && p.pid == 0:
			p.pid = e.Start.PID
			close(p.begun)
		case e.Data != nil:
			_, _ = stdout.Write(e.Data.Stdout) // a clip takes all
			_, _ = stderr.Write(e.Data.Stderr)
		case e.End != nil:
			p.end = e.End
			return nil
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF // an end without the event of one
}

// wait waits for the end.
func (p *process) wait(ctx context.Context, limit time.Duration, quit <-chan struct{}) (*endEvent, error) {
	var late <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		late = t.C
	}
	start := time.NewTimer(askLimit)
	defer start.Stop()
	for {
		select {
		case <-p.done:
			return p.end, p.err
		case <-late:
			return nil, errLate
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quit:
			return nil, context.Canceled
		case <-start.C:
			select {
			case <-p.begun:
			case <-p.done:
			default:
				return nil, errors.New("it did not say in time that it has started")
			}
		}
	}
}

// refused reports whether the process was never started, by the word of the machine.
func (p *process) refused() bool {
	select {
	case <-p.done:
	default:
		return false
	}
	e, ok := errors.AsType[*statusError](p.err)
	return p.pid == 0 && p.err != nil && (connect.IsWireError(p.err) || ok && e.status < 500)
}

// kill ends the process and its group, and waits for what they said last.
func (p *process) kill(ctx context.Context) {
	if p.x.gone() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*ending)
	defer cancel()
	ctx, stop := p.x.within(ctx)
	defer stop()
	pid := p.number(ctx)
	if pid == 0 {
		return // it was never started, or has ended
	}
	_ = p.x.order(ctx, `kill -s KILL -- "-$1"`, strconv.FormatUint(uint64(pid), 10)) // it may have ended
	_, _ = unary(ctx, p.x.w, p.x.w.signal, &signalRequest{selector{PID: pid}, "SIGNAL_SIGKILL"})
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}

// number is that of the process, asked for where it did not come.
func (p *process) number(ctx context.Context) uint32 {
	select {
	case <-p.begun:
		return p.pid
	default:
	}
	all, err := unary(ctx, p.x.w, p.x.w.running, &struct{}{})
	if err != nil {
		return 0
	}
	for _, other := range all.Processes {
		if other.Tag == p.tag {
			return other.PID
		}
	}
	return 0
}

// close ends the stream.
func (p *process) close() {
	p.cancel()
	p.reader.Wait()
}

// order runs a short script as root of the machine.
func (x *box) order(ctx context.Context, script string, args ...string) error {
	p := x.begin(ctx, root, processConfig{Cmd: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...), Cwd: "/"}, io.Discard, io.Discard)
	defer p.close()
	_, err := p.wait(ctx, askLimit, x.quit)
	return err
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
