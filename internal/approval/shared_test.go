package approval_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/tool"
)

// beside opens another broker on the store of d.
func (d *desk) beside() *desk {
	d.t.Helper()
	other := &desk{t: d.t, store: d.store, clock: d.clock, told: make(chan tool.Approval, 1000), shared: true}
	other.start()
	return other
}

// What waits at one gateway can be decided at another one on the same store, and that
// is known there within seconds.
func TestDecidedAtAnotherGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(approval.Memory)
		first := (&desk{t: t, store: store, clock: new(clock)}).beside()
		second := first.beside()
		for _, v := range []tool.Verdict{yes, {By: "bert", Why: "no"}} {
			got := second.later(t.Context(), ask(`{}`))
			p := second.pending()
			if a, err := first.Get(t.Context(), p.ID); err != nil || a.Status != tool.ApprovalPending {
				t.Errorf("%s, %v", a.Status, err)
			}
			for _, wide := range []tool.Verdict{{Approved: true, Scope: tool.ScopeSession}, {Approved: true, Scope: "for ever"}} {
				if _, err := first.Decide(t.Context(), p.ID, wide); tool.KindOf(err) != tool.Invalid || errors.Is(err, approval.ErrExpired) {
					t.Errorf("%v", err)
				}
			}
			first.decide(p.ID, v)
			began, a := time.Now(), <-got
			if a.err != nil || (a.Status == tool.ApprovalApproved) != v.Approved || a.DecidedBy != "bert" || a.Why != v.Why || time.Since(began) > 2*time.Second {
				t.Errorf("after %s: %+v, %v", time.Since(began), a.Approval, a.err)
			}
			if _, err := first.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrDecided) {
				t.Errorf("%v", err)
			}
			if told := <-second.told; told.Status == tool.ApprovalPending || told.Session != "s" {
				t.Errorf("told of %+v", told)
			}
		}
	})
}

// A gateway that started while a question of another one waited lists it, and each
// learns what became of it.
func TestListedAtBothGateways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(approval.Memory)
		first := (&desk{t: t, store: store, clock: new(clock)}).beside()
		got := first.later(t.Context(), ask(`{}`))
		p := first.pending()
		second := first.beside()
		if all := second.Pending(9); len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		first.decide(p.ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
		time.Sleep(2 * time.Second)
		if all := second.Pending(9); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		time.Sleep(approval.DefaultTimeout)
		if _, err := second.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrDecided) || strings.Contains(err.Error(), "expired") {
			t.Errorf("%v", err)
		}
	})
}

// One that has expired is expired at each of them.
func TestExpiredAtAnotherGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := (&desk{t: t, store: new(approval.Memory), clock: new(clock)}).beside()
		second := first.beside()
		got := second.later(t.Context(), ask(`{}`))
		p := second.pending()
		want(t, <-got, tool.ApprovalTimeout)
		if _, err := first.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrExpired) {
			t.Errorf("%v", err)
		}
	})
}
