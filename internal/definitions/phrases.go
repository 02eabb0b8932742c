package definitions

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is one word of a text.
type token struct {
	start, end int // in the text
	classes    class
	sentence   int
}

// phrases looks for sentences that steer a model. A sentence is seen as the classes
// of its words, so that its wording, its spaces and the alphabet of its letters do
// not matter.
func (l *look) phrases(place, s string) {
	l.tokens = tokenize(l.lexicon, l.tokens[:0], s)
	all := class(0)
	for i := range l.tokens {
		all |= l.tokens[i].classes
	}
	if all&cMixed != 0 {
		for i := range l.tokens {
			if w := &l.tokens[i]; w.classes&cMixed != 0 {
				l.add(High, "mixed-script", place, around(s, w.start, w.end), "a word has letters of several scripts that look alike, as to get past a filter")
				break
			}
		}
	}
	r := reading{l, place, s}
	r.match(all)
	r.wide()
	if len(l.tools) > 0 {
		r.shadowedTools()
	}
	r.shadowedServers()
}

// A reading is one text whose words are known.
type reading struct {
	*look

	place, s string
}

// match tries the rules on the words.
func (t reading) match(all class) {
	t.meant = t.meant[:0]
	for i := range t.tokens {
		if t.tokens[i].classes != 0 {
			t.meant = append(t.meant, i)
		}
	}
	for i := range t.rules {
		r := &t.rules[i]
		if !r.possible(all) || r.parameter && !strings.Contains(t.place, "/properties/") {
			continue
		}
		for _, at := range t.meant {
			if t.tokens[at].classes&r.steps[0].any == 0 {
				continue
			}
			if end, ok := r.from(t.tokens, at); ok {
				t.add(r.severity, r.name, t.place, around(t.s, t.tokens[at].start, t.tokens[end].end), r.why)
				break
			}
		}
	}
}

// possible reports whether a text whose words have these classes can have all words
// of the rule.
func (r *rule) possible(all class) bool {
	if r.needs&all != r.needs {
		return false
	}
	for i := range r.steps {
		if r.steps[i].any&all == 0 {
			return false
		}
	}
	return true
}

// from reports whether the rule holds where its first word is at, and where it ends.
// Each step takes the nearest word that fits.
func (r *rule) from(words []token, at int) (end int, ok bool) {
	end = at
	for _, s := range r.steps[1:] {
		next := -1
		for i := end + 1; i < len(words) && i <= end+s.within && words[i].sentence == words[at].sentence; i++ {
			if words[i].classes&s.not != 0 {
				break
			}
			if words[i].classes&s.any != 0 {
				next = i
				break
			}
		}
		if next < 0 {
			return 0, false
		}
		end = next
	}
	return end, true
}

// wide looks for phrases in languages that put no space between words.
func (t reading) wide() {
	if !strings.ContainsFunc(t.s, func(r rune) bool { return r > 0x3000 && r < 0xa000 }) {
		return
	}
	for _, p := range t.phrase {
		at := strings.Index(t.s, p.first)
		if at < 0 {
			continue
		}
		end := at + len(p.first)
		if len(p.then) > 0 {
			end = at + firstOf(t.s[at:min(len(t.s), at+120)], p.then)
		}
		if end > at {
			t.add(p.severity, p.name, t.place, around(t.s, at, end), p.why)
		}
	}
}

// firstOf returns where the first of some words that is there ends in s, or 0.
func firstOf(s string, words []string) int {
	for _, w := range words {
		if i := strings.Index(s, w); i >= 0 {
			return i + len(w)
		}
	}
	return 0
}

// shadowedTools looks for the names of tools that other servers have.
func (t reading) shadowedTools() {
	word := 0
	for start := 0; start < len(t.s); {
		for start < len(t.s) && !isNameByte(t.s[start]) {
			start++
		}
		end := start
		for end < len(t.s) && isNameByte(t.s[end]) {
			end++
		}
		if name := t.s[start:end]; len(name) >= 6 && len(name) <= 64 {
			if servers := t.tools[name]; servers != nil && !servers[t.server] {
				for word < len(t.tokens)-1 && t.tokens[word].end <= start {
					word++
				}
				if t.shadow(around(t.s, start, end), word) {
					return
				}
			}
		}
		start = end
	}
}

// shadowedServers looks for what a text says of other servers.
func (t reading) shadowedServers() {
	for i := range t.tokens {
		w := &t.tokens[i]
		if w.classes&cServer == 0 {
			continue
		}
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(t.tokens) || t.tokens[j].sentence != w.sentence && j > i {
				continue
			}
			name := strings.ToLower(t.s[t.tokens[j].start:t.tokens[j].end])
			if t.servers[name] && name != strings.ToLower(t.server) && t.near(i, 12, cNot) && t.near(i, 12, cUse) {
				t.add(Warn, "shadowing", t.place, around(t.s, w.start, w.end), fmt.Sprintf("it tells the model what to do with the server %s, which is another one", name))
			}
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// shadow notes that a text names a tool of another server, and reports whether it
// says what to do with it.
func (t reading) shadow(excerpt string, word int) bool {
	if t.near(word, 14, cAlways|cNot|cInstead|cMust) {
		t.add(Warn, "shadowing", t.place, excerpt, "it tells the model what to do with a tool of another server")
		return true
	}
	t.add(Info, "mentions", t.place, excerpt, "it speaks of a tool of another server")
	return false
}

// near reports whether a word of a class is within so many words.
func (t reading) near(at, within int, c class) bool {
	for i := max(0, at-within); i < min(len(t.tokens), at+within+1); i++ {
		if t.tokens[i].classes&c != 0 {
			return true
		}
	}
	return false
}

// tokenize appends the words of a text. Words of identifiers are words.
func tokenize(known *lexicon, out []token, s string) []token {
	t := tokenizer{lexicon: known, s: s, out: out}
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		t.rune(i, size, r)
		i += size
	}
	t.flush(len(s))
	t.spaced()
	return t.out
}

// maxWord is how many letters of a word are looked at; no word of a class is longer.
const maxWord = 32

type tokenizer struct {
	*lexicon

	s        string
	out      []token
	sentence int

	word         [maxWord]byte // the word so far, as ASCII where it has letters that look so
	other        []rune        // as it is, where it is not ASCII
	n            int           // bytes of word
	start        int
	lower        bool // the last letter was a small one
	digit, alpha bool
	unicode      bool // a letter was not ASCII
	newline      bool
}

func (t *tokenizer) rune(i, size int, r rune) {
	switch {
	case r >= 'a' && r <= 'z':
		t.put(i, byte(r), r)
		t.lower, t.alpha = true, true
	case r >= 'A' && r <= 'Z':
		if t.lower && t.n > 0 { // a new word of an identifier
			t.flush(i)
		}
		t.put(i, byte(r)+'a'-'A', r)
		t.lower, t.alpha = false, true
	case r >= '0' && r <= '9', r == '$' && t.n > 0 && t.alpha:
		t.put(i, byte(r), r)
		t.digit = true
	case r == '\'' || r == '’':
		if t.n > 0 && i+size < len(t.s) && unicode.IsLetter(rune(t.s[i+size])) && t.s[i+size] == 't' {
			return // of don't
		}
		t.flush(i)
	case r < utf8.RuneSelf:
		t.flush(i)
		t.mark(i, byte(r))
	case unicode.Is(unicode.Mn, r) || invisible(r):
		// Within a word it is there to hide the word.
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		p := plain(r)
		if p < utf8.RuneSelf {
			t.put(i, byte(p), r)
			t.alpha = true
			if r >= 0x2000 { // another shape of a letter
				t.unicode = false
			}
			return
		}
		t.unicode = true
		if to, ok := lookalikes[p]; ok {
			t.put(i, byte(to), p)
		} else {
			t.put(i, '?', p)
		}
	case r == '。' || r == '！' || r == '？':
		t.flush(i)
		t.sentence++
	default:
		t.flush(i)
	}
}

func (t *tokenizer) put(i int, b byte, r rune) {
	if t.n == 0 {
		t.start = i
		t.other = t.other[:0]
	}
	if t.n < maxWord {
		t.word[t.n] = b
		if r >= utf8.RuneSelf || len(t.other) > 0 {
			for len(t.other) < t.n {
				t.other = append(t.other, rune(t.word[len(t.other)]))
			}
			t.other = append(t.other, r)
		}
	}
	t.n++
	t.newline = false
}

// mark looks at what stands between words.
func (t *tokenizer) mark(i int, c byte) {
	next := byte(' ')
	if i+1 < len(t.s) {
		next = t.s[i+1]
	}
	switch c {
	case '.', '!', '?', ';':
		if next <= ' ' || next == '"' || next == ')' {
			t.sentence++
		}
	case '\n':
		if t.newline || next == '-' || next == '*' || next == '#' || next >= '0' && next <= '9' {
			t.sentence++
		}
		t.newline = true
	case ' ', '\t', '\r':
	default:
		t.newline = false
	}
}

// flush ends a word.
func (t *tokenizer) flush(end int) {
	if t.n == 0 {
		return
	}
	c := t.classOf(t.word[:min(t.n, maxWord)])
	if t.start > 0 && t.s[t.start-1] == '.' && (t.start == 1 || !isNameByte(t.s[t.start-2])) {
		c |= t.dotted[string(t.word[:min(t.n, maxWord)])]
	}
	if end < len(t.s) {
		switch {
		case strings.HasPrefix(t.s[end:], "://"):
			c |= cAddress
		case t.s[end] == '@' && end+1 < len(t.s) && isNameByte(t.s[end+1]) && strings.IndexByte(t.s[end+1:min(len(t.s), end+64)], '.') > 0:
			c |= cAddress
		}
	}
	t.out = append(t.out, token{t.start, end, c, t.sentence})
	t.joined()
	t.n, t.lower, t.digit, t.alpha, t.unicode = 0, false, false, false, false
}

func (t *tokenizer) classOf(word []byte) class {
	if len(t.other) > 0 && t.unicode {
		if mixed(t.s[t.start:min(len(t.s), t.start+4*maxWord)][:t.length()]) {
			return t.words[string(word)] | cMixed
		}
		return t.words[string(t.other)]
	}
	c := t.words[string(word)]
	if c == 0 && t.digit && t.alpha {
		var leet [maxWord]byte
		n := copy(leet[:], word)
		for i, b := range leet[:n] {
			if at := strings.IndexByte("013457$", b); at >= 0 {
				leet[i] = "oieasts"[at]
			}
		}
		return t.words[string(leet[:n])]
	}
	return c
}

// length returns how many bytes of the text the word has.
func (t *tokenizer) length() int {
	n := 0
	for i, r := range t.s[t.start:] {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !invisible(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		if n = i + utf8.RuneLen(r); n >= 4*maxWord-4 {
			break
		}
	}
	return min(n, len(t.s)-t.start)
}

// joined gives a word the class of a name of several words that ends with it.
func (t *tokenizer) joined() {
	n := len(t.out)
	if n < 2 {
		return
	}
	a, b := &t.out[n-2], &t.out[n-1]
	if b.start-a.end > 2 {
		return
	}
	second := t.word[:min(t.n, maxWord)]
	for _, p := range t.pairs[string(second)] {
		if strings.EqualFold(t.s[a.start:a.end], p.first) {
			b.classes |= p.class
		}
	}
}

// spaced makes one word of letters that stand apart.
func (t *tokenizer) spaced() {
	kept := 0
	for i := 0; i < len(t.out); {
		end := i
		var word [maxWord]byte
		for end < len(t.out) && end-i < maxWord && t.single(end) && (end == i || t.out[end].start-t.out[end-1].end == 1) {
			word[end-i] = byte(plain(rune(t.s[t.out[end].start])))
			end++
		}
		w := t.out[i]
		if c := t.words[string(word[:end-i])]; end-i >= 4 && c != 0 {
			w.end, w.classes = t.out[end-1].end, c
		} else {
			end = i + 1
		}
		t.out[kept] = w
		kept++
		i = end
	}
	t.out = t.out[:kept]
}

func (t *tokenizer) single(i int) bool { return t.out[i].end-t.out[i].start == 1 }
