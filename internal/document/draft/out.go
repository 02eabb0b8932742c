package draft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// ErrEnough is what Out.Err says when more would not be used. A format returns it
// as it is; the conversion has not failed.
var ErrEnough = errors.New("enough was converted")

// DefaultMaxChars is how many characters of Markdown are kept where nothing is said.
const DefaultMaxChars = 100_000

// Bounds on what is kept beside the Markdown.
const (
	maxOutline = 500
	maxNotes   = 50
	maxFields  = 100
	maxColumns = 256
	flushSize  = 64 << 10 // bytes of a row after which it goes out
	// past is how many characters are read beyond the last one that is kept, for the
	// outline.
	past = 10_000_000
	// pastTime is how long it is read beyond that.
	pastTime = 5 * time.Second
)

// A Field is one thing that is known of a document.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Heading is one line of an outline.
type Heading struct {
	Level  int    `json:"level"`
	Text   string `json:"text"`
	Offset int    `json:"offset"` // in characters of the Markdown
}

// A Report is what is said of a conversion beside the Markdown.
type Report struct {
	Fields  []Field
	Outline []Heading
	Notes   []string
	Pages   int
	Chars   int // of all Markdown, as far as it was made
	Cut     bool
}

// Get returns a field, or "".
func (r *Report) Get(name string) string {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// A Converter converts documents that lie in others.
type Converter func(ctx context.Context, src Source, out *Out) error

// An Out takes the Markdown of one document, and of those in it.
type Out struct {
	Options Options
	Report  *Report
	Budget  *Budget
	Convert Converter

	ctx     context.Context // ends the conversion: whoever writes asks Err
	sink    *sink
	shift   int
	columns int // of the table that is open
}

// sink is where all text goes.
type sink struct {
	w     io.Writer
	from  int
	most  int // the first character that is not kept; -1 for none
	chars int
	gap   bool
	cut   bool
	since time.Time // when it was cut
	err   error
	item  int // where the last item of a list ends
	eye   answer.Eye
	heads int // headings that found no place in the outline
}

// NewOut returns an Out that writes to w what o wants.
func NewOut(ctx context.Context, w io.Writer, o Options, convert Converter) *Out {
	most := o.MaxChars
	switch {
	case most == 0:
		most = o.Offset + DefaultMaxChars
	case most > 0:
		most += o.Offset
	default:
		most = -1
	}
	return &Out{
		Options: o, Report: &Report{}, Budget: NewBudget(), Convert: convert,
		ctx: ctx, sink: &sink{w: w, from: o.Offset, most: most},
	}
}

// Sub returns an Out for a document in this one: its headings are deeper, its fields
// and pages are not those of the whole, and its options are not either.
func (o *Out) Sub(shift int) *Out {
	sub := *o
	sub.shift += shift
	sub.Report = &Report{}
	sub.Options.Pages, sub.Options.Sheet = "", ""
	return &sub
}

// Join takes over the notes and the outline of a Sub.
func (o *Out) Join(name string, sub *Out) {
	for _, n := range sub.Report.Notes {
		o.Note("%s: %s", name, n)
	}
	for _, h := range sub.Report.Outline {
		if len(o.Report.Outline) < maxOutline {
			o.Report.Outline = append(o.Report.Outline, h)
		} else {
			o.sink.heads++
		}
	}
}

// Err is not nil when nothing more is to be written.
func (o *Out) Err() error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return o.sink.err
}

// Done settles the report.
func (o *Out) Done() {
	if n := o.sink.eye.Hidden; n > 0 {
		o.Note("%d characters that cannot be seen were left out of the text", n)
	}
	if n := o.sink.heads; n > 0 {
		o.Note("the outline has the first %d headings, and %d more stand in the text: read on from the offset of the last one", maxOutline, n)
	}
	o.Report.Chars, o.Report.Cut = o.sink.chars, o.sink.cut
}

// Set notes a field of the document. Empty ones are left out.
func (o *Out) Set(name, value string) {
	value, _ = answer.Seen(value)
	value = Line(value)
	if value == "" || o.Report.Get(name) != "" {
		return
	}
	if len(o.Report.Fields) >= maxFields {
		o.Note("of what the document says of itself the first %d fields are told", maxFields)
		return
	}
	o.Report.Fields = append(o.Report.Fields, Field{name, Clip(value, 1000)})
}

// Note says what was left out, or could not be read.
func (o *Out) Note(format string, args ...any) {
	text, _ := answer.Seen(fmt.Sprintf(format, args...))
	switch {
	case slices.Contains(o.Report.Notes, text):
	case len(o.Report.Notes) < maxNotes:
		o.Report.Notes = append(o.Report.Notes, Clip(text, 500))
	case len(o.Report.Notes) == maxNotes:
		o.Report.Notes = append(o.Report.Notes, "further notes are left out")
	}
}

// Heading writes a heading. Levels beyond six are six.
func (o *Out) Heading(level int, text string) {
	text = Line(text)
	if text == "" {
		return
	}
	o.gap()
	o.heading(level, text)
	o.gap()
}

// HeadingLine writes a heading as a line of Markdown that has its own empty lines.
func (o *Out) HeadingLine(level int, text string) {
	o.heading(level, Line(text))
	o.Raw("\n")
}

func (o *Out) heading(level int, text string) {
	if len(o.Report.Outline) < maxOutline {
		seen, _ := answer.Seen(text)
		o.Report.Outline = append(o.Report.Outline, Heading{min(level+o.shift, 6), Clip(seen, 200), o.sink.chars})
	} else {
		o.sink.heads++
	}
	o.Raw(strings.Repeat("#", min(level+o.shift, 6)) + " " + text)
}

// Block writes Markdown on lines of its own.
func (o *Out) Block(text string) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	o.gap()
	o.Raw(text)
	o.gap()
}

// Item writes an item of a list: right below the one before it, where there is one.
func (o *Out) Item(text string) {
	if o.sink.item == o.sink.chars {
		o.Tight()
	} else {
		o.gap()
	}
	o.Raw(text)
	o.gap()
	o.sink.item = o.sink.chars
}

// Code writes text as it is, between fences that it cannot close.
func (o *Out) Code(language, text string) {
	fence := Fence(text)
	o.gap()
	o.Raw(fence + language + "\n")
	o.Raw(strings.TrimRight(text, "\n"))
	o.Raw("\n" + fence)
	o.gap()
}

// Fence returns backticks that do not occur in text.
func Fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// Table begins a table with its head.
func (o *Out) Table(head []string) {
	o.gap()
	o.columns = min(len(head), maxColumns)
	o.row(head)
	o.Raw("\n|" + strings.Repeat(" --- |", o.columns))
}

// Row writes a row of a table that has begun. Missing cells are empty; what is more
// than the head has is written all the same, for it is there.
func (o *Out) Row(cells []string) {
	o.Raw("\n")
	o.row(cells)
}

// Context is what ends the conversion that o is written by.
func Context(o *Out) context.Context { return o.ctx }

// EndTable ends a table.
func (o *Out) EndTable() { o.gap() }

func (o *Out) row(cells []string) {
	if len(cells) > maxColumns {
		o.Note("tables are cut after %d columns", maxColumns)
		cells = cells[:maxColumns]
	}
	var b strings.Builder
	b.WriteByte('|')
	for _, c := range cells {
		if len(c) > maxCell {
			noteCut(o)
			c = Clip(c, maxCell)
		}
		b.WriteByte(' ')
		b.WriteString(Cell(c))
		b.WriteString(" |")
		if b.Len() < flushSize {
			continue
		}
		if o.Raw(b.String()); o.Err() != nil {
			return
		}
		b.Reset()
	}
	for range max(0, o.columns-len(cells)) {
		b.WriteString("  |")
	}
	o.Raw(b.String())
}

// Rows writes a whole table, whose first row is its head.
func (o *Out) Rows(rows [][]string) { GridOf(o, rows).Write() }

// gap wants an empty line before what comes next.
func (o *Out) gap() {
	o.sink.gap = o.sink.chars > 0
}

// Raw writes text behind what was written before.
func (o *Out) Raw(text string) {
	if text == "" {
		return
	}
	if o.sink.gap {
		o.sink.gap = false
		o.sink.write("\n\n")
	}
	o.sink.write(text)
}

func (s *sink) write(text string) {
	if s.err != nil {
		return
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = s.eye.Seen(text)
	n := utf8.RuneCountInString(text)
	begin, end := s.chars, s.chars+n
	s.chars = end
	if s.most >= 0 && end > s.most {
		if !s.cut {
			s.cut, s.since = true, time.Now()
		}
		if end > s.most+past || time.Since(s.since) > pastTime {
			s.err = ErrEnough
		}
		if begin >= s.most {
			return
		}
		text = firstRunes(text, s.most-begin)
	}
	if begin < s.from {
		if end <= s.from {
			return
		}
		text = text[len(firstRunes(text, s.from-begin)):]
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		s.err = err
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Line returns text on one line, with single spaces.
func Line(s string) string {
	if !strings.ContainsAny(s, "\n\r\t\v\f") && !strings.Contains(s, "  ") && (s == "" || s[0] != ' ' && s[len(s)-1] != ' ') {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Cell returns text as it can stand in a cell of a table.
func Cell(s string) string {
	if !strings.ContainsAny(s, "|\n\r\t ") {
		return s
	}
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "\n\r") {
		var b strings.Builder
		b.Grow(len(s) + 64)
		for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if b.Len() > 0 {
				b.WriteString("<br>")
			}
			b.WriteString(strings.TrimSpace(line))
		}
		s = b.String()
	}
	if strings.IndexByte(s, '|') >= 0 {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	return strings.ReplaceAll(s, "\t", " ")
}

// Clip cuts text to so many bytes, and says so.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Tight takes back the empty line that is wanted before what comes next, and begins
// just a new one.
func (o *Out) Tight() {
	if o.sink.gap {
		o.sink.gap = false
		o.sink.write("\n")
	}
}
