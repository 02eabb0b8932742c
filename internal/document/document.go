// Package document turns files of any kind into the Markdown that a model reads
// best: headings as headings, tables as tables, no noise of layout.
//
//	c := document.New(document.Options{Spawner: spawner, Command: document.Self()})
//	doc, err := c.Convert(ctx, document.Source{Name: "report.pdf", Data: file, Size: size}, document.Request{MaxChars: 20_000})
//	if err != nil {
//		return err // a *document.Error says why, and what to do
//	}
//	fmt.Println(doc.Markdown)
//
// What a file is, its content says; its name and its declared type count only where
// the content does not tell. Memory, time, depth and what is unpacked are bounded.
// Nothing of a document is run, loaded or followed: its text is data.
//
// Write streams the Markdown of a document as it is made, for those who want all of
// it. Convert keeps a part, and tells the outline of the rest.
//
// Each format is a package below this one, and a line of the list in formats.go.
package document

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/pdf"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// The words that all formats share.
type (
	// A Source is a file to convert.
	Source = draft.Source
	// A Request says what of it is wanted.
	Request = draft.Options
	// An Error says why a file was not converted.
	Error = draft.Error
	// A Field is one thing that is known of a document.
	Field = draft.Field
	// A Heading is one line of an outline.
	Heading = draft.Heading
	// A Reason is why a file was not converted.
	Reason = draft.Reason
)

// The reasons of an Error.
const (
	Unsupported = draft.Unsupported
	Encrypted   = draft.Encrypted
	Damaged     = draft.Damaged
	Large       = draft.Large
	Wrong       = draft.Wrong
)

const maxTime = 10 * time.Minute // of one conversion, whatever the caller's context says

// Command is the argument by which Tenon's own program becomes the child that reads
// PDF. It is hidden from people.
const Command = "read-pdf"

// Options configure a Converter. The zero value converts in this process, without
// OCR.
type Options struct {
	// Spawner starts the programs that help: the child that reads PDF, and tesseract.
	Spawner *proc.Spawner
	// Command is what to start for a PDF; see Self. Empty reads it in this process.
	Command []string
	// Env is the environment of those programs.
	Env []string
	// Cache is the folder of compiled code; "" is one in the user's cache folder.
	Cache string
	// Tesseract is the OCR program; "" looks in the PATH of Env, and of this process
	// where that is empty, "-" is none.
	Tesseract string
}

// A Converter converts documents. It is safe for concurrent use.
type Converter struct {
	formats []format
}

// A Doc is a document as Markdown.
type Doc struct {
	Markdown string    `json:"markdown"`
	Format   string    `json:"format"` // such as pdf
	MIME     string    `json:"mime"`
	Title    string    `json:"title,omitempty"`
	Author   string    `json:"author,omitempty"`
	Created  string    `json:"created,omitempty"`
	Modified string    `json:"modified,omitempty"`
	Pages    int       `json:"pages,omitempty"` // or slides
	Fields   []Field   `json:"fields,omitempty"`
	Outline  []Heading `json:"outline,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // what was left out, or may be wrong
	// Chars is how many characters there are in all, as far as was read, and Cut
	// whether that is more than is in Markdown. Next is the offset to go on from.
	Chars int  `json:"chars"`
	Cut   bool `json:"cut,omitempty"`
	Next  int  `json:"next,omitempty"`
}

// New returns a Converter.
func New(o Options) *Converter {
	return &Converter{formats: formats(o)}
}

// Self returns the command that reads PDF where this process is Tenon's own program,
// and nothing where it is another one, which would not know what is meant.
func Self(executable string) []string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasSuffix(info.Path, "/cmd/tenon") || executable == "" {
		return nil
	}
	return []string{executable, Command}
}

// Environment returns what Options.Env needs of an environment: what finds programs and
// their folders, and no secret.
func Environment(getenv func(string) string) []string {
	if getenv == nil {
		return nil
	}
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "LOCALAPPDATA", "SYSTEMROOT", "TESSDATA_PREFIX"} {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Serve is the child that reads PDF.
func Serve(ctx context.Context, in io.Reader, out io.Writer) { pdf.Serve(ctx, in, out) }

// Convert converts a document, as much of it as the request wants.
func (c *Converter) Convert(ctx context.Context, src Source, req Request) (Doc, error) {
	var b strings.Builder
	doc, err := c.Write(ctx, &b, src, req)
	doc.Markdown = strings.TrimSpace(b.String())
	return doc, err
}

// Write writes the Markdown of a document to w as it is made. The Doc that it
// returns has none.
func (c *Converter) Write(ctx context.Context, w io.Writer, src Source, req Request) (doc Doc, err error) {
	if req.Offset < 0 {
		return Doc{}, &Error{Reason: Wrong, Text: "the offset is below 0"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, draft.TooLarge("the conversion took longer than %s", maxTime))
	defer cancel()
	f, mime := c.detect(src)
	out := draft.NewOut(ctx, w, req, c.nested)
	if f == nil {
		return Doc{MIME: mime}, unsupported(src, mime)
	}
	err = guarded(ctx, f, src, out)
	out.Done()
	r := out.Report
	doc = Doc{
		Format: f.name, MIME: mime, Title: r.Get("title"), Author: r.Get("author"), Created: r.Get("created"), Modified: r.Get("modified"),
		Pages: r.Pages, Fields: r.Fields, Outline: r.Outline, Notes: r.Notes, Chars: r.Chars, Cut: r.Cut,
	}
	if doc.Cut {
		doc.Next = end(req)
	}
	if errors.Is(err, draft.ErrEnough) {
		err = nil
		doc.Notes = append(doc.Notes, "the document is longer than was read: chars and outline are not those of all of it")
	}
	doc.Notes = append(unused(f, mime, req), doc.Notes...)
	return doc, explain(ctx, f, err)
}

// unused says which options mean nothing for a document.
func unused(f *format, mime string, req Request) (notes []string) {
	slides, cells := strings.Contains(mime, "presentation"), strings.Contains(mime, "spreadsheet")
	switch f.name {
	case "pdf", "ppt", "epub":
		slides = true
	case "xls", "xlsb", "sqlite":
		cells = true
	}
	if req.Pages != "" && !slides {
		notes = append(notes, fmt.Sprintf("pages was passed over: %s has no numbered pages; offset finds a part of it", f.title))
	}
	if req.Sheet != "" && !cells {
		notes = append(notes, fmt.Sprintf("sheet was passed over: %s has none", f.title))
	}
	return notes
}

// end returns the offset behind what was kept.
func end(req Request) int {
	most := req.MaxChars
	if most == 0 {
		most = draft.DefaultMaxChars
	}
	return req.Offset + most
}

// explain makes each error one that says what is wrong with the document.
func explain(ctx context.Context, f *format, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return draft.Damage(err, "the document cannot be read as %s", f.title)
}

// nested converts a document that lies in another one.
func (c *Converter) nested(ctx context.Context, src Source, out *draft.Out) error {
	f, mime := c.detect(src)
	if f == nil {
		return unsupported(src, mime)
	}
	if out.Report.Get("format") == "" {
		out.Set("format", f.name)
	}
	return guarded(ctx, f, src, out)
}

// guarded runs a format. One that breaks on a document is a fault of ours, but must
// not end those who convert others.
func guarded(ctx context.Context, f *format, src Source, out *draft.Out) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = draft.Damage(fmt.Errorf("%v", p), "the document is damaged in a way that its reader does not expect")
		}
	}()
	return f.convert(ctx, src, out)
}

func unsupported(src Source, mime string) error {
	what := "the file"
	if src.Name != "" {
		what = fmt.Sprintf("%q", draft.Clip(src.Name, 100))
	}
	if src.Size == 0 {
		return &Error{Reason: Damaged, Text: what + " is empty"}
	}
	return &Error{Reason: Unsupported, Text: fmt.Sprintf("%s is of no format that can be converted (%s)", what, mime)}
}
