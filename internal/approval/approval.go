// Package approval has a person decide about a call: whoever answers first, once, in
// time, or it is denied.
//
//	b, err := approval.New(ctx, approval.Options{Store: store, Timeout: 5 * time.Minute})
//	…
//	a, err := b.Ask(ctx, approval.Question{CallID: id, Caller: caller, Session: session, Tool: t, Arguments: args})
//	if err != nil || a.Status != tool.ApprovalApproved {
//		return refuse(a, err)
//	}
//
// and elsewhere, in the name of a person who has shown that they may:
//
//	a, err := b.Decide(ctx, id, tool.Verdict{Approved: true, By: "anna"})
//
// A question is bound to who calls, the session, the tool, the rule that wants a
// person, and the SHA-256 of the exact arguments. Equal ones that wait are one
// question. It leaves pending once: a decision, its expiry and the end of its call
// compete in one place, and the store has the last word. It expires by the clock on
// the wall or by the time that has passed, whichever is first, so that setting the
// clock gives nobody more time.
//
// Allowed once, one call runs on it: the one that waits, else, after a restart or
// where the caller was to come again, an equal one that comes before it expires.
// Which call that was is stored before it runs. Allowed for a session or for a
// pattern, it holds for what Granted says, until the session ends.
//
// Nothing here knows who may decide, nor how a person is reached.
package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// What the options leave open.
const (
	DefaultTimeout    = 5 * time.Minute
	DefaultMaxPending = 100
)

// storeTimeout bounds what is written for a call that is over.
const storeTimeout = 10 * time.Second

// Options configures a Broker. Store and NewID must be set.
type Options struct {
	Store      Store
	Timeout    time.Duration // of a question; 0 is DefaultTimeout
	MaxPending int           // questions that wait at once; 0 is DefaultMaxPending
	NewID      func() string
	// Shared says that other gateways may use the store: what they decide is looked for
	// each second.
	Shared bool
	// Now is the clock on the wall; nil is the system's. Time that passes is always
	// the system's.
	Now func() time.Time
	// Mask hides secrets in the arguments that are shown. Nil hides nothing.
	Mask func(raw []byte) []byte
	// Notify takes each approval as it is asked for, and as it leaves pending. It must
	// return quickly. Nil takes none.
	Notify func(tool.Approval)
}

// Errors that Ask and Decide wrap in a *tool.Error.
var (
	ErrNotFound = errors.New("no such approval")
	ErrDecided  = errors.New("the approval is decided already")
	ErrExpired  = errors.New("the approval has expired")
	ErrClosed   = errors.New("the gateway is stopping")
)

// A Question is a call that a person is to decide about.
type Question struct {
	CallID         string
	Caller         tool.Caller
	Session, Task  string
	Skill          string
	IdempotencyKey string // calls with the same one are one call
	Tool           *tool.Tool
	Arguments      []byte // exact
	Rule, Reason   string // of the decision
	Person         tool.Person
	Alone          bool // nobody but Person can decide

	hash, shown, impact string // made by prepare
}

// claim says which calls are one: they run on one approval.
func (q *Question) claim() string {
	if q.IdempotencyKey != "" {
		return "key:" + q.IdempotencyKey
	}
	return "call:" + q.CallID
}

// isKey reports whether a claim is that of a call which may come again.
func isKey(claim string) bool { return strings.HasPrefix(claim, "key:") }

// A Broker holds the questions that wait. It is safe for concurrent use. Close it.
type Broker struct {
	table
	stop   chan struct{} // closed by Close
	ctx    context.Context
	cancel context.CancelFunc
}

// A table holds the questions, and what was granted.
type table struct {
	o       Options
	expired func(*question) // ends one whose time has passed
	tasks   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	asked  map[string]*question // pending, and settled ones that a call may still run on
	grants []grant
}

// A question is an approval on its way. What is not immutable is guarded by
// Broker.mu.
type question struct {
	id       string
	caller   string // see callerOf; of a restored one its name alone
	restored bool   // from before a restart
	// arguments are the exact ones; nil of a restored one, which are not stored.
	arguments []byte
	deadline  time.Time
	timer     *time.Timer
	inserted  chan struct{} // closed when it is in the store, or failed
	settled   chan struct{} // closed when it has left pending
	turn      chan struct{} // has room for the one who settles it

	a   tool.Approval
	err error // why it could not be stored
	waits
}

// waits is who waits for a question, and what they did with it.
type waits struct {
	waiting   int           // calls that wait for it, and batches whose calls will
	reserved  int           // of these, batches
	asking    bool          // the caller's own person is asked
	free      chan struct{} // closed when that has ended; nil where nobody is asked
	open      bool          // it outlives its calls
	abandoned bool          // nobody may join any more
	heard     bool          // a call was told that it was not approved
	claimed   string        // by which call it was used
}

// New returns a broker, with what the store has of before.
func New(ctx context.Context, o Options) (*Broker, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Mask == nil {
		o.Mask = func(raw []byte) []byte { return raw }
	}
	if o.Notify == nil {
		o.Notify = func(tool.Approval) {}
	}
	o.Timeout, o.MaxPending = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.MaxPending, DefaultMaxPending)
	b := &Broker{table: table{o: o, asked: map[string]*question{}}, stop: make(chan struct{})}
	b.expired = b.expire
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	before, err := o.Store.OpenApprovals(ctx, b.now())
	if err != nil {
		return nil, fmt.Errorf("read open approvals: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range before {
		b.restore(a)
	}
	if o.Shared {
		b.tasks.Go(b.follow)
	}
	return b, nil
}

// maxSkew is how much younger than an approval the clock may be after a restart.
const maxSkew = time.Minute

// restore takes an approval of before a restart. Nobody knows how much time has
// really passed: it gets no more than it had when it was asked for.
func (t *table) restore(a tool.Approval) {
	left := min(a.ExpiresAt.Sub(t.now()), a.ExpiresAt.Sub(a.CreatedAt))
	if left <= 0 || t.now().Before(a.CreatedAt.Add(-maxSkew)) {
		return
	}
	p := t.newQuestion(a, left)
	p.caller, p.restored, p.open = a.Caller.Name, true, true
	close(p.inserted)
	if a.Status != tool.ApprovalPending {
		close(p.settled)
	}
	t.asked[a.ID] = p
}

// newQuestion returns the question of an approval; called with the lock held.
func (t *table) newQuestion(a tool.Approval, left time.Duration) *question {
	p := &question{
		id: a.ID, a: a, deadline: time.Now().Add(left),
		inserted: make(chan struct{}), settled: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	t.tasks.Add(1)
	p.timer = time.AfterFunc(left, func() {
		defer t.tasks.Done()
		t.expired(p)
	})
	return p
}

// Configure bounds questions anew from the next one on; 0 is the default.
func (t *table) Configure(timeout time.Duration, maxPending int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Timeout, t.o.MaxPending = cmp.Or(timeout, DefaultTimeout), cmp.Or(maxPending, DefaultMaxPending)
}

func (t *table) now() time.Time { return t.o.Now().Round(0) }

// Close ends the waiting of all calls, whose questions stay open for the next start,
// and waits for what is being stored.
func (b *Broker) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
		for _, p := range b.asked {
			b.disarm(p)
		}
	}
	b.mu.Unlock()
	b.tasks.Wait()
	b.cancel()
	return nil
}

// disarm stops the timer of a question; called with the lock held.
func (t *table) disarm(p *question) {
	if p.timer.Stop() {
		t.tasks.Done()
	}
}

// Ask puts a question and waits until it is decided, expires or ctx ends, and returns
// how it ended. What is returned as approved is for this call alone. Of the error the
// text is for the model; a *tool.Deferred in its chain leads to a question that stays
// open.
func (b *Broker) Ask(ctx context.Context, q Question) (tool.Approval, error) {
	if err := q.prepare(b.o.Mask); err != nil {
		return tool.Approval{}, err
	}
	for {
		p, err := b.join(ctx, &q, false)
		if err != nil {
			return tool.Approval{}, err
		}
		if err := b.await(ctx, p, &q); err != nil {
			return b.leave(ctx, p, err), err
		}
		a, ours, err := b.take(ctx, p, &q)
		if ours || err != nil {
			return a, err
		}
		// Another call ran on it: this one is asked for by itself.
	}
}

// Reserve puts a question for a call that comes later, so that several are asked
// together. Whoever asks the same then finds it, decided perhaps. The function that it
// returns must be called when the call has come, or will not: it may be nil.
func (b *Broker) Reserve(ctx context.Context, q Question) (release func()) {
	if q.prepare(b.o.Mask) != nil {
		return nil // the call itself will tell
	}
	p, err := b.join(ctx, &q, true)
	if err != nil {
		return nil
	}
	return func() {
		b.mu.Lock()
		p.reserved--
		b.mu.Unlock()
		b.leave(ctx, p, nil)
	}
}

// await waits until a question is settled. The error says why it is no use to wait
// longer.
func (b *Broker) await(ctx context.Context, p *question, q *Question) error {
	pctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	given := make(chan error, 1) // why the person gave no answer
	var free <-chan struct{}     // closed when another one's person is no longer asked
	ask := func() {
		var a tool.Approval
		var ok bool
		if a, free, ok = b.mayAsk(p, q); ok {
			wg.Go(func() {
				err := b.askPerson(pctx, q.Person, a)
				b.mu.Lock()
				p.unask()
				b.mu.Unlock()
				given <- err
			})
		}
	}
	ask()
	for {
		select {
		case <-p.settled:
			return nil
		case <-free: // it gave no answer: this call's own person may
			ask()
		case err := <-given:
			if err := unanswered(err, p.id, q.Alone); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.stop:
			return stopping(p.id)
		}
	}
}

// unanswered returns the error of a call whose person gave no answer for this reason, or
// nil where it goes on waiting.
func unanswered(why error, id string, alone bool) error {
	if d, ok := errors.AsType[*tool.Deferred](why); ok {
		return &tool.Error{Kind: tool.Denied, Err: d, Text: fmt.Sprintf(
			"A person has to approve this call (approval %s). Repeat it with the answer.", d.Approval.ID)}
	}
	if why == nil || !alone {
		return nil
	}
	return &tool.Error{Kind: tool.Denied, Err: why, Text: fmt.Sprintf("A person has to approve this call (approval %s). The person at this client could not be asked, "+
		"and nobody else can decide here, for the gateway does not listen. The call was not made. Do without it, or have the gateway started with --listen.", id)}
}

// mayAsk reports whether the person of q is to be asked: not while that of an equal
// call is being asked, whose end free tells.
func (t *table) mayAsk(p *question, q *Question) (a tool.Approval, free <-chan struct{}, ok bool) {
	if q.Person == nil {
		return tool.Approval{}, nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.asking || p.a.Status != tool.ApprovalPending {
		return tool.Approval{}, p.free, false
	}
	p.asking, p.free = true, make(chan struct{})
	return p.a, nil, true
}

// unask notes that a person is no longer asked. Called with the lock held.
func (w *waits) unask() {
	w.asking = false
	close(w.free)
	w.free = nil
}

func stopping(id string) error {
	text := "A person has to approve this call, and the gateway is stopping. The call was not made."
	if id != "" {
		text += " The question stays open as approval " + id + ": repeat the same call once the gateway is back."
	}
	return &tool.Error{Kind: tool.Denied, Text: text, Err: ErrClosed}
}

// askPerson puts a question to the caller's own person. The error says why there is no
// answer; the question then stays open for others.
func (b *Broker) askPerson(ctx context.Context, person tool.Person, a tool.Approval) error {
	v, err := person.Ask(ctx, a)
	if err == nil && ctx.Err() == nil {
		if _, err = b.Decide(ctx, a.ID, v); errors.Is(err, ErrDecided) || errors.Is(err, ErrExpired) {
			return nil // somebody else was first
		}
	}
	return err
}

// leave takes a call away from a question, for this reason. A question that nobody
// waits for any more is canceled, unless it is to outlive its calls.
func (b *Broker) leave(ctx context.Context, p *question, why error) tool.Approval {
	_, deferred := errors.AsType[*tool.Deferred](why)
	b.mu.Lock()
	p.waiting--
	p.open = p.open || deferred || b.closed
	if p.waiting > 0 || p.open || p.a.Status != tool.ApprovalPending {
		defer b.mu.Unlock()
		b.tidy(p)
		return p.a
	}
	p.abandoned = true
	b.mu.Unlock()
	a, _, _ := b.settle(ctx, p, func(a *tool.Approval) { // it is canceled in memory in any case
		a.Status, a.Why = tool.ApprovalCanceled, "the call ended before"
	}, true)
	return a
}

// take returns what came of a question for the call of q, and whether it is the
// answer to that.
func (b *Broker) take(ctx context.Context, p *question, q *Question) (a tool.Approval, ours bool, err error) {
	a, first := b.hear(p, q)
	wide := a.Scope == tool.ScopeSession || a.Scope == tool.ScopePattern
	switch {
	case a.Status != tool.ApprovalApproved:
		return a, true, nil
	case !first:
		return a, wide || a.UsedBy == q.CallID, nil
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ok, err := b.o.Store.UseApproval(sctx, a.ID, q.CallID) // before it runs
	switch {
	case err != nil:
		return a, false, &tool.Error{Kind: tool.Denied, Err: err, Text: "A person approved this call, and that could not be recorded, " +
			"so it was not made. Tell the operator."}
	case !ok && !wide:
		return a, false, nil
	}
	a.UsedBy = q.CallID
	b.mu.Lock()
	defer b.mu.Unlock()
	p.a.UsedBy = q.CallID
	return a, true, nil
}

// hear tells the call of q what came of a question, and whether it is the first one
// to run on it.
func (t *table) hear(p *question, q *Question) (a tool.Approval, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.waiting--
	a = p.a
	switch {
	case a.Status != tool.ApprovalApproved:
		p.heard = true
	case p.claimed == "":
		p.claimed, first = q.claim(), true
	case p.claimed == q.claim():
		a.UsedBy = q.CallID // the same call again
	}
	t.tidy(p)
	return a, first
}
