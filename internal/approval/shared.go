package approval

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// lookEvery is how often a broker looks for what other ones on its store decided.
const lookEvery = time.Second

// follow looks for what other gateways on the same store decided about questions that
// wait here, until the broker is closed.
func (b *Broker) follow() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-b.stop:
			return
		}
		for _, p := range b.open() {
			if !b.look(p) {
				break // the store cannot be read now
			}
		}
	}
}

// open returns the questions that wait and are in the store.
func (t *table) open() []*question {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*question
	for _, p := range t.asked {
		select {
		case <-p.inserted:
			if p.a.Status == tool.ApprovalPending && p.err == nil {
				out = append(out, p)
			}
		default:
		}
	}
	return out
}

// look takes what the store has of a question that waits, and reports whether that could
// be read.
func (b *Broker) look(p *question) bool {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	default:
		return true // it is being settled here
	}
	ctx, cancel := context.WithTimeout(b.ctx, storeTimeout)
	defer cancel()
	stored, found, err := b.o.Store.Approval(ctx, p.id)
	if err != nil || !found || stored.Status == tool.ApprovalPending {
		return err == nil
	}
	b.mu.Lock()
	a := p.a
	b.mu.Unlock()
	if a.Status == tool.ApprovalPending {
		b.end(p, adopt(a, stored))
	}
	return true
}

// adopt returns a question as another gateway has settled it. Names may be masked in the
// store.
func adopt(a, stored tool.Approval) tool.Approval {
	stored.Caller, stored.Session, stored.Task = a.Caller, a.Session, a.Task
	return stored
}

// elsewhere reports whether an approval that does not wait here does so at another gateway
// on a shared store. Whoever asked there looks for what is decided here.
func elsewhere(a *tool.Approval, shared bool, now time.Time) bool {
	return shared && a.Status == tool.ApprovalPending && now.Before(a.ExpiresAt) && !now.Before(a.CreatedAt.Add(-maxSkew))
}

// decideElsewhere decides one that waits at another gateway.
func (b *Broker) decideElsewhere(ctx context.Context, a tool.Approval, v tool.Verdict) (tool.Approval, error) {
	if _, err := (&question{restored: true}).grantOf(a, &v, b.now()); err != nil {
		return a, err
	}
	decision(v, b.now())(&a)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ok, err := b.o.Store.SettleApproval(ctx, a)
	switch {
	case err != nil:
		return a, unrecorded(err)
	case !ok:
		if a, err = b.Get(ctx, a.ID); err == nil {
			err = decided(a)
		}
		return a, err
	}
	b.o.Notify(a)
	return a, nil
}
