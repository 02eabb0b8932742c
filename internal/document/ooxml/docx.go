package ooxml

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

const maxSpan = 100 // columns of one cell

// A document is a DOCX on its way.
type document struct {
	zip  *draft.Zip
	out  *draft.Out
	part string
	rels map[string]relation

	styles  map[string]style
	lists   numbering
	notes   []note // that were referred to, in their order
	unnoted map[string]bool
}

// A note is a footnote, an endnote or a comment that the text refers to.
type note struct{ kind, id, label string }

func (d *document) convert() error {
	d.rels = relations(d.zip, d.part)
	d.unnoted = map[string]bool{}
	d.readStyles()
	d.lists.read(d.zip, byKind(d.rels, "numbering"))
	r, err := d.zip.Open(d.part)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	if err := d.blocks(s, -1, d.write); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return draft.Damage(err, "the text of the document cannot be read")
	}
	return d.writeNotes()
}

// A block is a paragraph or a table.
type block struct {
	level int    // of a heading
	item  string // what a list writes before it
	text  string
	rows  *draft.Grid
	math  bool // a formula by itself
}

// write writes a block of the body.
func (d *document) write(b block) {
	switch {
	case b.rows != nil:
		d.table(b.rows)
	case b.level > 0:
		d.out.Heading(b.level, strings.ReplaceAll(b.text, "**", ""))
	case b.item != "":
		d.out.Item(b.item + strings.ReplaceAll(b.text, "\n", "\n"+strings.Repeat(" ", len(b.item))))
	default:
		d.out.Block(b.text)
	}
}

// table writes a table; one of a single cell is a frame around text.
func (d *document) table(rows *draft.Grid) {
	if text, ok := rows.Only(); ok {
		d.out.Block(text)
		rows.Drop()
		return
	}
	rows.Write()
}

// blocks reads paragraphs and tables up to the end of the element that is open at
// depth, or of the document.
func (d *document) blocks(s *xmlscan.Scanner, depth int, emit func(block)) error {
	for s.Next() {
		if err := d.out.Err(); err != nil {
			return err
		}
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "p":
			d.paragraph(s, emit)
		case "tbl":
			rows, err := d.rows(s)
			if err != nil {
				return err
			}
			emit(block{rows: rows})
		case "oMathPara":
			emit(block{text: formulas(s), math: true})
		case "sectPr", "sdtPr", "tblPr", "tcPr", "trPr", "del", "moveFrom", "Fallback", "rPr", "pPr", "background":
			s.Skip()
		}
	}
	return nil
}

// rows reads a table.
func (d *document) rows(s *xmlscan.Scanner) (*draft.Grid, error) {
	rows := draft.NewGrid(d.out)
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End {
			if s.Depth() < depth {
				break
			}
			if s.Ends("tr") {
				rows.EndRow()
			}
			continue
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "tc":
			if err := d.cell(s, rows); err != nil {
				return nil, err
			}
		case "gridBefore":
			if n, err := strconv.Atoi(s.Any("val")); err == nil {
				rows.Add("", min(max(n, 0), maxSpan))
			}
		case "tblPr", "tblGrid", "sdtPr", "del":
			s.Skip()
		}
	}
	return rows, d.out.Err()
}

// cell reads a cell, and the empty ones that it spans. One that only continues the one
// above it is empty.
func (d *document) cell(s *xmlscan.Scanner, to *draft.Grid) error {
	wide, merged := 1, false
	text := draft.NewText(d.out)
	depth := s.Depth()
	for s.Next() {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "gridSpan":
			if n, err := strconv.Atoi(s.Any("val")); err == nil {
				wide = max(n, 1)
			}
		case "vMerge":
			merged = s.Any("val") != "restart"
		case "p":
			d.paragraph(s, func(b block) { inCell(text, b) })
		case "tbl":
			rows, err := d.rows(s)
			if err != nil {
				return err
			}
			text.Table(rows)
		case "sdtPr", "del", "moveFrom", "Fallback":
			s.Skip()
		}
	}
	if shown := text.Take(); merged {
		to.Add("", 1)
	} else {
		to.Add(shown, 1)
	}
	to.Add("", min(wide, maxSpan)-1)
	return d.out.Err()
}

// inCell puts a block into a cell.
func inCell(text *draft.Text, b block) {
	switch {
	case b.rows != nil:
		text.Table(b.rows)
	case b.text != "":
		text.Line(b.item + b.text)
	}
}

// writeNotes writes the footnotes, endnotes and comments below the text.
func (d *document) writeNotes() error {
	texts := map[string]string{}
	for kind, element := range map[string]string{"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"} {
		if err := d.readNotes(kind, element, texts); err != nil {
			d.out.Note("the %s are left out: %v", kind, err)
		}
	}
	for _, n := range d.notes {
		if err := d.out.Err(); err != nil {
			return err
		}
		if text := texts[n.kind+n.id]; text != "" {
			d.out.Item("[^" + n.label + "]: " + text)
		}
	}
	return d.out.Err()
}

// readNotes reads all notes of a kind.
func (d *document) readNotes(kind, element string, texts map[string]string) error {
	name := byKind(d.rels, kind)
	wanted := slices.ContainsFunc(d.notes, func(n note) bool { return n.kind == element })
	if name == "" || !wanted || !d.zip.Has(name) {
		return nil
	}
	rels := d.rels
	d.rels = relations(d.zip, name)
	defer func() { d.rels = rels }()
	r, err := d.zip.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	for s.Next() {
		if !s.Starts(element) {
			continue
		}
		id, author := s.Any("id"), s.Any("author")
		parts := draft.NewText(d.out)
		if err := d.blocks(s, s.Depth(), func(b block) {
			b.item = ""
			inCell(parts, b)
		}); err != nil {
			return err
		}
		text := draft.Line(parts.Take())
		if author != "" && text != "" {
			text = "Comment of " + author + ": " + text
		}
		if draft.Keep(d.out, len(text)) {
			texts[element+id] = text
		}
	}
	return s.Err()
}

// refer notes that the text refers to a note, and returns what stands for it.
func (d *document) refer(kind, id string) string {
	if d.unnoted[kind+id] || len(d.notes) > 50_000 {
		return ""
	}
	d.unnoted[kind+id] = true
	count := 1
	for _, n := range d.notes {
		if n.kind == kind {
			count++
		}
	}
	label := strconv.Itoa(count)
	switch kind {
	case "endnote":
		label = "e" + label
	case "comment":
		label = "c" + label
	}
	d.notes = append(d.notes, note{kind, id, label})
	return "[^" + label + "]"
}
