package evtx

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Types of values. One with arrayFlag is a row of them.
const (
	typeNull       = 0x00
	typeString     = 0x01
	typeANSI       = 0x02
	typeInt8       = 0x03
	typeUint8      = 0x04
	typeInt16      = 0x05
	typeUint16     = 0x06
	typeInt32      = 0x07
	typeUint32     = 0x08
	typeInt64      = 0x09
	typeUint64     = 0x0a
	typeReal32     = 0x0b
	typeReal64     = 0x0c
	typeBool       = 0x0d
	typeBinary     = 0x0e
	typeGUID       = 0x0f
	typeSize       = 0x10
	typeFileTime   = 0x11
	typeSystemTime = 0x12
	typeSID        = 0x13
	typeHex32      = 0x14
	typeHex64      = 0x15
	typeHandle     = 0x20
	typeBinXML     = 0x21
	typeXML        = 0x23
	arrayFlag      = 0x80
)

const timeLayout = "2006-01-02T15:04:05.0000000Z"

// widths are the sizes of types that have one.
var widths = map[byte]int{
	typeInt8: 1, typeUint8: 1, typeInt16: 2, typeUint16: 2, typeInt32: 4, typeUint32: 4, typeInt64: 8, typeUint64: 8,
	typeReal32: 4, typeReal64: 8, typeBool: 4, typeGUID: 16, typeFileTime: 8, typeSystemTime: 16, typeHex32: 4, typeHex64: 8,
}

// valueText returns the text of one value that is no array. What has the wrong size
// for its type is shown as bytes.
func valueText(kind byte, b []byte) string {
	if w := widths[kind]; w > len(b) || w > 0 && w < len(b) {
		if kind == typeBool && len(b) == 1 {
			return strconv.FormatBool(b[0] != 0)
		}
		return hexText(b)
	}
	le := binary.LittleEndian
	switch kind {
	case typeNull:
		return ""
	case typeString, typeXML:
		return utf16Text(b)
	case typeANSI:
		return ansiText(b)
	case typeInt8, typeInt16, typeInt32, typeInt64:
		return strconv.FormatInt(signed(b), 10)
	case typeUint8, typeUint16, typeUint32, typeUint64:
		return strconv.FormatUint(unsigned(b), 10)
	case typeReal32:
		return strconv.FormatFloat(float64(math.Float32frombits(le.Uint32(b))), 'g', -1, 32)
	case typeReal64:
		return strconv.FormatFloat(math.Float64frombits(le.Uint64(b)), 'g', -1, 64)
	case typeBool:
		return strconv.FormatBool(le.Uint32(b) != 0)
	case typeGUID:
		return guidText(b)
	case typeSize, typeHandle, typeHex32, typeHex64:
		if len(b) != 4 && len(b) != 8 {
			return hexText(b)
		}
		return "0x" + strconv.FormatUint(unsigned(b), 16)
	case typeFileTime:
		return fileTime(le.Uint64(b)).Format(timeLayout)
	case typeSystemTime:
		return systemTimeText(b)
	case typeSID:
		return sidText(b)
	}
	return hexText(b)
}

// items returns the texts of the values in an array.
func items(kind byte, b []byte, limit int) []string {
	kind &^= arrayFlag
	var list []string
	switch w := widths[kind]; {
	case kind == typeString || kind == typeANSI:
		width := 2
		if kind == typeANSI {
			width = 1
		}
		for len(b) >= width && len(list) < limit {
			end := terminator(b, width)
			list = append(list, valueText(kind, b[:end]))
			b = b[min(end+width, len(b)):]
		}
	case kind == typeSID:
		for len(b) >= 8 && len(list) < limit {
			n := 8 + 4*int(b[1])
			if n > len(b) {
				return append(list, hexText(b))
			}
			list, b = append(list, sidText(b[:n])), b[n:]
		}
	case kind == typeSize:
		w = 8 // 4 on machines of 32 bits, which an array cannot tell
		if len(b)%8 != 0 {
			w = 4
		}
		return split(kind, b, w, limit)
	case w > 0:
		return split(kind, b, w, limit)
	default:
		return []string{valueText(kind, b)}
	}
	return list
}

func split(kind byte, b []byte, width, limit int) []string {
	var list []string
	for len(b) >= width && len(list) < limit {
		list, b = append(list, valueText(kind, b[:width])), b[width:]
	}
	if len(b) > 0 && len(list) < limit {
		list = append(list, hexText(b))
	}
	return list
}

// terminator returns where the text at the beginning of b ends.
func terminator(b []byte, width int) int {
	for i := 0; i+width <= len(b); i += width {
		if b[i] == 0 && (width == 1 || b[i+1] == 0) {
			return i
		}
	}
	return len(b) - len(b)%width
}

func signed(b []byte) int64 {
	n := unsigned(b)
	shift := 64 - 8*len(b)
	return int64(n<<shift) >> shift
}

func unsigned(b []byte) uint64 {
	var n uint64
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// utf16Text reads text up to the NULs at its end. Half a pair of surrogates becomes
// the replacement character.
func utf16Text(b []byte) string {
	for len(b) >= 2 && b[len(b)&^1-2] == 0 && b[len(b)&^1-1] == 0 {
		b = b[:len(b)&^1-2]
	}
	ascii := true
	for i := 0; i+1 < len(b); i += 2 {
		if b[i+1] != 0 || b[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		var s strings.Builder
		s.Grow(len(b) / 2)
		for i := 0; i+1 < len(b); i += 2 {
			s.WriteByte(b[i])
		}
		return s.String()
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// windows1252 are the characters 0x80 to 0x9f of the code page, which differ from
// those of Unicode; 0 is none.
var windows1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// ansiText reads text in the code page of western Windows: a file does not say which
// one it was.
func ansiText(b []byte) string {
	var s strings.Builder
	for _, c := range b[:trimNULs(b)] {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			r = windows1252[c-0x80]
			if r == 0 {
				r = '\ufffd'
			}
		}
		s.WriteRune(r)
	}
	return s.String()
}

func trimNULs(b []byte) int {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return n
}

func hexText(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }

func guidText(b []byte) string {
	le := binary.LittleEndian
	return fmt.Sprintf("{%08X-%04X-%04X-%X-%X}", le.Uint32(b), le.Uint16(b[4:]), le.Uint16(b[6:]), b[8:10], b[10:16])
}

func sidText(b []byte) string {
	if len(b) < 8 || len(b) < 8+4*int(b[1]) {
		return hexText(b)
	}
	var authority uint64
	for _, c := range b[2:8] {
		authority = authority<<8 | uint64(c)
	}
	base, prefix := 10, ""
	if authority >= 1<<32 {
		base, prefix = 16, "0x"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "S-%d-%s%s", b[0], prefix, strconv.FormatUint(authority, base))
	for i := range int(b[1]) {
		fmt.Fprintf(&s, "-%d", binary.LittleEndian.Uint32(b[8+4*i:]))
	}
	return s.String()
}

// fileTime reads steps of 100 ns since 1601. What lies past the year 9999 is that
// year's end, so that every time has the same form.
func fileTime(n uint64) time.Time {
	const toUnix, second, last = 11_644_473_600, 10_000_000, 2_650_467_743_999_999_999
	n = min(n, last)
	return time.Unix(int64(n/second)-toUnix, int64(n%second)*100).UTC()
}

func systemTimeText(b []byte) string {
	var f [8]int
	for i := range f {
		f[i] = int(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", f[0], f[1], f[3], f[4], f[5], f[6], f[7])
}

// FileTime reads a time of Windows: steps of 100 ns since 1601.
func FileTime(n uint64) time.Time { return fileTime(n) }
