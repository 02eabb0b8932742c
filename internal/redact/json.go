package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A job is what to hide in a JSON text.
type job struct {
	what what
	keys bool           // hide what stands under keys that are named like secrets
	tell bool           // say how many characters are hidden
	skip []jsonrpc.Span // leave these strings alone
}

// rare are the escapes that hide letters from a scan of the raw text. All others
// are among the spellings of a value.
var rare = [][]byte{[]byte(`\u`), []byte(`\/`)}

// suspects reports whether b may hold something to hide.
func (e *engine) suspects(b tool.Bytes, skip []jsonrpc.Span) bool {
	at := 0
	for _, s := range skip {
		if e.suspect(b.Slice(at, s.Start)) {
			return true
		}
		at = s.End
	}
	if at > 0 {
		b = b.Slice(at, b.Len())
	}
	return e.suspect(b)
}

func (e *engine) suspect(b tool.Bytes) bool {
	return len(e.scan(b, values|forms)) > 0 || isEscaped(b)
}

// isEscaped reports whether a text has rare escapes.
func isEscaped(b tool.Bytes) bool {
	for i, p := range b {
		for _, r := range rare {
			if bytes.Contains(p, r) {
				return true
			}
		}
		if i+1 < len(b) && len(p) > 0 && p[len(p)-1] == '\\' {
			return true
		}
	}
	return false
}

// json returns a JSON text without secrets, and how many places were hidden.
func (e *engine) json(raw []byte, j job) ([]byte, int) {
	w := walker{e: e, job: j, raw: raw, escaped: isEscaped(tool.OneOf(raw))}
	w.spans = e.scan(tool.OneOf(raw), j.what)
	patterns := j.what&forms != 0 && len(e.patterns) > 0
	if len(w.spans) == 0 && !w.escaped && !patterns && !j.keys {
		return raw, 0
	}
	if !json.Valid(raw) {
		return e.text(raw, j)
	}
	w.every = patterns
	w.walk()
	if w.n == 0 {
		return raw, 0
	}
	return append(w.out, raw[w.done:]...), w.n
}

// A walker goes through the strings and literals of a JSON text, which must be
// valid, and rewrites those that hold secrets. All else stays as it is.
type walker struct {
	e *engine
	job
	raw     []byte
	spans   []span // secrets in the raw text that end behind where the walk is
	escaped bool   // some strings have rare escapes
	every   bool   // look into every string

	out   []byte
	done  int // up to here raw is in out
	n     int // places that were hidden
	depth int
	under int  // the depth within which everything is hidden, or 0
	named bool // the value that comes has the name of a secret
}

func (w *walker) walk() {
	for i := 0; i < len(w.raw); {
		switch c := w.raw[i]; c {
		case '{', '[':
			w.depth++
			if w.named && w.under == 0 {
				w.under = w.depth
			}
			w.named = false
			i++
		case '}', ']':
			if w.under == w.depth {
				w.under = 0
			}
			w.depth--
			i++
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		case '"':
			end := stringEnd(w.raw, i)
			if isKey(w.raw, end) {
				w.key(i, end)
			} else {
				w.str(i, end)
				w.named = false
			}
			i = end
		default:
			end := i
			for end < len(w.raw) && strings.IndexByte(",:]} \t\r\n", w.raw[end]) < 0 {
				end++
			}
			w.literal(i, end)
			w.named = false
			i = end
		}
	}
}

// stringEnd returns where the string ends that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			return len(b)
		}
		i += n
		if b[i] == '"' {
			return i + 1
		}
		i += 2
	}
}

// isKey reports whether the string that ends here is the key of a member.
func isKey(b []byte, end int) bool {
	rest := bytes.TrimLeft(b[end:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// key reads the key of a member.
func (w *walker) key(i, end int) {
	if w.keys && w.under == 0 {
		name, _ := jsonrpc.String(w.raw[i:end])
		w.named = isSecretName(name) || w.e.keys[plainKey(name)]
	}
	w.text(i, end)
}

// str reads a string that is a value.
func (w *walker) str(i, end int) {
	switch {
	case end-i > 2 && (w.named || w.under > 0):
		w.hide(i, end)
	case !w.skipped(i):
		w.text(i, end)
	}
}

// literal reads a number, true, false or null. The latter are no secrets.
func (w *walker) literal(i, end int) {
	number := w.raw[i] == '-' || isDigit(int(w.raw[i]))
	switch {
	case w.touched(i, end) != none,
		number && (w.named || w.under > 0),
		number && w.every && len(w.e.matches(w.raw[i:end])) > 0:
		w.hide(i, end)
	}
}

// text rewrites a string that holds secrets.
func (w *walker) text(i, end int) {
	touched := w.touched(i, end)
	if touched == beyond {
		w.hide(i, end)
		return
	}
	inside := w.raw[i+1 : end-1]
	slash := bytes.IndexByte(inside, '\\') >= 0
	if touched == none && !w.every && (!w.escaped || !slash) {
		return
	}
	plain := inside
	if slash {
		s, ok := jsonrpc.String(w.raw[i:end])
		if !ok {
			return
		}
		plain = []byte(s)
	}
	if masked, n := w.e.text(plain, w.job); n > 0 {
		w.put(i, end, jsonrpc.Quote(nil, string(masked)))
		w.n += n
	}
}

// within and beyond say where a secret of the raw text is that touches a token.
const (
	within = iota
	beyond
)

// touched tells whether a secret of the raw text is in a token, or goes beyond it.
// Tokens are asked for in order.
func (w *walker) touched(i, end int) int {
	for len(w.spans) > 0 && w.spans[0].end <= i {
		w.spans = w.spans[1:]
	}
	in := none
	for _, s := range w.spans {
		if s.start >= end {
			break
		}
		if s.start < i || s.end > end {
			return beyond
		}
		in = within
	}
	return in
}

// skipped reports whether the string that begins at i is to be left alone.
func (w *walker) skipped(i int) bool {
	for len(w.skip) > 0 && w.skip[0].End <= i {
		w.skip = w.skip[1:]
	}
	return len(w.skip) > 0 && w.skip[0].Start <= i
}

// hide puts dots in the place of a whole token.
func (w *walker) hide(i, end int) {
	if !w.tell && string(w.raw[i:end]) == `"`+dots+`"` {
		return
	}
	plain := w.raw[i:end] // a number
	if s, ok := jsonrpc.String(plain); ok {
		plain = []byte(s)
	}
	w.put(i, end, []byte(`"`+w.mark(plain)+`"`))
	w.n++
}

func (w *walker) put(i, end int, b []byte) {
	w.out = append(append(w.out, w.raw[w.done:i]...), b...)
	w.done = end
}

// plainKey returns a name as it is compared: without its signs, in small letters.
func plainKey(name string) string { return strings.Join(words(name), "") }
