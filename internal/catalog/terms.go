package catalog

import (
	"iter"
	"strings"
	"unicode/utf8"
)

type queryTerm struct {
	term string
	word string // as it was written
}

// queryTerms returns the distinct terms of a search, in their order.
func queryTerms(words string) []queryTerm {
	var query []queryTerm
	seen := make(map[string]bool)
	for term, word := range terms(words) {
		if seen[term] || len(query) == maxTerms {
			continue
		}
		seen[term] = true
		query = append(query, queryTerm{term, word})
	}
	return query
}

// terms yields what a text is found by, each with the word that it came from:
// words in lower case without their endings, and without those that are in
// every text; of Chinese, Japanese and Korean each two neighbouring characters.
func terms(text string) iter.Seq2[string, string] {
	return func(yield func(term, word string) bool) {
		for word := range splitWords(text) {
			for run := range scriptRuns(word) {
				first, _ := utf8.DecodeRuneInString(run)
				if isCJK(first) {
					if !bigrams(run, yield) {
						return
					}
					continue
				}
				term := strings.ToLower(run)
				if stopWords[term] {
					continue
				}
				if !yield(stem(term), run) {
					return
				}
			}
		}
	}
}

// scriptRuns yields the pieces of a word that are all CJK or all not.
func scriptRuns(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, cjk := 0, false
		for i, r := range word {
			if i > start && isCJK(r) != cjk {
				if !yield(word[start:i]) {
					return
				}
				start = i
			}
			cjk = isCJK(r)
		}
		if start < len(word) {
			yield(word[start:])
		}
	}
}

// bigrams yields each two neighbouring characters of run, or the only one.
func bigrams(run string, yield func(term, word string) bool) bool {
	_, n := utf8.DecodeRuneInString(run)
	if n == len(run) {
		return yield(run, run)
	}
	for i := 0; ; {
		_, a := utf8.DecodeRuneInString(run[i:])
		if i+a >= len(run) {
			return true
		}
		_, b := utf8.DecodeRuneInString(run[i+a:])
		if pair := run[i : i+a+b]; !yield(pair, pair) {
			return false
		}
		i += a
	}
}

// stem takes the commonest English endings off.
func stem(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:len(w)-1]
	}
	return w
}

// stopWords are words that say nothing of what a tool does: those of every
// English sentence, and those of every request.
var stopWords = wordSet(`
a about above after again all also am an and any are as at be because been before being below between both
but by can could did do does doing down during each few for from further had has have having he her here hers
him his how i if in into is it its itself just let like ll me more most my need no nor not now of off on once
only or other our out over own please re same she should so some such than that the their them then there
these they this those through to too under until up us use used using ve very want was we were what when where
which while who whom why will with would you your yours
`)

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
