package sheet

import (
	"math"
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

// latin returns letters of one byte.
func latin(b []byte) string {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		out = utf8.AppendRune(out, rune(c))
	}
	return string(out)
}
