package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// subs are what a legacy session has subscribed to, and how it knows the addresses of
// resources that are others at their servers.
type subs struct {
	mu      sync.Mutex
	all     map[subscription]bool
	shown   map[subscription]string
	streams map[string]context.CancelFunc // by server of the modern era
	tasks   []context.CancelFunc          // of streams that tell of one task each
	closed  bool
}

// maxTaskStreams bounds of how many of its tasks a session is told.
const maxTaskStreams = 100

// add takes in a stream that tells of a task. It reports whether there may be one.
func (s *subs) add(stop context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.tasks) >= maxTaskStreams {
		return false
	}
	s.tasks = append(s.tasks, stop)
	return true
}

type subscription struct{ server, uri string }

// maxSubscriptions bounds what one session subscribes to.
const maxSubscriptions = 1000

func (s *subs) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= maxSubscriptions
}

func (s *subs) note(sub subscription, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !on {
		delete(s.all, sub)
		return
	}
	if s.all == nil {
		s.all = map[subscription]bool{}
	}
	s.all[sub] = true
}

// at returns the addresses that the session has subscribed to at a server, sorted.
func (s *subs) at(server string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var uris []string
	for sub := range s.all {
		if sub.server == server {
			uris = append(uris, sub.uri)
		}
	}
	slices.Sort(uris)
	return uris
}

// updated returns the params of a notification of a server with the address that the
// session knows.
func (s *subs) updated(server, method string, params []byte) []byte {
	if method != "notifications/resources/updated" {
		return params
	}
	s.mu.Lock()
	shown := ""
	if len(s.shown) > 0 {
		shown = s.shown[subscription{server, member(params, "uri")}]
	}
	s.mu.Unlock()
	if shown == "" {
		return params
	}
	edited, err := jsonrpc.Edit(params, jsonrpc.Field{Key: "uri", Value: jsonrpc.Quote(nil, shown)})
	if err != nil {
		return params
	}
	return edited
}

// Show remembers that a client knows a resource under another address than its server.
func (c *Client) Show(server, uri, shown string) {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	if c.subs.shown == nil {
		c.subs.shown = map[subscription]string{}
	}
	if len(c.subs.shown) < maxSubscriptions {
		c.subs.shown[subscription{server, uri}] = shown
	}
}

// replace ends the stream of a server, and reports whether there may be a new one.
func (s *subs) replace(server string, stop context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.streams[server]; before != nil {
		before()
		delete(s.streams, server)
	}
	if stop == nil || s.closed {
		return false
	}
	if s.streams == nil {
		s.streams = map[string]context.CancelFunc{}
	}
	s.streams[server] = stop
	return true
}

// close ends all streams.
func (s *subs) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, stop := range s.streams {
		stop()
	}
	for _, stop := range s.tasks {
		stop()
	}
}

// listen tells a modern server anew which of its resources a legacy session has
// subscribed to, with one stream for all of them.
func (c *Client) listen(ctx context.Context, s Server) error {
	uris := c.subs.at(s.Name())
	if len(uris) == 0 {
		c.subs.replace(s.Name(), nil)
		return nil
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	if !c.subs.replace(s.Name(), stop) {
		stop()
		return errClosed
	}
	untie := context.AfterFunc(c.r.ctx, stop)
	agreed := make(chan struct{})
	var once sync.Once
	ended := make(chan error, 1)
	meta := c.meta()
	c.r.tasks.Go(func() {
		defer untie()
		defer stop()
		ended <- listen(run, s, map[string]any{"resourceSubscriptions": uris}, meta, heard(func(method string, params tool.Bytes) {
			switch method {
			case "notifications/subscriptions/acknowledged":
				once.Do(func() { close(agreed) })
			case "notifications/resources/updated":
				c.tell(nil, method, c.subs.updated(s.Name(), method, params.Join()))
			}
		}))
	})
	select {
	case <-agreed:
		return nil
	case err := <-ended:
		return err
	case <-ctx.Done():
		stop()
		return context.Cause(ctx)
	}
}
