package redact

import "strings"

// pemMost is how far a key is followed, and pemGap how much may stand between two of
// its lines.
const (
	pemMost = 64 << 10
	pemGap  = 256
)

// privateKey reads a private key in PEM: its first line and, behind lines such as
// "Proc-Type: 4,ENCRYPTED", which are no secret, what looks like lines of a key. It
// ends where anything else begins, for whoever hides an order in a text would write it
// there.
func privateKey(t *text, start, _ int) (span, bool) {
	const begin = "-----BEGIN "
	if !t.has(start, begin) {
		return span{}, false
	}
	end := t.run(start+len(begin), 40, func(c int) bool { return isUpper(c) || c == ' ' || isDigit(c) })
	title := t.slice(start+len(begin), end)
	if !t.has(end, "-----") || !strings.HasSuffix(strings.TrimSuffix(title, " BLOCK"), "PRIVATE KEY") {
		return span{}, false
	}
	end += len("-----")
	p := pem{t: t, last: "-----END " + title + "-----", most: end + pemMost}
	from := p.heads(end)
	body, ok := p.body(from)
	switch {
	case !ok:
		return span{}, false
	case from > end: // what stands between them is shown
		t.more = append(t.more, body)
		return span{start, end}, true
	}
	return span{start, body.end}, true
}

// A pem reads what stands behind the first line of a key, which may be written in JSON,
// in YAML, in a list, in a mail or in one line.
type pem struct {
	t    *text
	last string // its last line
	most int    // where to give up
}

// body reads the lines of a key from i: all of them as long as the first, but for the
// last one.
func (p *pem) body(i int) (span, bool) {
	var s span
	width := 0
	for i < p.most {
		at := p.gap(i)
		w := p.word(at)
		if w.end == at && s.end > 0 && p.t.has(at, p.last) {
			s.end = at + len(p.last)
			break
		}
		switch {
		case w.end-at == 5 && s.end > 0 && w.pad == 0 && p.t.at(at) == '=': // the checksum of PGP
		case width == 0 && w.isFirst(), width > 0 && w.n == width && w.isLine(), width > 0 && w.n < width && w.isTail():
		default:
			return s, s.end > 0
		}
		if s.end == 0 {
			s.start, width = at, w.n
		}
		if s.end, i = w.end, w.end; w.n < max(width, shortLine) {
			width = 1 // nothing but the last line follows
		}
	}
	return s, s.end > 0
}

// gap passes over what stands between two lines of a key: space, also escaped, signs of
// lists, quotes and comments, and numbers of lines.
func (p *pem) gap(i int) int {
	fresh := true // at the beginning of a line
	for most := i + pemGap; i < most; {
		switch c := p.t.at(i); {
		case c == '-' && p.t.has(i, "-----"):
			return p.signed(i)
		case c == '\n' || c == '\r':
			fresh = true
			i++
		case c != none && strings.IndexByte(" \t',:>#*|-", byte(c)) >= 0:
			i++
		case c == '\\':
			next := p.slashes(i)
			switch e := p.t.at(next); {
			case next-i <= 8 && (e == 'n' || e == 'r' || e == 't'):
				fresh = fresh || e != 't'
				i = next + 1
			case e == '\n' || e == '\r':
				i = next
			default:
				return i
			}
		case fresh && isDigit(c):
			end := p.t.run(i, 6, isDigit)
			if e := p.t.at(end); end-i > 5 || e == none || strings.IndexByte(" \t:|\\", byte(e)) < 0 {
				return i
			}
			fresh = false
			i = end
		case c == '+' && p.t.has(i, "+-----"): // a line that a change adds
			i++
		default:
			return i
		}
	}
	return i
}

// signed passes over the sign of a line that a change takes away.
func (p *pem) signed(i int) int {
	if p.t.has(i, "-"+p.last) {
		return i + 1
	}
	return i
}

// slashes returns where backslashes end.
func (p *pem) slashes(i int) int { return p.t.run(i, 16, func(c int) bool { return c == '\\' }) }

// A word is a run of base64, and what it is made of.
type word struct {
	end                 int
	n, pad              int // its letters, and the = behind them
	upper, lower, digit bool
	inner               bool // a capital stands behind another letter
	turns               int  // how often capitals and small letters take turns
}

// shortLine is the length of the shortest lines that keys have, but for the last one.
const shortLine = 20

// isLine reports whether it can be a whole line of a key: in one of 200,000 that are 64
// long neither a digit nor a + stands, and in those the case changes more often than it
// does in words.
func (w *word) isLine() bool {
	return w.n >= shortLine && w.upper && w.lower && (w.digit || 5*w.turns >= 2*w.n)
}

// isTail reports whether it can be the end of a key, which is too short to tell it from a
// word otherwise than by its capitals. Of one key in 150 its last few letters are small
// and stay: no order must be hidden.
func (w *word) isTail() bool {
	return w.n > 0 && (w.inner && (w.lower || w.digit) || w.pad > 0 && (w.n+w.pad)%4 == 0)
}

// isFirst reports whether it can be the first line of a key, which may be cut in it.
func (w *word) isFirst() bool { return w.isLine() || w.n < shortLine && w.isTail() }

// word reads base64 from i. Slashes and the signs of base64 may be escaped, as some
// programs write them in JSON.
func (p *pem) word(i int) word {
	var w word
	for i < p.most {
		c, next := p.char(i)
		switch {
		case c == '=' && w.pad < 2 && w.n > 0:
			w.pad++
		case c == '=' && w.n == 0: // the checksum of PGP has four letters behind it
			if end := p.t.run(i+1, 5, is64); end == i+5 {
				return word{end: end}
			}
			return word{end: i}
		case w.pad > 0 || !is64(c):
			w.end = i
			return w
		default:
			if prev, _ := p.char(i - 1); isUpper(c) && isLower(prev) || isLower(c) && isUpper(prev) {
				w.turns++
			}
			w.inner = w.inner || isUpper(c) && (w.upper || w.lower || w.digit)
			w.upper, w.lower, w.digit = w.upper || isUpper(c), w.lower || isLower(c), w.digit || isDigit(c) || c == '+'
			w.n++
		}
		i = next
	}
	w.end = i
	return w
}

// char returns the byte that stands at i, escaped or not, and where the next one is.
func (p *pem) char(i int) (c, next int) {
	c = p.t.at(i)
	if c != '\\' {
		return c, i + 1
	}
	next = p.slashes(i)
	for _, e := range [...]string{"/", "u002b", "u002B", "u002f", "u002F", "u003d", "u003D"} {
		if p.t.has(next, e) {
			switch e[len(e)-1] {
			case 'b', 'B':
				return '+', next + len(e)
			case 'd', 'D':
				return '=', next + len(e)
			}
			return '/', next + len(e)
		}
	}
	return c, i + 1
}

// heads passes over lines such as "Comment: of ann", and returns where they end: i where
// there are none.
func (p *pem) heads(i int) int {
	for range 8 {
		at := p.gap(i)
		end := p.t.run(at, 40, func(c int) bool { return isAlnum(c) || c == '-' })
		if end == at || p.t.at(end) != ':' || p.t.at(end+1) != ' ' {
			return i
		}
		for i = end + 1; ; i++ {
			c := p.t.at(i)
			if c == none || c == '"' || c == '<' || i-end > 1024 || p.t.has(i, "-----") {
				return i
			}
			if c == ' ' {
				if w := p.word(i + 1); w.n >= 2*shortLine && w.isLine() { // all in one line
					return i
				}
			}
			if next := p.slashes(i); c == '\n' || c == '\r' || next > i && (p.t.at(next) == 'n' || p.t.at(next) == 'r') {
				break
			}
		}
	}
	return i
}
