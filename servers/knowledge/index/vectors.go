package index

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
)

// A vector is what a passage of a section means, by a model of embeddings: of length
// one, each number in steps of 1/127. That costs a byte for each number, and less
// than one in a hundred in the order of what is found.
type vector struct {
	section int64
	numbers []int8
}

// MaxVectors bounds the passages that are kept in memory and compared.
const MaxVectors = 300_000

// Quantize makes a vector of length one of what a model gave, or nil where it has no
// direction.
func Quantize(v []float32) []int8 {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil
	}
	q := make([]int8, len(v))
	for i, f := range v {
		q[i] = int8(math.Round(float64(f) / length * 127)) // -127 to 127
	}
	return q
}

// UseModel says by which model vectors are made. Those of another one are forgotten:
// they mean nothing beside its.
func (x *Index) UseModel(ctx context.Context, model string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(model)) // it cannot fail
	name := int64(h.Sum64())
	return x.update(ctx, func(tx *sql.Tx) (func(*state), error) {
		var now int64
		err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(value), 0) FROM meta WHERE key = 'model'`).Scan(&now)
		if err != nil || now == name {
			return func(*state) {}, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM vectors`); err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO meta VALUES ('model', ?)`, name)
		return func(s *state) { s.vectors = nil }, err
	})
}

// Pending returns sections that have no vectors yet, the newest first.
func (x *Index) Pending(ctx context.Context, limit int) ([]Found, error) {
	rows, err := x.read.QueryContext(ctx, `SELECT s.id, s.heading, s.text FROM sections s
		WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.section = s.id) ORDER BY s.id DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	defer rows.Close()
	var found []Found
	for rows.Next() {
		var f Found
		if err := rows.Scan(&f.ID, &f.Heading, &f.Text); err != nil {
			return nil, fmt.Errorf("read the index: %w", err)
		}
		found = append(found, f)
	}
	return found, rows.Err()
}

// PutVectors keeps the vectors of sections. One without any is kept as such, so that
// it is not pending again.
func (x *Index) PutVectors(ctx context.Context, bySection map[int64][][]int8) error {
	err := x.update(ctx, func(tx *sql.Tx) (func(*state), error) {
		var added []vector
		for section, vectors := range bySection {
			if len(vectors) == 0 {
				vectors = [][]int8{{}}
			}
			for i, v := range vectors {
				// A section that is gone by now gets none.
				if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM sections WHERE id = ?`, i, asBytes(v), section); err != nil {
					return nil, err
				}
				added = append(added, vector{section, v})
			}
		}
		return func(s *state) {
			for _, v := range added {
				if s.has(v.section) && len(s.vectors) < MaxVectors {
					s.vectors = append(s.vectors, v)
				}
			}
		}, nil
	})
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return nil
}

func loadVectors(ctx context.Context, tx *sql.Tx) ([]vector, error) {
	rows, err := tx.QueryContext(ctx, `SELECT section, vector FROM vectors ORDER BY section DESC LIMIT ?`, MaxVectors)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var vectors []vector
	for rows.Next() {
		var section int64
		var b sql.RawBytes
		if err := rows.Scan(&section, &b); err != nil {
			return nil, err
		}
		v := vector{section, make([]int8, len(b))}
		for i, c := range b {
			v.numbers[i] = int8(c)
		}
		vectors = append(vectors, v)
	}
	return vectors, rows.Err()
}

func asBytes(v []int8) []byte {
	b := make([]byte, len(v))
	for i, n := range v {
		b[i] = byte(n)
	}
	return b
}

// Nearest returns the sections whose passages mean most nearly what the vector does,
// each once, best first.
func (x *Index) Nearest(ctx context.Context, to []int8, limit int, in func(document int64) bool) ([]Hit, error) {
	best := make(map[int64]int32)
	err := x.view(ctx, func(_ *sql.Tx, s *state) error {
		for i, v := range s.vectors {
			if len(v.numbers) != len(to) || !s.has(v.section) || in != nil && !in(s.documents[v.section]) {
				continue
			}
			if d := dot(v.numbers, to); d > 0 && d > best[v.section] {
				best[v.section] = d
			}
			if i%1000 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	hits := make([]Hit, 0, len(best))
	for section, d := range best {
		hits = append(hits, Hit{Section: section, Score: float64(d) / (127 * 127)})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Section, b.Section))
	})
	return hits[:min(len(hits), limit)], nil
}

func dot(a, b []int8) int32 {
	var sum int32
	b = b[:len(a)]
	for i, n := range a {
		sum += int32(n) * int32(b[i])
	}
	return sum
}
