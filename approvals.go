package tenon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

// What the errors of Approvals.Get and Approvals.Decide wrap.
var (
	ErrNoApproval = approval.ErrNotFound
	ErrDecided    = approval.ErrDecided
	ErrExpired    = approval.ErrExpired
)

// Approvals are the calls that wait, or waited, for a person. Whoever calls its
// methods has made sure that they may: the arguments of calls are shown, with their
// secrets masked, and what is decided holds.
type Approvals struct {
	g       *Gateway
	broker  atomic.Pointer[approval.Broker]
	opening chan struct{} // has room for the one who opens it
	hook    atomic.Pointer[approval.Webhook]
	told    broadcast[tool.Approval]
}

// Approvals returns the calls that wait for a person.
func (g *Gateway) Approvals() *Approvals { return g.approvals }

func newApprovals(g *Gateway) *Approvals {
	return &Approvals{g: g, opening: make(chan struct{}, 1)}
}

// open returns the broker. It is made on its first use: what opens a pool for one call
// reads no record of approvals.
func (a *Approvals) open(ctx context.Context) (*approval.Broker, error) {
	if b := a.broker.Load(); b != nil {
		return b, nil
	}
	select {
	case a.opening <- struct{}{}:
		defer func() { <-a.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b := a.broker.Load(); b != nil {
		return b, nil
	}
	if a.g.leaving.Err() != nil {
		return nil, errClosed
	}
	cfg := a.g.pool.Load().cfg.Policy.Approvals
	b, err := approval.New(ctx, approval.Options{
		Store: a.g.approvalStore(), Timeout: cfg.Timeout, MaxPending: cfg.MaxPending,
		Shared: a.g.record.store != nil,
		NewID:  func() string { return "apv_" + strings.TrimPrefix(record.NewID(), "c_") },
		Mask:   a.g.secrets.Shown, Notify: a.tell,
	})
	switch {
	case err == nil:
	case a.g.leaving.Err() != nil: // it was stopped in the middle, which is no fault of the record
		return nil, errClosed
	case errors.Is(context.Cause(ctx), context.Canceled):
		return nil, context.Canceled
	default:
		a.g.log.Error("the record of approvals cannot be read", "error", err)
		return nil, &tool.Error{Kind: tool.Unavailable, Err: err, Text: "The record of approvals cannot be read now. Try again; the log of the gateway says more."}
	}
	a.broker.Store(b)
	return b, nil
}

// tell takes each approval as it is asked for, and as it leaves pending.
func (a *Approvals) tell(p tool.Approval) {
	p = ShownApproval(maskNames(a.g.secrets, p))
	log := a.g.log.Info
	if p.Status == tool.ApprovalPending {
		log = a.g.log.Warn // somebody is to do something
	}
	log("approval", "id", p.ID, "status", p.Status, "server", p.Server, "tool", p.Tool,
		"caller", p.Caller.Name, "session", p.Session, "rule", p.Rule, "by", p.DecidedBy, "scope", p.Scope)
	a.told.send(p)
	if hook := a.hook.Load(); hook != nil {
		hook.Tell(p)
	}
}

// configure takes what a configuration says; before is that of the pool before, or nil.
func (a *Approvals) configure(before, now *config.Config) {
	cfg := now.Policy.Approvals
	if b := a.broker.Load(); b != nil {
		b.Configure(cfg.Timeout, cfg.MaxPending)
	}
	if !a.g.o.Start || before != nil && reflect.DeepEqual(before.Policy.Approvals.Webhook, cfg.Webhook) {
		return
	}
	var hook *approval.Webhook
	if cfg.Webhook != nil {
		hook = approval.NewWebhook(a.g.closing, approval.WebhookOptions{URL: cfg.Webhook.URL, Secret: cfg.Webhook.Secret, Logger: a.g.log})
	}
	if old := a.hook.Swap(hook); old != nil {
		_ = old.Close() // it never fails
	}
}

// Leave ends the waiting of all calls, since the gateway is about to close: they are
// denied, and their questions stay open for the next start.
func (a *Approvals) Leave() {
	if b := a.broker.Load(); b != nil {
		_ = b.Close() // it never fails
	}
	a.told.close()
}

func (a *Approvals) close() {
	a.opening <- struct{}{} // for good: it is opened no more
	a.Leave()
	if hook := a.hook.Swap(nil); hook != nil {
		_ = hook.Close() // it never fails
	}
}

// endSession ends what was granted to a session.
func (a *Approvals) endSession(caller tool.Caller, session string) {
	if b := a.broker.Load(); b != nil {
		b.EndSession(caller, session)
	}
}

// Pending returns those that wait, newest first, and at most limit of them.
func (a *Approvals) Pending(ctx context.Context, limit int) ([]tool.Approval, error) {
	b, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return a.shown(b.Pending(limit)), nil
}

// Recent returns the last ones, whatever came of them, newest first, and at most limit
// of them.
func (a *Approvals) Recent(ctx context.Context, limit int) ([]tool.Approval, error) {
	b, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := b.Recent(ctx, limit)
	return a.shown(all), err
}

// Get returns one. The error wraps ErrNoApproval where there is none.
func (a *Approvals) Get(ctx context.Context, id string) (tool.Approval, error) {
	b, err := a.open(ctx)
	if err != nil {
		return tool.Approval{}, err
	}
	p, err := b.Get(ctx, id)
	return maskNames(a.g.secrets, p), err
}

// Decide decides one that waits. The error wraps ErrNoApproval, ErrDecided or
// ErrExpired where there is none that waits, and is of kind invalid where the verdict
// does not fit.
func (a *Approvals) Decide(ctx context.Context, id string, v tool.Verdict) (tool.Approval, error) {
	b, err := a.open(ctx)
	if err != nil {
		return tool.Approval{}, err
	}
	p, err := b.Decide(ctx, id, v)
	return maskNames(a.g.secrets, p), err
}

// Watch returns each approval from now on, as it is asked for and as it leaves
// pending; the channel is closed when ctx ends or the gateway closes. A watcher that is
// 256 behind loses those that come.
func (a *Approvals) Watch(ctx context.Context) <-chan tool.Approval { return a.told.watch(ctx) }

// stageApproval marks the notes of this file.
const stageApproval = "approval"

// approve has a person decide about a call. Nil lets it go on.
func (a authority) approve(ctx context.Context, r *call.Request, d *tool.Decision) *tool.Error {
	if a.o.Unattended && (r.Person == nil || !a.mayElicit(&r.Caller)) {
		return &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("A person has to approve this call, and nobody can be asked here: %s "+
			"The call was not made. Make it through a gateway that listens (tenon serve, or tenon serve --stdio --listen 127.0.0.1:8400), where tenon approvals decides it.", sentence(d.Reason))}
	}
	b, err := a.approvals.open(ctx)
	if err != nil {
		return notAsked(err)
	}
	q := a.question(r, d)
	if id, ok := b.Granted(&q); ok {
		r.Note(stageApproval, "allowed by approval %s, for this session", id)
		return nil
	}
	round := newRound(r, d)
	if id, ok := round.allowed(); ok {
		r.Note(stageApproval, "goes on, approved before (%s)", id)
		return nil
	}
	p, err := b.Ask(ctx, q)
	switch {
	case err != nil:
		return notApproved(p, err)
	case p.Status == tool.ApprovalApproved:
		r.Note(stageApproval, "approved by %s (%s)%s", by(p), p.ID, because(p))
		round.allow(p.ID)
		return nil
	}
	return refused(p)
}

// together returns a function that carries out a batch of which a person is asked about
// all calls at once that need it, and not about each when its turn comes.
func (v view) together(run func(context.Context, []tool.Call) []*tool.Result, o call.Options, most int) func(context.Context, []tool.Call) []*tool.Result {
	ahead := call.Ahead(o, authority{v}.reserve)
	return func(ctx context.Context, calls []tool.Call) []*tool.Result {
		if len(calls) < 2 || v.o.Unattended {
			return run(ctx, calls)
		}
		n := len(calls)
		if most > 0 {
			n = min(n, most)
		}
		for _, c := range calls[:n] {
			if t, _ := v.Find(tool.ID{Server: c.Server, Name: c.Tool}); t == nil {
				continue // it is not known yet, or not at all
			}
			if release := ahead(ctx, c); release != nil {
				defer release()
			}
		}
		return run(ctx, calls)
	}
}

// reserve puts the question about a call whose turn comes later.
func (a authority) reserve(ctx context.Context, r *call.Request, d *tool.Decision) (release func()) {
	b, err := a.approvals.open(ctx)
	if err != nil {
		return nil // the call itself will tell
	}
	q := a.question(r, d)
	if _, ok := b.Granted(&q); ok {
		return nil
	}
	return b.Reserve(ctx, q)
}

// question returns the question about a call.
func (a authority) question(r *call.Request, d *tool.Decision) approval.Question {
	q := approval.Question{
		CallID: r.ID, Caller: r.Caller, Session: r.SessionName(), Task: r.Task, Skill: r.Skill,
		IdempotencyKey: r.IdempotencyKey, Tool: r.Target, Arguments: r.Arguments,
		Rule: d.ReasonType, Reason: a.secrets.Text(d.Reason), Alone: a.o.Unattended,
	}
	if a.mayElicit(&r.Caller) {
		q.Person = r.Person
	}
	return q
}

// mayElicit reports whether a caller's own program may put a question to its person:
// an agent that holds a credential could answer in the place of one.
func (a authority) mayElicit(c *tool.Caller) bool {
	switch a.cfg.Policy.Approvals.Elicitation {
	case config.ElicitOn:
		return true
	case config.ElicitOff:
		return false
	case config.ElicitLocal:
	}
	return c.Grant == nil || c.Grant.Elicit
}

func notAsked(err error) *tool.Error {
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Kind != tool.Unavailable {
		return e
	}
	return &tool.Error{Kind: tool.Denied, Err: err, Text: "A person has to approve this call, and nobody could be asked: " +
		"the record of approvals cannot be used now. The call was not made. Tell the operator; use another tool, or try again later."}
}

// notApproved is the error of a call that waited in vain.
func notApproved(p tool.Approval, err error) *tool.Error {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		if e.Kind == tool.Timeout {
			return &tool.Error{Kind: tool.Timeout, Err: err, Text: fmt.Sprintf("The time of the call ended while it waited for a person (approval %s, %s). "+
				"It was not made. Call again with a longer timeout, or say that a person has to approve it.", p.ID, p.Status)}
		}
		return e
	}
	return &tool.Error{Kind: tool.Canceled, Err: err, Text: fmt.Sprintf("The call was canceled while it waited for a person (approval %s). It was not made.", p.ID)}
}

// refused is the error of a call that was not approved.
func refused(p tool.Approval) *tool.Error {
	text := fmt.Sprintf("Approval %s ended as %s, so the call was not made.", p.ID, p.Status)
	switch p.Status {
	case tool.ApprovalDenied:
		text = fmt.Sprintf("The call was denied by %s (approval %s, status denied)%s. It was not made. Do not call it again like this; "+
			"do without it, or say what it is needed for.", by(p), p.ID, because(p))
	case tool.ApprovalTimeout:
		text = fmt.Sprintf("Nobody approved the call within %s (approval %s, status timeout), so it was not made. "+
			"Go on without it, or say that a person has to approve it.", p.ExpiresAt.Sub(p.CreatedAt).Round(time.Second), p.ID)
	case tool.ApprovalPending, tool.ApprovalApproved, tool.ApprovalCanceled:
	}
	return &tool.Error{Kind: tool.Denied, Text: text}
}

func by(p tool.Approval) string {
	if p.DecidedBy == "" {
		return "a person"
	}
	return p.DecidedBy
}

func because(p tool.Approval) string {
	if p.Why == "" {
		return ""
	}
	return ": " + strings.TrimRight(p.Why, ". ")
}

// sentence ends a text like one.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
