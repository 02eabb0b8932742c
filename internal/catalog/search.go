package catalog

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tenon-mcp/tenon/internal/terms"
	"github.com/tenon-mcp/tenon/tool"
)

// The constants of BM25: how fast repeated words stop counting, and how much
// long texts are held back.
const (
	bm25k = 1.6
	bm25b = 0.75
)

// How often a word counts, by where it stands.
const (
	weightName        = 2
	weightServer      = 2
	weightTitle       = 1
	weightDescription = 1
	weightSchema      = 1
	weightHint        = 1
)

// maxTerms bounds the words of one search: one bit each in a tally.
const maxTerms = 64

// A Hit is one tool that a search found.
type Hit struct {
	Tool  *tool.Tool
	Score float64 // above 0; comparable within one search only
	// Missing are the words of the search that this tool does not have.
	Missing []string
}

// Search returns the tools that have most in common with words, best first: at
// most limit of them, or all where limit is not above 0. It reads the names of
// tool and server, title, description, search hint, and the names and texts of
// the parameters. Equal tools come in the order of the configuration.
//
// It knows words, not meanings, and of one language only what the servers wrote
// in it. One need per search finds more than several.
func (s *Snapshot) Search(words string, limit int) []Hit {
	query := queryTerms(words)
	tallies := s.tally(query)
	if tallies == nil {
		return nil
	}
	return s.hits(tallies, query, limit)
}

// tally returns what each tool has of a search, or nil where there is nothing to find.
func (s *Snapshot) tally(query []queryTerm) []tally {
	if len(query) == 0 {
		return nil
	}
	if !s.searched.Load() {
		s.searched.Store(true)
	}
	docs, length := 0, 0.0
	for _, p := range s.parts {
		p.ready(nil)
		docs += len(p.tools)
		length += p.index.length
	}
	if docs == 0 {
		return nil
	}
	mean := max(length/float64(docs), 1)
	tallies := make([]tally, docs)
	for i, q := range query {
		s.addTerm(tallies, i, q.term, mean)
	}
	return tallies
}

// A tally is what one tool has of a search.
type tally struct {
	score float64
	terms uint64 // a bit for each word of the query
}

// addTerm adds to each tool that has the term what it is worth.
func (s *Snapshot) addTerm(tallies []tally, bit int, term string, mean float64) {
	n := 0
	for _, p := range s.parts {
		n += len(p.index.postings[term])
	}
	if n == 0 {
		return
	}
	idf := math.Log(1 + (float64(len(tallies))-float64(n)+0.5)/(float64(n)+0.5))
	base := 0
	for _, p := range s.parts {
		for _, at := range p.index.postings[term] {
			f := float64(at.weight)
			norm := bm25k * (1 - bm25b + bm25b*float64(p.index.lengths[at.doc])/mean)
			tallies[base+int(at.doc)].score += idf * f * (bm25k + 1) / (f + norm)
			tallies[base+int(at.doc)].terms |= 1 << bit
		}
		base += len(p.tools)
	}
}

func (s *Snapshot) hits(tallies []tally, query []queryTerm, limit int) []Hit {
	best := bestOf(tallies, limit)
	hits := make([]Hit, len(best))
	for k, i := range best {
		hits[k] = Hit{Tool: s.tools[i], Score: tallies[i].score}
		for bit, q := range query {
			if tallies[i].terms>>bit&1 == 0 {
				hits[k].Missing = append(hits[k].Missing, q.word)
			}
		}
	}
	return hits
}

// bestOf returns the places of those that have any word of the query, best
// first: at most limit of them where it is above 0. Most searches want a few of
// thousands, so only those few are kept in order.
func bestOf(tallies []tally, limit int) []int {
	var best []int
	byScore := func(i, j int) int {
		return cmp.Or(cmp.Compare(tallies[j].score, tallies[i].score), cmp.Compare(i, j))
	}
	for i := range tallies {
		switch {
		case tallies[i].terms == 0:
			continue
		case limit <= 0:
			best = append(best, i)
			continue
		case len(best) == limit && tallies[i].score <= tallies[best[limit-1]].score:
			continue
		case len(best) == limit:
			best = best[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(best, i, byScore)
		best = slices.Insert(best, at, i)
	}
	if limit <= 0 {
		slices.SortFunc(best, byScore)
	}
	return best
}

// An index holds the terms of one server's tools.
type index struct {
	postings map[string][]posting
	lengths  []float32 // of each tool, in weighted terms
	length   float64   // of all together
}

type posting struct {
	doc    int32
	weight float32 // how often the term stands there, weighted
}

// ready makes the index of a part, where there is none, unless stop wants it to end.
// Whoever comes meanwhile waits.
func (p *part) ready(stop func() bool) {
	p.indexing.Lock()
	defer p.indexing.Unlock()
	if !p.indexed {
		p.index, p.indexed = newIndex(p, stop)
	}
}

// Prepare makes what the first search would have to make, so that it finds it there:
// up to a few milliseconds for a hundred tools. It ends early with ctx, and leaves out
// what another list has replaced meanwhile.
func (c *Catalog) Prepare(ctx context.Context) {
	for i, p := range c.Snapshot().parts {
		p.ready(func() bool { return ctx.Err() != nil || c.Snapshot().parts[i] != p })
	}
}

// Searched reports whether anybody has searched for tools yet.
func (c *Catalog) Searched() bool { return c.searched.Load() }

// newIndex returns the index of a part, and false where it was stopped before.
func newIndex(p *part, stop func() bool) (x index, done bool) {
	x = index{postings: make(map[string][]posting), lengths: make([]float32, len(p.tools))}
	stems := make(map[string]string) // most words come many times
	counts := make(map[string]float32)
	for i := range p.tools {
		if stop != nil && stop() {
			return index{}, false
		}
		countTerms(&p.tools[i], stems, counts)
		for term, weight := range counts {
			x.postings[term] = append(x.postings[term], posting{int32(i), weight})
			x.lengths[i] += weight // whole numbers: the same sum in any order
		}
		x.length += float64(x.lengths[i])
		clear(counts)
	}
	return x, true
}

// countTerms adds to counts how often each term stands in t, weighted.
func countTerms(t *tool.Tool, stems map[string]string, counts map[string]float32) {
	add := func(text string, weight float32) {
		for word := range terms.Words(text) {
			term, ok := stems[word]
			if !ok {
				term = terms.Of(word)
				stems[word] = term
			}
			if term != "" {
				counts[term] += weight
			}
		}
	}
	add(t.Server, weightServer)
	add(t.Name, weightName)
	add(t.Title, weightTitle)
	add(t.Description, weightDescription)
	add(t.Meta.SearchHint, weightHint)
	schemaTexts(t.Schema, func(text string) { add(text, weightSchema) })
}
