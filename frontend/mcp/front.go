package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/internal/wire"
)

// A scope is what one URL shows: all servers, one server under its own names, or the
// tools of a skill.
type scope struct{ server, skill string }

// Where single servers and skills are.
const (
	ServerPath = "/mcp/s/"
	SkillPath  = "/mcp/k/"
)

// sees reports whether an event concerns what the URL shows.
func (s scope) sees(e tenon.Event) bool {
	return s.server == "" || e.Server == "" || e.Server == s.server
}

// fronts are the servers of the URLs that were asked for.
type fronts struct {
	sessions share.Places // of all of them

	mu     sync.Mutex
	all    map[scope]*wire.Server
	closed bool
}

func (f *fronts) of(at scope, open func() *wire.Server) *wire.Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	front := f.all[at]
	if front == nil && !f.closed {
		front = open()
		if f.all == nil {
			f.all = map[scope]*wire.Server{}
		}
		f.all[at] = front
	}
	return front
}

func (f *fronts) each(do func(scope, *wire.Server)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, front := range f.all {
		do(at, front)
	}
}

// cut ends what the sessions of all do.
func (f *fronts) cut(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, front := range f.all {
		front.Cut(cause)
	}
}

func (f *fronts) close() error {
	f.mu.Lock()
	f.closed = true
	all := f.all
	f.all = nil
	f.mu.Unlock()
	var errs []error
	for _, front := range all {
		errs = append(errs, front.Close())
	}
	return errors.Join(errs...)
}

// scopeOf returns what the URL of a request shows, and whether there is such a thing.
func (s *Server) scopeOf(r *http.Request) (scope, bool) {
	if name, ok := strings.CutPrefix(r.URL.Path, ServerPath); ok {
		return scope{server: name}, name != "" && known(s.gw.Window(name, ""))
	}
	if name, ok := strings.CutPrefix(r.URL.Path, SkillPath); ok {
		return scope{skill: name}, name != "" && known(s.gw.Window("", name))
	}
	return scope{}, true
}

func known(_ tenon.Window, ok bool) bool { return ok }

// shown returns what a URL shows.
func (s *Server) shown(at scope) tenon.Window {
	shows, _ := s.gw.Window(at.server, at.skill) // it was there when its front was made
	return shows
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, ok := s.scopeOf(r)
	var front *wire.Server
	if ok {
		front = s.fronts.of(at, func() *wire.Server { return s.front(at) })
	}
	if front == nil {
		if _, known := s.admit(w, r); known { // to others, what is there is no business of theirs
			http.Error(w, "nothing is shown at this URL: /mcp has the whole pool, /mcp/s/NAME one of its servers, /mcp/k/SKILL one skill. tenon servers lists the names", http.StatusNotFound)
		}
		return
	}
	front.ServeHTTP(w, r)
}

// front makes the server of one URL.
func (s *Server) front(at scope) *wire.Server {
	return wire.NewServer(wire.ServerOptions{
		Stateless: &handler{Server: s, scope: at, shows: s.shown(at), modern: true},
		Modern:    isModern,
		Open:      func(session *wire.Session) wire.Handler { return s.open(at, session) },
		Admit:     s.admit,
		Known:     s.known,
		MaxBody:   s.o.MaxBody,
		Places:    &s.fronts.sessions,
	})
}

// open makes the handler of a new legacy session over HTTP.
func (s *Server) open(at scope, session *wire.Session) wire.Handler {
	h := &handler{Server: s, scope: at, shows: s.shown(at), name: session.ID}
	context.AfterFunc(session.Context(), func() {
		h.end()
		s.gw.EndSession(via(session.Caller), session.ID)
	})
	return h
}
