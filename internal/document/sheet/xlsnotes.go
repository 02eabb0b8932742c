package sheet

import (
	"encoding/binary"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

const (
	recNote   = 0x001c
	recObject = 0x005d
	recTxo    = 0x01b6

	maxComments = 10_000
)

// comments follow the comments of a sheet: the text of each stands in an object, and
// after all of them is said which cell it belongs to.
type comments struct {
	object int
	texts  map[int]string
	lines  []string
}

func (c *comments) take(b *biff, r record) {
	d := r.body
	switch {
	case r.id == recObject && len(d) >= 8:
		c.object = int(binary.LittleEndian.Uint16(d[6:]))
	case r.id == recTxo && len(d) >= 12 && len(c.texts) < maxComments:
		if c.texts == nil {
			c.texts = map[int]string{}
		}
		left := int(binary.LittleEndian.Uint16(d[10:]))
		text := ""
		for next := r.next; left > 0; {
			more, ok := b.read(next)
			if !ok || more.id != recContinue || len(more.body) < 2 {
				break
			}
			part := more.body[1:]
			if more.body[0]&1 != 0 {
				part = part[:min(2*left, len(part)&^1)]
				text, left = text+ole.Wide(part), left-len(part)/2
			} else {
				part = part[:min(left, len(part))]
				text, left = text+latin(part), left-len(part)
			}
			next = more.next
		}
		c.texts[c.object] = text
	case r.id == recNote && len(d) >= 8 && len(c.lines) < maxComments:
		text := draft.Line(c.texts[int(binary.LittleEndian.Uint16(d[6:]))])
		if text != "" {
			row, column := int(binary.LittleEndian.Uint16(d)), int(binary.LittleEndian.Uint16(d[2:]))
			c.lines = append(c.lines, "* Comment at "+reference(row, column)+": "+text)
		}
	}
}

// reference returns a row and a column, which are counted from 0, as a reference such as
// AB12.
func reference(row, column int) string {
	letters := ""
	for n := column; n >= 0; n = n/26 - 1 {
		letters = string(rune('A'+n%26)) + letters
	}
	return letters + number(row+1)
}

func (c *comments) write(out *draft.Out) {
	for _, l := range c.lines {
		out.Item(l)
	}
}
