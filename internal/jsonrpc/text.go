package jsonrpc

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

// CheckText reports what is wrong within the strings of a text whose structure is that
// of JSON, as Parse checks it: a character that has to be escaped, an escape that there
// is not, or bytes that are no UTF-8 (RFC 8259, sections 7 and 8.1). A reader that is
// strict understands nothing of such a text, and cannot answer it.
func CheckText(text tool.Bytes) error {
	if !slices.ContainsFunc(text, func(p []byte) bool { return !isPlain(p) }) {
		return nil
	}
	b := text.Join()
	if !utf8.Valid(b) {
		at := 0
		for r, size := utf8.DecodeRune(b); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(b[at:]) {
			at += size
		}
		return fmt.Errorf("byte %d of the message, 0x%02x, is no UTF-8", at, b[at])
	}
	in := false
	for at := 0; at < len(b); at++ {
		switch c := b[at]; {
		case c == '"':
			in = !in
		case !in:
		case c < ' ':
			return fmt.Errorf("byte %d of the message, 0x%02x, stands in a string and is not escaped", at, c)
		case c == '\\':
			size := escapeLen(b[at:])
			if size == 0 {
				return fmt.Errorf("byte %d of the message begins no escape that there is in JSON", at)
			}
			at += size - 1
		}
	}
	return nil
}

// isPlain reports whether nothing in a text can be wrong within its strings.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// escapeLen returns the length of the escape that b begins with, or 0 where it is none.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0:
		return 2
	case b[1] != 'u' || len(b) < 6:
		return 0
	}
	for _, c := range b[2:6] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 0
		}
	}
	return 6
}
