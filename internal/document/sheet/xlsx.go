package sheet

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/ooxml"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const (
	maxStrings = 256 << 20 // bytes of the texts that cells share
	maxText    = 1 << 20   // bytes of one cell
	maxSheets  = 10_000
	maxCharts  = 500 // of one sheet
	maxMerged  = 20  // of one sheet, that are told
)

// A workbook is an XLSX on its way.
type workbook struct {
	zip       *draft.Zip
	out       *draft.Out
	sheets    []sheet
	shared    []string
	block     strings.Builder // what holds the last of the shared texts
	texts     int             // bytes of all of them
	kinds     []kind          // of each style
	since1904 bool
	binary    bool // its parts hold records and no XML
}

type sheet struct {
	name, part string
	hidden     bool
}

// XLSX converts a workbook of Office Open XML, a binary one (XLSB) too.
func XLSX(_ context.Context, src draft.Source, out *draft.Out) error {
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	ooxml.Properties(z, out)
	w := &workbook{zip: z, out: out}
	if err := w.open(); err != nil {
		return err
	}
	names := make([]string, len(w.sheets))
	for i, s := range w.sheets {
		names[i] = s.name
	}
	out.Set("sheets", strings.Join(names, ", "))
	which, err := Wanted(out, names)
	if err != nil {
		return err
	}
	for _, i := range which {
		s := w.sheets[i]
		head := s.name
		if s.hidden {
			head += " (hidden)"
		}
		out.Heading(2, head)
		if err := w.sheet(s); err != nil {
			return err
		}
	}
	return out.Err()
}

// scan gives f what is in a part. One that is missing is empty.
func (w *workbook) scan(name string, f func(s *xmlscan.Scanner)) error {
	if !w.zip.Has(name) {
		return nil
	}
	r, err := w.zip.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	for s.Next() {
		if f(s); w.out.Err() != nil {
			return w.out.Err()
		}
	}
	if s.Err() != nil {
		return draft.Damage(s.Err(), "the part %q of the workbook cannot be read", path.Base(name))
	}
	return nil
}

// rels reads where a part leads to.
func (w *workbook) rels(name string) (targets, kinds map[string]string, err error) {
	targets, kinds = map[string]string{}, map[string]string{}
	dir, file := path.Split(name)
	err = w.scan(dir+"_rels/"+file+".rels", func(s *xmlscan.Scanner) {
		if s.Starts("Relationship") && s.Attr("TargetMode") != "External" && len(targets) < maxSheets {
			to := s.Attr("Target")
			if !strings.HasPrefix(to, "/") {
				to = dir + to
			}
			targets[s.Attr("Id")] = path.Clean(to)
			kinds[path.Base(s.Attr("Type"))] = path.Clean(to)
		}
	})
	return targets, kinds, err
}

func (w *workbook) open() error {
	_, roots, err := w.rels("")
	if err != nil {
		return err
	}
	main := roots["officeDocument"]
	for _, usual := range []string{"xl/workbook.bin", "xl/workbook.xml"} {
		if main == "" && w.zip.Has(usual) {
			main = usual
		}
	}
	if !w.zip.Has(main) {
		return draft.Damage(nil, "the workbook has no list of sheets: the file is damaged")
	}
	targets, kinds, err := w.rels(main)
	if err != nil {
		return err
	}
	if path.Ext(main) == ".bin" {
		return w.openBinary(main, targets, kinds)
	}
	if err := w.scan(main, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("workbookPr"):
			w.since1904 = s.Attr("date1904") == "1" || s.Attr("date1904") == "true"
		case s.Starts("sheet") && len(w.sheets) < maxSheets:
			w.sheets = append(w.sheets, sheet{s.Attr("name"), targets[s.Prefixed("id")], strings.Contains(strings.ToLower(s.Attr("state")), "hidden")})
		}
	}); err != nil {
		return err
	}
	if err := w.styles(kinds["styles"]); err != nil {
		return err
	}
	return w.strings(kinds["sharedStrings"])
}

// styles reads how numbers are shown.
func (w *workbook) styles(name string) error {
	own := map[string]kind{}
	inXfs := false
	return w.scan(name, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("numFmt"):
			if len(own) < 10_000 {
				own[s.Attr("numFmtId")] = formatKind(s.Attr("formatCode"))
			}
		case s.Starts("cellXfs"):
			inXfs = true
		case s.Ends("cellXfs"):
			inXfs = false
		case s.Starts("xf") && inXfs && len(w.kinds) < 1<<16:
			id := s.Attr("numFmtId")
			k, ok := own[id]
			if n, err := strconv.Atoi(id); !ok && err == nil {
				k = builtIn(n)
			}
			w.kinds = append(w.kinds, k)
		}
	})
}

// share keeps a text that cells share, packed with others into a few large ones.
func (w *workbook) share(text []byte) error {
	if w.texts += len(text) + 16; w.texts > maxStrings {
		return draft.TooLarge("the texts of the workbook have more than %d MiB", maxStrings>>20)
	}
	if w.block.Cap()-w.block.Len() < len(text) {
		w.block = strings.Builder{}
		w.block.Grow(max(1<<20, len(text)))
	}
	from := w.block.Len()
	w.block.Write(text)
	w.shared = append(w.shared, w.block.String()[from:])
	return nil
}

// strings reads the texts that cells share.
func (w *workbook) strings(name string) error {
	var text []byte
	phonetic := false
	var large error
	err := w.scan(name, func(s *xmlscan.Scanner) {
		switch {
		case large != nil:
		case s.Starts("si"):
			text = text[:0]
		case s.Starts("rPh"):
			phonetic = true
		case s.Ends("rPh"):
			phonetic = false
		case s.Kind == xmlscan.Text && !phonetic:
			if len(text) < maxText {
				text = append(text, s.Text...)
			}
		case s.Ends("si"):
			large = w.share(unescaped(text))
		}
	})
	if large != nil {
		return large
	}
	return err
}

// sheet writes a sheet as a table.
func (w *workbook) sheet(sh sheet) error {
	c := cells{w: w, table: NewTable(w.out), row: draft.NewRow(w.out, maxColumn)}
	if !w.zip.Has(sh.part) {
		w.out.Note("the sheet %q holds no cells", sh.name)
		return nil
	}
	var err error
	if w.binary {
		err = w.records(sh.part, c.record)
	} else {
		err = w.scan(sh.part, c.next)
	}
	if err != nil {
		c.endRow() // what there is of it
		if w.out.Err() == nil {
			c.table.End()
		}
		return err
	}
	some := c.table.End()
	if len(c.merged) > 0 {
		w.out.Block("Merged cells: " + strings.Join(c.merged, ", "))
	}
	charts, err := w.charts(sh.part)
	if err != nil {
		return err
	}
	if !some && !charts {
		w.out.Block("(empty)")
	}
	return w.comments(sh.part)
}

// charts writes the data of the charts that are drawn on a sheet. It reports whether
// there were any.
func (w *workbook) charts(part string) (some bool, err error) {
	_, kinds, err := w.rels(part)
	drawing := kinds["drawing"]
	if err != nil || drawing == "" {
		return false, err
	}
	targets, _, err := w.rels(drawing)
	if err != nil {
		return false, err
	}
	var names []string
	if err := w.scan(drawing, func(s *xmlscan.Scanner) {
		if to := targets[s.Prefixed("id")]; s.Starts("chart") && to != "" && len(names) < maxCharts {
			names = append(names, to)
		}
	}); err != nil {
		return false, err
	}
	for _, name := range names {
		title, rows := ooxml.Chart(w.out, w.zip, name)
		writeChart(w.out, title, rows)
	}
	return len(names) > 0, w.out.Err()
}

func writeChart(out *draft.Out, title string, rows [][]string) {
	out.Block(title)
	if len(rows) > 0 {
		out.Rows(rows)
	}
}

// cells follows the cells of a sheet.
type cells struct {
	w       *workbook
	table   *Table
	row     *draft.Row
	column  int // of the cell that is open, from 0
	kind    string
	style   int
	value   []byte
	formula []byte
	in      byte // v, f or t: what the text belongs to
	merged  []string
}

func (c *cells) next(s *xmlscan.Scanner) {
	switch s.Kind {
	case xmlscan.Text:
		switch c.in {
		case 'v', 't':
			if len(c.value) < maxText {
				c.value = append(c.value, s.Text...)
			}
		case 'f':
			if len(c.formula) < 1000 {
				c.formula = append(c.formula, s.Text...)
			}
		}
	case xmlscan.Start:
		c.start(s)
	case xmlscan.End:
		switch string(s.Name) {
		case "v", "f", "t":
			c.in = 0
		case "c":
			c.put(c.text())
		case "row":
			c.endRow()
		}
	}
}

func (c *cells) endRow() {
	c.table.Row(c.row.Cells)
	c.row.Reset()
}

func (c *cells) start(s *xmlscan.Scanner) {
	switch string(s.Name) {
	case "c":
		c.kind, c.style = s.Attr("t"), 0
		c.value, c.formula = c.value[:0], c.formula[:0]
		if n, err := strconv.Atoi(s.Attr("s")); err == nil {
			c.style = n
		}
		if at := column(s.Attr("r")); at >= 0 {
			c.column = at
		} else {
			c.column = c.row.Wide()
		}
	case "v":
		c.in = 'v'
	case "f":
		c.in = 'f'
	case "t":
		c.in = 't'
	case "rPh":
		s.Skip()
	case "mergeCell":
		if len(c.merged) < maxMerged {
			c.merged = append(c.merged, s.Attr("ref"))
		}
	}
}

// column returns the column of a reference such as AB12, from 0, or -1.
func column(ref string) int {
	n := 0
	for i := 0; i < len(ref) && i < 3; i++ {
		switch c := ref[i] | 0x20; {
		case c >= 'a' && c <= 'z':
			n = n*26 + int(c-'a') + 1
		default:
			return n - 1
		}
	}
	return n - 1
}

func (c *cells) put(text string) { c.row.Set(c.column, text) }

// text returns the cell as it is shown.
func (c *cells) text() string {
	if len(c.value) == 0 {
		if len(c.formula) > 0 {
			return "=" + string(c.formula)
		}
		return ""
	}
	switch c.kind {
	case "s":
		n, err := strconv.Atoi(string(c.value))
		if err != nil || n < 0 || n >= len(c.w.shared) {
			return ""
		}
		return c.w.shared[n]
	case "b":
		if string(c.value) == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "", "n":
		if c.style >= 0 && c.style < len(c.w.kinds) && c.w.kinds[c.style] != plain || len(c.value) > 15 {
			return c.number()
		}
	case "d":
		return strings.TrimSuffix(string(c.value), "T00:00:00")
	case "str", "inlineStr":
		return string(unescaped(c.value))
	}
	return string(c.value)
}

func (c *cells) number() string {
	v, err := strconv.ParseFloat(string(c.value), 64)
	if err != nil {
		return string(c.value)
	}
	return c.shown(v)
}

// shown returns a number as the style of the cell shows it.
func (c *cells) shown(v float64) string {
	k := plain
	if c.style < len(c.w.kinds) && c.style >= 0 {
		k = c.w.kinds[c.style]
	}
	return show(v, k, c.w.since1904)
}

// comments writes what is noted at the cells of a sheet.
func (w *workbook) comments(part string) error {
	_, kinds, err := w.rels(part)
	if err != nil || kinds["comments"] == "" {
		return err
	}
	if w.binary {
		return w.binaryComments(kinds["comments"])
	}
	ref := ""
	inText := false
	var text strings.Builder
	return w.scan(kinds["comments"], func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("comment"):
			ref = s.Attr("ref")
			text.Reset()
		case s.Starts("t"):
			inText = true
		case s.Ends("t"):
			inText = false
		case s.Kind == xmlscan.Text && inText && text.Len() < maxText:
			text.Write(s.Text)
		case s.Ends("comment"):
			w.comment(ref, string(unescaped([]byte(text.String()))))
		}
	})
}

func (w *workbook) comment(ref, text string) {
	w.out.Item("* Comment at " + ref + ": " + draft.Line(text))
}
