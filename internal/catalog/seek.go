package catalog

import (
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/terms"
	"github.com/tenon-mcp/tenon/tool"
)

// Seek is Search among those tools that keep lets pass: at most limit of them. It also
// returns the words that none of them has, and says nothing of the others: not even
// that one of them has a word.
func (s *Snapshot) Seek(words string, limit int, keep func(*tool.Tool) bool) (hits []Hit, unmatched []string) {
	query := queryTerms(words)
	tallies := s.tally(query)
	if tallies == nil {
		return nil, wordsOf(query, ^uint64(0))
	}
	// Most tools pass, so the best are looked at first, and all only where too few did.
	for n := 2 * max(limit, 1); ; n *= 8 {
		n = min(n, len(tallies))
		best := bestOf(tallies, n)
		hits = hits[:0]
		for _, i := range best {
			if len(hits) < limit && keep(s.tools[i]) {
				hits = append(hits, Hit{Tool: s.tools[i], Score: tallies[i].score})
			}
		}
		if len(hits) == limit || len(best) < n || n == len(tallies) {
			break
		}
	}
	return hits, s.unmatched(tallies, query, keep)
}

// unmatched returns the words that no tool has that may be seen.
func (s *Snapshot) unmatched(tallies []tally, query []queryTerm, keep func(*tool.Tool) bool) []string {
	missing := uint64(1)<<len(query) - 1
	for i := range tallies {
		if tallies[i].terms&missing != 0 && keep(s.tools[i]) {
			if missing &^= tallies[i].terms; missing == 0 {
				return nil
			}
		}
	}
	return wordsOf(query, missing)
}

// wordsOf returns the words of a query whose bit is set. Of Chinese, Japanese and Korean
// they are pairs of neighbours: those that overlap are one, and one whose two characters
// have been found with others is only where two words meet.
func wordsOf(query []queryTerm, missing uint64) []string {
	found := map[rune]bool{}
	for bit, q := range query {
		if missing>>bit&1 == 0 {
			for _, r := range q.word {
				found[r] = terms.IsCJK(r)
			}
		}
	}
	var out []string
	last := -2
	for bit, q := range query {
		if missing>>bit&1 == 0 || !strings.ContainsFunc(q.word, func(r rune) bool { return !found[r] }) {
			continue
		}
		first, n := utf8.DecodeRuneInString(q.word)
		if last == bit-1 && terms.IsCJK(first) && strings.HasSuffix(out[len(out)-1], q.word[:n]) {
			out[len(out)-1] += q.word[n:]
		} else {
			out = append(out, q.word)
		}
		last = bit
	}
	return out
}

type queryTerm struct {
	term string
	word string // as it was written
}

// queryTerms returns the distinct terms of a search, in their order.
func queryTerms(words string) []queryTerm {
	var query []queryTerm
	seen := make(map[string]bool)
	for word := range terms.Words(words) {
		term := terms.Of(word)
		if term == "" || seen[term] {
			continue
		}
		seen[term] = true
		query = append(query, queryTerm{term, word})
		if len(query) == maxTerms {
			break
		}
	}
	return query
}
