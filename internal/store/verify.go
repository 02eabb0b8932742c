package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	// Faults are what is wrong, the oldest first, and at most 100 of it.
	Faults []Fault `json:"faults,omitempty"`
}

// A Fault is a place where the record is not as it was written.
type Fault struct {
	Seq  int64  `json:"seq"`
	Text string `json:"text"`
}

const maxFaults = 100

func (v *Verification) fault(seq int64, format string, args ...any) {
	if len(v.Faults) < maxFaults {
		v.Faults = append(v.Faults, Fault{seq, fmt.Sprintf(format, args...)})
	}
}

// Verify reads the whole record and holds each row against the hashes: an edit, a
// row that was taken out, put in or moved, and an end that is missing are faults.
// Whoever may write the database and the files beside it can make a chain anew;
// that is found by a head that was kept elsewhere, in hexadecimal: it must be that of
// some row. Empty asks for none.
func (s *Store) Verify(ctx context.Context, known string) (v Verification, err error) {
	if err := s.settle(ctx); err != nil {
		return v, err
	}
	db, err := s.db(ctx)
	if err != nil {
		return v, err
	}
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
	c := checker{v: &v, beside: beside, isBeside: isBeside, known: strings.ToLower(known)}
	if err := c.rows(ctx, tx); err != nil {
		return v, err
	}
	c.end(h)
	return v, nil
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
	first  firstRow // where rows before it have left
	pruned Pruned   // the newest word on that
}

type firstRow struct {
	seq  int64
	hash []byte
	body string
}

func (c *checker) rows(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+rowColumns+" FROM record ORDER BY seq")
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
	}
	if r.Gap != nil {
		v.Unrecorded += r.Gap.Calls
	}
	if c.known == hex.EncodeToString(hash) {
		c.known = ""
	}
	if c.isBeside && seq == c.beside.Seq && hex.EncodeToString(hash) != c.beside.Hash {
		v.fault(seq, "the file beside the database has another hash of this row: the chain was made anew")
	}
	c.seq, c.hash = seq, hash
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
