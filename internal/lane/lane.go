// Package lane serves plain requests of HTTP/1.1 at a fraction of what net/http
// needs for them, and leaves everything else to net/http.
//
// A [Server] stands before an [http.Server] and has its methods. It accepts the
// connections and reads the head of each request. Where the request is plain (see
// parse: a short head in which no two readers can differ, and a short body) it
// calls the same handler with a response writer of its own. At the first bytes
// that are anything else, wrong ones too, or that do not come at once, the
// connection goes to the http.Server with all that was read of it, and stays
// there. So net/http alone decides what is wrong, and what becomes of it.
//
//	srv := lane.New(&http.Server{Handler: mux, BaseContext: base, IdleTimeout: time.Minute})
//	go srv.Serve(ln)
//	…
//	err := srv.Shutdown(ctx)
//
// What it saves is the goroutine that net/http starts for each request to notice
// a client that goes away, with its four changes of deadlines; the handling of
// deadlines that nearly no request needs; and generality in reading and writing
// heads. Here one goroutine, the patrol, looks after all connections that are in
// use: it passes every few milliseconds, and acts on what has not moved since it
// passed before. See patrol.go.
package lane

import (
	"context"
	"errors"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Server serves what is plain by itself, and all else with an http.Server.
type Server struct {
	http *http.Server
	rest *rest // hands connections to http

	ctx     context.Context // of all requests
	closing atomic.Bool
	stamp   atomic.Pointer[stamp]
	wake    chan struct{}  // has a token when there is something to look at
	drained chan struct{}  // closed when the server is closing and has no connection
	tasks   sync.WaitGroup // the patrol, and each connection

	mu    sync.Mutex
	ln    net.Listener
	conns map[*conn]struct{}
	warm  []*conn // that the patrol has to look at from now on
}

// New returns a server before srv, which must have a Handler and a BaseContext, and
// must not be started by itself. Its hooks for connections see those alone that it serves.
func New(srv *http.Server) *Server {
	return &Server{http: srv, wake: make(chan struct{}, 1), drained: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// Serve takes connections from ln until Shutdown or Close, and returns
// http.ErrServerClosed then. It must be called once.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	s.mu.Lock()
	s.ctx = context.WithValue(s.http.BaseContext(ln), http.ServerContextKey, s.http)
	s.ln = ln
	s.rest = newRest(ln.Addr())
	closing := s.closing.Load()
	if !closing {
		s.tasks.Go(s.patrol)
	}
	s.mu.Unlock()
	if closing {
		return http.ErrServerClosed
	}
	defer context.AfterFunc(s.ctx, s.endAllHeld)()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer s.rest.Close()
	serving.Go(func() { _ = s.http.Serve(s.rest) }) // it ends when the rest is closed
	return s.accept(ln)
}

// accept takes connections until ln fails for good.
func (s *Server) accept(ln net.Listener) error {
	var pause time.Duration
	for {
		rwc, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.begin(rwc)
			continue
		case s.closing.Load():
			return http.ErrServerClosed
		case !temporary(err):
			return err
		}
		// There are too many open files, for one. It may get better.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.logf("http: Accept error: %v; retrying in %v", err, pause)
		select {
		case <-time.After(pause):
		case <-s.rest.closed:
		}
	}
}

func temporary(err error) bool {
	var t interface{ Temporary() bool } // what net/http asks too
	return errors.As(err, &t) && t.Temporary()
}

// begin serves a new connection.
func (s *Server) begin(rwc net.Conn) {
	c := newConn(s, rwc)
	s.mu.Lock()
	closing := s.closing.Load()
	if !closing {
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if closing {
		_ = rwc.Close()
		return
	}
	s.watch(c)
	s.tasks.Go(c.run)
}

// forget is told that a connection has ended, or has gone to net/http.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.drain()
}

// drain notes when nothing is left. Called with the lock held.
func (s *Server) drain() {
	if !s.closing.Load() || len(s.conns) > 0 {
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}

// all returns the connections that there are.
func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// stop makes the server take nothing more, and calls f for each connection.
func (s *Server) stop(f func(*conn)) {
	s.mu.Lock()
	s.closing.Store(true)
	ln := s.ln
	s.drain()
	s.mu.Unlock()
	if ln != nil {
		_ = ln.Close()
	}
	for _, c := range s.all() {
		f(c)
	}
}

// Shutdown takes no more requests and waits until those that run are answered, or
// ctx is done.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop((*conn).closeIdle)
	err := s.http.Shutdown(ctx)
	select {
	case <-s.drained:
		s.tasks.Wait()
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// Close drops all connections. It waits for nothing.
func (s *Server) Close() error {
	s.stop(func(c *conn) { _ = c.rwc.Close() })
	return s.http.Close()
}

func (s *Server) logf(format string, args ...any) {
	if s.http.ErrorLog != nil {
		s.http.ErrorLog.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}

// A stamp is the value of a header Date, good for one second.
type stamp struct {
	second int64
	text   []byte
}

// date returns the value of the header Date.
func (s *Server) date() []byte {
	now := time.Now()
	last := s.stamp.Load()
	if last == nil || last.second != now.Unix() {
		last = &stamp{now.Unix(), now.UTC().AppendFormat(nil, http.TimeFormat)}
		s.stamp.Store(last)
	}
	return last.text
}
