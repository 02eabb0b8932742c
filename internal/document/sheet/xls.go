package sheet

import (
	"context"
	"encoding/binary"
	"math"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ole"
)

// Records of BIFF8.
const (
	recFormula  = 0x0006
	recEOF      = 0x000a
	recDateMode = 0x0022
	recContinue = 0x003c
	recFilePass = 0x002f
	recBoundary = 0x0085
	recMulRK    = 0x00bd
	recXF       = 0x00e0
	recSST      = 0x00fc
	recLabelSST = 0x00fd
	recNumber   = 0x0203
	recLabel    = 0x0204
	recBool     = 0x0205
	recString   = 0x0207
	recRK       = 0x027e
	recFormat   = 0x041e
	recBOF      = 0x0809
)

// XLS converts a workbook of Excel 97 to 2003.
func XLS(_ context.Context, src draft.Source, out *draft.Out) error {
	body, err := stream(src, out)
	if err != nil {
		return err
	}
	b := &biff{out: out, in: body, formats: map[int]kind{}}
	if err := b.globals(); err != nil {
		return err
	}
	names := make([]string, len(b.sheets))
	for i, s := range b.sheets {
		names[i] = s.name
	}
	out.Set("sheets", strings.Join(names, ", "))
	which, err := Wanted(out, names)
	if err != nil {
		return err
	}
	for _, i := range which {
		s := b.sheets[i]
		if s.kind != 0 && s.kind != 2 {
			out.Note("%q is a module and no sheet of cells", s.name)
			continue
		}
		head := s.name
		if s.hidden {
			head += " (hidden)"
		}
		out.Heading(2, head)
		if err := b.sheet(int(s.at)); err != nil {
			return err
		}
	}
	return out.Err()
}

// stream returns the stream of a file that holds the workbook.
func stream(src draft.Source, out *draft.Out) ([]byte, error) {
	c, err := ole.Open(src, "Workbook", "Book")
	if err != nil {
		return nil, err
	}
	c.Properties(out)
	for _, name := range []string{"Workbook", "Book"} {
		if body := c.Streams[name]; len(body) > 0 {
			return body, nil
		}
	}
	return nil, draft.Damage(nil, "the file holds no workbook that can be read: it is cut off or damaged")
}

// A biff is a workbook on its way.
type biff struct {
	out       *draft.Out
	in        []byte
	sheets    []xlsSheet
	shared    []string
	formats   map[int]kind
	styles    []int // the format of each style
	since1904 bool
	// What formulas call the sheets: a book, of which one is this, and a sheet of it.
	books      []bool
	references [][2]int
}

type xlsSheet struct {
	name   string
	at     uint32
	kind   byte
	hidden bool
}

// A record is one of a workbook. The records that go on with it stand in more.
type record struct {
	id   int
	body []byte
	next int
}

// read returns the record at a position, and false where there is none.
func (b *biff) read(at int) (record, bool) {
	if at < 0 || at+4 > len(b.in) {
		return record{}, false
	}
	id := int(binary.LittleEndian.Uint16(b.in[at:]))
	size := int(binary.LittleEndian.Uint16(b.in[at+2:]))
	if at+4+size > len(b.in) {
		return record{}, false
	}
	return record{id, b.in[at+4 : at+4+size], at + 4 + size}, true
}

// globals reads what holds for all sheets.
func (b *biff) globals() error {
	first, ok := b.read(0)
	if !ok || first.id != recBOF || len(first.body) < 4 {
		return draft.Damage(nil, "the workbook does not begin as one: the file is damaged, or older than Excel 97")
	}
	if v := binary.LittleEndian.Uint16(first.body); v != 0x0600 {
		return &draft.Error{Reason: draft.Unsupported, Text: "the workbook is of a version before Excel 97: save it as XLSX"}
	}
	for at := 0; ; {
		r, ok := b.read(at)
		if !ok {
			return draft.Damage(nil, "the workbook ends in the middle: the file is cut off or damaged")
		}
		at = r.next
		switch r.id {
		case recEOF:
			return nil
		case recFilePass:
			return draft.Locked("workbook")
		case recDateMode:
			b.since1904 = len(r.body) > 0 && r.body[0] == 1
		case recFormat:
			if len(r.body) > 4 {
				text := unicodeString(r.body[2:], 2)
				b.formats[int(binary.LittleEndian.Uint16(r.body))] = formatKind(text)
			}
		case recXF:
			if len(r.body) >= 4 {
				b.styles = append(b.styles, int(binary.LittleEndian.Uint16(r.body[2:])))
			}
		case recBoundary:
			if len(r.body) > 7 {
				name := unicodeString(r.body[6:], 1)
				b.sheets = append(b.sheets, xlsSheet{name, binary.LittleEndian.Uint32(r.body), r.body[5], r.body[4]&3 != 0})
			}
		case recSupBook, recExternSheet:
			b.refer(r)
		case recSST:
			at = b.strings(r)
		}
	}
}

// unicodeString reads a text whose length has so many bytes.
func unicodeString(b []byte, width int) string {
	if len(b) < width+1 {
		return ""
	}
	n := int(b[0])
	if width == 2 {
		n = int(binary.LittleEndian.Uint16(b))
	}
	wide := b[width]&1 != 0
	b = b[width+1:]
	if !wide {
		n = min(n, len(b))
		return latin(b[:n])
	}
	n = min(n, len(b)/2)
	return ole.Wide(b[:2*n])
}

// strings reads the texts that cells share, and returns the position behind them.
func (b *biff) strings(first record) int {
	p := &pieces{b: b, cur: first.body, next: first.next}
	p.skip(4)
	count := p.uint32()
	for range min(count, 1<<24) {
		if p.failed || b.out.Err() != nil {
			break
		}
		text := p.text()
		if p.failed && text == "" {
			break
		}
		b.shared = append(b.shared, text)
	}
	return p.next
}

// pieces read over the ends of records.
type pieces struct {
	b      *biff
	cur    []byte
	next   int
	failed bool
}

// more goes to the record that continues this one.
func (p *pieces) more() bool {
	r, ok := p.b.read(p.next)
	if !ok || r.id != recContinue {
		p.failed = true
		return false
	}
	p.cur, p.next = r.body, r.next
	return true
}

func (p *pieces) skip(n int) {
	for n > 0 && !p.failed {
		if len(p.cur) == 0 && !p.more() {
			return
		}
		k := min(n, len(p.cur))
		p.cur, n = p.cur[k:], n-k
	}
}

func (p *pieces) byte() byte {
	for len(p.cur) == 0 {
		if !p.more() {
			return 0
		}
	}
	c := p.cur[0]
	p.cur = p.cur[1:]
	return c
}

func (p *pieces) uint16() int    { return int(p.byte()) | int(p.byte())<<8 }
func (p *pieces) uint32() uint32 { return uint32(p.uint16()) | uint32(p.uint16())<<16 }

// text reads a text. Where it is continued, its letters may change their width.
func (p *pieces) text() string {
	n := p.uint16()
	flags := p.byte()
	runs, extra := 0, uint32(0)
	if flags&8 != 0 {
		runs = p.uint16()
	}
	if flags&4 != 0 {
		extra = p.uint32()
	}
	var text strings.Builder
	wide := flags&1 != 0
	for n > 0 && !p.failed {
		if len(p.cur) == 0 {
			if !p.more() {
				break
			}
			if len(p.cur) == 0 {
				continue
			}
			wide = p.byte()&1 != 0
			continue
		}
		width := 1
		if wide {
			width = 2
		}
		k := min(n, len(p.cur)/width)
		if k == 0 { // half a letter at the end
			p.cur = nil
			continue
		}
		if wide {
			text.WriteString(ole.Wide(p.cur[:2*k]))
		} else {
			text.WriteString(latin(p.cur[:k]))
		}
		p.cur, n = p.cur[k*width:], n-k
	}
	p.skip(4 * runs)
	p.skip(int(min(extra, 1<<30)))
	return text.String()
}

// sheet reads the cells of a sheet.
func (b *biff) sheet(at int) error {
	g := &xlsRows{b: b, table: NewTable(b.out), row: -1, cells: draft.NewRow(b.out, maxColumn)}
	charts := xlsCharts{b: b}
	var noted comments
	depth := 0
	for {
		if err := b.out.Err(); err != nil {
			return err
		}
		r, ok := b.read(at)
		if !ok {
			g.end()
			g.table.End()
			return draft.Damage(nil, "a sheet ends in the middle: the file is cut off or damaged")
		}
		at = r.next
		switch r.id {
		case recBOF:
			charts.begin(r, depth)
			depth++
		case recEOF:
			charts.open = false
			if depth--; depth <= 0 {
				g.end()
				if !g.table.End() && len(charts.titles) == 0 {
					b.out.Block("(empty)")
				}
				charts.write(b.out)
				noted.write(b.out)
				return nil
			}
		default:
			if charts.take(r); depth == 1 && !charts.alone {
				noted.take(b, r)
				g.cell(r)
			}
		}
	}
}

// xlsRows follow the cells of a sheet.
type xlsRows struct {
	b     *biff
	table *Table
	row   int
	cells *draft.Row
	last  int // the column of a formula whose text follows
}

func (g *xlsRows) end() {
	if g.row >= 0 {
		g.table.Row(g.cells.Cells)
	}
	g.cells.Reset()
}

func (g *xlsRows) put(row, column int, text string) {
	if row != g.row {
		g.end()
		g.row = row
	}
	g.cells.Set(column, text)
}

func (g *xlsRows) number(style int, v float64) string {
	k := plain
	if style < len(g.b.styles) {
		id := g.b.styles[style]
		own, ok := g.b.formats[id]
		if k = own; !ok {
			k = builtIn(id)
		}
	}
	return show(v, k, g.b.since1904)
}

func (g *xlsRows) cell(r record) {
	d := r.body
	if r.id == recString {
		text := unicodeString(d, 2)
		g.put(g.row, g.last, text)
		return
	}
	if len(d) < 6 {
		return
	}
	row, column, style := int(binary.LittleEndian.Uint16(d)), int(binary.LittleEndian.Uint16(d[2:])), int(binary.LittleEndian.Uint16(d[4:]))
	d = d[6:]
	switch r.id {
	case recLabelSST:
		if len(d) >= 4 {
			if i := binary.LittleEndian.Uint32(d); int64(i) < int64(len(g.b.shared)) {
				g.put(row, column, g.b.shared[i])
			}
		}
	case recLabel:
		text := unicodeString(d, 2)
		g.put(row, column, text)
	case recNumber:
		if len(d) >= 8 {
			g.put(row, column, g.number(style, math.Float64frombits(binary.LittleEndian.Uint64(d))))
		}
	case recRK:
		if len(d) >= 4 {
			g.put(row, column, g.number(style, rk(binary.LittleEndian.Uint32(d))))
		}
	case recMulRK:
		d = r.body[4:]
		for ; len(d) >= 8; d = d[6:] {
			g.put(row, column, g.number(int(binary.LittleEndian.Uint16(d)), rk(binary.LittleEndian.Uint32(d[2:]))))
			column++
		}
	case recBool:
		if len(d) >= 2 {
			g.put(row, column, boolOrError(d[0], d[1] == 1))
		}
	case recFormula:
		if len(d) >= 8 {
			g.formula(row, column, style, d)
		}
	}
}

// formula takes what a formula had as its value.
func (g *xlsRows) formula(row, column, style int, d []byte) {
	if binary.LittleEndian.Uint16(d[6:]) != 0xffff {
		g.put(row, column, g.number(style, math.Float64frombits(binary.LittleEndian.Uint64(d))))
		return
	}
	switch d[0] {
	case 0: // its text follows
		g.put(row, column, "")
		g.last = column
	case 1, 2:
		g.put(row, column, boolOrError(d[2], d[0] == 2))
	}
}
