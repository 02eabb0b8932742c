// Package pdf converts PDF by PDFium, which runs as WebAssembly in a process of its
// own: a file that breaks it, or makes it use too much, ends that process alone.
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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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
	maxMemory = 1 << 30  // of the child
	maxTime   = 5 * time.Minute
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
	// OCR returns the text of an image of a page, as PNG. Nil leaves such pages out.
	OCR func(ctx context.Context, png []byte, languages string) (string, error)
}

// A request is the line before the file.
type request struct {
	Size   int64  `json:"size"`
	Pages  string `json:"pages,omitempty"`
	Cache  string `json:"cache,omitempty"`
	Images int    `json:"images,omitempty"` // pages without text that are wanted as images
	// Time is how long pages are read: then the child says with which one to go on.
	Time time.Duration `json:"time,omitempty"`
}

// A reply is a line of what the child says.
type reply struct {
	Info  *info         `json:"info,omitempty"`
	Page  *page         `json:"page,omitempty"`
	Next  int           `json:"next,omitempty"` // the page that there was no time for
	Error string        `json:"error,omitempty"`
	Why   *draft.Reason `json:"why,omitempty"`
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
	if _, err := draft.ParsePages(out.Options.Pages); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, draft.TooLarge("the PDF took longer than %s: ask for some of its pages", maxTime))
	defer cancel()
	req := request{Size: src.Size, Pages: out.Options.Pages, Cache: c.cache(), Time: pageTime(out.Options)}
	if c.OCR != nil && !out.Options.NoOCR {
		req.Images = maxOCR
	}
	w := &writer{ctx: ctx, out: out, ocr: c.OCR}
	if len(c.Command) == 0 {
		return c.here(ctx, req, src, w)
	}
	return c.child(ctx, req, src, w)
}

// pageTime returns how long pages are read.
func pageTime(o draft.Options) time.Duration {
	if o.Offset == 0 && o.MaxChars >= 0 && o.MaxChars <= begin {
		return readTime
	}
	return wholeTime
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

// child converts in a process of its own.
func (c Converter) child(ctx context.Context, req request, src draft.Source, w *writer) error {
	command := proc.Command{Path: c.Command[0], Args: c.Command[1:], Env: c.Env, StdinGrace: -1, TermGrace: -1, Limits: limits()}
	p, err := c.Spawner.Start(ctx, command)
	if err != nil {
		return fmt.Errorf("convert a PDF: %w", err)
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	end() // nothing is worth waiting for: Stop kills
	stop := context.AfterFunc(ctx, func() { _ = p.Stop(over) })
	var feeding sync.WaitGroup
	feeding.Go(func() {
		_, err := io.Copy(p.Stdin(), input(req, src))
		_ = errors.Join(err, p.Stdin().Close()) // a child that reads no further says why itself
	})
	err = w.read(p.Stdout())
	whole := err == nil && w.ended
	if whole {
		<-p.Done()
	}
	stop()
	_ = p.Stop(over)
	feeding.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || whole:
		return err
	}
	return draft.Damage(nil, "the PDF broke the program that reads it (%s): it is damaged, hostile, or needs more than %d MiB of memory", p.Exit(), maxMemory>>20)
}

// A writer writes what the child says.
type writer struct {
	ctx   context.Context // of the conversion: OCR ends with it
	out   *draft.Out
	ocr   func(ctx context.Context, png []byte, languages string) (string, error)
	pages int
	bare  int // pages without text that were not read
	seen  int // pages that OCR has read
	ended bool
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
		case rep.Page != nil:
			if err := w.page(rep.Page); err != nil {
				return err
			}
		case rep.Next > 0:
			w.out.Note("reading the PDF took too long: the pages from %d on are left out; ask for them with the option pages, as %d-", rep.Next, rep.Next)
		default:
			w.ended = true
		}
	}
	w.done()
	return lines.Err()
}

func (w *writer) info(i *info) {
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
	switch {
	case len(p.PNG) > 0:
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
	switch {
	case w.bare > 0 && w.ocr == nil:
		w.out.Note("there is no text on %s, only images: install tesseract to have them read", count(w.bare))
	case w.bare > 0:
		w.out.Note("there is no text on %s, which OCR has not read; it reads at most %d pages, and the option pages says which", count(w.bare), maxOCR)
	}
}

func count(pages int) string {
	if pages == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", pages)
}

// limits bound the child, where the system can.
func limits() proc.Limits {
	if runtime.GOOS != "linux" {
		return proc.Limits{}
	}
	return proc.Limits{Memory: maxMemory}
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
