package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tenon-mcp/tenon/internal/terms"
)

// The constants of BM25: how fast repeated words stop counting, and how much long
// texts are held back.
const (
	bm25k = 1.2
	bm25b = 0.75
)

// maxTerms bounds the words of one search.
const maxTerms = 64

// A Query is what is looked for.
type Query struct {
	Words string
	Limit int
	// In names the documents that may be found; nil allows all.
	In func(document int64) bool
}

// A Hit is a section that was found.
type Hit struct {
	Section int64
	Score   float64 // above 0; comparable within one search only
	Words   int     // how many different words of the search it has
}

// Terms returns the different terms of a text, in their order.
func Terms(text string) []string {
	var found []string
	seen := make(map[string]bool)
	for word := range terms.Words(text) {
		if term := terms.Of(word); term != "" && len(term) <= maxTerm && !seen[term] {
			seen[term] = true
			if found = append(found, term); len(found) == maxTerms {
				break
			}
		}
	}
	return found
}

// Search returns the sections that have most in common with the words, best first.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	words := Terms(q.Words)
	if len(words) == 0 || q.Limit < 1 {
		return nil, nil
	}
	var hits []Hit
	err := x.view(ctx, func(tx *sql.Tx, s *state) error {
		scores := make([]float32, len(s.documents))
		matched := make([]uint8, len(s.documents))
		for _, term := range words {
			postings, err := s.postings(ctx, tx, term, q.In)
			if err != nil {
				return err
			}
			s.addTo(scores, matched, postings)
		}
		hits = best(scores, matched, len(words), q.Limit)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	return hits, nil
}

// postings returns those of a term in sections that may be found.
func (s *state) postings(ctx context.Context, tx *sql.Tx, term string, in func(int64) bool) ([]posting, error) {
	rows, err := tx.QueryContext(ctx, `SELECT postings FROM terms WHERE term = ?`, term)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []posting
	for rows.Next() {
		var b sql.RawBytes
		if err := rows.Scan(&b); err != nil {
			return nil, err
		}
		decode(b, func(section int64, weight uint64) {
			if s.has(section) && (in == nil || in(s.documents[section])) {
				found = append(found, posting{section, weight})
			}
		})
	}
	return found, rows.Err()
}

func (s *state) addTo(scores []float32, matched []uint8, postings []posting) {
	n := float64(len(postings))
	idf := math.Log(1 + (float64(s.alive)-n+0.5)/(n+0.5))
	if idf < 0 {
		idf = 0.01 // all have it, and those that are gone too
	}
	mean := max(float64(s.length)/float64(max(s.alive, 1)), 1)
	for _, p := range postings {
		f := float64(p.weight)
		norm := bm25k * (1 - bm25b + bm25b*float64(s.lengths[p.section])/mean)
		scores[p.section] += float32(idf * f * (bm25k + 1) / (f + norm))
		matched[p.section]++
	}
}

// best returns the sections with the highest scores. A section that has more of the
// words comes before one that has fewer of them more often: its score counts by the
// part of the words that it has.
func best(scores []float32, matched []uint8, words, limit int) []Hit {
	var hits []Hit
	worst := 0.0
	order := func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Section, b.Section))
	}
	for section, score := range scores {
		if score <= 0 {
			continue
		}
		h := Hit{Section: int64(section), Words: int(matched[section])}
		h.Score = float64(score) * float64(h.Words) / float64(words)
		if len(hits) == limit && h.Score <= worst {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, h, order)
		hits = slices.Insert(hits, at, h)
		hits = hits[:min(len(hits), limit)]
		worst = hits[len(hits)-1].Score
	}
	return hits
}

// ErrNone is the error of a document or section that is not there.
var ErrNone = errors.New("there is no such document")

// A Found is a section with its text.
type Found struct {
	Section
	ID       int64
	Document Entry
}

// Section returns one section, or ErrNone.
func (x *Index) Section(ctx context.Context, id int64) (Found, error) {
	f := Found{ID: id}
	row := x.read.QueryRowContext(ctx, `SELECT s.heading, s.text, `+entryColumns+`
		FROM sections s JOIN documents d ON s.document = d.id WHERE s.id = ?`, id)
	e, err := scanEntry(func(into ...any) error { return row.Scan(append([]any{&f.Heading, &f.Text}, into...)...) })
	f.Document = e
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	return f, err
}
