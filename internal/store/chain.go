package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A head is the end of the chain, and what is in the table.
type head struct {
	Seq   int64  `json:"seq"`
	Hash  []byte `json:"-"`
	Kept  int64  `json:"kept"`
	Bytes int64  `json:"-"`
}

// rowOverhead is about what a row takes beside its body.
const rowOverhead = 250

// lockHead reads the head for a transaction that will move it. Nobody else can
// until it ends: SQLite has one writer by itself, PostgreSQL locks the row.
func (b *base) lockHead(ctx context.Context, tx *sql.Tx) (h head, err error) {
	query := "SELECT seq, hash, kept, bytes FROM record_head WHERE one = 1"
	if b.postgres {
		query += " FOR UPDATE"
	}
	err = tx.QueryRowContext(ctx, query).Scan(&h.Seq, &h.Hash, &h.Kept, &h.Bytes)
	return h, err
}

func (b *base) saveHead(ctx context.Context, tx *sql.Tx, h head) error {
	_, err := tx.ExecContext(ctx, b.sql("UPDATE record_head SET seq = ?, hash = ?, kept = ?, bytes = ? WHERE one = 1"),
		h.Seq, h.Hash, h.Kept, h.Bytes)
	return err
}

const (
	rowColumns = "seq, type, id, at, server, tool, kind, caller, session, task, hash, body"
	perRow     = 12
	perInsert  = 64 // rows
)

// insertOf returns the statement that inserts n rows.
func (b *base) insertOf(n int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", perRow), ", ") + ")"
	return b.sql("INSERT INTO record (" + rowColumns + ") VALUES " + strings.TrimSuffix(strings.Repeat(one+", ", n), ", "))
}

// appendRows adds rows to the end of the chain, and returns its new end.
func (b *base) appendRows(ctx context.Context, tx *sql.Tx, h head, rows []encoded) (head, error) {
	if len(rows) == 0 {
		return h, nil
	}
	var many *sql.Stmt
	if len(rows) >= perInsert {
		var err error
		if many, err = tx.PrepareContext(ctx, b.insertOf(perInsert)); err != nil {
			return h, err
		}
		defer many.Close()
	}
	args := make([]any, 0, perInsert*perRow)
	for len(rows) > 0 {
		n := min(len(rows), perInsert)
		args = args[:0]
		for _, r := range rows[:n] {
			h.Seq++
			h.Hash = link(h.Hash, h.Seq, r.body)
			h.Kept++
			h.Bytes += int64(len(r.body)) + rowOverhead
			args = append(args, h.Seq, r.typ, r.id, r.at, r.server, r.tool, r.kind, r.caller, r.session, r.task, h.Hash, r.body)
		}
		var err error
		if n == perInsert {
			_, err = many.ExecContext(ctx, args...)
		} else {
			_, err = tx.ExecContext(ctx, b.insertOf(n), args...)
		}
		if err != nil {
			return h, err
		}
		rows = rows[n:]
	}
	return h, b.saveHead(ctx, tx, h)
}

// change runs f in a transaction on the head of the chain. Afterwards the head
// lies beside the database too, where a truncation of the table leaves it alone.
//
// Where the chain does not reach to the head that lies there, or has another row in
// its place, a row says so first: the file is about to say something else.
func (s *core) change(ctx context.Context, f func(tx *sql.Tx, h head) (head, error)) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	beside, isBeside, err := s.place.readHead() // before the transaction: the chain only grows
	if err != nil {
		s.log.Warn("the head of the record beside it cannot be read, and is written anew", "error", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	h, err := s.base.lockHead(ctx, tx)
	if err == nil && isBeside {
		h, err = s.joins(ctx, tx, h, beside)
	}
	if err == nil {
		h, err = f(tx, h)
	}
	if err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if err := s.place.writeHead(h); err != nil {
		s.log.Warn("the head of the record cannot be written beside it", "error", err)
	}
	return nil
}

// joins adds a row where the chain is not one that goes on from the head beside it.
func (s *core) joins(ctx context.Context, tx *sql.Tx, h head, beside headFile) (head, error) {
	had := h.Hash
	if beside.Seq < h.Seq {
		err := tx.QueryRowContext(ctx, s.base.sql("SELECT hash FROM record WHERE seq = ?"), beside.Seq).Scan(&had)
		if errors.Is(err, sql.ErrNoRows) {
			return h, nil // it has left since, or there was none: verify knows
		}
		if err != nil {
			return h, err
		}
	}
	if beside.Seq <= h.Seq && hex.EncodeToString(had) == beside.Hash {
		return h, nil
	}
	b := Break{At: time.Now().UTC().Truncate(time.Microsecond), Seq: beside.Seq, Hash: beside.Hash, Had: h.Seq}
	s.log.Error("rows of the record are missing, or are others: its chain does not go on from where it ended", "last_row", beside.Seq, "found", h.Seq, "database", s.place.name)
	return s.base.appendRows(ctx, tx, h, []encoded{s.encodeRow(&Row{Type: TypeBreak, Break: &b})})
}

// ignoreDone leaves out that a transaction has ended by itself, with its context.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// headFile is what lies beside the database.
type headFile struct {
	head

	Hash string `json:"hash"`
}

// writeHead writes the head beside the database.
func (p place) writeHead(h head) error {
	if p.head == "" {
		return nil
	}
	b, err := json.Marshal(headFile{h, hex.EncodeToString(h.Hash)})
	if err != nil {
		return err
	}
	return writeFile(p.head, append(b, '\n'), false)
}

// readHead reads what lies beside the database; ok is false where nothing does.
func (p place) readHead() (f headFile, ok bool, err error) {
	if p.head == "" {
		return f, false, nil
	}
	b, err := os.ReadFile(p.head)
	if errors.Is(err, os.ErrNotExist) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return f, false, fmt.Errorf("%s: %w", p.head, err)
	}
	return f, true, nil
}

// writeFile writes a file that is there whole or not at all, with sync also after
// the power failed.
func writeFile(path string, b []byte, sync bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
