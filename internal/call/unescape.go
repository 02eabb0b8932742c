package call

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// An unescaper turns the inside of JSON strings, which may come in pieces, into
// the text that they mean.
type unescaper struct {
	emit func([]byte) error
	esc  [6]byte // an escape that is being read, such as \u00e9
	n    int
	high rune // the first half of a surrogate pair
	rune [utf8.UTFMax]byte
}

// feed reads from p[i] on and returns where the string ended, closing quote
// included, or -1 where it goes on in the next piece.
func (u *unescaper) feed(p []byte, i int) (int, error) {
	quote := -1 // the next one, once it was looked for
	for i < len(p) {
		if u.n > 0 {
			u.esc[u.n] = p[i]
			u.n++
			i++
			if u.n == 2 && u.esc[1] != 'u' || u.n == len(u.esc) {
				if err := u.escape(); err != nil {
					return i, err
				}
			}
			continue
		}
		if quote < i {
			quote = nextByte(p, i, '"')
		}
		end := quote
		slash := bytes.IndexByte(p[i:end], '\\')
		if slash >= 0 {
			end = i + slash
		}
		if end > i {
			if err := u.out(p[i:end]); err != nil {
				return i, err
			}
		}
		switch {
		case slash >= 0:
			u.esc[0], u.n = '\\', 1
			i = end + 1
		case end < len(p):
			return end + 1, u.lone()
		default:
			i = end
		}
	}
	return -1, nil
}

// nextByte returns where c stands in p, from p[i] on, or len(p).
func nextByte(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

// out emits a plain part.
func (u *unescaper) out(p []byte) error {
	if err := u.lone(); err != nil {
		return err
	}
	return u.emit(p)
}

// lone emits the half of a surrogate pair whose other half did not come.
func (u *unescaper) lone() error {
	if u.high == 0 {
		return nil
	}
	u.high = 0
	return u.emit([]byte("\uFFFD"))
}

// simpleEscape returns what a backslash and c mean, or 0 where that is nothing.
func simpleEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case '"', '\\', '/':
		return c
	}
	return 0
}

// escape emits what the escape means that was just read.
func (u *unescaper) escape() error {
	n := u.n
	u.n = 0
	if n == 2 {
		if u.rune[0] = simpleEscape(u.esc[1]); u.rune[0] == 0 {
			return u.out([]byte("\uFFFD"))
		}
		return u.out(u.rune[:1])
	}
	v, err := strconv.ParseUint(string(u.esc[2:]), 16, 32)
	r := rune(v)
	switch {
	case err != nil:
		r = utf8.RuneError
	case u.high != 0 && utf16.DecodeRune(u.high, r) != utf8.RuneError:
		r, u.high = utf16.DecodeRune(u.high, r), 0
	case utf16.IsSurrogate(r) && r < 0xDC00:
		err := u.lone()
		u.high = r
		return err
	}
	return u.out(u.rune[:utf8.EncodeRune(u.rune[:], r)])
}

// unescape calls emit with the text that a JSON string means, part by part. It
// ends with the first error of emit.
func unescape(b tool.Bytes, emit func([]byte) error) error {
	u := unescaper{emit: emit}
	i := 1 // behind the opening quote
	for _, p := range b {
		if i >= len(p) {
			i -= len(p)
			continue
		}
		if end, err := u.feed(p, i); end >= 0 || err != nil {
			return err
		}
		i = 0
	}
	return nil
}

// stringChars returns how many characters the text of a JSON string has.
func stringChars(b tool.Bytes) (n int) {
	_ = unescape(b, func(p []byte) error {
		n += runeStartsIn(p)
		return nil
	})
	return n
}

// runeStarts counts the characters that start in a text, whose pieces may end
// within one.
func runeStarts(b tool.Bytes) (n int) {
	for _, p := range b {
		n += runeStartsIn(p)
	}
	return n
}

func runeStartsIn(p []byte) (n int) {
	for _, c := range p {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// A normalizer makes a hash of a JSON text in which neither the spaces between
// values nor the escapes in strings matter.
type normalizer struct {
	hash     maphash.Hash
	inString bool
	u        unescaper
}

func newNormalizer(seed maphash.Seed) *normalizer {
	z := &normalizer{}
	z.hash.SetSeed(seed)
	z.u.emit = func(p []byte) error {
		_, err := z.hash.Write(p)
		return err
	}
	return z
}

// Write implements io.Writer.
func (z *normalizer) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if z.inString {
			end, err := z.u.feed(p, i)
			if end < 0 || err != nil {
				return len(p), err
			}
			z.inString, i = false, end
			_ = z.hash.WriteByte(0) // the end of a string is no character of one
			continue
		}
		switch c := p[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			z.inString = true
			fallthrough
		default:
			_ = z.hash.WriteByte(c) // a hash takes everything
		}
		i++
	}
	return len(p), nil
}

// same reports whether the text says what the structured content says: the same
// JSON, or what some servers wrap as {"result": …}. Members in another order
// count as something else.
func (a *answerParts) same() bool {
	// Spaces and escapes make up to several times the length, and not more.
	if a.chars > 8*a.structuredChars || a.structuredChars > 8*a.chars+16 {
		return false
	}
	seed := maphash.MakeSeed()
	sum := func(write ...func(z *normalizer)) uint64 {
		z := newNormalizer(seed)
		for _, w := range write {
			w(z)
		}
		return z.hash.Sum64()
	}
	plain := func(text string) func(*normalizer) {
		return func(z *normalizer) { _, _ = z.Write([]byte(text)) }
	}
	text := func(z *normalizer) { _, _ = a.text().WriteTo(z) }
	want := sum(func(z *normalizer) { _, _ = a.structured.WriteTo(z) })
	if sum(text) == want {
		return true
	}
	var span [1]jsonrpc.Span
	if jsonrpc.Members(a.structured, []string{"result"}, span[:]) != nil || !span[0].Found() {
		return false
	}
	if !isString(span[0].In(a.structured)) {
		return sum(plain(`{"result":`), text, plain("}")) == want
	}
	return sum(plain(`{"result":"`), func(z *normalizer) { _, _ = a.text().WriteTo(&z.hash) }, plain(`"}`)) == want
}
