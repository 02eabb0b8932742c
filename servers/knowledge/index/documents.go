package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const entryColumns = `d.id, d.path, d.title, d.kind, d.size, d.modified, d.hash, d.problem, d.sections, d.chars`

func scanEntry(scan func(...any) error) (Entry, error) {
	var e Entry
	var modified int64
	err := scan(&e.ID, &e.Path, &e.Title, &e.Kind, &e.Size, &modified, &e.Hash, &e.Problem, &e.Count, &e.Chars)
	e.Modified = time.Unix(0, modified)
	return e, err
}

// Entries returns all documents, in the order of their paths.
func (x *Index) Entries(ctx context.Context) ([]Entry, error) {
	rows, err := x.read.QueryContext(ctx, `SELECT `+entryColumns+` FROM documents d ORDER BY d.path`)
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	defer rows.Close()
	var entries []Entry
	for rows.Next() {
		e, err := scanEntry(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read the index: %w", err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Document returns one document with its sections, or ErrNone.
func (x *Index) Document(ctx context.Context, path string) (Entry, error) {
	tx, err := x.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Entry{}, err
	}
	defer func() { _ = tx.Rollback() }() // it wrote nothing
	e, err := scanEntry(tx.QueryRowContext(ctx, `SELECT `+entryColumns+` FROM documents d WHERE d.path = ?`, path).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNone
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read the index: %w", err)
	}
	rows, err := tx.QueryContext(ctx, `SELECT heading, text FROM sections WHERE document = ? ORDER BY id`, e.ID)
	if err != nil {
		return Entry{}, fmt.Errorf("read the index: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Section
		if err := rows.Scan(&s.Heading, &s.Text); err != nil {
			return Entry{}, fmt.Errorf("read the index: %w", err)
		}
		e.Sections = append(e.Sections, s)
	}
	return e, rows.Err()
}

// Touch notes that the file of a document is another one with the same content.
func (x *Index) Touch(ctx context.Context, path string, size int64, modified time.Time) error {
	_, err := x.write.ExecContext(ctx, `UPDATE documents SET size = ?, modified = ? WHERE path = ?`, size, modified.UnixNano(), path)
	return err
}

// Attempt notes that a version of a file is about to be read, and reports whether it
// was before, without an end: then the reading has ended the process.
func (x *Index) Attempt(ctx context.Context, path, version string) (before bool, err error) {
	var last string
	err = x.write.QueryRowContext(ctx, `SELECT version FROM attempts WHERE path = ?`, path).Scan(&last)
	if err == nil && last == version {
		return true, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read the index: %w", err)
	}
	if _, err := x.write.ExecContext(ctx, `INSERT OR REPLACE INTO attempts VALUES (?, ?)`, path, version); err != nil {
		return false, fmt.Errorf("write the index: %w", err)
	}
	return false, nil
}

// Ended notes that the reading of a file has ended, however it did.
func (x *Index) Ended(ctx context.Context, path string) error {
	_, err := x.write.ExecContext(ctx, `DELETE FROM attempts WHERE path = ?`, path)
	return err
}
