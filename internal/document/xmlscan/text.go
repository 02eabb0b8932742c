package xmlscan

import (
	"bytes"
	"io"
	"strconv"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode puts a decoder before the reader where the document is not in UTF-8.
func decode(s *Scanner) {
	b := s.buf
	label := ""
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		s.pos = 3
		return
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("<\x00?\x00")):
		label = "utf-16le"
	case bytes.HasPrefix(b, []byte("\xfe\xff")), bytes.HasPrefix(b, []byte("\x00<\x00?")):
		label = "utf-16be"
	case bytes.HasPrefix(b, []byte("<?xml")):
		head, _, ok := bytes.Cut(b, []byte("?>"))
		_, said, found := bytes.Cut(head, []byte("encoding="))
		if !ok || !found || len(said) < 3 {
			return
		}
		said, _, _ = bytes.Cut(said[1:], said[:1])
		label = string(bytes.ToLower(said))
	}
	if label == "" || label == "utf-8" || label == "us-ascii" || bytes.HasPrefix(b, []byte("<?xml")) && bytes.HasPrefix([]byte(label), []byte("utf-16")) {
		return
	}
	rest := io.MultiReader(bytes.NewReader(bytes.Clone(b)), s.r)
	if r, err := charset.NewReaderLabel(label, rest); err == nil {
		s.r, s.buf, s.eof, s.err = r, s.buf[:0], false, nil
	}
}

// whole cuts a piece so that neither a letter nor a reference is cut.
func whole(piece []byte) []byte {
	end := len(piece)
	if i := bytes.LastIndexByte(piece[max(0, end-16):], '&'); i >= 0 && bytes.IndexByte(piece[max(0, end-16)+i:], ';') < 0 {
		end = max(0, end-16) + i
	}
	for back := 0; back < utf8.UTFMax && end > 0 && end == len(piece)-back; back++ {
		if r, size := utf8.DecodeLastRune(piece[:end]); r != utf8.RuneError || size != 1 {
			break
		}
		end--
	}
	if end == 0 {
		return piece
	}
	return piece[:end]
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func cutName(name []byte) (prefix, local []byte) {
	if before, after, ok := bytes.Cut(name, []byte(":")); ok {
		return before, after
	}
	return nil, name
}

// resolve replaces references in place: what they stand for is never longer.
func resolve(b []byte) []byte {
	i := bytes.IndexByte(b, '&')
	if i < 0 {
		return b
	}
	out := b[:i]
	for i < len(b) {
		if b[i] != '&' {
			out = append(out, b[i])
			i++
			continue
		}
		end := bytes.IndexByte(b[i:min(len(b), i+16)], ';')
		if end < 0 {
			out = append(out, '&')
			i++
			continue
		}
		r, ok := reference(string(b[i+1 : i+end]))
		if !ok {
			out = append(out, b[i:i+end+1]...)
		} else {
			out = utf8.AppendRune(out, r)
		}
		i += end + 1
	}
	return out
}

func reference(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	case "nbsp":
		return '\u00a0', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, radix := name[1:], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, radix = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, radix, 32)
	if err != nil || n > utf8.MaxRune || n == 0 {
		return 0, false
	}
	return rune(n), true
}
