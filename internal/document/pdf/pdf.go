// Package pdf converts PDF by PDFium, which runs as WebAssembly in a process of its
// own: a file that breaks it, or makes it use too much, ends that process alone. The
// page it broke on is left out, and a new process reads those behind it.
//
//	p := pdf.Converter{Spawner: spawner, Command: []string{"tenon", "document"}}
//	err := p.Convert(ctx, src, out)
//
// The child calls Serve. It gets the file on its standard input and reaches nothing
// else but the folder of compiled code. A Converter without a Command converts where
// it is, for programs that cannot start themselves.
//
// Text is put in the order in which it is read, by where it stands on its page:
// paragraphs are joined, tables are told by what stands one below the other and by the
// lines that are drawn between, and headings by their letters. Pages without text are shown to an OCR engine, where
// there is one.
package pdf

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// Bounds on one file.
const (
	maxSize   = 256 << 20
	maxLine   = 64 << 20 // of what the child says of one page
	maxTime   = 6 * time.Minute
	mostTries = 3                // children for a file
	leastTime = 5 * time.Second  // of the pages behind one that broke its child
	readTime  = 20 * time.Second // of the pages of a file of which the begin is wanted
	wholeTime = 4 * time.Minute  // and of one of which more is
	begin     = 1_000_000        // characters
	maxOCR    = 30               // pages without text that are shown to an OCR engine
)

// A Converter converts PDF. It is safe for concurrent use.
type Converter struct {
	Spawner *proc.Spawner
	Command []string // of a child that calls Serve; empty converts in this process
	Env     []string // of the child
	// Cache is the folder of compiled code; "" is one in the user's cache folder.
	Cache string
	// PageTime is how long a child may take for one page; 0 is 20 s.
	PageTime time.Duration
	// OCR returns the text of an image of a page, as PNG. Nil leaves such pages out.
	OCR func(ctx context.Context, png []byte, languages string) (string, error)
}

// A request is the line before the file.
type request struct {
	Size   int64  `json:"size"`
	Pages  string `json:"pages,omitempty"`
	From   int    `json:"from,omitempty"` // the first page, where those before are done
	Cache  string `json:"cache,omitempty"`
	Images int    `json:"images,omitempty"` // pages without text that are wanted as images
	// Time is how long pages are read: then the child says with which one to go on.
	Time time.Duration `json:"time,omitempty"`
}

// A reply is a line of what the child says.
type reply struct {
	Info *info `json:"info,omitempty"`
	At   int   `json:"at,omitempty"` // the page that is begun
	Page *page `json:"page,omitempty"`
	// Broken says that PDFium has failed on the page: it is of no more use.
	Broken string        `json:"broken,omitempty"`
	Next   int           `json:"next,omitempty"` // the page that there was no time for
	Error  string        `json:"error,omitempty"`
	Why    *draft.Reason `json:"why,omitempty"`
}

type info struct {
	Pages  int           `json:"pages"`
	Fields []draft.Field `json:"fields,omitempty"`
}

type page struct {
	Number int     `json:"number"`
	Blocks []block `json:"blocks,omitempty"`
	PNG    []byte  `json:"png,omitempty"`
	Bare   bool    `json:"bare,omitempty"` // no text at all
	Cut    bool    `json:"cut,omitempty"`  // there is more text than is read
}

// A block is a paragraph, a heading, an item of a list or a table.
type block struct {
	Level int        `json:"level,omitempty"`
	Text  string     `json:"text,omitempty"`
	Item  bool       `json:"item,omitempty"`
	Rows  [][]string `json:"rows,omitempty"`
}

// Convert converts a file.
func (c Converter) Convert(ctx context.Context, src draft.Source, out *draft.Out) error {
	if src.Size > maxSize {
		return draft.TooLarge("a PDF may have %d MiB, and this one has %d", maxSize>>20, src.Size>>20)
	}
	asked, err := draft.ParsePages(out.Options.Pages)
	if err != nil {
		return err
	}
	leave, err := enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, draft.TooLarge("the PDF took longer than %s: ask for some of its pages", maxTime))
	defer cancel()
	req := request{Size: src.Size, Pages: out.Options.Pages, Cache: c.cache(), Time: pageTime(out.Options)}
	if c.OCR != nil && !out.Options.NoOCR {
		req.Images = maxOCR
	}
	return c.pages(ctx, req, src, &writer{ctx: ctx, out: out, ocr: c.OCR, asked: asked})
}

// pageTime returns how long pages are read.
func pageTime(o draft.Options) time.Duration {
	if o.Offset == 0 && o.MaxChars >= 0 && o.MaxChars <= begin {
		return readTime
	}
	return wholeTime
}

// pages reads the pages; behind one that breaks its reader it goes on with a new one.
func (c Converter) pages(ctx context.Context, req request, src draft.Source, w *writer) error {
	read := c.child
	if len(c.Command) == 0 {
		read = c.here
	}
	began, most := time.Now(), req.Time
	for try := 1; ; try++ {
		w.child = child{}
		if err := read(ctx, req, src, w); err != nil {
			return err
		}
		if w.child.broken == "" {
			break
		}
		next := w.next()
		if w.given == 0 && (next == 0 || try == mostTries) {
			return draft.Damage(nil, "the PDF broke the program that reads it (%s): it is damaged, hostile, or needs more than %d MiB of memory", w.child.broken, engine(src.Size)>>20)
		}
		w.out.Note("%s the program that reads it (%s)", w.culprit(req), w.child.broken)
		if next == 0 {
			break
		}
		if try == mostTries || !w.child.open {
			w.out.Note("the pages from %d on are left out, since more of them may; ask for them with the option pages, as %d-", next, next)
			break
		}
		req.From, req.Images = next, max(req.Images-w.child.images, 0)
		req.Time = max(most-time.Since(began), leastTime)
	}
	w.done()
	return nil
}

func (c Converter) cache() string {
	if c.Cache != "" {
		return c.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // compiles anew each time
	}
	return filepath.Join(dir, "tenon", "compiled")
}

// input returns what the child reads.
func input(req request, src draft.Source) io.Reader {
	head, _ := json.Marshal(req) // it always marshals
	return io.MultiReader(bytes.NewReader(append(head, '\n')), src.Reader())
}

// here converts in this process.
func (c Converter) here(ctx context.Context, req request, src draft.Source, w *writer) error {
	ctx, cancel := context.WithCancel(ctx)
	r, pipe := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		Serve(ctx, input(req, src), pipe)
		pipe.Close()
	})
	err := w.read(r)
	cancel()
	r.Close()
	serving.Wait()
	return err
}

// A writer writes what the child says.
type writer struct {
	ctx   context.Context // of the conversion: OCR ends with it
	out   *draft.Out
	ocr   func(ctx context.Context, png []byte, languages string) (string, error)
	asked draft.Pages
	pages int
	bare  int // pages without text that were not read
	seen  int // pages that OCR has read
	cut   int // pages of which text is left out
	first int // of those
	given int // pages of which anything came
	at    int // the page that is being read

	child child
}

// A child is what one has come to.
type child struct {
	open   bool   // it knows the pages
	whole  bool   // the page that it began last has come
	images int    // pages that it has made images of
	ended  bool   // it has said all
	broken string // why it is of no more use
}

func (w *writer) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		var rep reply
		if err := json.Unmarshal(lines.Bytes(), &rep); err != nil {
			return draft.Damage(err, "the program that reads PDF has said what it may not")
		}
		switch {
		case rep.Error != "":
			reason := draft.Damaged
			if rep.Why != nil {
				reason = *rep.Why
			}
			return &draft.Error{Reason: reason, Text: rep.Error}
		case rep.Info != nil:
			w.info(rep.Info)
		case rep.At > 0:
			w.at, w.child.whole = rep.At, false
		case rep.Broken != "":
			w.child.broken = draft.Clip(rep.Broken, 200)
		case rep.Page != nil:
			w.given++
			w.child.whole = true
			if err := w.page(rep.Page); err != nil {
				return err
			}
		case rep.Next > 0:
			w.out.Note("reading the PDF took too long: the pages from %d on are left out; ask for them with the option pages, as %d-", rep.Next, rep.Next)
		default:
			w.child.ended = true
		}
	}
	return lines.Err()
}

// next returns the first page behind the one that broke its reader, 0 where it was the last.
func (w *writer) next() int {
	if w.at == 0 {
		return 0
	}
	for n := w.at + 1; n <= w.pages; n++ {
		if w.asked.Has(n) {
			return n
		}
	}
	return 0
}

// culprit says what broke the child.
func (w *writer) culprit(req request) string {
	switch {
	case !w.child.open:
		return fmt.Sprintf("opened again for page %d, the PDF broke", req.From)
	case w.child.whole:
		return fmt.Sprintf("what stands behind page %d broke", w.at)
	}
	return fmt.Sprintf("page %d is left out: it broke", w.at)
}

func (w *writer) info(i *info) {
	w.child.open = true
	if w.pages > 0 {
		return // of a child that goes on
	}
	w.pages = i.Pages
	w.out.Report.Pages = i.Pages
	for _, f := range i.Fields {
		w.out.Set(f.Name, f.Value)
	}
}

func (w *writer) page(p *page) error {
	if w.pages > 1 {
		w.out.Block(fmt.Sprintf("<!-- page %d -->", p.Number))
	}
	if p.Cut {
		if w.cut++; w.cut == 1 {
			w.first = p.Number
		}
	}
	switch {
	case len(p.PNG) > 0:
		w.child.images++
		text, err := w.ocr(w.ctx, p.PNG, w.out.Options.OCRLanguages)
		if err != nil {
			if w.out.Err() != nil {
				return w.out.Err()
			}
			w.out.Note("page %d holds no text, and OCR has failed: %v", p.Number, err)
			break
		}
		w.seen++
		w.out.Block(text)
	case p.Bare:
		w.bare++
	}
	for _, b := range p.Blocks {
		switch {
		case b.Rows != nil:
			w.out.Rows(b.Rows)
		case b.Level > 0:
			w.out.Heading(b.Level, b.Text)
		case b.Item:
			w.out.Item(b.Text)
		default:
			w.out.Block(b.Text)
		}
	}
	return w.out.Err()
}

func (w *writer) done() {
	if w.seen > 0 {
		w.out.Note("there is no text on %s, and OCR has read what is seen: letters may be wrong", count(w.seen))
	}
	if w.cut > 0 {
		which := fmt.Sprintf("page %d holds", w.first)
		if w.cut > 1 {
			which = fmt.Sprintf("%s, the first of them page %d, hold", count(w.cut), w.first)
		}
		w.out.Note("%s more than %d letters: those behind them were left out, and what is there stands in the order of the file, without tables", which, maxLetters)
	}
	switch {
	case w.bare > 0 && w.ocr == nil:
		w.out.Note("there is no text on %s, only images: install tesseract to have them read", count(w.bare))
	case w.bare > 0:
		w.out.Note("there is no text on %s, which OCR has not read; it reads at most %d pages, none with more than %d drawings, and the option pages says which", count(w.bare), maxOCR, maxDrawn)
	}
}

func count(pages int) string {
	if pages == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", pages)
}

// cleanDate returns a date of a PDF as other formats have theirs.
func cleanDate(s string) string {
	s = strings.TrimPrefix(s, "D:")
	zone := ""
	if i := strings.IndexAny(s, "+-Z"); i > 0 {
		zone = strings.ReplaceAll(s[i:], "'", "")
		s = s[:i]
	}
	for _, layout := range []string{"20060102150405", "200601021504", "20060102"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if len(zone) == 5 {
			if z, err := time.Parse("20060102150405-0700", t.Format("20060102150405")+zone); err == nil {
				t = z
			}
		}
		return t.Format(time.RFC3339)
	}
	return s
}
