// Package word97 converts documents of Word 97 to 2003 (.doc): paragraphs with headings,
// lists, tables, links, emphasis, pictures, footnotes and comments. Headers of pages and what was
// deleted while changes were tracked are left out.
//
//	err := word97.Convert(ctx, src, out)
package word97

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// Convert converts a document.
func Convert(_ context.Context, src draft.Source, out *draft.Out) error {
	f, err := open(src, out)
	if err != nil {
		return err
	}
	w := &writer{file: f, out: out, numbers: map[[2]int]int{}, rows: draft.NewGrid(out), cell: draft.NewText(out)}
	w.refer("", 0, fibFootRefs)
	w.refer("e", 0, fibEndRefs)
	w.refer("c", 30, fibNoteRefs)
	end := 0
	stories := [6][2]int{}
	for i, n := range f.counts {
		stories[i] = [2]int{end, end + n}
		end += n
	}
	if err := w.story(stories[0][0], stories[0][1]); err != nil {
		return err
	}
	for _, s := range []struct {
		story  int
		prefix string
		place  int64
		begin  string
	}{{1, "", fibFootText, ""}, {4, "e", fibEndText, ""}, {3, "c", fibNoteText, "Comment: "}} {
		if err := w.notes(stories[s.story], s.prefix, s.place, s.begin); err != nil {
			return err
		}
	}
	if boxes := stories[5]; boxes[1] > boxes[0] {
		if err := w.story(boxes[0], boxes[1]); err != nil {
			return err
		}
	}
	if w.pictures > 0 {
		out.Note("%d pictures or drawn objects are left out: save the document as DOCX to have them named", w.pictures)
	}
	if w.at(end-1) == 0 && len(f.pieces) > 0 && f.pieces[len(f.pieces)-1].to < f.counts[0] {
		out.Note("the text ends before it should: the file is cut off or damaged")
	}
	return out.Err()
}

// A writer writes the text of a document.
type writer struct {
	*file
	out      *draft.Out
	refs     map[int]string // labels of notes, by the character that refers to them
	numbers  map[[2]int]int // how far lists have counted
	pictures int
	kept     int // bytes of images
	text     paragraph
	rows     *draft.Grid // the table that is open
	cell     *draft.Text // and its cell
	next     int         // the piece that was read last
}

// refer notes where the text refers to notes.
func (w *writer) refer(prefix string, size int, place int64) {
	if w.refs == nil {
		w.refs = map[int]string{}
	}
	if size == 0 {
		size = 2
	}
	plc := w.part(place)
	for i := range max((len(plc)-4)/(4+size), 0) {
		w.refs[int(u32(plc, int64(4*i)))] = fmt.Sprintf("[^%s%d]", prefix, i+1)
	}
}

// at returns the unit of text at a character, 0 where there is none, and where it lies.
func (w *writer) at(cp int) rune {
	r, _, _ := w.unit(cp)
	return r
}

func (w *writer) unit(cp int) (r rune, place int64, ok bool) {
	for i := range len(w.pieces) {
		k := (w.next + i) % len(w.pieces)
		p := w.pieces[k]
		if cp < p.from || cp >= p.to {
			continue
		}
		w.next = k
		if p.narrow {
			place = p.at + int64(cp-p.from)
			return charmap.Windows1252.DecodeByte(w.main[place]), place, true
		}
		place = p.at + 2*int64(cp-p.from)
		return rune(u16(w.main, place)), place, true
	}
	return 0, 0, false
}

// notes writes the texts of notes below the text.
func (w *writer) notes(story [2]int, prefix string, place int64, begin string) error {
	plc := w.part(place)
	for i := range max(len(plc)/4-2, 0) {
		from, to := story[0]+int(u32(plc, int64(4*i))), story[0]+int(u32(plc, int64(4*i+4)))
		if from < story[0] || to > story[1] || to <= from {
			break
		}
		text := strings.TrimSpace(strings.Join(w.plain(from, to), " "))
		if text != "" {
			w.out.Item(fmt.Sprintf("[^%s%d]: %s%s", prefix, i+1, begin, text))
		}
		if err := w.out.Err(); err != nil {
			return err
		}
	}
	return nil
}

// plain returns the paragraphs of a part of the text.
func (w *writer) plain(from, to int) []string {
	var all []string
	w.text = paragraph{}
	for cp := from; cp < to && w.out.Err() == nil; cp++ {
		if r := w.char(cp); r == '\r' || r == '\f' || r == 7 {
			all = append(all, w.text.take())
		}
	}
	if rest := w.text.take(); rest != "" {
		all = append(all, rest)
	}
	return all
}

// story writes a part of the text.
func (w *writer) story(from, to int) error {
	w.text = paragraph{}
	for cp := from; cp < to; cp++ {
		if err := w.out.Err(); err != nil {
			return err
		}
		r, place, ok := w.unit(cp)
		if !ok {
			break
		}
		if w.char(cp); r != '\r' && r != 7 && r != '\f' {
			continue
		}
		w.end(r, place)
	}
	w.end('\r', -1)
	w.endTable()
	return w.out.Err()
}

// char takes a character, and returns it.
func (w *writer) char(cp int) rune {
	r, place, ok := w.unit(cp)
	if !ok {
		return 0
	}
	hidden, look := w.looks(place)
	w.text.look = look
	if hidden && r != '\r' && r != 7 {
		return r
	}
	switch r {
	case '\r', 7, '\f':
	case 1, 8:
		if len(w.text.fields) > 0 {
			break
		}
		if shown := w.picture(place); r == 1 && shown != "" {
			w.text.look = ""
			w.text.add(shown)
		} else {
			w.pictures++
		}
	case 2, 5:
		if label := w.refs[cp]; label != "" {
			w.text.look = ""
			w.text.add(label)
		}
	default:
		w.text.char(r)
	}
	return r
}

// looks returns whether a character is hidden, and how it is emphasised: by what is set
// for it, not by its style. A strike through it makes text that is struck out.
func (w *writer) looks(place int64) (hidden bool, look string) {
	c := at(w.chars, place)
	if c == nil {
		return false, ""
	}
	var bold, italic, strike bool
	each(c.sprms, func(op int, operand []byte) {
		on := operand[0] == 1 || operand[0] == 0x81 // 0x81: other than the style
		switch op {
		case 0x0800, 0x083c:
			hidden = hidden || operand[0] == 1
		case 0x0835:
			bold = on
		case 0x0836:
			italic = on
		case 0x0837:
			strike = on
		}
	})
	if strike {
		look = "~~"
	}
	switch {
	case bold && italic:
		look += "***"
	case bold:
		look += "**"
	case italic:
		look += "*"
	}
	return hidden, look
}

// end ends a paragraph, or a cell, which a character said.
func (w *writer) end(r rune, place int64) {
	text := w.text.take()
	style, inTable, rowEnd, level, number := 0, false, false, 0, 0
	if p := at(w.paras, place); p != nil {
		style = p.style
		each(p.sprms, func(op int, operand []byte) {
			switch op {
			case 0x2416:
				inTable = operand[0] == 1
			case 0x2417:
				rowEnd = operand[0] == 1
			case 0x260a:
				level = int(operand[0])
			case 0x460b:
				number = u16(operand, 0)
			}
		})
	}
	switch {
	case rowEnd:
		w.rows.EndRow()
		w.cell.Take()
		return
	case r == 7:
		w.cell.Line(text)
		w.rows.Add(w.cell.Take(), 1)
		return
	case inTable:
		w.cell.Line(text)
		return
	}
	w.endTable()
	switch heading := w.levels[style]; {
	case text == "":
	case heading > 0:
		w.out.Heading(heading, bare(text))
	case number > 0 && number <= len(w.override) && level < 9:
		w.item(w.override[number-1], level, text)
	default:
		w.out.Block(text)
	}
}

func (w *writer) item(id, level int, text string) {
	mark := "*"
	if w.lists[id].counts[level] {
		w.numbers[[2]int{id, level}]++
		mark = fmt.Sprintf("%d.", w.numbers[[2]int{id, level}])
	}
	for below := level + 1; below < 9; below++ {
		delete(w.numbers, [2]int{id, below})
	}
	w.out.Item(strings.Repeat("  ", level) + mark + " " + text)
}

func (w *writer) endTable() {
	w.rows.EndRow() // one that does not end
	w.rows.Write()
	w.cell.Take()
}
