package rules

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLayers is how many layers of escapes are looked at one by one. A text within
// a query within a query has three; what lies deeper is looked at with all
// escapes taken off at once.
const maxLayers = 4

// eachLayer calls visit with a text, with the text behind each layer of its
// escapes, and with the text without any, until visit returns false.
func eachLayer(text string, visit func(string) bool) {
	for range maxLayers {
		if !visit(text) {
			return
		}
		next := unescape(text)
		if next == text {
			return
		}
		text = next
	}
	if visit(text) {
		if all := unescapeAll(text); all != text {
			visit(all)
		}
	}
}

// unescape takes one layer of escapes off: %68, \x68 and \u0068.
func unescape(s string) string {
	i := strings.IndexAny(s, `%\`)
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		if b, size := escapeAt(s[i:]); size > 0 {
			out = append(out, b...)
			i += size
			continue
		}
		out = append(out, s[i])
		i++
	}
	return string(out)
}

// escapeAt returns the text and the length of the escape that s begins with.
func escapeAt(s string) (string, int) {
	switch {
	case len(s) >= 3 && s[0] == '%':
		if v, ok := hex(s[1:3]); ok {
			return string([]byte{byte(v)}), 3
		}
	case len(s) >= 4 && s[0] == '\\' && s[1] == 'x':
		if v, ok := hex(s[2:4]); ok {
			return string(rune(v)), 4
		}
	case len(s) >= 6 && s[0] == '\\' && s[1] == 'u':
		v, ok := hex(s[2:6])
		if !ok {
			break
		}
		if r := rune(v); !utf16.IsSurrogate(r) {
			return string(r), 6
		} else if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if low, ok := hex(s[8:12]); ok {
				if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
					return string(pair), 12
				}
			}
		}
	}
	return "", 0
}

func hex(s string) (uint64, bool) {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') || s[i] < '0' {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(s, 16, 32)
	return v, err == nil
}

// unescapeAll takes all layers off. The output is a stack: an escape that comes
// together at its end is replaced there, so that the work is linear however the
// layers are nested.
func unescapeAll(s string) string {
	if !strings.ContainsAny(s, `%\`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		for reduced := true; reduced; {
			out, reduced = reduce(out)
		}
	}
	return string(out)
}

// reduce replaces the escape that out ends with.
func reduce(out []byte) ([]byte, bool) {
	for _, size := range []int{3, 4, 6, 12} {
		start := len(out) - size
		if start < 0 || out[start] != '%' && out[start] != '\\' {
			continue
		}
		if text, n := escapeAt(string(out[start:])); n == size {
			return append(out[:start], text...), true
		}
	}
	return out, false
}

// eachString calls visit with each string of a JSON text, keys too, until it
// returns false. It is no check of the text: whoever reads it next may be more
// lenient than a parser, so every quote begins or ends a string.
func eachString(raw []byte, visit func(string) bool) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := stringEnd(raw, i)
		if !visit(unquote(raw[i+1 : max(end-1, i+1)])) {
			return
		}
		i = end - 1
	}
}

// stringEnd returns the end of the JSON string that begins at i with its quote.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw) + 1 // it never ends
}

// unquote returns the text of the inside of a JSON string. What is no escape of
// JSON stays.
func unquote(in []byte) string {
	s := string(in)
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			i++
			continue
		}
		if s[i+1] == 'u' {
			if text, size := escapeAt(s[i:]); size > 0 {
				out = append(out, text...)
				i += size
				continue
			}
		}
		if j := strings.IndexByte(`"\/bfnrt`, s[i+1]); j >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[j])
		} else {
			out = append(out, s[i], s[i+1])
		}
		i += 2
	}
	return string(out)
}
