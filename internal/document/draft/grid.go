package draft

import (
	"slices"
	"strings"
)

// Bounds on what tables hold before they are written.
const (
	// maxHeld is how many bytes all that is open of a document may hold at once.
	maxHeld = 24 << 20
	// maxCell is how many bytes one cell may have, and maxRow all cells of a row.
	maxCell = 1 << 20
	maxRow  = 8 << 20
	// maxBlank is how many rows without text are kept one behind the other.
	maxBlank = 16
	// maxCharted is how many cells all charts may have, for one may be shown many times.
	maxCharted = 1_000_000
	cellSize   = 16
	rowSize    = 48
)

// Keep counts text that is kept for later, as that of notes and slides is. It reports
// false, and notes it, where so much is kept that this must be left out.
func Keep(o *Out, size int) bool {
	if o.Budget.held.Add(int64(size)) <= maxHeld {
		return true
	}
	o.Budget.held.Add(-int64(size))
	o.Note("parts of the text are left out: what tables, slides and notes hold before they are written is more than %d MiB", maxHeld>>20)
	return false
}

// Let takes back what Keep has counted.
func (b *Budget) Let(size int) { b.held.Add(-int64(size)) }

// Charts reports whether one more chart is read, and Charted counts its cells.
func Charts(o *Out) bool {
	if o.Budget.charts.Load() < maxCharted {
		return true
	}
	o.Note("data of charts is left out: those before it have more than %d cells", maxCharted)
	return false
}

// Charted counts the cells of a chart that was read.
func Charted(o *Out, cells int) { o.Budget.charts.Add(int64(cells)) }

func noteCut(o *Out) {
	o.Note("cells of tables are cut after %d MiB, and rows after %d", maxCell>>20, maxRow>>20)
}

// A Row takes the cells of a row in bounds. Cells has none behind the last one with
// text.
type Row struct {
	Cells []string
	out   *Out
	most  int // columns
	wide  int // columns so far, with those that Cells lacks
	bytes int
	held  int
	cut   bool // text found no room
}

// NewRow returns a Row of at most so many columns.
func NewRow(o *Out, columns int) *Row { return &Row{out: o, most: columns} }

// Add puts a cell behind the others, so many times.
func (r *Row) Add(text string, times int) {
	if text == "" {
		r.wide = min(r.wide+max(times, 0), r.most)
		return
	}
	for range times {
		if r.wide == r.most {
			r.out.Note("tables are cut after %d columns", r.most)
			return
		}
		r.Set(r.wide, text)
		if r.cut {
			return
		}
	}
}

// Set puts a cell into a column, counted from 0.
func (r *Row) Set(column int, text string) {
	if text == "" {
		return
	}
	if column >= r.most {
		r.out.Note("columns beyond the %dth are left out", r.most)
		return
	}
	if most := max(0, min(maxCell, maxRow-r.bytes)); len(text) > most {
		noteCut(r.out)
		if text = Clip(text, most); most == 0 {
			return
		}
	}
	size := len(text) + cellSize*max(0, column+1-len(r.Cells))
	if r.cut = r.cut || !Keep(r.out, size); r.cut {
		return
	}
	r.held += size
	r.bytes += len(text)
	for len(r.Cells) <= column {
		r.Cells = append(r.Cells, "")
	}
	r.Cells[column] = text
	r.wide = max(r.wide, column+1)
}

// Wide returns how many columns there are so far.
func (r *Row) Wide() int { return r.wide }

// Reset begins the next row.
func (r *Row) Reset() {
	r.out.Budget.Let(r.held)
	clear(r.Cells)
	r.Cells, r.wide, r.bytes, r.held, r.cut = r.Cells[:0], 0, 0, 0, false
}

// A Grid is a table that is read as a whole before it is written:
//
//	g := draft.NewGrid(out)
//	for … {
//		for … {
//			g.Add(text, 1)
//		}
//		g.EndRow()
//	}
//	g.Write()
//
// What all tables of a document hold at once is bounded: rows that find no room are left
// out, and a note says so. Of rows without any text that follow each other a few are kept.
type Grid struct {
	Row
	rows    [][]string
	columns int
	kept    int
	blank   int // rows without text since the last one that has some
	full    bool
}

// NewGrid begins a table.
func NewGrid(o *Out) *Grid { return &Grid{Row: Row{out: o, most: maxColumns}} }

// GridOf returns a table with these rows.
func GridOf(o *Out, rows [][]string) *Grid {
	g := NewGrid(o)
	for _, r := range rows {
		for _, c := range r {
			g.Add(c, 1)
		}
		g.EndRow()
	}
	return g
}

// EndRow ends a row. One without cells is none.
func (g *Grid) EndRow() {
	defer g.Reset()
	if g.wide == 0 {
		return
	}
	if len(g.Cells) > 0 {
		g.blank = 0
	} else if g.blank++; g.blank > maxBlank {
		g.out.Note("of rows of tables without any text %d are shown, and what follows of them is left out", maxBlank)
		return
	}
	if g.full = g.full || g.cut || !Keep(g.out, rowSize); g.full {
		return
	}
	g.columns = max(g.columns, g.wide)
	g.rows = append(g.rows, slices.Clone(g.Cells))
	g.kept += rowSize + g.held
	g.held = 0
}

// Empty reports whether there are no rows.
func (g *Grid) Empty() bool { return g == nil || len(g.rows) == 0 }

// Height returns how many rows there are.
func (g *Grid) Height() int { return len(g.rows) }

// Only returns the text of a table that is a single cell.
func (g *Grid) Only() (text string, ok bool) {
	if len(g.rows) != 1 || g.columns != 1 {
		return "", false
	}
	return strings.Join(g.rows[0], ""), true
}

// Write writes the rows, and lets go of them. A row that is open stays.
func (g *Grid) Write() {
	defer g.let()
	if len(g.rows) == 0 {
		return
	}
	head := make([]string, g.columns)
	copy(head, g.rows[0])
	g.out.Table(head)
	for _, r := range g.rows[1:] {
		if g.out.Err() != nil {
			return
		}
		g.out.Row(r)
	}
	g.out.EndTable()
}

// Rows gives its rows and how many columns they make, for who writes a table otherwise.
func (g *Grid) Rows() (rows [][]string, columns int) { return g.rows, g.columns }

// Drop lets go of the table.
func (g *Grid) Drop() {
	g.Reset()
	g.let()
}

func (g *Grid) let() {
	g.out.Budget.Let(g.kept)
	g.rows, g.columns, g.kept, g.blank, g.full = nil, 0, 0, 0, false
}

// A Text is that of a cell: lines, as many as a cell may have.
type Text struct {
	out  *Out
	b    strings.Builder
	held int
	some bool
}

// NewText returns a Text without lines.
func NewText(o *Out) *Text { return &Text{out: o} }

// Line puts a line below the others.
func (t *Text) Line(line string) {
	if t.some {
		line = "\n" + line
	}
	t.Add(line)
	t.some = true
}

// Add puts text behind the last line.
func (t *Text) Add(text string) {
	room := maxCell - t.b.Len()
	if len(text) > room {
		noteCut(t.out)
		if room <= 0 {
			return
		}
		text = Clip(text, room)
	}
	if Keep(t.out, len(text)) {
		t.held += len(text)
		t.b.WriteString(text)
	}
}

// Table puts a table into the cell, a line for each row, and lets go of it.
func (t *Text) Table(g *Grid) {
	for _, r := range g.rows {
		if t.b.Len() >= maxCell {
			break
		}
		if len(r) > 0 {
			t.Line(strings.Join(r, " / "))
		}
	}
	g.Drop()
}

// Take returns the text, and begins anew.
func (t *Text) Take() string {
	t.out.Budget.Let(t.held)
	s := t.b.String()
	*t = Text{out: t.out}
	return s
}
