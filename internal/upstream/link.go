package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	// stopBound bounds the stop ladder of a process.
	stopBound = 10 * time.Second
	// reapBound is how long a failure waits for an exit status that may be behind
	// it, and exitBound where there is one in all likelihood: the process has closed
	// a pipe, which is what one does first that ends. A busy machine takes its time
	// for the rest. Both together are shorter than the second after which proc asks
	// what it stops to terminate, or that would count as its end.
	reapBound = 80 * time.Millisecond
	exitBound = 600 * time.Millisecond
	// deafBound is how long a process that has closed its standard input may still
	// answer what it was asked before.
	deafBound = time.Second
	// maxFaults is how many calls may fail in a row before the breaker opens.
	maxFaults = 3
)

// A link is one live connection to a server, after its handshake.
type link struct {
	transport string
	from      *dialer
	client    wire.Client
	process   *proc.Process // nil where there is none
	untie     func() bool   // it ends with the Server until then
	peer

	began   time.Time
	use     *usage
	session *session      // that the link belongs to, if any
	suspect chan struct{} // holds one: find out whether it still answers

	served  atomic.Bool  // a call was answered
	faults  atomic.Int32 // calls that failed on the way, one after the other
	heard   atomic.Int64 // when there was last a sign of life, in nanoseconds of the wall clock
	retired atomic.Bool  // it gets no more calls
	lostFor string       // why it was taken out of use, where that was not on purpose; the Server's lock guards it
}

func newLink(d *dialer, transport string) *link {
	return &link{
		from: d, transport: transport,
		began: time.Now(), use: new(usage), suspect: make(chan struct{}, 1),
	}
}

// worked notes that the server answered.
func (l *link) worked() {
	l.hear()
	if !l.served.Load() {
		l.served.Store(true)
	}
	if l.faults.Load() != 0 {
		l.faults.Store(0)
	}
}

// hear notes a sign of life.
func (l *link) hear() { l.heard.Store(time.Now().UnixNano()) }

// fault notes a call that failed on the way, and reports whether there were too
// many.
func (l *link) fault() bool { return l.faults.Add(1) >= maxFaults }

// hasServed reports whether the link was of use before it ended.
func (l *link) hasServed() bool { return l.served.Load() || time.Since(l.began) > steady }

// ended reports whether the connection is over.
func (l *link) ended() bool {
	select {
	case <-l.client.Done():
		return true
	default:
		return false
	}
}

// doubt has it found out whether the server still answers.
func (l *link) doubt() {
	select {
	case l.suspect <- struct{}{}:
	default:
	}
}

// A dialer opens links to one server. It is the handler of what the server sends
// on them by itself.
type dialer struct {
	o       *Options
	log     *slog.Logger
	ctx     context.Context // of the Server: all links end with it
	tasks   *sync.WaitGroup // of the Server: all that is started here is in it
	rate    *rate.Limiter   // of processes and connections
	changed func()          // the server said that its tools have changed
	unread  atomic.Int64    // lines that were no messages
	about   atomic.Pointer[About]
	hints   atomic.Pointer[era.Hints] // of the tools that were listed last
	flood   flood

	mu   sync.Mutex
	shut bool // tasks is waited for: nothing may be added to it
}

// A want is what a start is to give.
type want struct {
	limit time.Duration // for all attempts together
	hint  era.Era       // asked for first
	list  bool          // the tools too
}

func notReady(limit time.Duration) error { return fmt.Errorf("not ready within %s", limit) }

// bring gets the server up, and its tools listed where that is wanted.
func (d *dialer) bring(ctx context.Context, w want) (l *link, tools []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.limit, notReady(w.limit))
	defer cancel()
	hint := w.hint
	for attempt := 0; ; attempt++ {
		var next era.Era
		l, next, err = d.open(ctx, opening{hint: hint})
		if tools = d.o.Tools; err == nil && tools == nil && w.list {
			tools, err = l.list(ctx)
		}
		if err == nil {
			return l, tools, nil
		}
		if l != nil {
			_ = l.close() // the error that matters is the one before
		}
		if attempt >= d.o.Retries || ctx.Err() != nil {
			return nil, nil, err
		}
		hint = next
		d.log.Debug("start attempt", "attempt", attempt+1, "error", err)
		select {
		case <-time.After(d.o.RetryDelay):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// open connects and shakes hands. After a failure, next is what to ask for first
// the next time.
func (d *dialer) open(ctx context.Context, o opening) (l *link, next era.Era, err error) {
	hint := o.hint
	// A fresh connection for each call is no storm; a process for each may be one.
	if d.o.Command != nil || d.o.Isolation != PerCall {
		if err := d.rate.Wait(ctx); err != nil { // at once where the wait would be too long
			if ctx.Err() != nil {
				return nil, hint, context.Cause(ctx)
			}
			return nil, hint, &proc.LimitError{Text: fmt.Sprintf("it was started too often, and would wait for longer than the time that is left; at most %v starts a second are allowed", d.rate.Limit())}
		}
	}
	o, asks := o.askable(d)
	switch {
	case d.o.Command != nil:
		l, err = d.spawn(ctx, o)
	case d.o.Dial != nil:
		l, err = d.dial(ctx, o)
	default:
		l, next, err = d.connect(ctx, o)
		return d.tie(l, asks), next, err
	}
	if err != nil {
		return nil, hint, err
	}
	l, next, err = d.greet(ctx, l, o)
	return d.tie(l, asks), next, err
}

// tie has a link end with the Server, whoever holds it then.
func (d *dialer) tie(l *link, asks *asked) *link {
	if l != nil {
		l.asked = asks
		l.untie = context.AfterFunc(d.ctx, func() { _ = l.client.Close() })
	}
	return l
}

// greet does the handshake on a stream.
func (d *dialer) greet(ctx context.Context, l *link, o opening) (*link, era.Era, error) {
	p, next, err := d.shake(ctx, l.client, o, probeGrace)
	if err != nil {
		err = l.explain(ctx, err)
		_ = l.close()
		return nil, next, err
	}
	l.peer = p
	return l, p.era, nil
}

// spawn starts the server's process, with its task in the environment.
func (d *dialer) spawn(ctx context.Context, o opening) (*link, error) {
	cmd := *d.o.Command
	if o.task != "" {
		cmd.Env = append(append([]string{}, cmd.Env...), "TASK_ID="+o.task) // a copy: the options are shared
	}
	p, err := d.o.Spawner.Start(ctx, cmd)
	if err != nil {
		return nil, d.o.confined(err)
	}
	l := newLink(d, Stdio)
	l.process = p
	stop := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		return p.Stop(ctx)
	}
	out := &output{f: p.Stdout(), ended: p.Ended()}
	stream := wire.NewStream(wire.StreamOptions{
		R: out, W: p.Stdin(), Close: stop,
		Handler: o.handler(d), MaxMessage: d.o.MaxMessage, Garbage: d.garbage,
	})
	l.client = stream
	// The process may end while something that it started keeps its output open.
	d.tasks.Go(func() {
		bound := drainBound
		select {
		case <-stream.Done():
			return
		case <-p.Ended():
			bound = out.end()
		case <-p.Deaf():
			select {
			case <-p.Ended():
				bound = out.end()
			case <-stream.Done():
			case <-time.After(deafBound):
				_ = stream.Notify(d.ctx, "notifications/message", nil) // that it cannot be written ends the stream
				bound = deafBound
			}
		}
		select {
		case <-stream.Done():
		case <-time.After(bound):
			_ = stream.Close() // l.close reports what comes of it
		}
	})
	return l, nil
}

func (d *dialer) dial(ctx context.Context, o opening) (*link, error) {
	rwc, err := d.o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	l := newLink(d, InProcess)
	l.client = wire.NewStream(wire.StreamOptions{
		R: rwc, W: rwc, Close: rwc.Close, Handler: o.handler(d), MaxMessage: d.o.MaxMessage, Garbage: d.garbage,
	})
	return l, nil
}

// connect reaches a server over HTTP. The configured transport counts; auto is
// streamable HTTP, and SSE where the server does not know that.
func (d *dialer) connect(ctx context.Context, to opening) (*link, era.Era, error) {
	o := wire.HTTPOptions{
		URL: d.o.URL, Header: d.o.Header, Client: d.o.HTTP,
		Handler: to.handler(d), MaxMessage: d.o.MaxMessage, Garbage: d.garbage,
	}
	if d.o.Login != nil {
		o.Wrap = func(base http.RoundTripper) http.RoundTripper { return d.o.Login(to.caller, base) }
	}
	var first error
	if d.o.Transport != SSE {
		l := newLink(d, StreamableHTTP)
		l.client = wire.NewHTTP(o)
		l, next, err := d.greet(ctx, l, to)
		if err == nil || d.o.Transport == StreamableHTTP || !mayBeSSE(err) {
			return l, next, d.otherwise(err)
		}
		first = err
	}
	client, err := wire.NewSSE(ctx, o)
	if err != nil {
		if first != nil {
			err = errors.Join(fmt.Errorf("streamable HTTP: %w", first), fmt.Errorf("SSE: %w", err))
		}
		return nil, era.Unknown, d.otherwise(err)
	}
	l := newLink(d, SSE)
	l.client = client
	to.hint = era.Legacy
	return d.greet(ctx, l, to)
}

// otherwise says what else to try where the one transport that is configured is refused, by
// a server that has not answered on it before.
func (d *dialer) otherwise(err error) error {
	if err == nil || d.o.Transport == Auto || d.about.Load() != nil || !mayBeSSE(err) {
		return err
	}
	return fmt.Errorf("%w (it may speak another transport than %s: leave transport out, or write transport: auto)", err, d.o.Transport)
}

// mayBeSSE reports whether a server that answers so may speak the transport of
// 2024-11-05: MCP asks clients to try it after a 4xx.
func mayBeSSE(err error) bool {
	e, ok := errors.AsType[*wire.HTTPError](err)
	return ok && e.Status >= 400 && e.Status < 500 &&
		e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden && e.Status != http.StatusTooManyRequests
}

// retire closes a link that gets no more calls, once those that run on it have
// ended. Nobody waits for that.
func (d *dialer) retire(l *link) {
	l.retired.Store(true)
	if l.use.busy() && !l.ended() {
		return // whoever releases it last comes back to it
	}
	d.discard(l)
}

// discard closes a link. Nobody waits for that.
func (d *dialer) discard(l *link) {
	d.mu.Lock()
	shut := d.shut
	if !shut {
		d.tasks.Go(func() { _ = l.close() }) // what comes of its end concerns nobody
	}
	d.mu.Unlock()
	if shut {
		_ = l.close()
	}
}

// close is called before tasks is waited for.
func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
}

// close ends the connection, and the process behind it.
func (l *link) close() error {
	if l.untie != nil {
		l.untie()
	}
	return l.client.Close()
}

func (l *link) stderr() string {
	if l.process == nil {
		return ""
	}
	return l.from.o.Mask(strings.TrimSpace(l.process.Stderr()))
}

// explain adds to an error what the process behind the link has to say: its exit
// status, and the last of its standard error.
func (l *link) explain(ctx context.Context, err error) error {
	if l.process == nil {
		return err
	}
	ours := errors.Is(err, wire.ErrGarbage) || errors.Is(err, jsonrpc.ErrEndless) // that is why it was ended
	ended := l.client.Err()
	likely := ended != nil && !ours && !errors.Is(ended, wire.ErrClosed)
	reaped := l.reaped(ctx, likely)
	ended = l.client.Err() // it may have come late
	switch {
	case reaped && ours:
	case reaped:
		err = fmt.Errorf("process ended (%s)", l.process.Exit())
	case ended != nil && !errors.Is(ended, io.EOF) && isDeaf(l.process):
		err = errors.New("process closed its input")
	case ended != nil:
		err = fmt.Errorf("process closed its output: %w", err)
	}
	if tail := l.stderr(); tail != "" {
		err = fmt.Errorf("%w; %s: %s", err, lastWords(time.Since(proc.StderrAt(l.process))), lastLines(tail, 300))
	}
	return l.from.o.confined(err)
}

// lastWords introduces the last that a server wrote to its standard error before it failed.
// What is older than a few seconds need not be the cause of that, so its age is told.
func lastWords(age time.Duration) string {
	const fresh = 10 * time.Second
	switch {
	case age < fresh:
		return "its last words"
	case age < time.Minute:
		return "its last words, " + age.Truncate(time.Second).String() + " before"
	}
	return "its last words, " + strings.TrimSuffix(age.Truncate(time.Minute).String(), "0s") + " before, so perhaps of something else"
}

// reaped waits for the exit status, for longer where one is likely and ctx goes on.
func (l *link) reaped(ctx context.Context, likely bool) bool {
	select {
	case <-l.process.Done():
		return true
	case <-time.After(reapBound):
	}
	if !likely {
		return false
	}
	select {
	case <-l.process.Done():
		return true
	case <-time.After(exitBound):
	case <-ctx.Done():
	}
	return false
}

func isDeaf(p *proc.Process) bool {
	select {
	case <-p.Deaf():
		return true
	default:
		return false
	}
}

// lastLines returns the end of text, from a line's start where that fits in n bytes.
func lastLines(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, after, ok := strings.Cut(text, "\n"); ok && strings.TrimSpace(after) != "" {
		return after
	}
	return text
}

// garbage logs a line that is no message: of many the first ones, and then fewer
// and fewer.
func (d *dialer) garbage(head []byte, err error) {
	if n := d.unread.Add(1); n <= 16 || n&(n-1) == 0 {
		d.log.Warn("line of the server is no message", "line", string(head), "error", err, "so_far", n)
	}
}

// Request implements wire.Handler: what a server may ask of this client. It
// declares no capabilities, so there is nothing.
func (d *dialer) Request(_ context.Context, _ *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported by this client, which declared no capabilities", m.Method)
}

// Notification implements wire.Handler.
func (d *dialer) Notification(_ *wire.Exchange, m *jsonrpc.Message) {
	d.flood.heard(d.log)
	switch m.Method {
	case "notifications/tools/list_changed":
		d.changed()
	case "notifications/prompts/list_changed", "notifications/resources/list_changed":
		d.o.Noticed(m.Method)
	case "notifications/message":
		if d.log.Enabled(d.ctx, slog.LevelDebug) {
			// Half of a secret would not be found any more.
			d.log.Debug("server logs", "params", head(d.o.Mask(head(string(m.Params.Join()), 8<<10)), 1<<10))
		}
	default:
		d.log.Debug("notification", "method", m.Method)
	}
}

func head(s string, n int) string { return s[:min(len(s), n)] }
