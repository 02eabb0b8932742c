// Package ppt97 converts presentations of PowerPoint 97 to 2003 (.ppt): slides with
// their titles, points, boxes, tables and notes. Pictures are left out, and what stands
// on every slide is too.
//
//	err := ppt97.Convert(ctx, src, out)
package ppt97

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// A slide is what the list of slides says of one.
type slide struct {
	object  int64
	id      int64
	outline []text
}

// Convert converts a presentation.
func Convert(_ context.Context, src draft.Source, out *draft.Out) error {
	f, err := open(src, out)
	if err != nil {
		return err
	}
	pages, err := draft.ParsePages(out.Options.Pages)
	if err != nil {
		return err
	}
	document, ok := f.object(f.document)
	if !ok {
		return draft.Damage(nil, "the presentation does not say where its slides are: it is cut off or damaged")
	}
	slides := list(document.body, 0)
	notes := map[int64]record{} // by the id of the slide
	for _, n := range list(document.body, 2) {
		if r, ok := f.object(n.object); ok && r.kind == recNotes {
			if atom, ok := child(r.body, recNotesAtom); ok {
				notes[u32(atom.body, 0)] = r
			}
		}
	}
	out.Report.Pages = len(slides)
	some := false
	for i, s := range slides {
		if err := out.Err(); err != nil {
			return err
		}
		if !pages.Has(i + 1) {
			continue
		}
		some = true
		r, ok := f.object(s.object)
		if !ok || r.kind != recSlide {
			out.Note("slide %d cannot be found: the file is damaged", i+1)
		}
		s.write(i+1, r, notes[s.id], out)
	}
	switch {
	case len(slides) == 0:
		out.Block("(no slides)")
	case !some:
		return &draft.Error{Reason: draft.Wrong, Text: fmt.Sprintf("the presentation has %d slides, and none of those that were asked for", len(slides))}
	}
	return out.Err()
}

const maxSlides = 10_000

// list reads one of the lists of a document: 0 is that of slides, 2 that of notes.
func list(document []byte, which int) []slide {
	var all []slide
	records(document, func(r record) bool {
		if r.kind != recSlideList || r.instance != which {
			return true
		}
		var begin []byte
		flush := func(end []byte) {
			if len(all) > 0 && len(begin) >= len(end) {
				all[len(all)-1].outline = texts(begin[:len(begin)-len(end)], nil)
			}
		}
		rest := r.body
		records(r.body, func(p record) bool {
			size := 8 + len(p.body)
			if p.kind == recPersist {
				flush(rest)
				all = append(all, slide{object: u32(p.body, 0), id: u32(p.body, 12)})
				begin = rest[size:]
			}
			rest = rest[size:]
			return len(all) < maxSlides
		})
		flush(rest)
		return false
	})
	return all
}

// write writes a slide with its notes.
func (s *slide) write(number int, r, notes record, out *draft.Out) {
	var all []shape
	if drawing, ok := child(r.body, recDrawing); ok {
		all = shapes(drawing.body, s.outline, 0)
	}
	if len(all) == 0 { // a drawing that cannot be read: the outline has the texts of its boxes
		all = []shape{{texts: s.outline}}
	}
	head := fmt.Sprintf("Slide %d", number)
	var title *text
	for i := range all {
		for k := range all[i].texts {
			if t := &all[i].texts[k]; title == nil && t.isTitle() && t.line() != "" {
				title = t
			}
		}
	}
	if title == nil && len(all) > 0 && len(all[0].texts) > 0 { // programs that know no titles put them first
		t := &all[0].texts[0]
		if ps, depths := t.paragraphs(); len(ps) == 1 && depths[0] < 0 && len(ps[0]) <= 200 {
			title = t
		}
	}
	if title != nil {
		head += ": " + title.line()
	}
	out.Heading(2, head)
	for i := range all {
		all[i].write(title, out)
	}
	if said := speech(notes); said != "" {
		out.Heading(3, "Notes:")
		out.Block(said)
	}
}

// write writes a shape without the title of the slide.
func (s *shape) write(title *text, out *draft.Out) {
	if s.rows != nil {
		writeTable(s.rows, out)
	}
	for k := range s.texts {
		if t := &s.texts[k]; t != title && out.Err() == nil {
			t.write(out)
		}
	}
}

func (t *text) write(out *draft.Out) {
	all, depths := t.paragraphs()
	for i, p := range all {
		if depths[i] >= 0 {
			out.Item(strings.Repeat("  ", depths[i]) + "* " + strings.ReplaceAll(p, "\n", " "))
		} else {
			out.Block(p)
		}
	}
}

// speech returns the text of notes, without the other boxes on their page. LibreOffice
// writes some as boxes of no kind, which count where there is none of notes.
func speech(notes record) string {
	drawing, ok := child(notes.body, recDrawing)
	if !ok {
		return ""
	}
	var said, loose []string
	for _, s := range shapes(drawing.body, nil, 0) { // which has no outline to repeat
		for _, t := range s.texts {
			switch all, _ := t.paragraphs(); {
			case t.kind == textNotes:
				said = append(said, all...)
			case t.kind == textOther && !s.filled:
				loose = append(loose, all...)
			}
		}
	}
	if len(said) == 0 {
		said = loose
	}
	return strings.Join(said, "\n\n")
}
