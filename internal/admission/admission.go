// Package admission decides which calls run now, which wait for a place, and which
// are sent away, so that a loop that went wrong cannot fill the memory.
//
//	a := admission.New(all, func(server string) admission.Limits { return each[server] })
//	place, err := a.Enter(ctx, admission.Ask{Server: "files", Tool: "read", Bytes: 120})
//	if err != nil {
//		return err // *tool.Error: unavailable with when to try again, timeout or canceled
//	}
//	defer place.Leave()
//
// There is one queue for each server, first come, first served, and the servers
// are served in turn. A call that waits for its server holds none of the places
// that all share, so a slow server keeps nobody else waiting. An exclusive tool
// runs once at a time in a session; its calls wait for each other before they wait
// for their server.
//
// With a free place Enter and Leave are a short lock each, and allocate nothing.
package admission

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Limits bound what runs at once, and what waits for that.
type Limits struct {
	Concurrent int   // calls that run; 0 is no limit
	Queue      int   // calls that wait; 0 is none
	Bytes      int64 // of the arguments of calls that wait; 0 is no limit
}

// room reports whether one more call may run.
func (l Limits) room(running int) bool { return l.Concurrent == 0 || running < l.Concurrent }

// An Ask is what a call asks a place for.
type Ask struct {
	Server, Tool string
	Bytes        int // of its arguments
	// Exclusive calls of one tool never overlap in a session of a caller.
	Exclusive       bool
	Caller, Session string
}

// sole returns what the call must not overlap with; the zero value is nothing.
func (k Ask) sole() sole {
	if !k.Exclusive {
		return sole{}
	}
	return sole{k.Caller, k.Session, k.Server, k.Tool}
}

// An Admission keeps the limits. It is safe for concurrent use.
type Admission struct {
	mu      sync.Mutex
	all     Limits
	of      func(server string) Limits
	lanes   map[string]*lane
	waiting []*lane          // whose queue holds calls; the next one to serve is the first
	held    map[sole]waiters // of each exclusive tool that runs: the calls that wait for it
	running int
	queued  int
	bytes   int64 // of the arguments of all that wait
}

// New returns an admission with the limits in all, and those of each server.
func New(all Limits, of func(server string) Limits) *Admission {
	return &Admission{all: all, of: of, lanes: map[string]*lane{}, held: map[sole]waiters{}}
}

// Configure sets new limits. Calls that run stay; calls that wait keep their
// place, even where there are more of them than may be now.
func (a *Admission) Configure(all Limits, of func(server string) Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all, a.of = all, of
	for name, l := range a.lanes {
		l.limits = of(name)
	}
	a.dispatch()
}

// Load returns how many calls of the server run, and how many wait.
func (a *Admission) Load(server string) (running, queued int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.lanes[server]; l != nil {
		return l.running, l.queued
	}
	return 0, 0
}

// A lane is what one server has under way.
type lane struct {
	limits  Limits
	running int
	queued  int     // with those that wait for an exclusive tool
	queue   waiters // for a place at the server, or among all

	turn  time.Duration // that a call takes, averaged
	ended time.Time     // when the last one ended, or the first one began
}

// sole names what runs once at a time: an exclusive tool in a session.
type sole struct{ caller, session, server, tool string }

// A waiter is one call that waits. Its state is guarded by the admission.
type waiter struct {
	lane     *lane
	key      sole // where the tool is exclusive
	bytes    int64
	inLine   bool // in held[key], not yet in the queue of the lane
	admitted bool
	ready    chan struct{} // closed when admitted

	prev, next *waiter
}

// A Place is that of a call that runs.
type Place struct {
	a     *Admission
	lane  *lane
	key   sole
	began time.Time
}

// Enter takes a place for a call, and waits for it where there may be a wait. The
// error is a *tool.Error: of kind Unavailable where too many calls wait already,
// else of kind Timeout or Canceled, or that of the cause of ctx, which ended.
func (a *Admission) Enter(ctx context.Context, k Ask) (Place, error) {
	key := k.sole()
	l, w, err := a.take(k, key)
	if err != nil {
		return Place{}, err
	}
	if w != nil {
		if err := a.wait(ctx, w); err != nil {
			return Place{}, err
		}
	}
	return Place{a, l, key, time.Now()}, nil
}

// take takes a place for the call, or puts it into a queue, or refuses it.
func (a *Admission) take(k Ask, key sole) (*lane, *waiter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lane(k.Server)
	line, taken := a.held[key]
	taken = taken && k.Exclusive
	if !taken && l.limits.room(l.running) && a.all.room(a.running) { // so none waits before it: see dispatch
		if k.Exclusive {
			a.held[key] = waiters{}
		}
		a.start(l)
		return l, nil, nil
	}
	w, err := a.join(l, k, key)
	switch {
	case err != nil:
		return nil, nil, err
	case taken:
		w.inLine = true
		line.push(w)
		a.held[key] = line
		return l, w, nil
	case k.Exclusive:
		a.held[key] = waiters{}
	}
	a.enqueue(w)
	return l, w, nil
}

func (a *Admission) lane(server string) *lane {
	l := a.lanes[server]
	if l == nil {
		l = &lane{limits: a.of(server)}
		a.lanes[server] = l
	}
	return l
}

func (a *Admission) start(l *lane) {
	if l.running == 0 {
		l.ended = time.Now()
	}
	l.running++
	a.running++
}

// join counts a call that is going to wait, where it may.
func (a *Admission) join(l *lane, k Ask, key sole) (*waiter, error) {
	n := int64(k.Bytes)
	switch {
	case l.queued >= l.limits.Queue && !l.limits.room(l.running):
		return nil, shed("Server "+k.Server, l.limits, l.running, l.queued, l.estimate())
	case l.queued >= l.limits.Queue && a.all.room(a.running):
		return nil, shed("Tool "+k.Tool+", which runs once at a time in a session,", l.limits, l.running, l.queued, l.estimate())
	case l.queued >= l.limits.Queue, a.queued >= a.all.Queue:
		return nil, shed("The gateway", a.all, a.running, a.queued, l.estimate())
	case a.all.Bytes > 0 && a.bytes > 0 && a.bytes+n > a.all.Bytes:
		e := shed("The gateway", a.all, a.running, a.queued, l.estimate())
		e.Err = fmt.Errorf("%w: their arguments are %d bytes, and %d more exceed %d", e.Err, a.bytes, n, a.all.Bytes)
		return nil, e
	}
	l.queued++
	a.queued++
	a.bytes += n
	return &waiter{lane: l, key: key, bytes: n, ready: make(chan struct{})}, nil
}

// errShed is the cause of a call that was sent away.
var errShed = errors.New("shed")

// shed is the error of a call that may not even wait.
func shed(who string, l Limits, running, queued int, again time.Duration) *tool.Error {
	wait := "no call may wait"
	if queued > 0 {
		wait = fmt.Sprintf("%d wait", queued)
	}
	return &tool.Error{
		Kind: tool.Unavailable,
		Text: fmt.Sprintf("%s is too busy: %d calls are running and %s. This one was not sent, so calling again does no harm: "+
			"do so in about %s, with fewer calls at once, or use another tool.", who, running, wait, again),
		Err: fmt.Errorf("%w: %d of %d running, %d of %d waiting", errShed, running, l.Concurrent, queued, l.Queue),
	}
}

// estimate returns after how long the calls that run and wait now may be done.
func (l *lane) estimate() time.Duration {
	const least, most = time.Second, 15 * time.Minute
	turn := max(l.turn, time.Since(l.ended)) // none has ended for so long
	turns := math.Ceil(float64(l.queued+1) / float64(max(l.limits.Concurrent, 1)))
	d := time.Duration(min(float64(turn)*turns, float64(most)))
	if d > 2*time.Minute {
		return d.Round(time.Minute)
	}
	return max((d + time.Second - 1).Truncate(time.Second), least)
}

// enqueue puts a call that holds its tool, if that is exclusive, into the queue of
// its server.
func (a *Admission) enqueue(w *waiter) {
	if w.lane.queue.first == nil {
		a.waiting = append(a.waiting, w.lane)
	}
	w.lane.queue.push(w)
}

// wait waits until the call is admitted or its context has ended. Then the error
// says so, and the place is free.
func (a *Admission) wait(ctx context.Context, w *waiter) error {
	began := time.Now()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	why := a.giveUp(w)
	return gaveUp(context.Cause(ctx), time.Since(began), why)
}

// giveUp takes the call out of its queue, and says what it waited for. One that
// has been admitted meanwhile gives its place to the next.
func (a *Admission) giveUp(w *waiter) (why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	why = fmt.Sprintf("the gateway was busy with %d calls", a.running)
	if w.inLine {
		why = fmt.Sprintf("tool %s runs once at a time in a session", w.key.tool)
	} else if !w.lane.limits.room(w.lane.running) {
		why = fmt.Sprintf("its server was busy with %d calls", w.lane.running)
	}
	switch {
	case w.admitted:
		w.lane.running--
		a.running--
		a.release(w.key)
	case w.inLine:
		a.uncount(w)
		line := a.held[w.key]
		line.remove(w)
		a.held[w.key] = line
	default:
		a.uncount(w)
		a.dequeue(w)
		a.release(w.key)
	}
	a.dispatch()
	return why
}

func (a *Admission) uncount(w *waiter) {
	w.lane.queued--
	a.queued--
	a.bytes -= w.bytes
}

func (a *Admission) dequeue(w *waiter) {
	w.lane.queue.remove(w)
	if w.lane.queue.first == nil {
		i := slices.Index(a.waiting, w.lane)
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
}

// release lets the next call of an exclusive tool into the queue of the server.
func (a *Admission) release(key sole) {
	if (key == sole{}) {
		return
	}
	line := a.held[key]
	w := line.first
	if w == nil {
		delete(a.held, key)
		return
	}
	line.remove(w)
	a.held[key] = line
	w.inLine = false
	a.enqueue(w)
}

// Leave gives the place of a call that has ended to the next ones. It is called
// once.
func (p Place) Leave() {
	now := time.Now()
	a, l := p.a, p.lane
	a.mu.Lock()
	defer a.mu.Unlock()
	l.running--
	a.running--
	if took := now.Sub(p.began); l.turn == 0 {
		l.turn = took
	} else {
		l.turn += (took - l.turn) / 8
	}
	l.ended = now
	a.release(p.key)
	if len(a.waiting) > 0 {
		a.dispatch()
	}
}

// dispatch admits who waits, one of each server in turn, while there is room.
// After it, whoever waits does so for a server that is full, or all are.
func (a *Admission) dispatch() {
	for full := 0; full < len(a.waiting) && a.all.room(a.running); {
		l := a.waiting[0]
		copy(a.waiting, a.waiting[1:])
		a.waiting[len(a.waiting)-1] = l
		if !l.limits.room(l.running) {
			full++
			continue
		}
		full = 0
		w := l.queue.first
		a.dequeue(w)
		a.uncount(w)
		a.start(l)
		w.admitted = true
		close(w.ready)
	}
}

// gaveUp is the error of a call that ended while it waited.
func gaveUp(cause error, waited time.Duration, why string) error {
	kind := tool.Canceled
	if e, ok := errors.AsType[*tool.Error](cause); ok {
		kind = e.Kind
	} else if errors.Is(cause, context.DeadlineExceeded) {
		kind = tool.Timeout
	}
	end := "It was canceled meanwhile."
	if kind == tool.Timeout {
		end = "Its time is over: call again later, with a longer timeout or fewer calls at once."
	}
	text := fmt.Sprintf("The call waited %s in the queue, because %s, and was not sent. %s", waited.Round(time.Millisecond), why, end)
	return &tool.Error{Kind: kind, Text: text, Err: cause}
}

// waiters is a list of calls that wait, the first to be served at its head.
type waiters struct{ first, last *waiter }

func (q *waiters) push(w *waiter) {
	w.prev, w.next = q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

func (q *waiters) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}
