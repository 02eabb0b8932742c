package ooxml

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

// A paragraph is one on its way.
type paragraph struct {
	d    *document
	emit func(block)
	text []byte

	style   string
	list    string
	depth   string
	outline int
	look    string // the emphasis of the text that is open
	link    string
	linkAt  int
	fields  []string // instructions of the fields that are open
	shown   bool     // in their results
	after   []block  // what stands in the paragraph, but is no text of it
}

// paragraph reads a paragraph.
func (d *document) paragraph(s *xmlscan.Scanner, emit func(block)) {
	p := &paragraph{d: d, emit: emit, shown: true}
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End {
			if s.Depth() < depth {
				break
			}
			if s.Ends("hyperlink") {
				p.endLink()
			}
			continue
		}
		if s.Kind == xmlscan.Start {
			p.element(s)
		}
	}
	p.set("")
	p.endLink()
	p.end()
}

// element reads what stands in a paragraph.
func (p *paragraph) element(s *xmlscan.Scanner) {
	switch string(s.Name) {
	case "pPr":
		p.properties(s)
	case "r":
		p.run(s)
	case "hyperlink":
		if r, ok := p.d.rels[s.Prefixed("id")]; ok && r.external && draft.Leads(r.target) {
			p.beginLink(r.target)
		}
	case "fldSimple":
		if to := hyperlink(s.Any("instr")); to != "" {
			p.beginLink(to)
		}
	case "oMathPara":
		if text := formulas(s); len(p.text) == 0 {
			p.put(text)
		} else {
			p.keep(block{text: text})
		}
	case "oMath":
		if tex := formula(s); tex != "" {
			p.set("")
			p.put("$" + tex + "$")
		}
	case "del", "moveFrom", "sdtPr", "rPr", "Fallback":
		s.Skip()
	}
}

func (p *paragraph) properties(s *xmlscan.Scanner) {
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "pStyle":
			p.style = s.Any("val")
		case "numId":
			p.list = s.Any("val")
		case "ilvl":
			p.depth = s.Any("val")
		case "outlineLvl":
			if n, err := strconv.Atoi(s.Any("val")); err == nil && n >= 0 && n < 9 {
				p.outline = n + 1
			}
		case "rPr", "sectPr", "pPrChange":
			s.Skip()
		}
	}
}

// run reads text of one look.
func (p *paragraph) run(s *xmlscan.Scanner) {
	bold, italic, strike, hidden := false, false, false, false
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "b":
			bold = on(s)
		case "i":
			italic = on(s)
		case "strike", "dstrike":
			strike = on(s)
		case "vanish":
			hidden = on(s)
		case "t":
			if text := s.Inner(maxPart); !hidden {
				p.write(text, look(bold, italic, strike))
			}
		case "rPrChange", "delText", "Fallback":
			s.Skip()
		default:
			p.inRun(s)
		}
	}
}

func look(bold, italic, strike bool) string {
	s := ""
	if strike {
		s = "~~"
	}
	if bold {
		s += "**"
	}
	if italic {
		s += "*"
	}
	return s
}

// inRun reads what in a run is no text.
func (p *paragraph) inRun(s *xmlscan.Scanner) {
	switch string(s.Name) {
	case "tab":
		p.write("\t", p.look)
	case "br", "cr":
		if s.Any("type") == "" {
			p.set("")
			p.write("\n", "")
		}
	case "noBreakHyphen":
		p.write("-", p.look)
	case "sym":
		if n, err := strconv.ParseUint(s.Any("char"), 16, 16); err == nil && n < 0xF000 {
			p.write(string(rune(n)), p.look)
		} else {
			p.write("•", p.look)
		}
	case "footnoteReference":
		p.refer("footnote", s.Any("id"))
	case "endnoteReference":
		p.refer("endnote", s.Any("id"))
	case "commentReference":
		p.refer("comment", s.Any("id"))
	case "fldChar":
		p.field(s.Any("fldCharType"))
	case "instrText":
		text := s.Inner(4000)
		if n := len(p.fields); n > 0 {
			p.fields[n-1] += text
		}
	case "drawing", "pict", "object":
		p.drawing(s)
	}
}

func (p *paragraph) refer(kind, id string) {
	p.set("")
	p.put(p.d.refer(kind, id))
}

// field follows the fields of a paragraph, of which only results are shown.
func (p *paragraph) field(what string) {
	n := len(p.fields)
	switch what {
	case "begin":
		if n < 20 {
			p.fields = append(p.fields, "")
		}
		p.shown = false
	case "separate":
		p.shown = true
		if n > 0 {
			if to := hyperlink(p.fields[n-1]); to != "" {
				p.beginLink(to)
			}
		}
	case "end":
		p.shown = true
		if n > 0 {
			if hyperlink(p.fields[n-1]) != "" {
				p.endLink()
			}
			p.fields = p.fields[:n-1]
		}
	}
}

// hyperlink returns where the instruction of a field leads, or "".
func hyperlink(instruction string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	if !ok {
		return ""
	}
	_, to, _ := strings.Cut(rest, `"`)
	to, _, _ = strings.Cut(to, `"`)
	if !draft.Leads(to) {
		return ""
	}
	return to
}

func (p *paragraph) beginLink(to string) {
	p.endLink()
	p.set("")
	p.link, p.linkAt = strings.NewReplacer(" ", "%20", ")", "%29", "(", "%28").Replace(to), len(p.text)
}

func (p *paragraph) endLink() {
	if p.link == "" {
		return
	}
	p.set("")
	label := strings.TrimSpace(string(p.text[p.linkAt:]))
	to := p.link
	p.link = ""
	if label == "" || strings.Contains(label, "](") {
		return
	}
	p.text = append(p.text[:p.linkAt], "["+draft.Line(label)+"]("+to+")"...)
}

// set ends the emphasis of the text that is open, and begins another one.
func (p *paragraph) set(look string) {
	if p.look == look {
		return
	}
	if p.look != "" {
		bare := bytes.TrimRight(p.text, " \t\n")
		p.text = append(bare, reverse(p.look)+string(p.text[len(bare):])...)
	}
	p.look = look
	p.put(look)
}

func (p *paragraph) put(text string) {
	if len(p.text) <= maxPart {
		p.text = append(p.text, text...)
	}
}

// keep takes a block that comes behind the paragraph.
func (p *paragraph) keep(b block) {
	if draft.Keep(p.d.out, len(b.text)) {
		p.after = append(p.after, b)
	}
}

func reverse(look string) string {
	switch look {
	case "~~***":
		return "***~~"
	case "~~**":
		return "**~~"
	case "~~*":
		return "*~~"
	}
	return look
}

// write writes text of a look.
func (p *paragraph) write(text, look string) {
	if !p.shown || text == "" || len(p.text) > maxPart {
		return
	}
	bare := strings.TrimLeft(text, " \t\n")
	if bare == "" { // white space has no look
		p.put(text)
		return
	}
	if look != p.look {
		p.set("")
		p.put(text[:len(text)-len(bare)])
		text = bare
		p.set(look)
	}
	p.put(text)
}

// drawing reads an image, a chart or a frame with text.
func (p *paragraph) drawing(s *xmlscan.Scanner) {
	alt := ""
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "docPr":
			alt = s.Attr("descr")
		case "blip", "imagedata":
			id := s.Prefixed("embed") + s.Prefixed("id")
			if r, ok := p.d.rels[id]; ok && !r.external {
				p.set("")
				p.put(image(p.d.zip, p.d.out, r.target, alt))
			}
		case "chart":
			if r, ok := p.d.rels[s.Prefixed("id")]; ok {
				title, rows := Chart(p.d.out, p.d.zip, r.target)
				p.keep(block{text: title})
				p.keep(block{rows: draft.GridOf(p.d.out, rows)})
			}
		case "txbxContent":
			if p.d.blocks(s, s.Depth(), p.keep) != nil {
				return // told by Out.Err
			}
		case "Fallback":
			s.Skip()
		}
	}
}

// end hands the paragraph over.
func (p *paragraph) end() {
	text := strings.TrimRight(string(p.text), " \t\n")
	b := block{text: text, level: p.outline}
	st := p.d.styles[p.style]
	if b.level == 0 {
		b.level = st.level
	}
	if p.list == "" {
		p.list = st.list
		if p.depth == "" {
			p.depth = st.depth
		}
	}
	if text != "" {
		if b.level == 0 && p.list != "" && p.list != "0" {
			b.item = p.d.lists.next(p.list, p.depth)
		}
		p.emit(b)
	}
	for _, b := range p.after {
		if b.rows != nil && b.rows.Empty() {
			continue
		}
		p.d.out.Budget.Let(len(b.text))
		p.emit(b)
	}
}
