package store

import (
	"context"
	"database/sql"
	"encoding/hex"
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
		var hash []byte
		var at int64
		if err := tx.QueryRowContext(ctx, s.base.sql("SELECT hash, at FROM record WHERE seq = ?"), last).Scan(&hash, &at); err != nil {
			return h, err
		}
		var bytes sql.NullInt64
		if err := tx.QueryRowContext(ctx, s.base.sql("SELECT COUNT(*), SUM(LENGTH(body)) FROM record WHERE seq <= ?"), last).Scan(&gone.Rows, &bytes); err != nil {
			return h, err
		}
		gone.Hash = hex.EncodeToString(hash)
		if _, err := tx.ExecContext(ctx, s.base.sql("DELETE FROM record WHERE seq <= ?"), last); err != nil {
			return h, err
		}
		if _, err := tx.ExecContext(ctx, s.base.sql("DELETE FROM approvals WHERE created_at < ? AND status <> 'pending'"), at); err != nil {
			return h, err
		}
		removed = gone.Rows
		h.Kept -= gone.Rows
		h.Bytes = max(0, h.Bytes-bytes.Int64-gone.Rows*rowOverhead)
		row := Row{Type: TypePruned, Pruned: &gone}
		return s.base.appendRows(ctx, tx, h, []encoded{s.encodeRow(&row)})
	})
	return removed, err
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
	err := tx.QueryRowContext(ctx, s.base.sql("SELECT COUNT(*) FROM record WHERE seq <= ? AND type <> ?"), last, TypePruned).Scan(&calls)
	if err != nil || calls == 0 {
		return 0, err
	}
	return last, nil
}
