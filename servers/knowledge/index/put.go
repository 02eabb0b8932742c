package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/terms"
)

// How often a word of a heading counts beside those of the text.
const weightHeading = 2

// maxTerm is the longest term that is kept, in bytes: longer words are data.
const maxTerm = 64

// A posting says how often a section has a term.
type posting struct {
	section int64
	weight  uint64
}

// Put keeps documents, in place of those that have the same paths.
func (x *Index) Put(ctx context.Context, documents []Document) error {
	if len(documents) == 0 {
		return nil
	}
	counted := make([][]map[string]uint64, len(documents))
	stems := make(map[string]string)
	for i, d := range documents {
		for _, s := range d.Sections {
			counted[i] = append(counted[i], count(d.Title, s, stems))
		}
	}
	err := x.update(ctx, func(tx *sql.Tx) (func(*state), error) {
		gone, err := remove(ctx, tx, paths(documents))
		if err != nil {
			return nil, err
		}
		b := builder{tx: tx, terms: make(map[string][]posting)}
		for i, d := range documents {
			if err := b.add(ctx, d, counted[i]); err != nil {
				return nil, fmt.Errorf("keep %s: %w", d.Path, err)
			}
		}
		if err := b.segment(ctx); err != nil {
			return nil, err
		}
		return func(s *state) {
			for _, id := range gone {
				s.clear(id)
			}
			for _, a := range b.added {
				s.set(a.section, a.document, a.length)
			}
		}, nil
	})
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return x.join(ctx)
}

// Remove forgets the documents of these paths.
func (x *Index) Remove(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	err := x.update(ctx, func(tx *sql.Tx) (func(*state), error) {
		gone, err := remove(ctx, tx, paths)
		return func(s *state) {
			for _, id := range gone {
				s.clear(id)
			}
		}, err
	})
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return nil
}

// remove deletes documents, and returns the sections that are gone. Their postings
// stay until their segments are joined.
func remove(ctx context.Context, tx *sql.Tx, paths []string) (gone []int64, err error) {
	for _, path := range paths {
		ids, err := sectionsOf(ctx, tx, path)
		if err != nil {
			return nil, err
		}
		gone = append(gone, ids...)
		for _, q := range []string{
			`DELETE FROM vectors WHERE section IN (SELECT s.id FROM sections s JOIN documents d ON s.document = d.id WHERE d.path = ?)`,
			`DELETE FROM sections WHERE document = (SELECT id FROM documents WHERE path = ?)`,
			`DELETE FROM documents WHERE path = ?`,
		} {
			if _, err := tx.ExecContext(ctx, q, path); err != nil {
				return nil, err
			}
		}
	}
	return gone, nil
}

func sectionsOf(ctx context.Context, tx *sql.Tx, path string) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT s.id FROM sections s JOIN documents d ON s.document = d.id WHERE d.path = ?`, path)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// builder writes documents and gathers the terms of their sections.
type builder struct {
	tx    *sql.Tx
	terms map[string][]posting
	added []struct {
		section, document int64
		length            int32
	}
}

func (b *builder) add(ctx context.Context, d Document, counted []map[string]uint64) error {
	chars := 0
	for _, s := range d.Sections {
		chars += utf8.RuneCountInString(s.Text)
	}
	r, err := b.tx.ExecContext(ctx, `INSERT INTO documents (path, title, kind, size, modified, hash, problem, sections, chars)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.Path, d.Title, d.Kind, d.Size, d.Modified.UnixNano(), d.Hash, d.Problem, len(d.Sections), chars)
	if err != nil {
		return err
	}
	document, err := r.LastInsertId()
	if err != nil {
		return err
	}
	for i, s := range d.Sections {
		var length uint64
		for _, w := range counted[i] {
			length += w
		}
		r, err := b.tx.ExecContext(ctx, `INSERT INTO sections (document, length, heading, text) VALUES (?, ?, ?, ?)`,
			document, length, s.Heading, s.Text)
		if err != nil {
			return err
		}
		section, err := r.LastInsertId()
		if err != nil {
			return err
		}
		for term, weight := range counted[i] {
			b.terms[term] = append(b.terms[term], posting{section, weight})
		}
		b.added = append(b.added, struct {
			section, document int64
			length            int32
		}{section, document, int32(min(length, 1<<30))})
	}
	return nil
}

// segment writes what was gathered as a new segment.
func (b *builder) segment(ctx context.Context) error {
	if len(b.added) == 0 {
		return nil
	}
	id, err := newSegment(ctx, b.tx, len(b.added))
	if err != nil {
		return err
	}
	insert, err := b.tx.PrepareContext(ctx, `INSERT INTO terms (term, segment, postings) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		if _, err := insert.ExecContext(ctx, term, id, encode(b.terms[term])); err != nil {
			return err
		}
	}
	return nil
}

func newSegment(ctx context.Context, tx *sql.Tx, sections int) (int64, error) {
	r, err := tx.ExecContext(ctx, `INSERT INTO segments (sections) VALUES (?)`, sections)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// count returns how often a section has each term. The title of its document counts
// as its outermost heading.
func count(title string, s Section, stems map[string]string) map[string]uint64 {
	counts := make(map[string]uint64)
	add := func(text string, weight uint64) {
		for word := range terms.Words(text) {
			term, known := stems[word]
			if !known {
				if term = terms.Of(word); len(term) > maxTerm {
					term = ""
				}
				if len(stems) < 1<<20 {
					stems[word] = term
				}
			}
			if term != "" {
				counts[term] += weight
			}
		}
	}
	add(title, weightHeading)
	add(s.Heading, weightHeading)
	add(s.Text, 1)
	return counts
}

// encode writes postings in the order of their sections: of each how many numbers it
// lies behind the one before, and its weight, as varints.
func encode(postings []posting) []byte {
	b := make([]byte, 0, 3*len(postings))
	last := int64(0)
	for _, p := range postings {
		b = binary.AppendUvarint(b, uint64(p.section-last))
		b = binary.AppendUvarint(b, p.weight)
		last = p.section
	}
	return b
}

// decode calls visit with each posting. It stops where the bytes are none.
func decode(b []byte, visit func(section int64, weight uint64)) {
	section := int64(0)
	for len(b) > 0 {
		delta, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		weight, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return
		}
		b = b[n+m:]
		section += int64(delta)
		if section < 0 {
			return
		}
		visit(section, weight)
	}
}

func paths(documents []Document) []string {
	p := make([]string, len(documents))
	for i, d := range documents {
		p[i] = d.Path
	}
	return p
}
