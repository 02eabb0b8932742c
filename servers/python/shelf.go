package python

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/outlet"
	"github.com/tenon-mcp/tenon/internal/share"
)

// reserve is what a new sandbox needs of the memory of all.
const reserve = 48 << 20

// remembered is how many sandboxes are known after their end.
const remembered = 200

// A shelf holds the sandboxes of the server.
type shelf struct {
	backend sandbox.Backend
	most    int
	memory  int64
	outlet  *outlet.Outlet // nil without a network

	mu       sync.Mutex
	held     map[string]*held
	places   share.Places
	making   map[string]int   // by who makes them
	ended    map[string]*held // the last ones, to say why
	order    []string         // of ended
	sessions map[string]bool
	tasks    sync.WaitGroup // each ends with a session or a sandbox
}

// held is a sandbox on the shelf.
type held struct {
	sandbox.Sandbox
	id    string
	owner string // session that made it, or empty where clients have none
	who   string // whose place it has
	idle  time.Duration

	mu     sync.Mutex
	users  int
	unused bool // it has ended for that
	timer  *time.Timer
}

func newShelf(b sandbox.Backend, o *outlet.Outlet, most int, memory int64) *shelf {
	return &shelf{backend: b, outlet: o, most: most, memory: memory, making: make(map[string]int), held: make(map[string]*held), ended: make(map[string]*held), sessions: make(map[string]bool)}
}

// sessionOf is who makes a call, where the transport tells.
func sessionOf(req *mcp.CallToolRequest) string {
	if req == nil || req.Session == nil {
		return ""
	}
	return req.Session.ID()
}

// create makes a sandbox that ends when it is not used for so long.
func (s *shelf) create(ctx context.Context, req *mcp.CallToolRequest, spec sandbox.Spec, idle time.Duration) (*held, error) {
	who := callerOf(req)
	if err := s.room(who); err != nil {
		return nil, err
	}
	id := run + strings.ToLower(rand.Text())
	if s.outlet != nil {
		spec.Network, spec.Proxied = s.outlet.For(id).Serve, s.outlet.Loopback()
	}
	x, err := s.backend.Create(ctx, spec)
	s.mu.Lock()
	if s.making[who]--; s.making[who] == 0 {
		delete(s.making, who)
	}
	if err != nil {
		s.places.Give(who)
		s.mu.Unlock()
		return nil, err
	}
	h := &held{Sandbox: x, id: id, owner: sessionOf(req), who: who, idle: idle}
	rest := context.WithoutCancel(ctx)
	h.timer = time.AfterFunc(idle, func() { s.expire(rest, h) })
	s.held[h.id] = h
	s.mu.Unlock()
	s.tasks.Go(func() {
		<-x.Done()
		h.timer.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(h)
	})
	s.follow(rest, req)
	return h, nil
}

// drop takes one that has ended off the shelf. The caller holds the lock.
func (s *shelf) drop(h *held) {
	if s.held[h.id] == nil {
		return
	}
	delete(s.held, h.id)
	s.places.Give(h.who)
	s.ended[h.id] = h
	if s.order = append(s.order, h.id); len(s.order) > remembered {
		delete(s.ended, s.order[0])
		s.order = s.order[1:]
	}
}

// sweep takes those off that have ended. The caller holds the lock.
func (s *shelf) sweep() {
	for _, h := range s.held {
		select {
		case <-h.Done():
			s.drop(h)
		default:
		}
	}
}

// room takes a place, where there is one. No caller can have all of them, nor all of the
// memory, as long as there are others (internal/share).
func (s *shelf) room(who string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	var used, theirs int64
	for other, n := range s.making {
		used += int64(n) * reserve
		if other == who {
			theirs += int64(n) * reserve
		}
	}
	for _, h := range s.held {
		n := max(reserve/4, h.Memory())
		used += n
		if h.who == who {
			theirs += n
		}
	}
	if used+reserve > s.memory {
		return &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("the sandboxes use %d of their %d MiB of memory: end one with kill_sandbox", used>>20, s.memory>>20)}
	}
	if who != "" && !share.May(int(theirs/reserve), int(used/reserve), int(s.memory/reserve)) {
		return &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("your sandboxes use %d MiB of memory, which is your share: end one with kill_sandbox", theirs>>20)}
	}
	switch err := s.places.Take(who, s.most); {
	case errors.Is(err, share.ErrShare):
		return &sandbox.Error{Kind: sandbox.Limit, Text: "you have as many sandboxes as one caller may have, for the rest is for others: end one with kill_sandbox, or work in one that you have"}
	case err != nil:
		return &sandbox.Error{Kind: sandbox.Limit, Text: fmt.Sprintf("there are %d sandboxes already, which is the most: end one with kill_sandbox, or work in one that you have", s.most)}
	}
	s.making[who]++
	return nil
}

// callerOf is whose place a sandbox takes: the session of the transport, else the one
// that a gateway tells.
func callerOf(req *mcp.CallToolRequest) string {
	if id := sessionOf(req); id != "" || req == nil || req.Params == nil {
		return id
	}
	id, _ := req.Params.Meta["tenon/session"].(string)
	return cut(id, 200)
}

// follow ends the sandboxes of a session with it.
func (s *shelf) follow(ctx context.Context, req *mcp.CallToolRequest) {
	id := sessionOf(req)
	if id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] {
		return
	}
	s.sessions[id] = true
	s.tasks.Go(func() {
		_ = req.Session.Wait() // however it ended
		s.endOf(ctx, id)
	})
}

func (s *shelf) endOf(ctx context.Context, session string) {
	s.mu.Lock()
	delete(s.sessions, session)
	var theirs []*held
	for _, h := range s.held {
		if h.owner == session {
			theirs = append(theirs, h)
		}
	}
	s.mu.Unlock()
	for _, h := range theirs {
		_ = h.Kill(ctx)
	}
}

// run begins the ids of this process, so that those of another one can be told.
var run = "sbx_" + strings.ToLower(rand.Text()[:5]) + "_"

// lost reports whether an id is one of another process of this server.
func lost(id string) bool {
	return len(id) > len(run) && strings.HasPrefix(id, "sbx_") && id[len(run)-1] == '_' && !strings.HasPrefix(id, run)
}

// placeholders are names that models make up.
var placeholders = map[string]bool{
	"default": true, "sandbox1": true, "sandbox": true, "some_id": true, "new_sandbox": true, "python": true, "create_sandbox": true, "sandbox123": true,
	"temp": true, "sandbox-0": true, "sandbox-1": true, "sandbox_0": true, "sandbox_1": true, "new": true, "0": true, "auto": true, "default_sandbox": true,
	"none": true, "sandbox_12345": true, "dummy": true, "sandbox_01": true, "": true,
}

// use returns a sandbox to work with until done is called. A name of somebody else is
// as unknown as one that never was.
func (s *shelf) use(req *mcp.CallToolRequest, id string) (h *held, done func(), err error) {
	if placeholders[strings.ToLower(strings.TrimSpace(id))] {
		return nil, nil, fmt.Errorf("%q is not a valid sandbox_id: make a sandbox with create_sandbox first, and use the id that it returns", cut(id, 40))
	}
	s.mu.Lock()
	s.sweep()
	h = s.held[id]
	before := s.ended[id]
	s.mu.Unlock()
	if before != nil && before.owner == sessionOf(req) {
		return nil, nil, before.gone()
	}
	if h == nil && lost(id) {
		return nil, nil, errors.New("there is no sandbox with this sandbox_id any more: it was made by another process of this server, which was replaced since then or is another session's. Its files and variables are lost here. Make a sandbox with create_sandbox, and begin anew")
	}
	if h == nil || h.owner != sessionOf(req) {
		return nil, nil, errors.New("there is no sandbox with this sandbox_id. Make one with create_sandbox, and use the id that it returns")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users++
	h.timer.Stop()
	return h, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.users--; h.users == 0 {
			h.timer.Reset(h.idle)
		}
	}, nil
}

// expire ends a sandbox that nobody uses.
func (s *shelf) expire(ctx context.Context, h *held) {
	h.mu.Lock()
	busy := h.users > 0
	if !busy {
		h.unused = true
	}
	h.mu.Unlock()
	if !busy {
		_ = h.Kill(ctx)
	}
}

// gone says why it has ended.
func (h *held) gone() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	why := h.Why()
	if h.unused {
		why = fmt.Sprintf("it was not used for %d s", int(h.idle/time.Second))
	}
	return fmt.Errorf("this sandbox has ended: %s. Make another one with create_sandbox; files and variables of this one are gone", why)
}
