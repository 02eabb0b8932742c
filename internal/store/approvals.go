package store

import (
	"context"
	"database/sql"
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
			body, err := json.Marshal(a)
			if err != nil {
				return h, err
			}
			_, err = tx.ExecContext(ctx, s.base.sql("INSERT INTO approvals (id, status, created_at, expires_at, body) VALUES (?, ?, ?, ?, ?)"),
				a.ID, string(a.Status), a.CreatedAt.UnixMicro(), a.ExpiresAt.UnixMicro(), storable(string(body)))
			if err != nil {
				return h, err
			}
			return s.chainApproval(ctx, tx, h, a)
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
			var body string
			err := tx.QueryRowContext(ctx, s.base.sql("SELECT body FROM approvals WHERE id = ?"), storable(id)).Scan(&body)
			if errors.Is(err, sql.ErrNoRows) {
				return h, errNoApproval
			}
			if err != nil {
				return h, err
			}
			var a tool.Approval
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				return h, fmt.Errorf("approval %s in the record is none: %w", id, err)
			}
			if done = change(&a); !done {
				return h, nil
			}
			now, err := json.Marshal(a)
			if err != nil {
				return h, err
			}
			if _, err := tx.ExecContext(ctx, s.base.sql("UPDATE approvals SET status = ?, body = ? WHERE id = ?"), string(a.Status), storable(string(now)), a.ID); err != nil {
				return h, err
			}
			return s.chainApproval(ctx, tx, h, a)
		})
	})
	return done && err == nil, err
}

// chainApproval adds what became of an approval to the chain: the table shows only
// how it ended.
func (s Approvals) chainApproval(ctx context.Context, tx *sql.Tx, h head, a tool.Approval) (head, error) {
	for _, text := range []*string{&a.Reason, &a.Impact, &a.Why, &a.Session, &a.Task} {
		*text = s.o.Mask(*text)
	}
	return s.base.appendRows(ctx, tx, h, []encoded{s.encodeRow(&Row{Type: TypeApproval, Approval: &a})})
}

// OpenApprovals returns the approvals that wait, and those that were allowed once
// and not used, unless they have expired.
func (s Approvals) OpenApprovals(ctx context.Context, now time.Time) ([]tool.Approval, error) {
	all, err := s.list(ctx, "status IN ('pending', 'approved') AND expires_at > ? ORDER BY created_at", now.UnixMicro())
	return slices.DeleteFunc(all, func(a tool.Approval) bool {
		unused := a.Status == tool.ApprovalApproved && a.Scope == tool.ScopeOnce && a.UsedBy == ""
		return !unused && a.Status != tool.ApprovalPending
	}), err
}

// Approval returns one approval; ok is false where there is none.
func (s Approvals) Approval(ctx context.Context, id string) (a tool.Approval, ok bool, err error) {
	all, err := s.list(ctx, "id = ?", storable(id))
	if err != nil || len(all) == 0 {
		return a, false, err
	}
	return all[0], true, nil
}

// Approvals returns the last approvals, the newest first.
func (s Approvals) Approvals(ctx context.Context, limit int) ([]tool.Approval, error) {
	return s.list(ctx, "1 = 1 ORDER BY created_at DESC, id DESC LIMIT ?", limit)
}

func (s Approvals) list(ctx context.Context, where string, args ...any) (out []tool.Approval, err error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	rows, err := db.QueryContext(ctx, s.base.sql("SELECT body FROM approvals WHERE "+where), args...)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return nil, s.unreadable(ctx, err)
		}
		var a tool.Approval
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			return nil, fmt.Errorf("an approval in the record is none: %w", err)
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		return nil, s.unreadable(ctx, err)
	}
	return out, nil
}
