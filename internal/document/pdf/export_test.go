package pdf

import "encoding/binary"

// Layout lays out runs that are made of bytes: six of them for the place and the look
// of each, and the rest of a line for its text. It returns how many blocks there are.
func Layout(b []byte) int {
	var runs []run
	for len(b) > 8 {
		at := func(i int) float64 { return float64(binary.LittleEndian.Uint16(b[i:])) / 60 }
		n := min(int(b[6]), len(b)-7)
		r := run{left: at(0), top: at(2), size: float64(b[4])/4 + 1, bold: b[5]&1 != 0, text: string(b[7 : 7+n])}
		r.right, r.bottom = r.left+float64(n)*r.size/2, r.top+r.size
		runs = append(runs, r)
		b = b[7+n:]
	}
	f := &furniture{}
	return len(layout(runs, nil, 595, 842, f)) + len(layout(runs, nil, 595, 842, f))
}

var UnderHeads = underHeads
