package ooxml

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

// Slides converts a PPTX.
func Slides(_ context.Context, src draft.Source, out *draft.Out) error {
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	Properties(z, out)
	pages, err := draft.ParsePages(out.Options.Pages)
	if err != nil {
		return err
	}
	main := mainPart(z, "ppt/presentation.xml")
	if !z.Has(main) {
		return draft.Damage(nil, "the presentation has no slides: the file is damaged")
	}
	rels := relations(z, main)
	var slides []string
	if err := part(z, main, func(s *xmlscan.Scanner) {
		if s.Starts("sldId") && len(slides) < 20_000 {
			slides = append(slides, rels[s.Prefixed("id")].target)
		}
	}); err != nil {
		return err
	}
	out.Report.Pages = len(slides)
	for i, name := range slides {
		if !pages.Has(i + 1) {
			continue
		}
		d := &deck{zip: z, out: out, part: name, rels: relations(z, name)}
		if err := d.slide(i + 1); err != nil {
			if out.Err() != nil {
				return err
			}
			out.Note("slide %d is left out: %v", i+1, err)
		}
	}
	return out.Err()
}

// A deck is a slide on its way.
type deck struct {
	zip    *draft.Zip
	out    *draft.Out
	part   string
	rels   map[string]relation
	shapes []shape
	hidden bool
	title  string
	held   int // bytes of the shapes
}

// A shape is something on a slide.
type shape struct {
	x, y  int64
	lines []string
	rows  *draft.Grid
}

func (d *deck) slide(number int) error {
	r, err := d.zip.Open(d.part)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	for s.Next() {
		if s.Starts("sld") {
			d.hidden = s.Attr("show") == "0"
		}
		if s.Kind == xmlscan.Start {
			d.element(s, 0, 0)
		}
		if err := d.out.Err(); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return draft.Damage(err, "it cannot be read")
	}
	d.guessTitle()
	head := "Slide " + strconv.Itoa(number)
	if d.hidden {
		head += " (hidden)"
	}
	if d.title != "" {
		head += ": " + d.title
	}
	d.out.Heading(2, head)
	for _, sh := range d.shapes {
		d.write(sh)
	}
	d.out.Budget.Let(d.held)
	d.notes()
	return d.out.Err()
}

// guessTitle puts the shapes in the order in which they are read, and takes the first
// one for the title where none says that it is.
func (d *deck) guessTitle() {
	// What is further up is read first; what is nearly as far up, from the left.
	slices.SortStableFunc(d.shapes, func(a, b shape) int {
		const row = 300_000 // a third of an inch
		return cmp.Or(cmp.Compare(a.y/row, b.y/row), cmp.Compare(a.x, b.x))
	})
	if d.title != "" || len(d.shapes) < 2 {
		return
	}
	first := d.shapes[0]
	if len(first.lines) == 1 && len(first.lines[0]) < 120 && !strings.HasPrefix(first.lines[0], "![") && !strings.HasPrefix(strings.TrimSpace(first.lines[0]), "* ") {
		d.title, d.shapes = strings.ReplaceAll(draft.Line(first.lines[0]), "**", ""), d.shapes[1:]
	}
}

func (d *deck) write(sh shape) {
	if sh.rows != nil {
		sh.rows.Write()
		return
	}
	for _, l := range sh.lines {
		if strings.HasPrefix(strings.TrimLeft(l, " "), "* ") {
			d.out.Item(l)
		} else {
			d.out.Block(l)
		}
	}
}

// element reads a shape that has just started; x and y are where the group is.
func (d *deck) element(s *xmlscan.Scanner, x, y int64) {
	switch string(s.Name) {
	case "sp", "cxnSp":
		d.textShape(s, x, y)
	case "pic":
		d.picture(s, x, y)
	case "graphicFrame":
		d.frame(s, x, y)
	case "Fallback", "timing", "transition", "extLst", "bg":
		s.Skip()
	}
}

// at reads where a shape is.
func at(s *xmlscan.Scanner, sh *shape) {
	x, errX := strconv.ParseInt(s.Attr("x"), 10, 64)
	y, errY := strconv.ParseInt(s.Attr("y"), 10, 64)
	if errX == nil && errY == nil {
		sh.x, sh.y = x, y
	}
}

func (d *deck) textShape(s *xmlscan.Scanner, x, y int64) {
	sh := shape{x: x, y: y}
	kind := ""
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "ph":
			kind = s.Attr("type")
			if kind == "" {
				kind = "body"
			}
		case "off":
			at(s, &sh)
		case "p":
			if line := d.line(s, kind == "body"); strings.TrimSpace(line) != "" {
				sh.lines = append(sh.lines, line)
			}
		}
	}
	switch {
	case len(sh.lines) == 0, kind == "sldNum", kind == "dt", kind == "ftr":
	case (kind == "title" || kind == "ctrTitle") && d.title == "":
		d.title = strings.ReplaceAll(draft.Line(strings.Join(sh.lines, " ")), "**", "")
	default:
		d.keep(sh)
	}
}

// keep takes a shape, until the slide is written.
func (d *deck) keep(sh shape) {
	size := 0
	for _, l := range sh.lines {
		size += len(l)
	}
	if draft.Keep(d.out, size) {
		d.held += size
		d.shapes = append(d.shapes, sh)
	}
}

// line reads a paragraph. Those of a body are items of a list, unless they say that
// they are not.
func (d *deck) line(s *xmlscan.Scanner, item bool) string {
	var b strings.Builder
	level := 0
	link := ""
	bold := false
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "pPr":
			if n, err := strconv.Atoi(s.Attr("lvl")); err == nil && n > 0 && n < 9 {
				level = n
			}
		case "buNone":
			item = false
		case "buChar", "buAutoNum":
			item = true
		case "r", "fld":
			link, bold = "", false
		case "rPr":
			bold = s.Attr("b") == "1" || s.Attr("b") == "true"
		case "hlinkClick":
			if r := d.rels[s.Prefixed("id")]; r.external {
				link = r.target
			}
		case "t":
			b.WriteString(dressed(s.Inner(maxPart), link, bold))
		case "br":
			b.WriteByte(' ')
		case "oMath":
			b.WriteString("$" + formula(s) + "$")
		}
	}
	text := strings.ReplaceAll(strings.TrimRight(b.String(), " "), "****", "")
	if text == "" {
		return ""
	}
	if item {
		return strings.Repeat("  ", level) + "* " + strings.TrimSpace(text)
	}
	return text
}

func dressed(text, link string, bold bool) string {
	bare := strings.TrimSpace(text)
	if bare == "" {
		return text
	}
	dressed := bare
	if bold {
		dressed = "**" + bare + "**"
	}
	if link != "" {
		dressed = "[" + bare + "](" + link + ")"
	}
	return strings.Replace(text, bare, dressed, 1)
}

func (d *deck) picture(s *xmlscan.Scanner, x, y int64) {
	sh := shape{x: x, y: y}
	alt, name, target := "", "", ""
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "cNvPr":
			alt, name = s.Attr("descr"), s.Attr("name")
		case "blip":
			target = d.rels[s.Prefixed("embed")].target
		case "off":
			at(s, &sh)
		}
	}
	if d.out.Options.KeepDataURIs && target != "" {
		sh.lines = []string{image(d.zip, d.out, target, cmp.Or(alt, name))}
	} else {
		alt = strings.NewReplacer("[", "(", "]", ")").Replace(draft.Line(cmp.Or(alt, name)))
		sh.lines = []string{"![" + alt + "](" + path.Base(target) + ")"}
	}
	d.keep(sh)
}

// frame reads a table, a chart or a diagram.
func (d *deck) frame(s *xmlscan.Scanner, x, y int64) {
	sh := shape{x: x, y: y}
	var extra []shape
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "off":
			at(s, &sh)
		case "tbl":
			extra = append(extra, shape{rows: d.table(s)})
		case "chart":
			title, rows := Chart(d.out, d.zip, d.rels[s.Prefixed("id")].target)
			extra = append(extra, shape{lines: []string{title}}, shape{rows: draft.GridOf(d.out, rows)})
		case "relIds":
			extra = append(extra, shape{lines: d.diagram(d.rels[s.Prefixed("dm")].target)})
		case "Fallback":
			s.Skip()
		}
	}
	for _, e := range extra {
		e.x, e.y = sh.x, sh.y
		if len(e.lines) > 0 || !e.rows.Empty() {
			d.keep(e)
		}
	}
}

func (d *deck) table(s *xmlscan.Scanner) *draft.Grid {
	rows := draft.NewGrid(d.out)
	cell := draft.NewText(d.out)
	for depth := s.Depth(); s.Next(); {
		switch {
		case s.Kind == xmlscan.End && s.Depth() < depth:
			return rows
		case s.Starts("tc"):
			cell.Take()
		case s.Starts("p"):
			if l := d.line(s, false); l != "" {
				cell.Line(l)
			}
		case s.Ends("tc"):
			rows.Add(cell.Take(), 1)
		case s.Ends("tr"):
			rows.EndRow()
		}
	}
	return rows
}

// diagram returns the texts of a diagram.
func (d *deck) diagram(name string) []string {
	var lines []string
	_ = part(d.zip, name, func(s *xmlscan.Scanner) { // what can be read of it is shown
		if s.Starts("p") && len(lines) < 1000 {
			if l := d.line(s, true); l != "" {
				lines = append(lines, l)
			}
		}
	})
	return lines
}

// notes writes what the speaker has noted.
func (d *deck) notes() {
	name := byKind(d.rels, "notesSlide")
	if name == "" {
		return
	}
	n := &deck{zip: d.zip, out: d.out, part: name, rels: relations(d.zip, name)}
	if err := part(d.zip, name, func(s *xmlscan.Scanner) {
		if s.Starts("sp") {
			n.textShape(s, 0, 0)
		}
	}); err != nil {
		d.out.Note("notes of a speaker are left out: %v", err)
	}
	if len(n.shapes) == 0 {
		return
	}
	defer d.out.Budget.Let(n.held)
	d.out.Heading(3, "Notes:")
	for _, sh := range n.shapes {
		for _, l := range sh.lines {
			d.out.Block(strings.TrimPrefix(l, "* "))
		}
	}
}
