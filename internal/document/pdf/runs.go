package pdf

import (
	"math"
	"strings"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

// maxLetters is how many letters, with the spaces between them, a page may have to be
// laid out: a book has no more.
const maxLetters = 200_000

// plain returns text that is not laid out, a block for some of its lines.
func plain(text string) []block {
	var blocks []block
	var b strings.Builder
	for part := range strings.FieldsSeq(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToValidUTF8(strings.Trim(part, "\x00\x02\ufffe"), "\uFFFD"))
		if b.Len() > 2000 {
			blocks = append(blocks, block{Text: b.String()})
			b.Reset()
		}
	}
	return append(blocks, block{Text: b.String()})
}

// runs returns the text of a page, and how many letters it has. Where they are too many,
// it puts the first of them on the page as they come.
func (s *server) runs(at requests.Page, to *page, height float64, drawn rules) ([]run, int, error) {
	p, err := s.pdfium.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: at})
	if err != nil {
		return nil, 0, err
	}
	n, err := s.pdfium.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.TextPage})
	if err != nil {
		return nil, 0, err
	}
	if n.Count > maxLetters {
		first, err := s.pdfium.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: p.TextPage, Count: maxLetters})
		if err != nil {
			return nil, 0, err
		}
		to.Cut, to.Blocks = true, plain(first.Text)
		return nil, n.Count, s.close(p.TextPage)
	}
	text, err := s.pdfium.GetPageTextStructured(&requests.GetPageTextStructured{Page: at, Mode: requests.GetPageTextStructuredModeChars})
	if err != nil {
		return nil, 0, err
	}
	// Fonts are asked for once a run, and not for each letter.
	b := runBuilder{font: &font{server: s, page: p.TextPage}, height: height, drawn: drawn}
	for i, c := range text.Chars {
		b.char(i, c)
	}
	b.end()
	return b.out, b.letters, s.close(p.TextPage)
}

func (s *server) close(p references.FPDF_TEXTPAGE) error {
	_, err := s.pdfium.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: p})
	return err
}

// A font asks for the looks of letters.
type font struct {
	server *server
	page   references.FPDF_TEXTPAGE
}

// look returns the size of a letter as it is shown, and whether it is bold. What
// cannot be told is 0 and false.
func (f *font) look(i int) (size float64, bold bool) {
	if s, err := f.server.pdfium.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: f.page, Index: i}); err == nil {
		size = s.FontSize
	}
	if m, err := f.server.pdfium.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: f.page, Index: i}); err == nil {
		size *= math.Hypot(float64(m.Matrix.C), float64(m.Matrix.D))
	}
	if w, err := f.server.pdfium.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: f.page, Index: i}); err == nil {
		bold = w.FontWeight >= 600
	}
	if n, err := f.server.pdfium.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: f.page, Index: i}); err == nil {
		name := strings.ToLower(n.FontName)
		bold = bold || strings.Contains(name, "bold") || strings.Contains(name, "black") || strings.Contains(name, "-medi")
	}
	return size, bold
}

// A runBuilder makes runs of letters.
type runBuilder struct {
	font    *font
	height  float64
	drawn   rules
	out     []run
	letters int

	open  bool
	text  strings.Builder
	space bool
	run   run
}

// char takes the next letter.
func (b *runBuilder) char(i int, c *responses.GetPageTextStructuredChar) {
	p := c.PointPosition
	left, right := min(p.Left, p.Right), max(p.Left, p.Right)
	top, bottom := b.height-max(p.Top, p.Bottom), b.height-min(p.Top, p.Bottom)
	text := c.Text
	switch {
	case text == "", text[0] < ' ' && text != "\x02" && text != "\n" && text != "\r" && text != "\t":
		return
	case text == "\n" || text == "\r":
		b.end()
		return
	case text == " " || text == "\u00a0" || text == "\t":
		b.space = true
		return
	case text == "\u0002" || text == "\ufffe": // a hyphen at the end of a line
		text = "\u00ad"
	}
	if b.open && b.breaks(left, right, top, bottom) {
		b.end()
	}
	if !b.open {
		b.open = true
		b.run = run{left: left, right: right, top: top, bottom: bottom}
		b.run.size, b.run.bold = b.font.look(i)
		if b.run.size < 1 || b.run.size > 1000 {
			b.run.size = max(bottom-top, 1)
		}
	} else if b.space {
		b.text.WriteByte(' ')
	}
	b.space = false
	b.text.WriteString(text)
	b.letters += len(text)
	b.run.left, b.run.right = min(b.run.left, left), max(b.run.right, right)
	b.run.top, b.run.bottom = min(b.run.top, top), max(b.run.bottom, bottom)
}

// breaks reports whether a letter stands somewhere else than those before it.
func (b *runBuilder) breaks(left, right, top, bottom float64) bool {
	size := b.run.size
	if left > b.run.right+0.8*size || left < b.run.right-2*size {
		return true
	}
	if b.space && b.drawn.between(b.run, run{left: left, right: right, top: top, bottom: bottom}) {
		return true
	}
	middle := (top + bottom) / 2
	return middle > b.run.bottom+0.4*size || middle < b.run.top-0.4*size
}

func (b *runBuilder) end() {
	if b.open {
		b.run.text = b.text.String()
		b.out = append(b.out, b.run)
		b.text.Reset()
	}
	b.open, b.space = false, false
}
