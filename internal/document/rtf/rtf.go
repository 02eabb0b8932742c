// Package rtf converts rich text: paragraphs, headings by their styles, emphasis,
// lists, tables, links and notes. Pictures and objects are left out.
package rtf

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxSize  = 256 << 20
	maxDepth = 2000 // of groups
)

// Convert converts a document.
func Convert(_ context.Context, src draft.Source, out *draft.Out) error {
	body, err := src.Bytes(maxSize)
	if err != nil {
		return err
	}
	return Text(body, out)
}

// Text converts rich text that is part of another document.
func Text(body []byte, out *draft.Out) error {
	p := &parser{out: out, lexer: lexer{in: body, page: windows(1252)}, levels: map[int]int{}}
	p.rows = draft.NewGrid(out)
	p.state.uc = 1
	if err := p.parse(); err != nil {
		return err
	}
	p.endParagraph()
	p.endTable()
	for i, n := range p.notes {
		out.Item("[^" + strconv.Itoa(i+1) + "]: " + n)
	}
	if p.images > 0 {
		out.Note("%d pictures are left out", p.images)
	}
	if len(p.stack) > 0 {
		return draft.Damage(nil, "the rich text ends in the middle: the file is cut off or damaged")
	}
	return out.Err()
}

// A state is what a group inherits, and gives back at its end.
type state struct {
	dest   string // what the text is: "" for the document's own
	bold   bool
	italic bool
	strike bool
	hidden bool
	uc     int // bytes to skip behind a letter of Unicode
	style  int // that is being defined
}

type parser struct {
	lexer
	paragraph
	grid
	out    *draft.Out
	state  state
	stack  []state
	levels map[int]int                 // headings, by style
	side   map[string]*strings.Builder // text that is not the document's own
	notes  []string
	author string // of the comment that follows
	images int
}

// A lexer is where the parser is in the file, and in its encoding.
type lexer struct {
	in   []byte
	pos  int
	page encoding.Encoding
	raw  []byte // bytes of the code page
	skip int    // bytes that stand for a letter of Unicode again
	high uint16 // the first half of such a letter
	star bool   // the next word may be left out, where it is not known
}

// A paragraph is the one that is open.
type paragraph struct {
	text   []byte
	look   string
	level  int
	depth  int // in a list
	bullet string
	link   int // where the text of a link begins, -1 for none
}

// A grid is the table that is open.
type grid struct {
	inCell bool
	rows   *draft.Grid
}

func windows(number int) encoding.Encoding {
	label := "windows-" + strconv.Itoa(number)
	switch number {
	case 932:
		label = "shift_jis"
	case 936:
		label = "gbk"
	case 949:
		label = "euc-kr"
	case 950:
		label = "big5"
	case 10000:
		label = "macintosh"
	case 65001:
		label = "utf-8"
	case 437, 850:
		label = "ibm866"
	}
	e, _ := charset.Lookup(label)
	if e == nil {
		e, _ = charset.Lookup("windows-1252")
	}
	return e
}

func (p *parser) parse() error {
	p.side = map[string]*strings.Builder{}
	p.link = -1
	for p.pos < len(p.in) {
		switch c := p.in[p.pos]; c {
		case '{':
			p.flushRaw()
			if len(p.stack) >= maxDepth {
				return draft.TooLarge("the rich text is nested more than %d levels deep", maxDepth)
			}
			p.stack = append(p.stack, p.state)
			p.pos++
		case '}':
			p.flushRaw()
			p.pos++
			if len(p.stack) == 0 {
				return draft.Damage(nil, "the rich text closes more than it opens: the file is damaged")
			}
			p.endGroup()
			if len(p.stack) == 0 {
				return nil
			}
		case '\\':
			p.control()
		case '\r', '\n':
			p.pos++
		default:
			p.pos++
			p.literal(c)
		}
		if p.pos&0xfff == 0 {
			if err := p.out.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// literal takes a byte of the code page.
func (p *lexer) literal(c byte) {
	if p.skip > 0 {
		p.skip--
		return
	}
	p.raw = append(p.raw, c)
}

func (p *parser) flushRaw() {
	if len(p.raw) == 0 {
		return
	}
	text, err := p.page.NewDecoder().Bytes(p.raw)
	if err != nil {
		text = p.raw
	}
	p.raw = p.raw[:0]
	p.write(string(text))
}

// control reads a control word or symbol.
func (p *parser) control() {
	p.pos++
	if p.pos >= len(p.in) {
		return
	}
	c := p.in[p.pos]
	if c == '\'' {
		p.pos++
		if p.pos+2 <= len(p.in) {
			if n, err := strconv.ParseUint(string(p.in[p.pos:p.pos+2]), 16, 8); err == nil {
				p.literal(byte(n))
			}
			p.pos += 2
		}
		return
	}
	p.flushRaw()
	if !letter(c) {
		p.pos++
		p.symbol(c)
		return
	}
	from := p.pos
	for p.pos < len(p.in) && letter(p.in[p.pos]) && p.pos-from < 32 {
		p.pos++
	}
	name := string(p.in[from:p.pos])
	from = p.pos
	if p.pos < len(p.in) && p.in[p.pos] == '-' {
		p.pos++
	}
	for p.pos < len(p.in) && p.in[p.pos] >= '0' && p.in[p.pos] <= '9' && p.pos-from < 11 {
		p.pos++
	}
	n, err := strconv.Atoi(string(p.in[from:p.pos]))
	if p.pos < len(p.in) && p.in[p.pos] == ' ' {
		p.pos++
	}
	p.word(name, n, err == nil)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (p *parser) symbol(c byte) {
	switch c {
	case '\\', '{', '}':
		p.write(string(rune(c)))
	case '~':
		p.write("\u00a0")
	case '_':
		p.write("-")
	case '*':
		p.star = true
	case '\n', '\r':
		p.endParagraph()
	}
}

// destination returns what the text of a group is that begins with a word, and
// whether that word says so.
func destination(name string) (string, bool) {
	switch name {
	case "fonttbl", "colortbl", "themedata", "colorschememapping", "datastore", "listtable", "listoverridetable", "rsidtbl", "generator", "xmlnstbl",
		"latentstyles", "objdata", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "pgdsctbl", "bkmkstart", "bkmkend",
		"atrfstart", "atrfend", "atnref", "filetbl", "revtbl", "pnseclvl", "shpinst", "ftnsep", "ftnsepc", "private", "mmathPr", "userprops", "wgrffmtfilter":
		return "unknown", true
	case "pict":
		return "pict", true
	case "nonshppict":
		return "twice", true
	case "stylesheet", "info", "fldinst", "listtext", "footnote", "annotation", "atnauthor", "title", "author", "subject", "keywords", "pntext":
		return name, true
	case "shppict", "shptxt":
		return "", true
	}
	return "", false
}

// word takes a control word.
func (p *parser) word(name string, n int, given bool) {
	star := p.star
	p.star = false
	if dest, ok := destination(name); ok {
		p.enter(name, dest)
		return
	}
	if star {
		if p.state.dest != "twice" {
			p.state.dest = "unknown"
		}
		return
	}
	set := !given || n != 0
	switch name {
	case "ansicpg":
		p.page = windows(n)
	case "mac":
		p.page = windows(10000)
	case "uc":
		p.state.uc = max(n, 0)
	case "u":
		p.unicode(n)
	case "b":
		p.state.bold = set
	case "i":
		p.state.italic = set
	case "strike", "striked":
		p.state.strike = set
	case "v":
		p.state.hidden = set
	case "plain":
		p.state.bold, p.state.italic, p.state.strike, p.state.hidden = false, false, false, false
	case "s":
		if p.state.dest == "stylesheet" {
			p.state.style = n
		} else {
			p.level = p.levels[n]
		}
	case "outlinelevel":
		outline(p, n)
	default:
		p.structure(name, n)
	}
}

func outline(p *parser, n int) {
	if n < 0 || n > 8 {
		return
	}
	if p.state.dest == "stylesheet" {
		p.levels[p.state.style] = n + 1
	} else {
		p.level = n + 1
	}
}

// structure takes the words for paragraphs, tables and single letters.
func (p *parser) structure(name string, n int) {
	if p.state.dest != "" {
		switch name {
		case "pard", "intbl", "cell", "nestcell", "row", "nestrow":
			return // not of the document's own text
		}
	}
	switch name {
	case "par", "sect", "page":
		p.endParagraph()
	case "pard":
		p.level, p.depth, p.inCell = 0, 0, false
	case "ilvl":
		p.depth = min(max(n, 0), 8)
	case "intbl":
		p.inCell = true
	case "line":
		p.write("\n")
	case "tab":
		p.write("\t")
	case "cell", "nestcell":
		p.endCell()
	case "row", "nestrow":
		p.endRow()
	case "emdash":
		p.write("—")
	case "endash":
		p.write("–")
	case "bullet":
		p.write("•")
	case "lquote":
		p.write("‘")
	case "rquote":
		p.write("’")
	case "ldblquote":
		p.write("“")
	case "rdblquote":
		p.write("”")
	case "bin":
		p.pos = min(len(p.in), p.pos+max(n, 0))
	}
}

// unicode takes a letter by its number.
func (p *parser) unicode(n int) {
	unit := uint16(n)
	p.skip = p.state.uc
	if utf16.IsSurrogate(rune(unit)) {
		if unit < 0xdc00 {
			p.high = unit
			return
		}
		p.write(string(utf16.DecodeRune(rune(p.high), rune(unit))))
		return
	}
	p.write(string(rune(unit)))
}
