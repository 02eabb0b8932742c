package scrape

import (
	"math"
	"strings"
	"unicode"
)

// Good is the score from which on a text is taken and no other way is tried.
const Good = 5

// challenges are words of pages that stand in the way of the one that is meant, in
// small letters.
var challenges = []string{
	"captcha", "access denied", "403 forbidden", "cloudflare ray id", "checking your browser", "verification required",
	"robot check", "verify you are human", "are you a robot", "unusual traffic", "enable javascript and cookies to continue",
	"attention required!", "please turn javascript on", "request blocked", "just a moment...",
}

// Challenge reports whether a text is that of a page which keeps programs away. A long
// text that only mentions one is none.
func Challenge(text string) bool {
	if len(text) > 6000 {
		return false
	}
	text = strings.ToLower(text)
	for _, c := range challenges {
		if strings.Contains(text, c) {
			return true
		}
	}
	return false
}

// isCommon reports whether a word says nothing of what is looked for.
func isCommon(w string) bool {
	switch w {
	case "the", "and", "for", "are", "was", "were", "what", "which", "who", "how", "why", "when", "where", "from", "with", "that", "this",
		"there", "their", "have", "has", "had", "not", "but", "all", "any", "can", "does", "did", "into", "its", "about", "find", "list", "page":
		return true
	}
	return false
}

// Score says from 0 to 10 how good a text is as the content of a page: long enough,
// of words that vary, in lines and not in scraps, and no challenge. Where it is known
// what the text should be about, its words should occur.
func Score(text, about string) float64 {
	s := 10.0
	length := weight(text)
	ws := words(text)
	relevant := false
	if wanted := wantedWords(about); len(wanted) > 0 {
		switch ratio := hits(strings.ToLower(text), wanted); {
		case ratio == 0:
			s -= 5
		case ratio < 0.2:
			s -= 2
		case ratio > 0.6:
			relevant = true
		}
	}
	switch {
	case length < 400 && relevant:
		s -= 2
	case length < 400:
		s -= 6
	case length < 1200:
		s -= 2
	}
	if len(ws) > 25 {
		// A long text says the same words again, which is no fault: what counts is its begin.
		switch ratio := unique(ws[:min(len(ws), 400)]); {
		case ratio < 0.3:
			s -= 4
		case ratio < 0.45:
			s -= 2
		}
	}
	if Challenge(text) {
		s -= 9
	}
	switch {
	case length < 30:
		s -= 9
	case length < 100 || len(ws) < 10:
		s -= 5
	}
	if sparse(text, length) {
		s -= 4
	}
	return math.Min(math.Max(s, 0), 10)
}

// weight is the length of a text in characters, where one of a script that writes
// words in one or two of them counts as three.
func weight(text string) int {
	n := 0
	for _, r := range strings.TrimSpace(text) {
		n++
		if isDense(r) {
			n += 2
		}
	}
	return n
}

func isDense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// words returns the words of a text in small letters. Of scripts without spaces each
// two characters are one.
func words(text string) []string {
	var out []string
	for f := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		r := []rune(f)
		if !isDense(r[0]) {
			out = append(out, f)
			continue
		}
		for i := 0; i < len(r); i += 2 {
			out = append(out, string(r[i:min(i+2, len(r))]))
		}
	}
	return out
}

func unique(ws []string) float64 {
	seen := map[string]bool{}
	for _, w := range ws {
		seen[w] = true
	}
	return float64(len(seen)) / float64(len(ws))
}

// wantedWords returns the words of a question that tell what it is about.
func wantedWords(about string) []string {
	seen := map[string]bool{}
	var out []string
	for _, w := range words(about) {
		r := []rune(w)
		if len(out) < 50 && !seen[w] && !isCommon(w) && (len(r) >= 3 || isDense(r[0])) {
			out = append(out, w)
			seen[w] = true
		}
	}
	return out
}

func hits(text string, wanted []string) float64 {
	n := 0
	for _, w := range wanted {
		if strings.Contains(text, w) {
			n++
		}
	}
	return float64(n) / float64(len(wanted))
}

// sparse reports whether a text is scraps: nearly nothing, or much of it in lines of
// a word or two, as menus are.
func sparse(text string, length int) bool {
	if length < 50 {
		return true
	}
	lines, n := 0, 0
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines++
			n += weight(l)
		}
	}
	return length > 2000 && lines > 0 && n/lines < 15
}
