package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
)

// A Verification says whether the record is as it was written.
type Verification struct {
	Rows  int64 `json:"rows"`            // that were looked at
	First int64 `json:"first,omitempty"` // number of the oldest row
	Last  int64 `json:"last,omitempty"`
	// Head is the hash of the last row. Who keeps it elsewhere can tell later
	// whether everything up to here is still the same.
	Head string `json:"head,omitempty"`
	// Pruned are rows that left because of the bounds on the record.
	Pruned int64 `json:"pruned,omitempty"`
	// Unrecorded are calls that went on without a record.
	Unrecorded int64 `json:"unrecorded,omitempty"`
	// Gaps are places where nobody knows how many calls are missing, if any.
	Gaps int64 `json:"gaps,omitempty"`
	// Waiting are calls that other processes have not written, Gone why they cannot.
	Waiting int64  `json:"waiting,omitempty"`
	Gone    string `json:"gone,omitempty"`
	// Dead are processes that were ended without closing the record, and Open the calls
	// that they had begun, which have no end in it. The next writer closes them, and makes
	// a gap of each process.
	Dead int64 `json:"dead,omitempty"`
	Open int64 `json:"open,omitempty"`
	// Faults are what is wrong, the oldest first, and at most 100 of it.
	Faults []Fault `json:"faults,omitempty"`

	bad int // faults in all
}

// A Fault is a place where the record is not as it was written.
type Fault struct {
	Seq  int64  `json:"seq"`
	Text string `json:"text"`
}

const maxFaults = 100

func (v *Verification) fault(seq int64, format string, args ...any) {
	v.bad++
	if len(v.Faults) < maxFaults {
		v.Faults = append(v.Faults, Fault{seq, fmt.Sprintf(format, args...)})
	}
}

// Verify reads the whole record and holds each row against the hashes: an edit, a
// row that was taken out, put in or moved, and an end that is missing are faults.
// Whoever may write the database and the files beside it can make a chain anew;
// that is found by a head that was kept elsewhere, in hexadecimal: it must be that of
// some row. Empty asks for none.
//
// It changes nothing but to write what waits. A database that is not there, though the
// file beside it says that it was, is a fault, and is not made anew.
func (s *Store) Verify(ctx context.Context, known string) (Verification, error) {
	v, err := s.verify(ctx, known)
	if e, ok := errors.AsType[*foreignError](s.base.cause(err)); ok {
		v.fault(0, "%v: %s", e, e.remedy())
		return v, nil
	}
	if err != nil {
		err = s.unreadable(ctx, err)
	}
	return v, err
}

func (s *Store) verify(ctx context.Context, known string) (v Verification, err error) {
	if gone, err := s.place.missing(); gone || err != nil {
		v.fault(0, "the database is gone: %s says that it had rows", s.place.head)
		return v, err
	}
	v.Waiting, v.Gone = s.self.waiting()
	if !s.queue.idle() || len(s.place.left()) > 0 {
		if err := s.settle(ctx); err != nil {
			return v, err
		}
	}
	db, err := s.db(ctx)
	if err != nil {
		return v, err
	}
	dead := s.self.dead()
	v.Dead = int64(len(dead))
	beside, isBeside, err := s.place.readHead() // before the rows, which may only become more
	if err != nil {
		v.fault(0, "the head beside the database cannot be read: %v", err)
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.base.snapshot()})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	var h head
	if err := tx.QueryRowContext(ctx, "SELECT seq, hash, kept, bytes FROM record_head WHERE one = 1").Scan(&h.Seq, &h.Hash, &h.Kept, &h.Bytes); err != nil {
		return v, fmt.Errorf("read the head of the record: %w", err)
	}
	c := checker{v: &v, approved: map[string]string{}, beside: beside, isBeside: isBeside, known: strings.ToLower(known)}
	if err := c.rows(ctx, tx, math.MaxInt64); err != nil {
		return v, err
	}
	c.end(h)
	for _, id := range dead {
		n := int64(0)
		if err := tx.QueryRowContext(ctx, s.base.sql("SELECT COUNT(*) FROM record WHERE type = 'begun' AND kind = ? AND NOT "+ended), kindBegun+id).Scan(&n); err != nil {
			return v, fmt.Errorf("count the calls that a process had begun: %w", err)
		}
		v.Open += n
	}
	return v, c.approvals(ctx, tx)
}

// missing reports whether the file of the database is gone, and the one beside it
// says that it was there.
func (p place) missing() (bool, error) {
	if p.postgres {
		return false, nil
	}
	if _, err := os.Stat(p.url); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	beside, ok, _ := p.readHead() // one that cannot be read is told by who writes
	return ok && beside.Seq > 0, nil
}

// snapshot is how a database shows one state for as long as a read takes.
func (b *base) snapshot() sql.IsolationLevel {
	if b.postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault // SQLite always does
}

// A checker goes through the rows, the oldest first.
type checker struct {
	v        *Verification
	beside   headFile
	isBeside bool
	known    string // head that must be found; empty once it was

	seq    int64
	hash   []byte   // of the last row
	bytes  int64    // in the rows
	first  firstRow // where rows before it have left
	pruned Pruned   // the newest word on that
	// approved are the hashes of the approvals, as their last rows have them.
	approved map[string]string
}

type firstRow struct {
	seq  int64
	hash []byte
	body string
}

func (c *checker) rows(ctx context.Context, tx *sql.Tx, last int64) error {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM record WHERE seq <= %d ORDER BY seq", rowColumns, last))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var hash []byte
		var e encoded
		if err := rows.Scan(&seq, &e.typ, &e.id, &e.at, &e.server, &e.tool, &e.kind, &e.caller, &e.session, &e.task, &hash, &e.body); err != nil {
			return err
		}
		c.bytes += int64(len(e.body))
		c.row(seq, hash, e)
	}
	return rows.Err()
}

// row looks at the next row.
func (c *checker) row(seq int64, hash []byte, e encoded) {
	v := c.v
	v.Rows++
	var r Row
	if err := json.Unmarshal([]byte(e.body), &r); err != nil {
		v.fault(seq, "the row is no JSON any more")
	} else if want := columns(&r, e.body); want != e {
		v.fault(seq, "a column says something else than the row itself (call %s)", want.id)
	}
	switch {
	case v.First == 0:
		v.First = seq
		if seq > 1 {
			c.first = firstRow{seq, hash, e.body} // what it follows is known at the end
		} else if !bytes.Equal(link(nil, seq, e.body), hash) {
			v.fault(seq, "the row was changed: its hash is another one")
		}
	case seq != c.seq+1:
		v.fault(seq, "%d rows before this one are missing", seq-c.seq-1)
	case !bytes.Equal(link(c.hash, seq, e.body), hash):
		v.fault(seq, "the row was changed, or the one before it: its hash is another one (call %s)", e.id)
	}
	if r.Pruned != nil {
		c.pruned = *r.Pruned
		v.Pruned += r.Pruned.Rows
		if r.Pruned.Bad > 0 {
			v.fault(seq, "rows that left were not as they were written (%d faults; the first: row %d: %s)", r.Pruned.Bad, r.Pruned.Faults[0].Seq, r.Pruned.Faults[0].Text)
		}
	}
	c.tells(seq, &r)
	if c.known == hex.EncodeToString(hash) {
		c.known = ""
	}
	if c.isBeside && seq == c.beside.Seq && hex.EncodeToString(hash) != c.beside.Hash {
		v.fault(seq, "the file beside the database has another hash of this row: the chain was made anew")
	}
	c.seq, c.hash = seq, hash
}

// tells takes what a row says of the record itself.
func (c *checker) tells(seq int64, r *Row) {
	switch {
	case r.Gap != nil && r.Gap.Unknown:
		c.v.Gaps++
	case r.Gap != nil:
		c.v.Unrecorded += r.Gap.Calls
	case r.Break != nil:
		c.v.fault(seq, "here the chain did not go on from row %d (hash %s), where it had ended: the database had %d rows, or another one in that place", r.Break.Seq, r.Break.Hash, r.Break.Had)
	case r.Approval != nil:
		c.approved[r.Approval.ID] = r.Sum
		if r.Changed {
			c.v.fault(seq, "the table of approvals had something else of %s than the rows: it was changed before this one", r.Approval.ID)
		}
	}
}

// approvals holds the table of approvals against the rows of the chain.
func (c *checker) approvals(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, status, created_at, expires_at, body FROM approvals ORDER BY created_at, id")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t tableRow
		if err := rows.Scan(&t.id, &t.status, &t.created, &t.expires, &t.body); err != nil {
			return err
		}
		sum, ok := c.approved[t.id]
		delete(c.approved, t.id)
		switch {
		case !ok:
			c.v.fault(0, "the table of approvals has %s, of which no row tells", t.id)
		case sum != "" && sum != t.sum():
			c.v.fault(0, "the table of approvals says something else of %s than the rows: it was changed", t.id)
		}
	}
	for id, sum := range c.approved {
		if sum != "" {
			c.v.fault(0, "the table of approvals lacks %s, of which there are rows", id)
		}
	}
	return rows.Err()
}

// end looks at the end of the chain.
func (c *checker) end(h head) {
	v := c.v
	v.Last, v.Head = c.seq, hex.EncodeToString(c.hash)
	if f := c.first; f.seq > 0 {
		before, err := hex.DecodeString(c.pruned.Hash)
		switch {
		case c.pruned.Upto != f.seq-1:
			v.fault(f.seq, "%d rows before this one are missing, and the record does not say that they left", f.seq-1-c.pruned.Upto)
		case err != nil || !bytes.Equal(link(before, f.seq, f.body), f.hash):
			v.fault(f.seq, "the row was changed, or does not follow those that left: its hash is another one")
		}
	}
	switch {
	case h.Seq > c.seq:
		v.fault(h.Seq, "the last %d rows are missing", h.Seq-c.seq)
	case h.Seq < c.seq || !bytes.Equal(h.Hash, c.hash):
		v.fault(c.seq, "the head of the record is not that of its last row")
	case h.Kept != v.Rows:
		v.fault(c.seq, "the record has %d rows, and says that it has %d", v.Rows, h.Kept)
	}
	if c.known != "" {
		v.fault(c.seq, "no row has the hash that was kept elsewhere: the chain was made anew, or that row has left")
	}
	if c.isBeside && c.beside.Seq > c.seq {
		v.fault(c.beside.Seq, "the last %d rows are missing, as the file beside the database says", c.beside.Seq-c.seq)
	}
}
