package tool

import "io"

// Bytes is a text, most often JSON, in one or more pieces. An answer of many
// megabytes arrives in pieces and leaves in pieces, and is never copied into
// one. The pieces must not be changed once handed on.
type Bytes [][]byte

// OneOf returns p as a text of one piece.
func OneOf(p []byte) Bytes { return Bytes{p} }

// Len returns the length in bytes.
func (b Bytes) Len() int {
	n := 0
	for _, p := range b {
		n += len(p)
	}
	return n
}

// Join returns the text in one piece. It copies only where there are several.
func (b Bytes) Join() []byte {
	switch len(b) {
	case 0:
		return nil
	case 1:
		return b[0]
	}
	out := make([]byte, 0, b.Len())
	for _, p := range b {
		out = append(out, p...)
	}
	return out
}

// WriteTo writes all pieces to w.
func (b Bytes) WriteTo(w io.Writer) (int64, error) {
	var n int64
	for _, p := range b {
		m, err := w.Write(p)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Slice returns the bytes from offset i up to j without copying them.
// It panics where i or j is out of range, as slicing does.
func (b Bytes) Slice(i, j int) Bytes {
	out := make(Bytes, 0, 1)
	for _, p := range b {
		if j <= 0 {
			break
		}
		if i < len(p) {
			out = append(out, p[max(i, 0):min(j, len(p))])
		}
		i -= len(p)
		j -= len(p)
	}
	if j > 0 {
		panic("tool: slice out of range")
	}
	return out
}
