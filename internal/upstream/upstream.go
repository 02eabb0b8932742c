// Package upstream runs the tool servers of the pool: it starts or connects one,
// finds out which era of the protocol it speaks, lists its tools, sends it calls,
// and starts it again when it has died. A Server is one entry of the
// configuration; what happens to it happens to no other.
//
// How many connections stand behind an entry is its isolation. A shared server
// has one for all callers. A session server has one for each session, so that
// what one agent opened only that agent sees. A call server has a fresh one for
// each call.
//
// A Server is told of, not asked for, changes: its Listed function gets the raw
// tools whenever they are known anew. Start and connection run in goroutines of
// the Server's own, which Close waits for; a caller that gives up never takes a
// start away from the others.
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/tool"
)

// Isolation says who shares a connection.
type Isolation string

// The isolations.
const (
	Shared     Isolation = "shared"
	PerSession Isolation = "session"
	PerCall    Isolation = "call"
)

// Transports, as configured and as shown. Auto tries streamable HTTP, then SSE.
const (
	Auto           = "auto"
	Stdio          = "stdio"
	StreamableHTTP = "streamable-http"
	SSE            = "sse"
	InProcess      = "in-process"
	Bundled        = "bundled"
)

// Options configures a Server. Name and one of Command, URL and Dial must be set.
type Options struct {
	Name string

	Command *proc.Command // a child process; its Env is complete
	Spawner *proc.Spawner // starts Command

	URL    string
	Header http.Header
	HTTP   *http.Client // nil is a client of its own
	// Login puts the credentials of a caller into requests that go by the client of
	// its own; the caller is "" for what all have in common. Nil adds none.
	Login func(caller string, base http.RoundTripper) http.RoundTripper
	// Mended is asked before a start is held back, and reports whether what made the
	// last one fail has changed since. Nil is no.
	Mended    func() bool
	Transport string // Auto, StreamableHTTP or SSE

	Dial func(ctx context.Context) (io.ReadWriteCloser, error) // a server in this process

	// Label is the transport to show; empty is the one found.
	Label string
	// Tools are the tool definitions where they are known without a connection:
	// the server is then started on its first use only.
	Tools []json.RawMessage

	Isolation    Isolation     // empty is Shared
	StartTimeout time.Duration // for all attempts together; 0 is 30 s
	Retries      int           // attempts after the first
	RetryDelay   time.Duration // between attempts; 0 is 500 ms
	// InstallTimeout is StartTimeout until a package runner (npx, uvx, docker run …)
	// has worked once, for it may have to download first. 0 is 5 min; less than 0
	// makes no difference between the starts.
	InstallTimeout time.Duration
	IdleTimeout    time.Duration // ends a connection that is not used; 0 is never, for sessions 10 min
	// HealthCheck is how long a connection may be silent before the server is asked
	// for a sign of life. Three checks without one replace it. 0 is never.
	HealthCheck time.Duration
	// Capabilities are what servers whose links are not shared are told that this program
	// can do: what they ask reaches the Stream of the newest call on the link. Empty is
	// nothing.
	Capabilities json.RawMessage

	MaxSessions int     // connections of a session server; 0 is 64
	StartRate   float64 // processes and connections a second in the long run; 0 is 20
	StartBurst  int     // so many at once; 0 is 64, or MaxSessions where that is more
	MaxMessage  int64   // bytes of one message; 0 is wire's default
	Keep        bool    // start again by itself after a failure, not only on use

	// Listed gets the server's tools each time they are known anew. It must not
	// call back into the Server.
	Listed func(tools []json.RawMessage)
	// Changed is called after each change of the state. It must not block.
	Changed func()
	// Noticed is told the method of a notification that the server's prompts or
	// resources are others than before. It must not block.
	Noticed func(method string)

	// Mask hides secrets in what the server and its process say of failures. Nil
	// hides nothing.
	Mask func(text string) string

	ClientName, ClientVersion string
	Logger                    *slog.Logger // nil discards
}

// A Server is one entry of the pool. It is safe for concurrent use.
type Server struct {
	o        Options
	log      *slog.Logger
	ctx      context.Context // of all that the Server does by itself
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	dialer   *dialer
	sessions *sessions // of a session server
	relist   again     // a new list of the tools

	mu       sync.Mutex
	closed   bool
	status   status
	retry    *time.Timer
	starting *start
	link     *link // of a shared server
	own      own
}

// New returns a server that is not started. Close it.
func New(o Options) (*Server, error) {
	if o.Command == nil && o.URL == "" && o.Dial == nil {
		return nil, fmt.Errorf("server %s: nothing to start or to connect to", o.Name)
	}
	o.Isolation = cmp.Or(o.Isolation, Shared)
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.RetryDelay = cmp.Or(o.RetryDelay, 500*time.Millisecond)
	o.InstallTimeout = cmp.Or(o.InstallTimeout, 5*time.Minute)
	o.StartRate = cmp.Or(o.StartRate, 20)
	o.MaxSessions = cmp.Or(o.MaxSessions, 64)
	o.StartBurst = cmp.Or(o.StartBurst, max(64, o.MaxSessions))
	o.Transport = cmp.Or(o.Transport, Auto)
	o.ClientName = cmp.Or(o.ClientName, "tenon")
	o.ClientVersion = cmp.Or(o.ClientVersion, "0")
	if o.Isolation == PerSession {
		o.IdleTimeout = cmp.Or(o.IdleTimeout, 10*time.Minute)
	}
	if o.Listed == nil {
		o.Listed = func([]json.RawMessage) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Noticed == nil {
		o.Noticed = func(string) {}
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		o: o, log: o.Logger.With("server", o.Name),
		status: status{state: tool.StateIdle, since: time.Now(), label: o.transport()},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.relist = again{tasks: &s.tasks, run: s.relistOnce}
	s.dialer = &dialer{
		o: &s.o, log: s.log, ctx: s.ctx, tasks: &s.tasks, changed: s.relist.ask,
		rate: rate.NewLimiter(rate.Limit(o.StartRate), o.StartBurst),
	}
	s.sessions = &sessions{
		limit: o.MaxSessions, ctx: s.ctx, tasks: &s.tasks, open: s.openFor, retire: s.dialer.retire, mask: o.Mask,
		all: map[Key]*session{}, gone: map[Key]*farewell{},
	}
	if o.Tools != nil {
		s.status.listed = len(o.Tools)
		o.Listed(o.Tools)
	}
	if o.IdleTimeout > 0 {
		s.tasks.Go(s.endIdle)
	}
	return s, nil
}

func (o *Options) transport() string {
	switch {
	case o.Label != "":
		return o.Label
	case o.Command != nil:
		return Stdio
	case o.Dial != nil:
		return InProcess
	}
	return o.Transport
}

// Status returns the state of the server.
func (s *Server) Status() tool.ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status.show(s.o.Name)
	if s.link != nil {
		st.Stderr = s.link.stderr()
	}
	return st
}

// Close stops the server and waits for it. It is bounded by the stop ladder of
// the process.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.tasks.Wait()
		return nil
	}
	s.closed = true
	s.status.on(stops)
	s.status.reason = ""
	if s.retry != nil {
		s.retry.Stop()
	}
	l := s.link
	s.link = nil
	s.mu.Unlock()
	s.relist.stop()
	s.dialer.close()
	s.cancel() // ends the sessions and what is starting
	var err error
	if l != nil {
		err = l.close()
	}
	s.tasks.Wait()
	return err
}

// Ensure begins to start the server where that is useful and nobody has: a
// server whose tools are known already, and which needs to run only for calls,
// is left alone unless it has failed. It returns at once.
func (s *Server) Ensure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.link != nil || s.o.Tools != nil && s.status.state != tool.StateFailed || s.status.state == tool.StateIdle && s.status.listed > 0
	if known || s.closed || s.starting != nil || time.Now().Before(s.status.nextTry) {
		return
	}
	s.begin()
}

// Await begins a start where that is useful, and waits until none is under way.
// The error says why the tools are not to be had, or is the cause of ctx.
func (s *Server) Await(ctx context.Context) error {
	mended(s)
	s.Ensure()
	s.mu.Lock()
	st := s.starting
	s.mu.Unlock()
	if st != nil {
		select {
		case <-st.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.state == tool.StateFailed {
		return &failedError{s.status.reason, s.status.nextTry}
	}
	return nil
}

// IsStarting reports whether a start is under way. It is until the tools that it listed
// were told, which is a little longer than the state says so.
func IsStarting(s *Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting != nil
}

// Connect starts the server, whether or not its tools are known already. For a
// server that is not shared it tries one start.
func (s *Server) Connect(ctx context.Context) error {
	if s.o.Isolation == Shared {
		_, err := s.shared(ctx)
		return err
	}
	if s.o.Tools == nil {
		return s.Await(ctx)
	}
	l, err := s.openFor(ctx, Key{}, "")
	if err != nil {
		return err
	}
	return l.close()
}
