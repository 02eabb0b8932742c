package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// needles tell of a text, in one pass over its bytes, that no rule's host can be
// in it. Each host is looked for at its first dot, which is rarer than any letter
// and stands between two bytes that are rarer still.
type needles struct {
	words []needle
	pairs [1 << 10]uint64 // a bit for each two bytes around that dot, in lower case
	// always is set where a host without a dot must be found, which cannot be
	// looked for at its dot.
	always  bool
	longest int
}

type needle struct{ before, after string } // what stands around the dot

func (n *needles) add(t *target) {
	host := t.host
	if !isPlain(host) || !strings.Contains(host, ".") && t.scheme == "" {
		n.always = true // its other spelling has nothing in common with this one
		return
	}
	if t.scheme != "" {
		return // see isOrdinary
	}
	before, after, _ := strings.Cut(host, ".")
	n.put(needle{before, after})
}

func (n *needles) put(w needle) {
	if slices.Contains(n.words, w) {
		return
	}
	n.words = append(n.words, w)
	word, bit := pair(w.before[len(w.before)-1], w.after[0])
	n.pairs[word] |= bit
	n.longest = max(n.longest, len(w.before)+len(w.after)+1)
}

// finish adds the proxies that write a host in another way.
func (n *needles) finish() { n.put(needle{"translate", "goog"}) }

// A class is what a byte means to scan.
type class uint8

const (
	plainByte  class = iota
	dotByte          // of a host, perhaps
	escapeByte       // of an escape, in JSON or in an address, or a break within one
	otherByte        // of a scheme, or of a host in another spelling
)

var classes = func() (table [256]class) {
	for c := range table {
		switch {
		case c == '.':
			table[c] = dotByte
		case c == '%' || c == '\\' || c < ' ':
			table[c] = escapeByte
		case c == '-' || c == ':' || c >= 0x7f:
			table[c] = otherByte
		}
	}
	return table
}()

// possible tells whether an address of a rule can be in the arguments of a call.
// No is certain; yes means a closer look.
func (n *needles) possible(raw []byte) bool { return scan(n, raw, plainByte) }

// inLayer is possible for one layer of a text: what lies behind an escape is in
// another one.
func (n *needles) inLayer(text string) bool { return scan(n, text, escapeByte) }

// scan looks for hosts, and for what they may hide behind, but for bytes of the
// class ignored.
func scan[T string | []byte](n *needles, raw T, ignored class) bool {
	if n.always {
		return true
	}
	for i := range len(raw) {
		switch c := classes[raw[i]]; {
		case c == plainByte || c == ignored:
		case c == dotByte && !around(n, raw, i), c == otherByte && isOrdinary(raw, i):
		default:
			return true
		}
	}
	return false
}

// isOrdinary tells whether a hyphen is not that of an internationalised label,
// and a colon not that of a scheme without needles.
func isOrdinary[T string | []byte](raw T, i int) bool {
	switch raw[i] {
	case '-':
		return !hasPrefixAt(raw, i-3, "xn--")
	case ':':
		return i+1 == len(raw) || !isSlash(raw[i+1]) || hasPrefixAt(raw, i-4, "http") || hasPrefixAt(raw, i-5, "https")
	}
	return false
}

func hasPrefixAt[T string | []byte](raw T, i int, word string) bool {
	if i < 0 || i+len(word) > len(raw) {
		return false
	}
	for j := range len(word) {
		if lower(raw[i+j]) != word[j] {
			return false
		}
	}
	return true
}

// around tells whether a host stands around the dot at i.
func around[T string | []byte](n *needles, raw T, i int) bool {
	if i == 0 || i+1 == len(raw) {
		return false
	}
	if word, bit := pair(raw[i-1], raw[i+1]); n.pairs[word]&bit == 0 {
		return false
	}
	for _, w := range n.words {
		if hasPrefixAt(raw, i-len(w.before), w.before) && hasPrefixAt(raw, i+1, w.after) {
			return true
		}
	}
	return false
}

// pair returns the place of two bytes in a set of pairs.
func pair(before, after byte) (word int, bit uint64) {
	i := int(lower(before))<<8 | int(lower(after))
	return i / 64, 1 << (i % 64)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// in tells whether a host is spelled out in an answer, in upper or lower case.
// Servers write addresses as they are; what they escape in JSON is in no host.
func (n *needles) in(answer tool.Bytes) bool {
	if n.always {
		return true
	}
	var seam []byte // the end of the piece before
	for _, p := range answer {
		if len(seam) > 0 {
			seam = append(seam, p[:min(len(p), n.longest)]...)
			if n.inPiece(seam) {
				return true
			}
		}
		if n.inPiece(p) {
			return true
		}
		seam = append(seam[:0], p[max(0, len(p)-n.longest):]...)
	}
	return false
}

func (n *needles) inPiece(p []byte) bool {
	for i := 0; ; i++ {
		at := bytes.IndexByte(p[i:], '.')
		if at < 0 {
			return false
		}
		if i += at; around(n, p, i) {
			return true
		}
	}
}

// inText is in for a text.
func (n *needles) inText(s string) bool {
	if n.always {
		return true
	}
	for i := 0; ; i++ {
		at := strings.IndexByte(s[i:], '.')
		if at < 0 {
			return false
		}
		if i += at; around(n, s, i) {
			return true
		}
	}
}
