package sheet

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// rk returns a number that is packed into 30 bits.
func rk(v uint32) float64 {
	var f float64
	if v&2 != 0 {
		f = float64(int32(v) >> 2)
	} else {
		f = math.Float64frombits(uint64(v&^3) << 32)
	}
	if v&1 != 0 {
		f /= 100
	}
	return f
}

func boolOrError(v byte, isError bool) string {
	if !isError {
		if v != 0 {
			return "TRUE"
		}
		return "FALSE"
	}
	switch v {
	case 0x00:
		return "#NULL!"
	case 0x07:
		return "#DIV/0!"
	case 0x0f:
		return "#VALUE!"
	case 0x17:
		return "#REF!"
	case 0x1d:
		return "#NAME?"
	case 0x24:
		return "#NUM!"
	}
	return "#N/A"
}

// unescaped returns a text of an XLSX with the characters that no XML may hold, and
// others that programs write as such: _x000D_ is the end of a line.
func unescaped(text []byte) []byte {
	const size = len("_x000D_")
	at := bytes.Index(text, []byte("_x"))
	if at < 0 {
		return text
	}
	out := bytes.Clone(text[:at])
	for text = text[at:]; len(text) > 0; {
		if len(text) >= size && text[0] == '_' && text[1] == 'x' && text[size-1] == '_' {
			if n, err := strconv.ParseUint(string(text[2:size-1]), 16, 16); err == nil {
				if n != '\r' { // a line has one end
					out = utf8.AppendRune(out, rune(n))
				}
				text = text[size:]
				continue
			}
		}
		out, text = append(out, text[0]), text[1:]
	}
	return out
}

// latin returns letters of one byte.
func latin(b []byte) string {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		out = utf8.AppendRune(out, rune(c))
	}
	return string(out)
}
