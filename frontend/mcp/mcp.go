// Package mcp shows the pool as one MCP server, over stdio and over streamable
// HTTP, to clients of both eras on one URL. Tools have flat names of the form
// server__tool.
//
//	front := mcp.New(gw, mcp.Options{Version: "1.0"})
//	defer front.Close()
//	http.Handle("/mcp", front)
//
// An answer that the gateway did not change passes byte for byte. What it did
// change, it says: to the model in a leading text block, to programs in _meta
// under keys that begin with "tenon/".
//
// Sessions come from the legacy session, or from the header X-Tenon-Session or
// the _meta key tenon/session; tasks and skills likewise.
package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// Options configures a Server.
type Options struct {
	Version string       // of the program, for clients
	MaxBody int64        // bytes of one request; 0 is wire's default
	Logger  *slog.Logger // nil discards
}

// A Server is the pool spoken as MCP: an http.Handler, and stdio. It is safe for
// concurrent use.
type Server struct {
	gw      *tenon.Gateway
	o       Options
	fronts  fronts
	lists   lists
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	streams sync.Map // *wire.Session of each stdio connection
	key     [32]byte // signs what modern clients give back; a new one at each start
}

// New returns a server for the pool. Close it before the pool.
func New(gw *tenon.Gateway, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{gw: gw, o: o}
	_, _ = rand.Read(s.key[:]) // never fails; it ends the program instead
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	events := gw.Watch(ctx)
	s.tasks.Go(func() { s.tell(events) })
	return s
}

// Cut ends the requests of all sessions over HTTP for that cause: they outlive the
// connections that they came on. Close is to follow.
func (s *Server) Cut(cause error) { s.fronts.cut(cause) }

// Close ends all sessions and waits for them.
func (s *Server) Close() error {
	s.cancel()
	err := s.fronts.close()
	s.tasks.Wait()
	return err
}

// ServeStdio speaks MCP over one connection until in ends or ctx does. What runs
// then is canceled.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	h := &handler{Server: s, name: rand.Text(), stdio: true, shows: s.shown(scope{})}
	defer h.end()
	// The reader of a terminal or a pipe may not be closable: let a pipe between
	// be what is closed.
	r, w := io.Pipe()
	// Nobody can wait for a read of a terminal: after ctx has ended, the last one
	// is left to the end of the program.
	var pump sync.WaitGroup
	pump.Go(func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err)
	})
	stream := wire.NewStream(wire.StreamOptions{
		R: r, W: out, Handler: h, Serving: true, MaxMessage: s.o.MaxBody,
		Close: func() error { return r.Close() },
		Garbage: func(head []byte, err error) {
			s.o.Logger.Warn("line of the client is no message", "error", err, "bytes", len(head))
		},
	})
	s.streams.Store(stream.Session(), nil)
	defer s.streams.Delete(stream.Session())
	defer s.gw.EndSession(via(tool.Caller{}), h.name)
	defer stream.Close()
	select {
	case <-ctx.Done():
		return nil
	case <-stream.Done():
		pump.Wait()
	}
	if err := stream.Err(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// tell tells the sessions that lists have changed.
func (s *Server) tell(events <-chan tenon.Event) {
	for e := range events {
		method := listChanged(e.Kind)
		if method == "" {
			continue
		}
		notify := func(session *wire.Session) {
			_ = session.Notify(method, nil) // a client that does not listen lists when it wants to
		}
		s.fronts.each(func(at scope, front *wire.Server) {
			if at.sees(e) {
				front.Sessions(notify)
			}
		})
		s.streams.Range(func(key, _ any) bool {
			if session, ok := key.(*wire.Session); ok {
				notify(session)
			}
			return true
		})
	}
}

// listChanged returns the notification that says what an event does, or "".
func listChanged(kind tenon.EventKind) string {
	switch kind {
	case tenon.ToolsChanged:
		return "notifications/tools/list_changed"
	case tenon.PromptsChanged:
		return "notifications/prompts/list_changed"
	case tenon.ResourcesChanged:
		return "notifications/resources/list_changed"
	case tenon.ServerChanged:
	}
	return ""
}
