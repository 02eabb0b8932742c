package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// fan is how many segments of about one size are joined to one: a term then has
// fewer than fan lists of each size.
const fan = 8

// join joins segments until there are fewer than fan of each size.
func (x *Index) join(ctx context.Context) error {
	for {
		segments, err := x.crowded(ctx)
		if err != nil {
			return fmt.Errorf("join the index: %w", err)
		}
		if segments == nil {
			return nil
		}
		if err := x.update(ctx, func(tx *sql.Tx) (func(*state), error) {
			return func(*state) {}, joinSegments(ctx, tx, segments)
		}); err != nil {
			return fmt.Errorf("join the index: %w", err)
		}
	}
}

// crowded returns the segments of the smallest size of which there are fan, or nil.
// A size is a power of fan.
func (x *Index) crowded(ctx context.Context) ([]int64, error) {
	rows, err := x.read.QueryContext(ctx, `SELECT id, sections FROM segments ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	bySize := make(map[int][]int64)
	most := 0
	for rows.Next() {
		var id int64
		var sections int
		if err := rows.Scan(&id, &sections); err != nil {
			return nil, err
		}
		size := 0
		for n := sections; n >= fan; n /= fan {
			size++
		}
		bySize[size] = append(bySize[size], id)
		most = max(most, size)
	}
	for size := range most + 1 {
		if len(bySize[size]) >= fan {
			return bySize[size], rows.Err()
		}
	}
	return nil, rows.Err()
}

// joinSegments makes one segment of several, without the sections that are gone.
func joinSegments(ctx context.Context, tx *sql.Tx, segments []int64) error {
	in, err := json.Marshal(segments)
	if err != nil {
		return err
	}
	alive, err := load(ctx, tx)
	if err != nil {
		return err
	}
	var sections int
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(sections), 0) FROM segments WHERE id IN (SELECT value FROM json_each(?))`, string(in)).Scan(&sections); err != nil {
		return err
	}
	joined, err := newSegment(ctx, tx, sections)
	if err != nil {
		return err
	}
	seen := make(map[int64]bool)
	for last := ""; ; {
		lists, more, err := listsAfter(ctx, tx, string(in), last)
		if err != nil {
			return err
		}
		for _, l := range lists {
			last = l.term
			if err := writeList(ctx, tx, joined, l, alive, seen); err != nil {
				return err
			}
		}
		if !more {
			break
		}
	}
	for _, q := range []string{
		`DELETE FROM terms WHERE segment IN (SELECT value FROM json_each(?))`,
		`DELETE FROM segments WHERE id IN (SELECT value FROM json_each(?))`,
	} {
		if _, err := tx.ExecContext(ctx, q, string(in)); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE segments SET sections = ? WHERE id = ?`, len(seen), joined)
	return err
}

// A list is what the joined segments have of one term.
type list struct {
	term  string
	parts [][]byte // of each segment, in the order of their sections
}

// listsAfter returns the lists of some terms behind last, and whether there are more.
func listsAfter(ctx context.Context, tx *sql.Tx, in, last string) (lists []list, more bool, err error) {
	const most = 5000
	rows, err := tx.QueryContext(ctx, `SELECT term, postings FROM terms
		WHERE term > ? AND segment IN (SELECT value FROM json_each(?)) ORDER BY term, segment LIMIT ?`, last, in, most)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var term string
		var b []byte
		if err := rows.Scan(&term, &b); err != nil {
			return nil, false, err
		}
		if len(lists) > 0 && lists[len(lists)-1].term == term {
			lists[len(lists)-1].parts = append(lists[len(lists)-1].parts, b)
			continue
		}
		lists = append(lists, list{term, [][]byte{b}})
	}
	if n == most && len(lists) > 1 {
		return lists[:len(lists)-1], true, rows.Err() // the last one may go on
	}
	return lists, false, rows.Err()
}

// writeList writes one list of those sections that are alive, and marks them as seen.
func writeList(ctx context.Context, tx *sql.Tx, segment int64, l list, alive *state, seen map[int64]bool) error {
	var postings []posting
	for _, b := range l.parts {
		decode(b, func(section int64, weight uint64) {
			if alive.has(section) {
				postings = append(postings, posting{section, weight})
				seen[section] = true
			}
		})
	}
	if len(postings) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO terms (term, segment, postings) VALUES (?, ?, ?)`, l.term, segment, encode(postings))
	return err
}
