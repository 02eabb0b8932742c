package index

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// A state is what is kept in memory of one generation of the file.
type state struct {
	generation int64
	// By the number of a section: its document, or 0 where there is none, and its
	// length in terms.
	documents []int64
	lengths   []int32
	alive     int
	length    int64 // of all
	vectors   []vector
}

func (s *state) set(section, document int64, length int32) {
	for int64(len(s.documents)) <= section {
		s.documents = append(s.documents, 0)
		s.lengths = append(s.lengths, 0)
	}
	s.documents[section], s.lengths[section] = document, length
	s.alive++
	s.length += int64(length)
}

func (s *state) clear(section int64) {
	if s.has(section) {
		s.documents[section] = 0
		s.alive--
		s.length -= int64(s.lengths[section])
	}
}

func (s *state) has(section int64) bool {
	return section < int64(len(s.documents)) && s.documents[section] != 0
}

// generation returns that of the file as the transaction sees it.
func generation(ctx context.Context, tx *sql.Tx) (int64, error) {
	var g int64
	err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'generation'`).Scan(&g)
	return g, err
}

// load reads the state of the file as the transaction sees it.
func load(ctx context.Context, tx *sql.Tx) (*state, error) {
	s := &state{}
	var err error
	if s.generation, err = generation(ctx, tx); err != nil {
		return s, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, document, length FROM sections INDEXED BY sections_of_documents`)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		var section, document int64
		var length int32
		if err := rows.Scan(&section, &document, &length); err != nil {
			return s, err
		}
		s.set(section, document, length)
	}
	if err := rows.Err(); err != nil {
		return s, err
	}
	s.vectors, err = loadVectors(ctx, tx)
	return s, err
}

// clone returns a copy that may be changed: a state that others see never is.
func (s *state) clone() *state {
	c := *s
	c.documents, c.lengths = slices.Clone(s.documents), slices.Clone(s.lengths)
	return &c
}

// view calls read with a transaction and the state that belongs to it. Other
// processes may have written since the last one: then the state is read again.
func (x *Index) view(ctx context.Context, read func(*sql.Tx, *state) error) error {
	tx, err := x.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it wrote nothing
	g, err := generation(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	s := x.state.Load()
	if s == nil || s.generation != g {
		if s, err = load(ctx, tx); err != nil {
			return fmt.Errorf("read the index: %w", err)
		}
		x.keep(s)
	}
	return read(tx, s)
}

// keep takes a state, unless a newer one is there.
func (x *Index) keep(s *state) {
	for {
		now := x.state.Load()
		if now != nil && now.generation >= s.generation || x.state.CompareAndSwap(now, s) {
			return
		}
	}
}

// update calls write with a transaction that alone may write, and then commits it as
// the next generation. What write wants to be done to the state is done after that.
func (x *Index) update(ctx context.Context, write func(*sql.Tx) (func(*state), error)) error {
	tx, err := x.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	g, err := generation(ctx, tx)
	if err != nil {
		return err
	}
	apply, err := write(tx)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE meta SET value = value + 1 WHERE key = 'generation'`); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if now := x.state.Load(); now != nil && now.generation == g {
		next := now.clone()
		apply(next)
		next.generation = g + 1
		x.keep(next)
	} // else the next one who reads sees it and loads
	return nil
}
