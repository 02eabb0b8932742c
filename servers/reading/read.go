package reading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds of a call.
const (
	maxURI       = 8 << 10 // bytes, of what is no data: URI
	defaultChars = 40_000
	mostChars    = 80_000
	maxNotes     = 20
)

type input struct {
	URI      string `json:"uri" jsonschema:"http:, https:, file: or data: URI, or a path in the folders that are open"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"most characters of the document to return, 1 to 80000"`
	Offset   int    `json:"offset,omitempty" jsonschema:"characters of the document to leave out first: next_offset of the part before, or that of a heading in the outline"`
	Pages    string `json:"pages,omitempty" jsonschema:"pages or slides to read, such as 1-3,7,10-"`
	Sheet    string `json:"sheet,omitempty" jsonschema:"name of the one sheet of a workbook, or table of a database, to read"`
	Outline  bool   `json:"outline,omitempty" jsonschema:"return the outline and what is known of the document, without its text"`

	moved string // what is said of a bound that was kept
}

// maxArguments bounds what a model writes for one call: a data: URI, and a little more.
const maxArguments = maxData + 64<<10

func (s *server) add(srv *mcp.Server, name, title, description string) {
	no, yes := false, true
	typed.AddContent(srv, typed.Spec{
		Name: name, Title: title, Description: description, MaxArguments: maxArguments,
		Defaults:    map[string]any{"max_chars": defaultChars, "offset": 0, "outline": false},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &yes},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) ([]mcp.Content, output, error) {
		out, err := s.read(ctx, in)
		if err != nil {
			return nil, output{}, err
		}
		text := out.text(newMark())
		out.fit()
		return typed.Text(text), out, nil
	})
}

// marked says of each answer, to programs, that strangers wrote it.
func marked(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.CallToolResult); ok && r != nil && !r.IsError {
			if r.Meta == nil {
				r.Meta = mcp.Meta{}
			}
			r.Meta["tenon/untrusted"] = true
		}
		return res, err
	}
}

// A job is one call.
type job struct {
	s       *server
	in      input
	convert *document.Converter
	closers []func()

	uri    string // as it is shown
	final  string // where it was read from, if that is another address
	format string // where it is none of internal/document
	title  string
	plain  bool            // src is Markdown that was made from something else
	head   string          // Markdown that comes before that of src
	src    document.Source // Data is nil: there is nothing but the head
	notes  []string
}

func (j *job) onClose(c io.Closer) {
	j.closers = append(j.closers, func() { _ = c.Close() }) // it was only read
}

func (j *job) close() {
	for _, f := range slices.Backward(j.closers) {
		f()
	}
}

func (j *job) note(format string, args ...any) {
	j.notes = append(j.notes, egress.Plain(fmt.Sprintf(format, args...), 400))
}

// read does a call. Its errors are sentences for a model.
func (s *server) read(ctx context.Context, in input) (output, error) {
	if err := in.check(); err != nil {
		return output{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := s.do(ctx, in)
	if err != nil {
		return output{}, s.told(ctx, err)
	}
	return out, nil
}

func (s *server) do(ctx context.Context, in input) (output, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return output{}, err
	}
	defer leave()
	convert, end := s.converter()
	defer end()
	j := &job{s: s, in: in, convert: convert, uri: egress.Plain(in.URI[:min(len(in.URI), maxURI)], 1000)}
	defer j.close()
	if in.moved != "" {
		j.note("%s", in.moved)
	}
	switch scheme(in.URI) {
	case "http", "https":
		err = j.remote(ctx, in.URI)
	case "data":
		err = j.data(in.URI)
	case "file", "":
		err = j.local(in.URI)
	default:
		err = fmt.Errorf("the scheme %s cannot be read: http:, https:, file: and data: can, and paths in open folders", show(scheme(in.URI)))
	}
	if err != nil {
		return output{}, err
	}
	return j.output(ctx)
}

// check completes what a model has asked for.
func (in *input) check() error {
	in.URI = strings.TrimSpace(in.URI)
	in.MaxChars, in.moved = answer.Within("max_chars", in.MaxChars, defaultChars, 1, mostChars) // left out it is the default
	switch {
	case in.URI == "":
		return errors.New("uri is empty: give an http(s): address, a file: or data: URI, or a path")
	case scheme(in.URI) != "data" && len(in.URI) > maxURI:
		return fmt.Errorf("uri is longer than %d bytes, which only a data: URI may be", maxURI)
	case !utf8.ValidString(in.URI):
		return errors.New("uri is no valid text")
	case in.Offset < 0:
		return errors.New("offset is below 0")
	case len(in.Pages) > 500 || len(in.Sheet) > 500:
		return errors.New("pages and sheet have at most 500 bytes")
	}
	return nil
}

var schemeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`) })

// scheme returns the scheme of a URI in small letters, or "" for a path.
func scheme(uri string) string {
	s, _, ok := strings.Cut(uri, ":")
	if !ok || len(s) < 2 || len(s) > 20 { // a single letter is a drive
		return ""
	}
	if !schemeForm().MatchString(s) {
		return ""
	}
	s = strings.ToLower(s)
	if known := s == "http" || s == "https" || s == "file" || s == "data"; !known && !strings.Contains(uri, "://") {
		return "" // a name may hold a colon
	}
	return s
}

// told returns an error as a model may read it.
func (s *server) told(ctx context.Context, err error) error {
	text := err.Error()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		text = "the time for one call is over (" + s.timeout.String() + "): ask for some of its pages, or try again later"
	case errors.Is(ctx.Err(), context.Canceled):
		text = "canceled"
	}
	if e, ok := errors.AsType[*document.Error](err); ok && e.Reason == document.Unsupported {
		text += ". A program in a sandbox may be able to read it"
	}
	for _, secret := range s.secrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return typed.Reword(err, egress.Cut(visible(text), 4000))
}

// output converts what was got.
func (j *job) output(ctx context.Context) (output, error) {
	out := output{URI: j.uri, Title: j.title, Format: j.format, Offset: j.in.Offset, Untrusted: true, only: j.in.Outline}
	if j.final != j.in.URI {
		out.Final = egress.Plain(j.final, 1000)
	}
	head, hidden := answer.Seen(j.head) // the rest was seen through as it was converted
	if hidden > 0 {
		j.note("%d characters that cannot be seen were left out of what the page says of itself", hidden)
	}
	before := utf8.RuneCountInString(head)
	if j.head != "" && j.src.Data != nil {
		head, before = head+"\n\n", before+2
	}
	var doc document.Doc
	if j.src.Data != nil {
		var err error
		if doc, err = j.body(ctx, before); err != nil {
			return output{}, err
		}
	}
	out.take(doc, j.plain)
	for i := range out.Outline {
		out.Outline[i].Offset += before
	}
	out.Chars += before
	own := part(head, j.in.Offset, j.in.MaxChars)
	out.Content = own + doc.Markdown
	if end := j.in.Offset + j.in.MaxChars; end < out.Chars {
		out.Next = end
	}
	if j.in.Offset > 0 && j.in.Offset >= out.Chars {
		return output{}, fmt.Errorf("offset %d is beyond the end: the document has %d characters", j.in.Offset, out.Chars)
	}
	if j.in.Outline {
		out.Content, out.Next = "", 0
	}
	out.Notes = append(j.notes, out.Notes...)
	out.hint()
	if n := len(out.Notes) - maxNotes; n > 0 {
		out.Notes = append(out.Notes[:maxNotes-1], fmt.Sprintf("%d more notes are left out: ask for a part of the document (pages, sheet, or a file of an archive) to see those of it", n+1))
	}
	return out, nil
}

// body converts what of the document stands behind so many characters of a head.
func (j *job) body(ctx context.Context, before int) (document.Doc, error) {
	req := document.Request{Pages: j.in.Pages, Sheet: j.in.Sheet, Offset: max(j.in.Offset-before, 0)}
	req.MaxChars = j.in.MaxChars - min(max(before-j.in.Offset, 0), j.in.MaxChars)
	nothing := j.in.Outline || req.MaxChars == 0
	if nothing { // 0 is the default
		req.MaxChars = 1
	}
	var b strings.Builder
	doc, err := j.convert.Write(ctx, &b, j.src, req)
	if err != nil {
		return doc, err
	}
	if !nothing {
		doc.Markdown = b.String()
	}
	return doc, nil
}

// part returns so many characters of s from an offset on.
func part(s string, offset, most int) string {
	r := []rune(s)
	offset = min(offset, len(r))
	return string(r[offset:min(offset+most, len(r))])
}
