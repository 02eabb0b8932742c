package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/tool"
)

// A Key names one agent's run at a session server: who calls, and what they call
// the session.
type Key struct{ Caller, Session string }

// sessions are the links of a session server, one for each Key.
type sessions struct {
	limit  int
	ctx    context.Context // ends them all
	tasks  *sync.WaitGroup
	open   func(ctx context.Context, key Key, task string) (*link, error)
	retire func(l *link)
	mask   func(string) string

	mu    sync.Mutex
	all   map[Key]*session
	gone  map[Key]*farewell // whose callers are not told yet
	named bool              // a caller has given its name: there are others than one
}

// A session is the link of one Key.
type session struct {
	key   Key
	ended context.Context // ends when the session is to end
	end   context.CancelFunc
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	use   usage
	after *farewell // to the session before, which its next caller is to hear; the lock guards it
}

// A farewell says why a session's state is gone.
type farewell struct {
	why  string
	link *link // explains it where why is empty
}

// maxFarewells bounds what is remembered of sessions that nobody came back to.
const maxFarewells = 1024

var errTooManySessions = errors.New("all of its sessions are in use: end one, or try again later")

// lease returns the link of a session, opened where it is not. after is what the
// caller is to be told of the session before. release the link.
func (p *sessions) lease(ctx context.Context, key Key, task string) (l *link, after string, err error) {
	p.mu.Lock()
	ses := p.all[key]
	if ses != nil && ses.over() {
		p.remove(ses, &farewell{link: ses.link}) // before its own goroutine has seen it
		ses = nil
	}
	if ses == nil {
		if !p.makePlace(key.Caller) {
			p.mu.Unlock()
			return nil, "", fmt.Errorf("%w (max_sessions is %d, and no caller can have them all)", errTooManySessions, p.limit)
		}
		ses = &session{key: key, ready: make(chan struct{}), after: p.gone[key]}
		delete(p.gone, key)
		ses.ended, ses.end = context.WithCancel(p.ctx)
		p.all[key] = ses
		// In the background, so that a caller who gives up leaves it to the next.
		p.tasks.Go(func() { p.run(ses, task) })
	}
	ses.use.add(1)
	p.mu.Unlock()

	select {
	case <-ses.ready:
	case <-ctx.Done():
		ses.use.add(-1)
		return nil, "", context.Cause(ctx)
	}
	if ses.err != nil {
		ses.use.add(-1)
		return nil, "", ses.err
	}
	return ses.link, p.tell(ses), nil
}

// tell returns what the next caller of a session is to hear, once.
func (p *sessions) tell(ses *session) string {
	p.mu.Lock()
	after := ses.after
	ses.after = nil
	p.mu.Unlock()
	if after == nil {
		return ""
	}
	why := after.why
	if why == "" {
		why = after.link.last(p.mask)
	}
	return fmt.Sprintf("what this session had before at server %s is gone, since %s; this call went to a fresh one", ses.link.from.o.Name, why)
}

// over reports whether the session has a link, and that one has ended.
func (ses *session) over() bool {
	select {
	case <-ses.ready:
	default:
		return false
	}
	return ses.err == nil && ses.link.ended()
}

// run is the life of one session.
func (p *sessions) run(ses *session, task string) {
	ses.link, ses.err = p.open(ses.ended, ses.key, task)
	if ses.err != nil {
		p.mu.Lock()
		p.remove(ses, ses.after)
		p.mu.Unlock()
		ses.end()
		close(ses.ready)
		return
	}
	ses.link.use, ses.link.session = &ses.use, ses
	close(ses.ready)
	bye := &farewell{link: ses.link}
	if err := ses.link.tend(ses.ended); errors.Is(err, errHung) {
		bye.why = err.Error()
	}
	p.mu.Lock()
	p.remove(ses, bye)
	p.mu.Unlock()
	onPurpose := ses.ended.Err() != nil && !ses.link.retired.Load()
	ses.end()
	if onPurpose {
		_ = ses.link.close() // also what still runs on it
		return
	}
	p.retire(ses.link)
}

// remove takes a session out, so that the next call with its key opens a new one,
// whose caller hears bye. Called with the lock held.
func (p *sessions) remove(ses *session, bye *farewell) {
	if p.all[ses.key] != ses {
		return
	}
	delete(p.all, ses.key)
	if ses.link != nil && !ses.link.served.Load() {
		bye = ses.after // it had no state; what was before may still be untold
	}
	if bye == nil {
		return
	}
	if len(p.gone) >= maxFarewells {
		for key := range p.gone {
			delete(p.gone, key)
			break
		}
	}
	p.gone[ses.key] = bye
}

// drop ends a session whose link is of no use.
func (p *sessions) drop(ses *session, bye *farewell) {
	p.mu.Lock()
	p.remove(ses, bye)
	p.mu.Unlock()
	ses.link.retired.Store(true)
	ses.end()
}

// endOne ends the session of a key, if there is one. It does not wait.
func (p *sessions) endOne(key Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ses := p.all[key]; ses != nil {
		delete(p.all, key)
		ses.end()
	}
	delete(p.gone, key)
}

// makePlace sees to it that a caller can have one more session, and reports whether it
// can. A caller that has its share pays for it with one that it does not use; else, where
// there is no place, the caller who has the most of those that nobody uses. Called with
// the lock held.
func (p *sessions) makePlace(caller string) bool {
	held := map[string]int{}
	for key := range p.all {
		held[key.Caller]++
	}
	p.named = p.named || caller != ""
	switch {
	case !p.named && len(p.all) < p.limit, share.May(held[caller], len(p.all), p.limit):
		return true
	case len(p.all) < p.limit:
		return p.evict(map[string]int{caller: 1})
	}
	return p.evict(held)
}

// evict ends a session that nobody uses, of the caller who has the most of those given
// the one that was not used for the longest time, and reports whether there was one.
// Called with the lock held.
func (p *sessions) evict(held map[string]int) bool {
	var oldest *session
	for key, ses := range p.all {
		if held[key.Caller] == 0 || ses.use.busy() {
			continue
		}
		if oldest == nil || held[key.Caller] > held[oldest.key.Caller] ||
			held[key.Caller] == held[oldest.key.Caller] && ses.use.lastUse().Before(oldest.use.lastUse()) {
			oldest = ses
		}
	}
	if oldest == nil {
		return false
	}
	p.finish(oldest, fmt.Sprintf("it was unused and others needed the place (max_sessions is %d)", p.limit))
	return true
}

// endIdle ends the sessions that have not been used for so long.
func (p *sessions) endIdle(now time.Time, idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ses := range p.all {
		if ses.use.idleSince(now.Add(-idle)) {
			p.finish(ses, fmt.Sprintf("it was unused for %s", idle))
		}
	}
}

// finish ends a session that nobody uses; called with the lock held.
func (p *sessions) finish(ses *session, why string) {
	select {
	case <-ses.ready:
		p.remove(ses, &farewell{why: why})
	default:
		delete(p.all, ses.key) // it is still opening, for somebody who has gone
	}
	ses.end()
}

// EndSession ends the link of a session, if there is one. It does not wait.
func (s *Server) EndSession(key Key) { s.sessions.endOne(key) }

// lease returns a link for one call. release it.
func (s *Server) lease(ctx context.Context, c Call) (*link, error) {
	switch s.o.Isolation {
	case PerSession:
		l, after, err := s.sessions.lease(ctx, c.Key, c.Task)
		if errors.Is(err, errTooManySessions) {
			err = unavailable(s.o.Name, err.Error())
		}
		if after != "" && c.Notes != nil {
			c.Notes.Note("send", "%s", after)
		}
		return l, err
	case PerCall:
		l, err := s.openFor(ctx, c.Key, c.Task)
		if err != nil {
			return nil, err
		}
		l.use.add(1)
		return l, nil
	case Shared:
	}
	l, err := s.shared(ctx)
	if err != nil {
		return nil, err
	}
	l.use.add(1)
	return l, nil
}

// release gives a link back.
func (s *Server) release(l *link) {
	l.use.add(-1)
	if s.o.Isolation == PerCall {
		l.retired.Store(true)
	}
	if l.retired.Load() {
		s.dialer.retire(l)
	}
}

// last says on one line why the link has ended.
func (l *link) last(mask func(string) string) string {
	if l.process == nil {
		return mask(tool.Flatten(l.client.Err()))
	}
	if l.reaped(l.from.ctx, true) {
		return fmt.Sprintf("its process ended (%s)", l.process.Exit())
	}
	return "its process closed its output"
}
