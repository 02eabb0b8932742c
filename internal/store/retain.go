package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

// Bounds say which rows may stay. What is zero bounds nothing.
type Bounds struct {
	Before   time.Time // rows of calls that began before this leave
	MaxRows  int64
	MaxBytes int64
}

// Bounds returns the bounds of the options as they are now.
func (s *Store) Bounds() Bounds {
	b := Bounds{MaxRows: s.o.MaxRows, MaxBytes: s.o.MaxBytes}
	if s.o.Keep > 0 {
		b.Before = time.Now().Add(-s.o.Keep)
	}
	return b
}

// Prune removes the oldest rows that are outside of the bounds, and returns how
// many left. The chain begins behind them then, which a row of its own says.
func (s *Store) Prune(ctx context.Context, b Bounds) (removed int64, err error) {
	err = s.within(ctx, func(ctx context.Context) error {
		removed, err = s.prune(ctx, b)
		return err
	})
	if err != nil {
		err = trouble(ctx, s.core, "written", err)
	}
	return removed, err
}

// pruneRows is how many rows leave in one transaction.
const pruneRows = 20_000

func (s *core) prune(ctx context.Context, b Bounds) (removed int64, err error) {
	for {
		n, err := s.pruneSome(ctx, b)
		removed += n
		if err != nil || n < pruneRows {
			return removed, err
		}
	}
}

// pruneSome removes at most pruneRows rows.
func (s *core) pruneSome(ctx context.Context, b Bounds) (removed int64, err error) {
	err = s.change(ctx, func(tx *sql.Tx, h head) (head, error) {
		last, err := s.lastToLeave(ctx, tx, h, b)
		if err != nil || last == 0 {
			return h, err
		}
		gone := Pruned{At: time.Now().UTC().Truncate(time.Microsecond), Upto: last}
		bytes, err := s.leaving(ctx, tx, &gone)
		if err != nil {
			return h, err
		}
		kept, err := s.approvalsBehind(ctx, tx, last)
		if err != nil {
			return h, err
		}
		if _, err := tx.ExecContext(ctx, s.base.sql("DELETE FROM record WHERE seq <= ?"), last); err != nil {
			return h, err
		}
		removed = gone.Rows
		h.Kept -= gone.Rows
		h.Bytes = max(0, h.Bytes-bytes-gone.Rows*rowOverhead)
		if gone.Bad > 0 {
			s.log.Error("rows that leave the record are not as they were written", "faults", gone.Bad, "row", gone.Faults[0].Seq, "fault", gone.Faults[0].Text)
		}
		return s.base.appendRows(ctx, tx, h, append(kept, s.encodeRow(&Row{Type: TypePruned, Pruned: &gone})))
	})
	return removed, err
}

// maxTold is how many faults of rows that left are told one by one.
const maxTold = 5

// leaving looks at the rows that are about to leave, and returns the bytes in them.
// What is wrong with them is known for good.
func (s *core) leaving(ctx context.Context, tx *sql.Tx, gone *Pruned) (bytes int64, err error) {
	before, err := s.behind(ctx, tx)
	if err != nil {
		return 0, err
	}
	var v Verification
	c := checker{v: &v, seq: before.Upto, approved: map[string]string{}}
	if c.hash, err = hex.DecodeString(before.Hash); err != nil {
		return 0, err
	}
	v.First = before.Upto + 1
	if err := c.rows(ctx, tx, gone.Upto); err != nil {
		return 0, err
	}
	gone.Hash, gone.Rows = hex.EncodeToString(c.hash), v.Rows
	gone.Faults, gone.Bad = v.Faults[:min(len(v.Faults), maxTold)], v.bad
	return c.bytes, nil
}

// behind returns what the newest row says that tells where the chain begins.
func (s *core) behind(ctx context.Context, tx *sql.Tx) (p Pruned, err error) {
	var body string
	err = tx.QueryRowContext(ctx, s.base.sql("SELECT body FROM record WHERE type = ? ORDER BY seq DESC LIMIT 1"), TypePruned).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	var r Row
	if err == nil && json.Unmarshal([]byte(body), &r) == nil && r.Pruned != nil {
		p = *r.Pruned
	}
	return p, err
}

// approvalsBehind removes the approvals of which all rows leave, and returns new rows
// for those of them that still wait.
func (s *core) approvalsBehind(ctx context.Context, tx *sql.Tx, last int64) (kept []encoded, err error) {
	const leave = "id IN (SELECT id FROM record WHERE type = 'approval' AND seq <= ?) AND id NOT IN (SELECT id FROM record WHERE type = 'approval' AND seq > ?)"
	rows, err := tx.QueryContext(ctx, s.base.sql("SELECT MAX(seq) FROM record WHERE type = 'approval' AND "+leave+
		" AND id IN (SELECT id FROM approvals WHERE status = 'pending') GROUP BY id ORDER BY 1"), last, last)
	if err != nil {
		return nil, err
	}
	at, err := numbers(rows)
	if err != nil {
		return nil, err
	}
	for _, seq := range at {
		var body string
		if err := tx.QueryRowContext(ctx, s.base.sql("SELECT body FROM record WHERE seq = ?"), seq).Scan(&body); err != nil {
			return nil, err
		}
		var r Row
		if json.Unmarshal([]byte(body), &r) == nil && r.Approval != nil {
			kept = append(kept, columns(&r, body))
		}
	}
	_, err = tx.ExecContext(ctx, s.base.sql("DELETE FROM approvals WHERE status <> 'pending' AND "+leave), last, last)
	return kept, err
}

// lastToLeave returns the number of the newest row that must leave now, or 0.
func (s *core) lastToLeave(ctx context.Context, tx *sql.Tx, h head, b Bounds) (int64, error) {
	var first int64
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MIN(seq), 0) FROM record").Scan(&first); err != nil || first == 0 {
		return 0, err
	}
	most := min(first+pruneRows-1, h.Seq)
	last := int64(0)
	if over := h.Kept + 1 - b.MaxRows; b.MaxRows > 0 && over > 1 { // the row that says so counts
		last = max(last, min(most, first+over-1))
	}
	if over := h.Bytes - b.MaxBytes; b.MaxBytes > 0 && over > 0 {
		each := max(1, h.Bytes/max(1, h.Kept))
		last = max(last, min(most, first+over/each))
	}
	if !b.Before.IsZero() {
		// The first row that is young enough: what is behind it stays.
		var young sql.NullInt64
		err := tx.QueryRowContext(ctx, s.base.sql("SELECT MIN(seq) FROM record WHERE seq <= ? AND at >= ?"), most, b.Before.UnixMicro()).Scan(&young)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return 0, err
		case young.Valid:
			last = max(last, young.Int64-1)
		default:
			last = max(last, most)
		}
	}
	if last < first {
		return 0, nil
	}
	// A row that only says that others left is no reason to do it again.
	var calls int64
	err := tx.QueryRowContext(ctx, s.base.sql("SELECT COUNT(*) FROM record WHERE seq <= ? AND type NOT IN ('pruned', 'approval')"), last).Scan(&calls)
	if err != nil || calls == 0 {
		return 0, err
	}
	return last, nil
}

// numbers reads rows of one number, and closes them.
func numbers(rows *sql.Rows) (all []int64, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
