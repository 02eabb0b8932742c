package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Approvals are the approvals in a store.
type Approvals struct{ *Store }

// InsertApproval keeps a new request for approval. It returns once that has
// reached the disk.
func (s Approvals) InsertApproval(ctx context.Context, a tool.Approval) error {
	return s.within(ctx, func(ctx context.Context) error {
		return s.change(ctx, func(tx *sql.Tx, h head) (head, error) {
			t, err := tableRowOf(a)
			if err != nil {
				return h, err
			}
			_, err = tx.ExecContext(ctx, s.base.sql("INSERT INTO approvals (id, status, created_at, expires_at, body) VALUES (?, ?, ?, ?, ?)"),
				t.id, t.status, t.created, t.expires, t.body)
			if err != nil {
				return h, err
			}
			return s.chainApproval(ctx, tx, h, a, Row{Sum: t.sum()})
		})
	})
}

// SettleApproval takes an approval from pending to what a now is, and reports
// false where it had left pending already.
func (s Approvals) SettleApproval(ctx context.Context, a tool.Approval) (bool, error) {
	return s.amend(ctx, a.ID, func(old *tool.Approval) bool {
		if old.Status != tool.ApprovalPending {
			return false
		}
		*old = a
		return true
	})
}

// UseApproval notes which call ran on an approval, and reports false where another
// one did.
func (s Approvals) UseApproval(ctx context.Context, id, call string) (bool, error) {
	return s.amend(ctx, id, func(old *tool.Approval) bool {
		if old.UsedBy != "" || old.Status != tool.ApprovalApproved {
			return false
		}
		old.UsedBy = call
		return true
	})
}

var errNoApproval = errors.New("no such approval in the record")

// amend changes an approval unless the change declines. Whoever else wants to
// waits for the head of the chain until this one has ended.
func (s Approvals) amend(ctx context.Context, id string, change func(*tool.Approval) bool) (done bool, err error) {
	err = s.within(ctx, func(ctx context.Context) error {
		return s.change(ctx, func(tx *sql.Tx, h head) (head, error) {
			all, err := s.read(ctx, tx, "a.id = ?", storable(id))
			if err != nil {
				return h, err
			}
			if len(all) == 0 {
				return h, errNoApproval
			}
			a := all[0].Approval
			if done = change(&a); !done {
				return h, nil
			}
			t, err := tableRowOf(a)
			if err != nil {
				return h, err
			}
			_, err = tx.ExecContext(ctx, s.base.sql("UPDATE approvals SET status = ?, created_at = ?, expires_at = ?, body = ? WHERE id = ?"), t.status, t.created, t.expires, t.body, t.id)
			if err != nil {
				return h, err
			}
			return s.chainApproval(ctx, tx, h, a, Row{Sum: t.sum(), Changed: all[0].changed})
		})
	})
	return done && err == nil, err
}

// A tableRow is an approval as the table has it: the state that is looked up, while
// the chain has each step to it.
type tableRow struct {
	id, status       string
	created, expires int64
	body             string
}

func tableRowOf(a tool.Approval) (tableRow, error) {
	body, err := json.Marshal(a)
	return tableRow{storable(a.ID), string(a.Status), a.CreatedAt.UnixMicro(), a.ExpiresAt.UnixMicro(), storable(string(body))}, err
}

// sum is what the chain has of a row of the table.
func (t *tableRow) sum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d %s", t.id, t.status, t.created, t.expires, t.body))
	return hex.EncodeToString(sum[:])
}

// chainApproval adds what became of an approval to the chain, with the hash of what
// the table has of it.
func (s Approvals) chainApproval(ctx context.Context, tx *sql.Tx, h head, a tool.Approval, r Row) (head, error) {
	for _, text := range []*string{&a.Reason, &a.Impact, &a.Why, &a.Session, &a.Task} {
		*text = s.o.Mask(*text)
	}
	r.Type, r.Approval = TypeApproval, &a
	return s.base.appendRows(ctx, tx, h, []encoded{s.encodeRow(&r)})
}

// OpenApprovals returns the approvals that wait, and those that were allowed once
// and not used, unless they have expired.
func (s Approvals) OpenApprovals(ctx context.Context, now time.Time) ([]tool.Approval, error) {
	// What the table says of them is only believed once it was compared.
	all, err := s.list(ctx, "1 = 1 ORDER BY a.created_at DESC, a.id DESC LIMIT ?", maxOpen)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(a tool.Approval) bool {
		unused := a.Status == tool.ApprovalApproved && a.Scope == tool.ScopeOnce && a.UsedBy == ""
		return !a.ExpiresAt.After(now) || !unused && a.Status != tool.ApprovalPending
	}), err
}

// maxOpen is how many of the last approvals are looked at for those that are open.
const maxOpen = 2000

// Approval returns one approval; ok is false where there is none.
func (s Approvals) Approval(ctx context.Context, id string) (a tool.Approval, ok bool, err error) {
	all, err := s.list(ctx, "a.id = ?", storable(id))
	if err != nil || len(all) == 0 {
		return a, false, err
	}
	return all[0], true, nil
}

// Approvals returns the last approvals, the newest first.
func (s Approvals) Approvals(ctx context.Context, limit int) ([]tool.Approval, error) {
	return s.list(ctx, "1 = 1 ORDER BY a.created_at DESC, a.id DESC LIMIT ?", limit)
}

func (s Approvals) list(ctx context.Context, where string, args ...any) ([]tool.Approval, error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	all, err := s.read(ctx, db, where, args...)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	out := make([]tool.Approval, len(all))
	for i := range all {
		out[i] = all[i].Approval
	}
	return out, nil
}

// querier is a database, or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read returns approvals from the table, each as the last row of the chain about it
// says: that is what counts where the two differ.
func (s Approvals) read(ctx context.Context, from querier, where string, args ...any) (out []believed, err error) {
	rows, err := from.QueryContext(ctx, s.base.sql("SELECT a.id, a.status, a.created_at, a.expires_at, a.body, COALESCE("+
		"(SELECT r.body FROM record AS r WHERE r.id = a.id AND r.type = 'approval' ORDER BY r.seq DESC LIMIT 1), '') FROM approvals AS a WHERE "+where), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t tableRow
		var chained string
		if err := rows.Scan(&t.id, &t.status, &t.created, &t.expires, &t.body, &chained); err != nil {
			return nil, err
		}
		if a, ok := s.believe(&t, chained); ok {
			out = append(out, a)
		}
	}
	return out, rows.Err()
}

// A believed approval is what the chain says of it.
type believed struct {
	tool.Approval

	changed bool // the table says something else
}

// believe returns the approval of a row of the table, and of the chain; ok is false
// where nothing in the chain tells of it.
func (s Approvals) believe(t *tableRow, chained string) (a believed, ok bool) {
	var r Row
	if chained == "" || json.Unmarshal([]byte(chained), &r) != nil || r.Approval == nil {
		s.log.Error("the table of approvals has one of which no row of the record tells: it is left out", "id", t.id, "remedy", "tenon record verify")
		return a, false
	}
	if r.Sum == t.sum() && json.Unmarshal([]byte(t.body), &a.Approval) == nil {
		return a, true
	}
	if a.changed = r.Sum != ""; a.changed {
		s.log.Error("the table of approvals was changed: what the rows of the record say counts", "id", t.id, "remedy", "tenon record verify")
	}
	a.Approval = *r.Approval
	return a, true
}
