package ppt97

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// Kinds of texts.
const (
	textTitle       = 0
	textNotes       = 2
	textOther       = 4
	textCenterTitle = 6
)

// A text is what stands in one box.
type text struct {
	kind   int
	body   string
	levels []level // of paragraphs, as far as they are known
}

// A level is how deep a paragraph stands, and whether a mark stands before it: 0 where
// that is not said, 1 for one, -1 for none.
type level struct{ depth, mark int }

func (t *text) isTitle() bool { return t.kind == textTitle || t.kind == textCenterTitle }

// isList reports whether paragraphs are points: those of the bodies of slides.
func (t *text) isList() bool { return t.kind == 1 || t.kind == 5 || t.kind == 7 || t.kind == 8 }

// line returns the text on one line.
func (t *text) line() string {
	return strings.Join(strings.Fields(strings.NewReplacer("\r", " ", "\v", " ").Replace(t.body)), " ")
}

// paragraphs returns them with their depth as points, -1 where they are none.
func (t *text) paragraphs() (all []string, depths []int) {
	for i, p := range strings.Split(t.body, "\r") {
		p = strings.TrimSpace(strings.ReplaceAll(p, "\v", "\n"))
		if p == "" {
			continue
		}
		var l level
		if i < len(t.levels) {
			l = t.levels[i]
		}
		depth := -1
		if l.mark > 0 || l.mark == 0 && t.isList() {
			depth = min(l.depth, 8)
		}
		all, depths = append(all, p), append(depths, depth)
	}
	return all, depths
}

// texts reads records of text. A reference is looked up in those of the outline.
func texts(b []byte, outline []text) []text {
	var all []text
	open := false
	records(b, func(r record) bool {
		last := len(all) - 1
		switch r.kind {
		case recTextHeader:
			all, open = append(all, text{kind: int(u32(r.body, 0))}), true
		case recWide, recNarrow:
			if !open {
				all = append(all, text{kind: textOther})
				last = len(all) - 1
			}
			if all[last].body = ole.Narrow(r.body); r.kind == recWide {
				all[last].body = ole.Wide(r.body)
			}
			open = false
		case recStyle:
			if last >= 0 {
				all[last].levels = levels(r.body, all[last].body)
			}
		case recOutlineRef:
			if i := u32(r.body, 0); i < int64(len(outline)) {
				all = append(all, outline[i])
			}
		}
		return len(all) < 10_000
	})
	return all
}

// levels reads how deep each paragraph stands: runs of so many characters, each with a
// level and with properties whose size a mask tells.
func levels(b []byte, body string) []level {
	n := strings.Count(body, "\r") + 1
	var all []level
	paragraphs := strings.Split(body, "\r")
	for len(b) >= 10 && len(all) < n {
		count, l, mask := u32(b, 0), level{depth: u16(b, 4)}, u32(b, 6)
		if b = b[10:]; mask&1 != 0 {
			l.mark = 2*(u16(b, 0)&1) - 1
		}
		size := 0
		for _, m := range []struct {
			mask int64
			size int
		}{{0xf, 2}, {0x80, 2}, {0x10, 2}, {0x20, 4}, {0x40, 2}, {0x800, 2}, {0x1000, 2}, {0x2000, 2}, {0x4000, 2}, {0x100, 2}, {0x400, 2}, {0x8000, 2}} {
			if mask&m.mask != 0 {
				size += m.size
			}
		}
		if mask&0x100000 != 0 { // tab stops
			if size+2 > len(b) {
				return all
			}
			size += 2 + 4*u16(b, int64(size))
		}
		for _, m := range []int64{0x10000, 0xe0000, 0x200000} {
			if mask&m != 0 {
				size += 2
			}
		}
		if size > len(b) {
			return all
		}
		b = b[size:]
		for count > 0 && len(all) < n {
			count -= int64(len([]rune(paragraphs[len(all)])) + 1)
			all = append(all, l)
		}
	}
	return all
}

// A shape is a box of text, a picture or a group, of which a table is one.
type shape struct {
	texts  []text
	rows   []shape // the cells of a table
	left   int64
	top    int64
	parted bool
	filled bool // it has a place of its own on each page, such as that of the number
}

// shapes reads those of a drawing, in their order.
func shapes(b []byte, outline []text, depth int) []shape {
	var all []shape
	if depth > maxDepth {
		return nil
	}
	records(b, func(r record) bool {
		switch {
		case r.kind == recGroup:
			inner := shapes(r.body, outline, depth+1)
			if isTable(r.body) {
				if rows := table(inner); rows != nil {
					inner = []shape{{rows: rows}}
				}
			}
			all = append(all, inner...)
		case r.kind == recShape:
			s := shape{}
			records(r.body, func(part record) bool {
				switch part.kind {
				case recTextbox:
					s.texts = append(s.texts, texts(part.body, outline)...)
				case recClientData:
					_, s.filled = child(part.body, recPlaceholder)
				case recChildAnchor:
					s.left, s.top, s.parted = u32(part.body, 0), u32(part.body, 4), true
				}
				return true
			})
			if len(s.texts) > 0 || s.parted {
				all = append(all, s)
			}
		case r.parts:
			all = append(all, shapes(r.body, outline, depth+1)...)
		}
		return len(all) < 10_000
	})
	return all
}

// isTable reports whether a group is a table: its first shape says so.
func isTable(group []byte) bool {
	first, ok := child(group, recShape)
	if !ok {
		return false
	}
	more, ok := child(first.body, recMore)
	for b := more.body; ok && len(b) >= 6 && more.instance > 0; b, more.instance = b[6:], more.instance-1 {
		if u16(b, 0)&0x3fff == 0x39f {
			return true
		}
	}
	return false
}

// table returns the boxes of a group that is a table, row by row, or nil.
func table(cells []shape) []shape {
	cells = slices.DeleteFunc(slices.Clone(cells), func(s shape) bool { return !s.parted || len(s.texts) == 0 })
	tops, lefts := places(cells)
	if len(cells) == 0 || len(tops)*len(lefts) > 100_000 {
		return nil
	}
	slices.SortStableFunc(cells, func(a, b shape) int { return cmp.Or(cmp.Compare(a.top, b.top), cmp.Compare(a.left, b.left)) })
	return cells
}

// places returns where the rows and the columns of a table begin.
func places(cells []shape) (tops, lefts []int64) {
	for _, c := range cells {
		tops, lefts = append(tops, c.top), append(lefts, c.left)
	}
	slices.Sort(tops)
	slices.Sort(lefts)
	return slices.Compact(tops), slices.Compact(lefts)
}

// writeTable puts the boxes of a table into rows, by where they stand.
func writeTable(cells []shape, out *draft.Out) {
	g := draft.NewGrid(out)
	_, lefts := places(cells)
	text := draft.NewText(out)
	for i := range cells {
		c := &cells[i]
		if i > 0 && c.top != cells[i-1].top {
			g.Add("", len(lefts)-g.Wide())
			g.EndRow()
		}
		column, _ := slices.BinarySearch(lefts, c.left)
		all, _ := c.texts[0].paragraphs()
		for _, p := range all {
			text.Line(p)
		}
		g.Set(column, text.Take())
	}
	g.Add("", len(lefts)-g.Wide())
	g.EndRow()
	g.Write()
}
