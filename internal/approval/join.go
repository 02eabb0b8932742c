package approval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// join returns the question, which waits already or is put now, or was decided for a
// call like this one.
func (b *Broker) join(ctx context.Context, q *Question, reserve bool) (*question, error) {
	p, first, err := b.enter(q, reserve)
	if err != nil {
		return nil, err
	}
	if first {
		b.insert(ctx, p)
	}
	select {
	case <-p.inserted:
	case <-ctx.Done():
		b.leave(ctx, p, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, &tool.Error{Kind: tool.Denied, Err: p.err, Text: "A person has to approve this call, and the question could not be " +
			"recorded, so nobody was asked. The call was not made. Tell the operator; use another tool, or try again later."}
	}
	return p, nil
}

// enter returns the question of q, and whether it is new.
func (t *table) enter(q *Question, reserve bool) (p *question, first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false, stopping("")
	}
	t.forget()
	if p = t.find(q); p == nil {
		if p, err = t.put(q); err != nil {
			return nil, false, err
		}
		first = true
	}
	p.waiting++
	if reserve {
		p.reserved++
	}
	if p.a.CallID == "" {
		p.a.CallID = q.CallID
	}
	return p, first, nil
}

// put makes a question; called with the lock held.
func (t *table) put(q *Question) (*question, error) {
	if err := crowded(t.asked, t.o.MaxPending, q); err != nil {
		return nil, err
	}
	now := t.now()
	p := t.newQuestion(tool.Approval{
		ID: t.o.NewID(), Status: tool.ApprovalPending, CallID: q.CallID, Caller: q.Caller,
		Session: q.Session, Task: q.Task, Skill: q.Skill, Server: q.Tool.Server, Tool: q.Tool.Name,
		Arguments: []byte(q.shown), Hash: q.hash, Rule: q.Rule, Reason: clip(q.Reason, maxReason), Impact: q.impact,
		CreatedAt: now, ExpiresAt: now.Add(t.o.Timeout),
	}, t.o.Timeout)
	p.caller, p.arguments = callerOf(q.Caller), q.Arguments
	t.asked[p.a.ID] = p
	return p, nil
}

// crowded says that q finds no place among those that wait, most at once. A caller has a quarter of
// the places, so that none takes them all from the others; those without a credential,
// who can have any name, leave a quarter to those with one. Called with the lock held.
func crowded(asked map[string]*question, most int, q *Question) error {
	all, own, unnamed := 0, 0, 0
	for _, p := range asked {
		if p.a.Status != tool.ApprovalPending {
			continue
		}
		all++
		if p.caller == callerOf(q.Caller) || p.restored && p.caller == q.Caller.Name {
			own++
		}
		if p.a.Caller.Grant == nil {
			unnamed++
		}
	}
	share := max(1, most/4)
	who, n := "", 0
	switch {
	case own >= share:
		who, n = "of this caller ", own
	case q.Caller.Grant == nil && unnamed >= max(1, most-share):
		who, n = "of callers without a credential ", unnamed
	case all >= most:
		n = all
	default:
		return nil
	}
	return &tool.Error{Kind: tool.Denied, Text: fmt.Sprintf("A person has to approve this call, and %d calls %swait for that already, "+
		"which is the limit. The call was not made. Wait for those, or go on without it.", n, who)}
}

// insert stores a new question.
func (b *Broker) insert(ctx context.Context, p *question) {
	b.mu.Lock()
	a := p.a
	b.mu.Unlock()
	// Whoever has joined waits for it, so it is not given up with this call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := b.o.Store.InsertApproval(ctx, a)
	b.mu.Lock()
	if p.err = err; err != nil {
		b.drop(p)
	}
	b.mu.Unlock()
	close(p.inserted)
	if err == nil {
		b.o.Notify(a)
	}
}

// find returns a question that q may join; called with the lock held.
func (t *table) find(q *Question) *question {
	var found *question
	for _, p := range t.asked {
		if !p.is(q) || p.abandoned || p.err != nil {
			continue
		}
		var fits bool
		switch p.a.Status {
		case tool.ApprovalPending:
			fits = !t.over(p)
		case tool.ApprovalApproved:
			fits = (p.claimed == "" || p.claimed == q.claim()) && (p.reserved > 0 || !t.over(p))
		case tool.ApprovalDenied:
			fits = !p.heard
		case tool.ApprovalTimeout, tool.ApprovalCanceled:
		}
		if fits && (found == nil || p.a.CreatedAt.Before(found.a.CreatedAt)) {
			found = p
		}
	}
	return found
}

// is reports whether q is the same question.
func (p *question) is(q *Question) bool {
	if p.a.Hash != q.hash || p.a.Server != q.Tool.Server || p.a.Tool != q.Tool.Name || p.a.Rule != q.Rule {
		return false
	}
	if p.restored {
		return p.caller == q.Caller.Name // its session ended with the gateway of before
	}
	return p.caller == callerOf(q.Caller) && p.a.Session == q.Session
}

// callerOf returns what makes a caller another one.
func callerOf(c tool.Caller) string {
	if c.Grant == nil {
		return c.Name
	}
	return c.Name + "\x00" + c.Grant.Key
}

// over reports whether the time of a question has passed.
func (t *table) over(p *question) bool {
	return !t.now().Before(p.a.ExpiresAt) || !time.Now().Before(p.deadline)
}

// tidy drops a question that no call can run on any more; called with the lock held.
func (t *table) tidy(p *question) {
	if p.waiting > 0 {
		return
	}
	switch p.a.Status {
	case tool.ApprovalPending:
		return
	case tool.ApprovalApproved:
		if wide := p.a.Scope != tool.ScopeOnce; !wide && (p.claimed == "" || isKey(p.claimed)) && !t.over(p) {
			return
		}
	case tool.ApprovalDenied:
		if !p.heard && !t.over(p) {
			return
		}
	case tool.ApprovalTimeout, tool.ApprovalCanceled:
	}
	t.drop(p)
}

// forget drops what no call can run on any more; called with the lock held.
func (t *table) forget() {
	for _, p := range t.asked {
		t.tidy(p)
	}
	t.grants = slices.DeleteFunc(t.grants, func(g grant) bool { return g.over(t.now()) })
}

// drop forgets a question; called with the lock held.
func (t *table) drop(p *question) {
	t.disarm(p)
	delete(t.asked, p.id)
}
