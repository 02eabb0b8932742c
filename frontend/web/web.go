// Package web is the HTTP listener of Tenon's front ends. It knows nothing of
// tools: it is given a handler, and sees to what every local server needs.
//
//   - It listens on loopback. Any other address is refused ([ErrNotLoopback])
//     unless the handler is known to ask everybody for a credential.
//   - It checks Host and Origin of every request, so that a page in a browser
//     cannot reach it under a foreign name (DNS rebinding) or from a foreign
//     site. What is refused gets 403 and a JSON body that says why.
//   - Headers, bodies and idle connections are bounded in size and time, and
//     connections in number: one too many gets 503. There is no bound on an
//     answer, which may be an event stream.
//   - It answers /healthz and /readyz itself: it serves only once there is
//     something to serve, so both are 200 until it stops, and /readyz 503 while
//     Options.Unready says why nothing can be done.
//   - It stops gracefully: event streams end at once, calls in progress get the
//     grace time to give their answer, and only then are they cut off.
//
// A server is made by [Listen], which binds the address, and lives in
// [Server.Run]:
//
//	s, err := web.Listen(ctx, web.Options{Addr: "127.0.0.1:8400", Handler: mux})
//	if err != nil {
//		return err
//	}
//	fmt.Fprintln(os.Stderr, "listening on", s.URL())
//	return s.Run(ctx)
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/lane"
)

// The bounds of a server whose Options say nothing else.
const (
	DefaultMaxBodyBytes = 16 << 20
	DefaultGrace        = 10 * time.Second

	maxHeaderBytes = 64 << 10
	headerTimeout  = 10 * time.Second // for the headers of one request
	bodyTimeout    = time.Minute      // for the body of one request to arrive
	idleTimeout    = 2 * time.Minute  // between two requests of a connection
	cutTimeout     = 2 * time.Second  // for handlers to return once they are cut off
)

// Options say where to listen and what to serve.
type Options struct {
	// Addr is host:port; port 0 takes any free one.
	Addr string
	// Authenticated says that Handler answers nobody without a credential where the
	// server is not on loopback: see Server.Loopback.
	Authenticated bool
	// Cert and Key are the files of a certificate, with which the server speaks TLS.
	// They are read again when they change.
	Cert, Key string
	// Handler answers everything but /healthz and /readyz.
	Handler http.Handler
	// AllowedHosts are further names for Host and Origin, as a reverse proxy on
	// this machine needs them: "tools.example" for any port, "tools.example:8443"
	// for one.
	AllowedHosts []string
	// Unready says why nothing can be done for clients now, for /readyz; nil or an empty
	// text is that it can. Everybody may read it.
	Unready func() string
	// MaxBodyBytes bounds the body of a request; 0 is DefaultMaxBodyBytes. Who
	// reads further gets an *http.MaxBytesError.
	MaxBodyBytes int64
	// MaxConnections bounds the connections that are open at once, and MaxPerAddress those
	// from one address that is not of this machine; 0 is no bound.
	MaxConnections, MaxPerAddress int
	// Grace bounds how long a stop waits for answers in progress; 0 is DefaultGrace.
	Grace time.Duration
	// Cut is the cause of the contexts of answers that need longer; nil is
	// context.Canceled. OnCut is told, for what does not end with its request; nil is
	// not.
	Cut    error
	OnCut  func(cause error)
	Logger *slog.Logger // nil discards
}

// A Server is bound to its address from the start and serves while Run runs.
type Server struct {
	o   Options
	log *slog.Logger
	ln  net.Listener
	tls *tls.Config // nil speaks none
}

// Listen binds the address of o. It refuses one that others can reach with
// ErrNotLoopback unless they must bring a credential, and one that is taken with
// ErrBusy. The caller must call Run, or Close.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if o.Handler == nil {
		return nil, errors.New("web: no handler")
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	secure, err := tlsConfig(o.Cert, o.Key, log)
	if err != nil {
		return nil, err
	}
	ln, err := listen(ctx, o.Addr, o.Authenticated)
	if err != nil {
		return nil, err
	}
	return &Server{o: o, log: log, ln: ln, tls: secure}, nil
}

// Close lets go of the address of a server that does not Run.
func (s *Server) Close() error { return s.ln.Close() }

// Addr returns the address that is bound, as host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL returns the root of the server as this machine reaches it, without a slash at its
// end.
func (s *Server) URL() string {
	addr := s.Addr()
	if s.everywhere() { // which is no place to connect to
		addr = net.JoinHostPort("127.0.0.1", port(s.ln.Addr()))
	}
	if s.tls != nil {
		return "https://" + addr
	}
	return "http://" + addr
}

// Loopback reports whether only this machine can reach the server.
func (s *Server) Loopback() bool {
	t, ok := s.ln.Addr().(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// Run serves until ctx is done, then stops: it takes no more requests, ends
// event streams, and waits at most the grace time for the answers that are in
// progress. It returns nil after such a stop, and must be called once.
func (s *Server) Run(ctx context.Context) error {
	// Requests outlive ctx by the grace time; cut ends those that need longer.
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	srv := &http.Server{
		Handler:           s.handler(ctx),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		TLSConfig:         s.tls,
		Protocols:         new(http.Protocols),
	}
	srv.Protocols.SetHTTP1(true) // what is tested; over TLS it would speak HTTP/2 as well
	var front server = secured{srv}
	if s.tls == nil {
		front = lane.New(srv)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	failed := make(chan error, 1)
	ln := newBound(s.ln, s.o.MaxConnections, s.o.MaxPerAddress, s.log)
	secure := s.tls.Clone() // a server writes into its own
	serving.Go(func() { ln.refused.refuse(secure, s.log) })
	serving.Go(func() {
		failed <- front.Serve(ln)
		_ = ln.Close() // those that are refused need no answer any more
	})
	select {
	case err := <-failed:
		_ = front.Close() // nothing is left to wait for
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	if shutdown(base, front, s.o.Grace) {
		return nil
	}
	s.log.Warn("answers in progress cut off", "grace", s.o.Grace.String())
	cut(s.o.Cut)
	if s.o.OnCut != nil {
		s.o.OnCut(s.o.Cut)
	}
	if !shutdown(context.WithoutCancel(ctx), front, cutTimeout) {
		_ = front.Close() // the listener is closed already; connections that do not read are dropped
	}
	return nil
}

// A server is what serves a listener: an http.Server over TLS, or the fast lane
// before one.
type server interface {
	Serve(ln net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// secured is an http.Server that speaks TLS, with the certificate of its TLSConfig.
type secured struct{ *http.Server }

// Serve implements server.
func (s secured) Serve(ln net.Listener) error { return s.ServeTLS(ln, "", "") }

// shutdown reports whether all connections ended within d.
func shutdown(ctx context.Context, srv server, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}

// handler is what every request passes. Event streams end once stop is done.
func (s *Server) handler(stop context.Context) http.Handler {
	next := endStreams(stop, limitBody(s.o.MaxBodyBytes, s.o.Handler))
	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			answerProbe(w, r, "ok", "")
		case "/readyz":
			why := ""
			if s.o.Unready != nil {
				why = s.o.Unready()
			}
			answerProbe(w, r, "ready", why)
		default:
			next.ServeHTTP(w, r)
		}
	})
	g := guard{addr: s.Addr(), all: s.everywhere(), port: port(s.ln.Addr()), allowed: s.o.AllowedHosts, log: s.log}
	return boundBody(bodyTimeout, g.check(route))
}

// everywhere reports whether the server listens on all addresses of this machine.
func (s *Server) everywhere() bool {
	t, ok := s.ln.Addr().(*net.TCPAddr)
	return ok && t.IP.IsUnspecified()
}

// answerProbe answers those who watch over this process.
func answerProbe(w http.ResponseWriter, r *http.Request, status, wrong string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "method " + r.Method + " is not supported here"})
		return
	}
	if wrong != "" {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "not " + status, "error": wrong})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": status})
}
