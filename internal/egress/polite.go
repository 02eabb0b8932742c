package egress

import (
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Polite bounds what one site gets to bear. Zero means the default.
type Polite struct {
	AtOnce int           // requests at once to one host and port; 4
	Every  time.Duration // one request in this time, after the first AtOnce; 250 ms
}

// maxHosts is how many hosts are remembered.
const maxHosts = 512

// hosts holds requests back that go to the same host. The nil one holds none.
type hosts struct {
	polite Polite
	mu     sync.Mutex
	of     map[string]*site
}

type site struct {
	slots   chan struct{}
	limiter *rate.Limiter
	users   int       // requests that wait or run
	used    time.Time // last
}

func newHosts(p Polite) *hosts {
	p.AtOnce = max(first(p.AtOnce, 4), 1)
	p.Every = first(p.Every, 250*time.Millisecond)
	return &hosts{polite: p, of: map[string]*site{}}
}

// unheld marks the context of a request that is part of another one.
type unheld struct{}

// enter waits until the host may have one more request. Release is called once
// the request is over, as often as one likes.
func (h *hosts) enter(ctx context.Context, host string) (release func(), err error) {
	if h == nil || ctx.Value(unheld{}) != nil {
		return func() {}, nil
	}
	s := h.site(host)
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		h.leave(s)
		return nil, context.Cause(ctx)
	}
	release = sync.OnceFunc(func() { <-s.slots; h.leave(s) })
	if err := s.limiter.Wait(ctx); err != nil {
		release()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, context.DeadlineExceeded // its turn would come too late
	}
	return release, nil
}

func (h *hosts) site(host string) *site {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of[host]
	if s == nil {
		h.makeRoom()
		s = &site{slots: make(chan struct{}, h.polite.AtOnce), limiter: rate.NewLimiter(rate.Every(h.polite.Every), h.polite.AtOnce)}
		h.of[host] = s
	}
	s.users++
	s.used = time.Now()
	return s
}

// makeRoom forgets the host that has been left alone the longest, if there are too
// many. Those in use are kept: their number is that of requests. The caller holds mu.
func (h *hosts) makeRoom() {
	if len(h.of) < maxHosts {
		return
	}
	oldest := ""
	for name, s := range h.of {
		if s.users == 0 && (oldest == "" || s.used.Before(h.of[oldest].used)) {
			oldest = name
		}
	}
	delete(h.of, oldest)
}

func (h *hosts) leave(s *site) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.users--
}

// leaving returns a body that ends the stay at its host.
func leaving(body io.ReadCloser, release func()) io.ReadCloser {
	if w, ok := body.(io.ReadWriteCloser); ok { // of a protocol that was switched to
		return struct {
			io.ReadWriter
			io.Closer
		}{w, &leave{body, release}}
	}
	return &leave{body, release}
}

type leave struct {
	io.ReadCloser
	release func()
}

// Close closes the body.
func (l *leave) Close() error {
	defer l.release()
	return l.ReadCloser.Close()
}
