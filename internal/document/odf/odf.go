// Package odf converts the documents of OpenDocument: texts, sheets and slides, as
// LibreOffice writes them.
package odf

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const (
	maxText   = 16 << 20 // bytes of one paragraph
	maxImage  = 16 << 20
	maxRepeat = 1000 // of a row that is repeated, and not empty
)

// Flat is how the type of a document begins in one that is no container but all in one
// file of XML (FODT, FODS, FODP).
const Flat = `office:mimetype="application/vnd.oasis.opendocument.`

// Convert converts a document; what it is, its content says.
func Convert(_ context.Context, src draft.Source, out *draft.Out) error {
	if bytes.HasPrefix(bytes.TrimLeft(src.Head(100), "\xef\xbb\xbf \t\r\n"), []byte("<")) {
		return flat(src, out)
	}
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	if locked(z) {
		return draft.Locked("document")
	}
	if out.Report.Pages, err = properties(z, out); err != nil {
		return err
	}
	d, err := newDocument(z, out)
	if err != nil {
		return err
	}
	if z.Has("styles.xml") {
		if err := d.part("styles.xml"); err != nil {
			return err
		}
	}
	if err := d.part("content.xml"); err != nil {
		return err
	}
	return finish(d)
}

// flat converts a document that is all in one file.
func flat(src draft.Source, out *draft.Out) error {
	out.Report.Pages = about(src.Reader(), out)
	d, err := newDocument(&draft.Zip{}, out)
	if err != nil {
		return err
	}
	if err := d.read(src.Reader()); err != nil {
		return err
	}
	return finish(d)
}

func newDocument(z *draft.Zip, out *draft.Out) (*document, error) {
	pages, err := draft.ParsePages(out.Options.Pages)
	return &document{zip: z, out: out, pages: pages, styles: map[string]style{}, numbered: map[string]bool{}}, err
}

// locked reports whether the manifest says that parts are encrypted.
func locked(z *draft.Zip) bool {
	r, err := z.Open("META-INF/manifest.xml")
	if err != nil {
		return false
	}
	defer r.Close()
	for s := xmlscan.New(r); s.Next(); {
		if s.Starts("encryption-data") {
			return true
		}
	}
	return false
}

// properties takes what the file says of itself, and returns how many pages it has.
func properties(z *draft.Zip, out *draft.Out) (pages int, err error) {
	if !z.Has("meta.xml") {
		return 0, nil
	}
	r, err := z.Open("meta.xml")
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return about(r, out), nil
}

func about(r io.Reader, out *draft.Out) (pages int) {
	names := map[string]string{
		"title": "title", "initial-creator": "author", "creation-date": "created", "date": "modified",
		"subject": "subject", "keyword": "keywords", "description": "description", "language": "language",
	}
	creator := ""
	for s := xmlscan.New(r); s.Next() && !s.Ends("meta"); {
		if s.Kind != xmlscan.Start {
			continue
		}
		switch name := string(s.Name); {
		case name == "document-statistic":
			if n, err := strconv.Atoi(s.Any("page-count")); err == nil && n > 0 {
				pages = n
			}
		case name == "creator":
			creator = s.Inner(1000)
		case names[name] != "":
			out.Set(names[name], s.Inner(4000))
		}
	}
	if out.Report.Get("author") == "" {
		out.Set("author", creator)
	}
	return pages
}

// A style says how text looks.
type style struct {
	bold, italic, strike, hidden bool
	level                        int // of the heading that a paragraph is, 0 for none
}

// A document is one on its way.
type document struct {
	zip      *draft.Zip
	out      *draft.Out
	pages    draft.Pages
	styles   map[string]style
	numbered map[string]bool // lists with numbers, by their style
	notes    []string
	slides   int
	sheets   sheets
	drawn    *[]block // what is drawn on the sheet that is read, nil where none is
	tables   int      // that are open in each other
}

// part reads the styles and the body of a part.
func (d *document) part(name string) error {
	r, err := d.zip.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return d.read(r)
}

func (d *document) read(r io.Reader) error {
	s := xmlscan.New(r)
	for s.Next() {
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "style":
			readStyle(d, s)
		case "list-style":
			readListStyle(d, s)
		case "master-styles":
			s.Skip()
		case "text", "presentation", "drawing":
			if err := d.blocks(s, d.write); err != nil {
				return err
			}
		case "spreadsheet":
			if err := d.spreadsheet(s); err != nil {
				return err
			}
		}
	}
	if s.Err() != nil {
		return draft.Damage(s.Err(), "the text of the document cannot be read")
	}
	return d.out.Err()
}

// headingLevel returns what level of heading a style of paragraphs makes. Documents that
// were something else before have headings by their styles alone.
func headingLevel(name, outline string, inherited int) int {
	if n, err := strconv.Atoi(outline); err == nil && n > 0 {
		return n
	}
	if rest, ok := strings.CutPrefix(name, "Heading_20_"); ok {
		if n, err := strconv.Atoi(rest); err == nil && n > 0 {
			return n
		}
	}
	if name == "Title" {
		return 1
	}
	return inherited
}

func readStyle(d *document, s *xmlscan.Scanner) {
	name := s.Any("name")
	st := d.styles[s.Any("parent-style-name")]
	if s.Any("family") == "paragraph" {
		st.level = headingLevel(name, s.Any("default-outline-level"), st.level)
	}
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			break
		}
		if s.Starts("table-properties") {
			st.hidden = s.Any("display") == "false"
		}
		if !s.Starts("text-properties") {
			continue
		}
		if w := s.Any("font-weight"); w != "" {
			n, err := strconv.Atoi(w)
			st.bold = w == "bold" || err == nil && n >= 600
		}
		if i := s.Any("font-style"); i != "" {
			st.italic = i == "italic"
		}
		if t := s.Any("text-line-through-style"); t != "" {
			st.strike = t != "none"
		}
	}
	if len(d.styles) < 100_000 {
		d.styles[name] = st
	}
}

func readListStyle(d *document, s *xmlscan.Scanner) {
	name := s.Any("name")
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return
		}
		if s.Starts("list-level-style-number") && s.Any("num-format") != "" && s.Any("level") == "1" {
			d.numbered[name] = true
		}
	}
}

// A block is a paragraph, a heading, an item of a list or a table.
type block struct {
	level  int
	item   string
	text   string
	rows   *draft.Grid
	refers bool // text is a reference to a comment on what it stands in
}

// keep puts a block to those that are written later, until let lets go of them.
func (d *document) keep(to *[]block, b block) {
	if draft.Keep(d.out, len(b.text)) {
		*to = append(*to, b)
	}
}

func let(d *document, blocks []block) {
	for _, b := range blocks {
		d.out.Budget.Let(len(b.text))
	}
}

func (d *document) write(b block) {
	switch {
	case b.rows != nil:
		if text, ok := b.rows.Only(); ok {
			d.out.Block(text)
			b.rows.Drop()
			return
		}
		b.rows.Write()
	case b.level > 0:
		d.out.Heading(b.level, strings.ReplaceAll(b.text, "**", ""))
	case b.item != "":
		d.out.Item(b.item + strings.ReplaceAll(b.text, "\n", "\n"+strings.Repeat(" ", len(b.item))))
	default:
		d.out.Block(b.text)
	}
}

// blocks reads what stands in the element that has just started.
func (d *document) blocks(s *xmlscan.Scanner, emit func(block)) error {
	for depth := s.Depth(); s.Next(); {
		if err := d.out.Err(); err != nil {
			return err
		}
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		if err := d.block(s, emit); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) block(s *xmlscan.Scanner, emit func(block)) error {
	switch string(s.Name) {
	case "h":
		level, err := strconv.Atoi(s.Any("outline-level"))
		if err != nil {
			level = 1
		}
		if text := d.inline(s, emit); text != "" {
			emit(block{level: max(level, 1), text: text})
		}
	case "p":
		level := d.styles[s.Any("style-name")].level
		if text := d.inline(s, emit); text != "" {
			emit(block{level: level, text: text})
		}
	case "list":
		return d.list(s, "", d.numbered[s.Any("style-name")], emit)
	case "table":
		rows, err := d.rows(s)
		if err == nil && !rows.Empty() {
			emit(block{rows: rows})
		}
		return err
	case "page":
		return d.slide(s)
	case "annotation":
		var b strings.Builder
		d.annotation(s, &b)
		emit(block{text: b.String(), refers: true})
	case "frame":
		for _, b := range inFrame(d, s) {
			emit(b)
		}
	case "image":
		emit(block{text: picture(d, s.Any("href"), "")})
	case "tracked-changes", "forms", "sequence-decls", "variable-decls", "annotation-end", "table-source", "settings", "date-time-decl":
		s.Skip()
	}
	return nil
}

// list reads a list; what is in its items is indented.
func (d *document) list(s *xmlscan.Scanner, indent string, numbered bool, emit func(block)) error {
	count := 0
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "list-item", "list-header":
			count++
			first := true
			bullet := "* "
			if numbered {
				bullet = strconv.Itoa(count) + ". "
			}
			if err := d.item(s, indent, bullet, &first, emit); err != nil {
				return err
			}
		default:
			s.Skip()
		}
		if err := d.out.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) item(s *xmlscan.Scanner, indent, bullet string, first *bool, emit func(block)) error {
	for depth := s.Depth(); s.Next(); {
		if s.Kind == xmlscan.End && s.Depth() < depth {
			return nil
		}
		switch {
		case s.Kind != xmlscan.Start:
		case s.Starts("list"):
			deeper := indent
			if len(indent) < 30 {
				deeper += strings.Repeat(" ", len(bullet))
			}
			own := d.numbered[s.Any("style-name")]
			if err := d.list(s, deeper, own, emit); err != nil {
				return err
			}
		default:
			if err := d.block(s, func(b block) {
				if b.rows == nil && b.level == 0 && b.item == "" {
					b.item = indent + strings.Repeat(" ", len(bullet))
					if *first {
						b.item = indent + bullet
					}
					*first = false
				}
				emit(b)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the notes below the text.
func finish(d *document) error {
	for i, n := range d.notes {
		d.out.Item("[^" + strconv.Itoa(i+1) + "]: " + n)
	}
	if d.slides > 0 {
		d.out.Report.Pages = d.slides
	}
	return d.out.Err()
}
