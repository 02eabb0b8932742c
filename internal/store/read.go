package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Filter says which calls are wanted. What is empty does not matter.
type Filter struct {
	Server, Tool string
	Kind         tool.Kind
	OK           bool // only calls that succeeded; Kind must be empty then
	Running      bool // only calls that have begun and not ended; likewise
	Usage        bool // only calls for which models were asked
	Session      string
	Task         string
	Caller       string
	Since, Until time.Time // of the beginning of the call
	Limit        int       // 0 is 100
	Before       int64     // only rows with a smaller number: the cursor
}

// A Page is a part of the calls, the newest first.
type Page struct {
	Calls []Row
	Next  int64 // as Filter.Before for the page after this; 0 at the end
	// Unrecorded are calls that went on without a record, among those of the page.
	Unrecorded int64
}

// settleWithin bounds how long a read waits for what is not written yet.
const settleWithin = 3 * time.Second

// settle has the writer write what is queued, and waits for that, but not long: a
// database that cannot be written may still be read.
func (s *Store) settle(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	if err := s.Flush(bounded); err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)) {
		return err
	}
	// What lies beside the database is taken over by its writer, in a second.
	for end := time.Now().Add(3 * lookAfter / 2); len(s.place.left()) > 0 && time.Now().Before(end) && s.state.gone.Load() == nil; {
		select {
		case <-time.After(lookAfter / 20):
		case <-bounded.Done():
			return nil
		}
	}
	return nil
}

// Calls returns calls, the newest first, those that are not written yet included.
func (s *Store) Calls(ctx context.Context, f Filter) (Page, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	if err := s.settle(ctx); err != nil {
		return Page{}, err
	}
	where, args := f.where()
	rows, err := s.query(ctx, where+" ORDER BY seq DESC LIMIT ?", append(args, f.Limit+1)...)
	if err != nil {
		return Page{}, err
	}
	p := Page{Calls: rows}
	if len(rows) > f.Limit {
		p.Calls = rows[:f.Limit]
		p.Next = p.Calls[f.Limit-1].Seq
	}
	p.Unrecorded, err = s.gaps(ctx, p.Next, f.Before)
	return p, err
}

// gaps counts the calls that have no row, by the rows between two numbers that say so.
func (s *Store) gaps(ctx context.Context, from, before int64) (n int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.query(ctx, "type = ? AND seq >= ? AND seq < ? ORDER BY seq", TypeGap, from, before)
	for _, r := range rows {
		if r.Gap != nil {
			n += r.Gap.Calls
		}
	}
	return n, err
}

// A call that was begun is one of the calls until there is a row for its end.
const (
	isOpen     = "(type = 'begun' AND NOT " + ended + ")"
	callOrOpen = "(type = 'call' OR " + isOpen + ")"
)

// where returns the conditions of a query.
func (f Filter) where() (string, []any) {
	all := []string{callOrOpen}
	args := []any(nil)
	if f.Running {
		all[0] = isOpen
	}
	for _, c := range []struct{ column, value string }{
		{"server", f.Server}, {"tool", f.Tool}, {"kind", string(f.Kind)}, {"session", f.Session}, {"task", f.Task},
	} {
		if c.value != "" {
			all, args = append(all, c.column+" = ?"), append(args, storable(c.value))
		}
	}
	switch f.Caller {
	case "":
	case "cli", "rest", "mcp", "go": // who has no name is called by how they came
		all = append(all, "(caller = ? OR caller = '' AND body LIKE ?)")
		args = append(args, f.Caller, `%"caller":{"via":"`+f.Caller+`"}%`)
	default:
		all, args = append(all, "caller = ?"), append(args, storable(f.Caller))
	}
	if f.OK {
		all = append(all, "type = 'call' AND kind = ''")
	}
	if f.Usage {
		all, args = append(all, "body LIKE ?"), append(args, `%"usage":{"provider":%`)
	}
	if !f.Since.IsZero() {
		all, args = append(all, "at >= ?"), append(args, f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		all, args = append(all, "at < ?"), append(args, f.Until.UnixMicro())
	}
	if f.Before > 0 {
		all, args = append(all, "seq < ?"), append(args, f.Before)
	}
	return strings.Join(all, " AND "), args
}

// Call returns the row of one call: of its end, or where that is not there yet of its
// beginning. Ok is false where there is neither.
func (s *Store) Call(ctx context.Context, id string) (row Row, ok bool, err error) {
	if err := s.settle(ctx); err != nil {
		return Row{}, false, err
	}
	rows, err := s.query(ctx, "id = ? AND type IN ('call', 'begun') ORDER BY type DESC, seq DESC LIMIT 1", storable(id))
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// exportRows is how many rows are read at once.
const exportRows = 500

// Export calls visit with each row from a time on, the oldest first, of whatever
// type, until it fails.
func (s *Store) Export(ctx context.Context, since time.Time, visit func(Row) error) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	from := int64(0)
	if since.IsZero() {
		since = time.UnixMicro(0)
	}
	for {
		rows, err := s.query(ctx, "seq > ? AND at >= ? ORDER BY seq LIMIT ?", from, since.UnixMicro(), exportRows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := visit(r); err != nil {
				return err
			}
			from = r.Seq
		}
		if len(rows) < exportRows {
			return nil
		}
	}
}

// query returns the rows that a condition is true for.
func (s *core) query(ctx context.Context, where string, args ...any) (out []Row, err error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	rows, err := db.QueryContext(ctx, s.base.sql("SELECT seq, hash, body FROM record WHERE "+where), args...)
	if err != nil {
		return nil, s.unreadable(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, s.unreadable(ctx, err)
	}
	return out, nil
}

func scanRow(rows *sql.Rows) (r Row, err error) {
	var seq int64
	var hash []byte
	var body string
	if err := rows.Scan(&seq, &hash, &body); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return r, fmt.Errorf("row %d of the record is no row: %w", seq, err)
	}
	r.Seq, r.Hash = seq, hex.EncodeToString(hash)
	return r, nil
}
