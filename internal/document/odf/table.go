package odf

import (
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/sheet"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const maxColumns = 1024

// repeated returns how often a row or a cell is repeated.
func repeated(s *xmlscan.Scanner, name string) int {
	n, err := strconv.Atoi(s.Any(name))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// rows reads a table of a text or of a slide.
func (d *document) rows(s *xmlscan.Scanner) (*draft.Grid, error) {
	rows := draft.NewGrid(d.out)
	err := d.eachRow(s, &rows.Row, func(int) error {
		rows.EndRow()
		return nil
	})
	return rows, err
}

// eachRow reads each row of a table into row, and gives f how often it is repeated.
func (d *document) eachRow(s *xmlscan.Scanner, row *draft.Row, f func(times int) error) error {
	d.tables++
	defer func() { d.tables-- }()
	times := 1
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		switch {
		case s.Starts("table-row"):
			times = repeated(s, "number-rows-repeated")
		case s.Ends("table-row"):
			err := f(times)
			if row.Reset(); err != nil {
				return err
			}
		case s.Starts("table-cell"), s.Starts("covered-table-cell"):
			n := repeated(s, "number-columns-repeated")
			text := d.cell(s)
			if d.tables > 1 { // each table around would repeat what this one has repeated
				n = 1
			}
			row.Add(text, n)
		case s.Starts("shapes") && d.drawn != nil:
			if err := d.blocks(s, func(b block) { d.keep(d.drawn, b) }); err != nil {
				return err
			}
		case s.Starts("shapes"), s.Starts("forms"), s.Starts("named-expressions"):
			s.Skip()
		}
		if err := d.out.Err(); err != nil {
			return err
		}
	}
	return nil
}

// cell reads a cell: its value where it has one that is not as it is shown, else its
// text.
func (d *document) cell(s *xmlscan.Scanner) string {
	kind := s.Any("value-type")
	value := ""
	switch kind {
	case "float", "currency":
		value = s.Any("value")
	case "date":
		value = strings.TrimSuffix(strings.Replace(s.Any("date-value"), "T", " ", 1), " 00:00:00")
	}
	text, comments := draft.NewText(d.out), draft.NewText(d.out)
	shown := func(b block) {
		switch {
		case b.refers:
			comments.Add(b.text)
		case b.rows != nil:
			text.Table(b.rows)
		case b.text != "":
			text.Line(strings.TrimLeft(b.item, " ") + b.text)
		}
	}
	// What ends this, Out.Err says to who asks next.
	_ = d.blocks(s, shown)
	if all := text.Take(); value == "" {
		value = all
	}
	return value + comments.Take()
}

// sheets are those of a workbook, as far as they were read.
type sheets struct {
	names []string
	found bool
}

// spreadsheet reads a workbook.
func (d *document) spreadsheet(s *xmlscan.Scanner) error {
	want := strings.TrimSpace(d.out.Options.Sheet)
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		switch {
		case s.Starts("table"):
			name, hidden := s.Any("name"), d.styles[s.Any("style-name")].hidden
			d.sheets.names = append(d.sheets.names, name)
			if want != "" && !strings.EqualFold(want, name) && want != strconv.Itoa(len(d.sheets.names)) {
				s.Skip()
				continue
			}
			d.sheets.found = true
			if hidden {
				name += " (hidden)"
			}
			if err := d.sheet(s, name); err != nil {
				return err
			}
		case s.Starts("tracked-changes"), s.Starts("named-expressions"), s.Starts("database-ranges"):
			s.Skip()
		}
		if err := d.out.Err(); err != nil {
			return err
		}
	}
	d.out.Set("sheets", strings.Join(d.sheets.names[:min(len(d.sheets.names), 200)], ", "))
	if want != "" && !d.sheets.found && s.Err() == nil {
		_, err := sheet.Wanted(d.out, d.sheets.names)
		return err
	}
	return nil
}

func (d *document) sheet(s *xmlscan.Scanner, name string) error {
	d.out.Heading(2, name)
	t := sheet.NewTable(d.out)
	var drawn []block
	d.drawn = &drawn
	row := draft.NewRow(d.out, maxColumns)
	err := d.eachRow(s, row, func(times int) error {
		if len(row.Cells) == 0 {
			return nil
		}
		if times > maxRepeat {
			d.out.Note("a row that is repeated %d times is shown %d times", times, maxRepeat)
		}
		for range min(times, maxRepeat) {
			if t.Row(row.Cells); d.out.Err() != nil {
				break
			}
		}
		return d.out.Err()
	})
	d.drawn = nil
	if err != nil {
		return err
	}
	if !t.End() && len(drawn) == 0 {
		d.out.Block("(empty)")
	}
	let(d, drawn)
	for _, b := range drawn {
		d.write(b)
	}
	return d.out.Err()
}

// slide reads a slide.
func (d *document) slide(s *xmlscan.Scanner) error {
	d.slides++
	if !d.pages.Has(d.slides) {
		s.Skip()
		return d.out.Err()
	}
	title := ""
	var body, notes []block
	defer func() { let(d, append(body, notes...)) }()
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		switch {
		case s.Starts("frame"):
			isTitle := s.Any("class") == "title" && title == ""
			inner := inFrame(d, s)
			if isTitle {
				title = joined(inner)
				let(d, inner)
			} else {
				body = append(body, inner...)
			}
		case s.Starts("notes"):
			if err := speaker(d, s, &notes); err != nil {
				return err
			}
		case s.Starts("p"), s.Starts("list"):
			if err := d.block(s, func(bl block) { d.keep(&body, bl) }); err != nil {
				return err
			}
		case s.Starts("forms"), s.Starts("animations"), s.Starts("par"):
			s.Skip()
		}
	}
	if title == "" && len(body) > 1 && titleLike(body[0]) {
		let(d, body[:1])
		title, body = draft.Line(body[0].text), body[1:]
	}
	writeSlide(d, title, body, notes)
	return d.out.Err()
}

// joined returns blocks on one line.
func joined(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		parts = append(parts, b.text)
	}
	return draft.Line(strings.Join(parts, " "))
}

// inFrame returns what is in a frame of a slide.
func inFrame(d *document, s *xmlscan.Scanner) []block {
	var b strings.Builder
	var inner []block
	d.frame(s, &b, func(bl block) { d.keep(&inner, bl) })
	if b.Len() > 0 {
		d.keep(&inner, block{text: b.String()})
	}
	return inner
}

func writeSlide(d *document, title string, body, notes []block) {
	head := "Slide " + strconv.Itoa(d.slides)
	if title != "" {
		head += ": " + title
	}
	d.out.Heading(2, head)
	for _, bl := range body {
		d.write(bl)
	}
	if len(notes) > 0 {
		d.out.Heading(3, "Notes:")
	}
	for _, bl := range notes {
		d.write(bl)
	}
}

// titleLike reports whether what comes first on a slide is likely its title, where
// none says that it is.
func titleLike(b block) bool {
	return b.item == "" && b.rows == nil && len(b.text) < 120 && !strings.Contains(b.text, "![")
}

// speaker reads what the speaker has noted.
func speaker(d *document, s *xmlscan.Scanner, notes *[]block) error {
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		if s.Starts("text-box") {
			if err := d.blocks(s, func(b block) { d.keep(notes, b) }); err != nil {
				return err
			}
		}
	}
	return nil
}
