package sheet

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ooxml"
)

// Records of charts.
const (
	recExternSheet = 0x0017
	recSupBook     = 0x01ae
	recSeries      = 0x1003
	recSeriesText  = 0x100d
	recText        = 0x1025
	recObjectLink  = 0x1027
	recSource      = 0x1051
	recCacheOf     = 0x1065

	bofChart  = 0x0020
	maxSeries = 100 // of one chart
	maxPoints = 2000
)

// xlsCharts follow the charts of a sheet. What a chart shows stands in it as ranges of
// cells, and, where the program that wrote it kept them, as values.
type xlsCharts struct {
	b       *biff
	alone   bool // the sheet is a chart
	open    bool
	titles  []string
	series  [][]ooxml.Series
	inText  bool   // what comes belongs to a text of the chart, and not to a series
	text    string // the last one
	source  byte   // what part of the series the last source is of
	cacheOf int    // what the values are that come: 1 values, 2 categories
}

// begin opens a chart, where what begins is one, at a depth from 0.
func (c *xlsCharts) begin(r record, depth int) {
	if len(r.body) >= 4 && binary.LittleEndian.Uint16(r.body[2:]) == bofChart && len(c.titles) < maxCharts {
		c.titles, c.series = append(c.titles, ""), append(c.series, nil)
		c.open, c.inText, c.text, c.cacheOf = true, false, "", 0
		c.alone = c.alone || depth == 0
	}
}

func (c *xlsCharts) take(r record) {
	if !c.open {
		return
	}
	n := len(c.titles) - 1
	d := r.body
	all := c.series[n]
	switch {
	case r.id == recSeries:
		if c.inText = false; len(all) < maxSeries {
			c.series[n] = append(all, ooxml.Series{})
		}
	case r.id == recText:
		c.inText, c.text = true, ""
	case r.id == recSource && len(d) >= 8:
		if c.source = d[0]; !c.inText && len(all) > 0 {
			c.from(&all[len(all)-1], c.b.cells(d[8:]))
		}
	case r.id == recSeriesText && len(d) > 3:
		text := unicodeString(d[2:], 1)
		if c.inText {
			c.text = text
		} else if len(all) > 0 && c.source == 0 {
			all[len(all)-1].Name = text
		}
	case r.id == recObjectLink && len(d) >= 2:
		if c.inText && binary.LittleEndian.Uint16(d) == 1 { // the title of the chart
			c.titles[n] = c.text
		}
		c.inText = false
	case r.id == recCacheOf && len(d) >= 2:
		c.cacheOf = int(binary.LittleEndian.Uint16(d))
	case len(d) > 6 && c.cacheOf != 0:
		c.value(all, r.id, d)
	}
}

func (c *xlsCharts) from(s *ooxml.Series, cells string) {
	switch c.source {
	case 0:
		s.NameFrom = cells
	case 1:
		s.ValuesFrom = cells
	case 2:
		s.CategoriesFrom = cells
	}
}

// value takes one that the chart keeps: its row is the point and its column the series.
func (c *xlsCharts) value(all []ooxml.Series, id int, d []byte) {
	point, column := int(binary.LittleEndian.Uint16(d)), int(binary.LittleEndian.Uint16(d[2:]))
	if column >= len(all) || point >= maxPoints {
		return
	}
	text := ""
	switch {
	case id == recNumber && len(d) >= 14:
		text = show(math.Float64frombits(binary.LittleEndian.Uint64(d[6:])), plain, c.b.since1904)
	case id == recLabel:
		text = unicodeString(d[6:], 2)
	default:
		return
	}
	to := &all[column].Values
	if c.cacheOf == 2 {
		to = &all[column].Categories
	} else if c.cacheOf != 1 {
		return
	}
	for len(*to) <= point {
		*to = append(*to, "")
	}
	(*to)[point] = text
}

func (c *xlsCharts) write(out *draft.Out) {
	for i, title := range c.titles {
		writeChart(out, ooxml.ChartTitle(title), ooxml.ChartRows(c.series[i]))
	}
}

// cells returns the cells that a formula is, if it is no more than them.
func (b *biff) cells(formula []byte) string {
	if len(formula) < 7 {
		return ""
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint16(formula[1+2*i:])) }
	cell := func(row, column int) string { return reference(row, column&0x3fff) }
	sheet := b.named(at(0))
	switch kind := formula[0] & 0x1f; {
	case sheet == "":
		return ""
	case kind == 0x1a:
		return sheet + cell(at(1), at(2))
	case kind == 0x1b && len(formula) >= 11:
		return sheet + cell(at(1), at(3)) + ":" + cell(at(2), at(4))
	}
	return ""
}

// named returns the name of a sheet of this workbook as formulas have it, or "".
func (b *biff) named(reference int) string {
	if reference >= len(b.references) {
		return ""
	}
	r := b.references[reference]
	if r[0] >= len(b.books) || !b.books[r[0]] || r[1] >= len(b.sheets) {
		return ""
	}
	name := b.sheets[r[1]].name
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		name = "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	return name + "!"
}

// refer reads what formulas call the sheets.
func (b *biff) refer(r record) {
	if r.id == recSupBook { // the second number tells this workbook from others
		b.books = append(b.books, len(r.body) >= 4 && binary.LittleEndian.Uint16(r.body[2:]) == 0x0401)
		return
	}
	for d := r.body[min(2, len(r.body)):]; len(d) >= 6; d = d[6:] {
		b.references = append(b.references, [2]int{int(binary.LittleEndian.Uint16(d)), int(binary.LittleEndian.Uint16(d[2:]))})
	}
}
