// Package terms tells what a text is found by: its words without case, endings and
// those that stand in every text, and of scripts that are written without spaces
// each two neighbouring characters.
//
//	for word := range terms.Words("listOpenIssues 磁盘空间") {
//		terms.Of(word) // list, open, issu, 磁盘, 盘空, 空间
//	}
//
// The search of tools and that of documents both use it, so that they find alike.
package terms

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Words yields the words that a text is found by: its words, in the script
// that they are in; of Chinese, Japanese and Korean each two neighbouring
// characters, since it does not say where words end.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range Split(text) {
			for run := range scriptRuns(word) {
				if first, _ := utf8.DecodeRuneInString(run); !IsCJK(first) {
					if !yield(run) {
						return
					}
					continue
				}
				if !bigrams(run, yield) {
					return
				}
			}
		}
	}
}

// Of returns what a word is found by: without capitals and ending, so that
// "Listing" finds "lists". It is empty for a word that stands in every text.
func Of(word string) string {
	word = strings.ToLower(word)
	if stopWords[word] {
		return ""
	}
	return stem(word)
}

// scriptRuns yields the pieces of a word that are all CJK or all not.
func scriptRuns(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, cjk := 0, false
		for i, r := range word {
			if i > start && IsCJK(r) != cjk {
				if !yield(word[start:i]) {
					return
				}
				start = i
			}
			cjk = IsCJK(r)
		}
		if start < len(word) {
			yield(word[start:])
		}
	}
}

// bigrams yields each two neighbouring characters of run, or the only one.
func bigrams(run string, yield func(string) bool) bool {
	_, n := utf8.DecodeRuneInString(run)
	if n == len(run) {
		return yield(run)
	}
	for i := 0; ; {
		_, a := utf8.DecodeRuneInString(run[i:])
		if i+a >= len(run) {
			return true
		}
		_, b := utf8.DecodeRuneInString(run[i+a:])
		if !yield(run[i : i+a+b]) {
			return false
		}
		i += a
	}
}

// stem returns the lower-cased word w without its English ending. Words of other
// languages come out changed at worst in the same way wherever they stand.
func stem(w string) string {
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
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
