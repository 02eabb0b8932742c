package pdf

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	dpi       = 200 // of images for OCR
	maxPixels = 20 << 20
)

// Serve is the child: it reads a request and a file, and writes what it finds, page
// by page. What is wrong with the file it says there too.
func Serve(ctx context.Context, in io.Reader, out io.Writer) {
	w := &server{out: bufio.NewWriter(out)}
	if err := w.serve(ctx, in); err != nil {
		reason := draft.Damaged
		if e, ok := errors.AsType[*draft.Error](err); ok {
			reason = e.Reason
		}
		w.say(reply{Error: err.Error(), Why: &reason})
		return
	}
	w.say(reply{})
}

type server struct {
	out     *bufio.Writer
	pdfium  pdfium.Pdfium
	doc     references.FPDF_DOCUMENT
	images  int
	runners furniture
	objects int // that were looked at for lines
	drawn   int // objects of the page
}

func (s *server) say(r reply) {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = s.out.Write(append(b, '\n'))
	}
	_ = errors.Join(err, s.out.Flush()) // who reads no further has ended this
}

func (s *server) serve(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	head, err := r.ReadBytes('\n')
	var req request
	if err == nil {
		err = json.Unmarshal(head, &req)
	}
	if err != nil || req.Size < 0 || req.Size > maxSize {
		return errors.New("this reads a request, as JSON on a line, and a PDF on its standard input")
	}
	pages, err := draft.ParsePages(req.Pages)
	if err != nil {
		return err
	}
	file := make([]byte, req.Size)
	if _, err := io.ReadFull(r, file); err != nil {
		return fmt.Errorf("the PDF did not arrive as a whole: %w", err)
	}
	// What stands before the mark is none of the file, but mail and forms put it there.
	if i := bytes.Index(file[:min(len(file), 1024)], []byte("%PDF-")); i > 0 {
		file = file[i:]
	}
	stop, err := s.start(ctx, req.Cache, engine(req.Size))
	if err != nil {
		return err
	}
	defer stop()
	count, err := s.open(file)
	if err != nil {
		return err
	}
	s.images = req.Images
	s.say(reply{Info: &info{Pages: count, Fields: s.fields()}})
	return s.pages(ctx, req, pages, count)
}

// pages reads pages as long as there is time and PDFium is whole.
func (s *server) pages(ctx context.Context, req request, pages draft.Pages, count int) error {
	some := req.From > 0
	since := time.Now()
	for i := max(req.From-1, 0); i < count; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !pages.Has(i + 1) {
			continue
		}
		if some && req.Time > 0 && time.Since(since) > req.Time {
			s.say(reply{Next: i + 1})
			return nil
		}
		some = true
		s.say(reply{At: i + 1})
		p, err := s.page(i)
		switch {
		case err != nil && strings.Contains(err.Error(), "wasm error"):
			s.say(reply{Broken: broken(err)})
			return nil
		case err != nil:
			p = &page{Number: i + 1, Blocks: []block{{Text: "(this page cannot be read: " + err.Error() + ")"}}}
		}
		s.say(reply{Page: p})
	}
	if !some && count > 0 {
		return &draft.Error{Reason: draft.Wrong, Text: fmt.Sprintf("the PDF has %d pages, and none of those that were asked for", count)}
	}
	return nil
}

// broken returns what an error of the engine is, without where in its code it was.
func broken(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	_, text, _ = strings.Cut(text, "wasm error: ")
	if text == "unreachable" {
		return "it needs too much memory, or is damaged"
	}
	return "PDFium: " + text
}

// start starts PDFium, which reaches neither files nor anything else.
func (s *server) start(ctx context.Context, cache string, memory int64) (stop func(), err error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(engineMost >> 16).WithCloseOnContextDone(false)
	var compiled wazero.CompilationCache
	if cache != "" && os.MkdirAll(cache, 0o700) == nil {
		if compiled, err = wazero.NewCompilationCacheWithDir(cache); err == nil {
			config = config.WithCompilationCache(compiled)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: experimental.WithMemoryAllocator(ctx, reserve(memory)), MinIdle: 0, MaxIdle: 1, MaxTotal: 1, FSConfig: wazero.NewFSConfig(),
		RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("PDFium does not start: %w", err)
	}
	stop = func() {
		_ = pool.Close() // all of it ends with it
		if compiled != nil {
			_ = compiled.Close(ctx)
		}
	}
	if s.pdfium, err = pool.GetInstance(time.Minute); err != nil {
		stop()
		return nil, fmt.Errorf("PDFium does not start: %w", err)
	}
	return stop, nil
}

func (s *server) open(file []byte) (pages int, err error) {
	doc, err := s.pdfium.OpenDocument(&requests.OpenDocument{File: &file})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return 0, draft.Locked("PDF")
	case err != nil:
		return 0, draft.Damage(nil, "the file is no PDF that can be read: it is cut off or damaged")
	}
	s.doc = doc.Document
	count, err := s.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: s.doc})
	if err != nil {
		return 0, draft.Damage(err, "the pages of the PDF cannot be counted")
	}
	return count.PageCount, nil
}

// fields returns what the file says of itself.
func (s *server) fields() []draft.Field {
	meta, err := s.pdfium.GetMetaData(&requests.GetMetaData{Document: s.doc})
	if err != nil {
		return nil
	}
	names := map[string]string{
		"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords",
		"CreationDate": "created", "ModDate": "modified", "Producer": "producer",
	}
	var fields []draft.Field
	for _, t := range meta.Tags {
		name := names[t.Tag]
		if name == "" || t.Value == "" {
			continue
		}
		value := strings.ToValidUTF8(t.Value, "\uFFFD")
		if strings.HasSuffix(t.Tag, "Date") {
			value = cleanDate(value)
		}
		fields = append(fields, draft.Field{Name: name, Value: draft.Clip(value, 2000)})
	}
	return fields
}

// page reads a page, counted from 0.
func (s *server) page(i int) (*page, error) {
	at := requests.Page{ByIndex: &requests.PageByIndex{Document: s.doc, Index: i}}
	size, err := s.pdfium.GetPageSize(&requests.GetPageSize{Page: at})
	if err != nil {
		return nil, err
	}
	drawn := s.rules(at, size.Height)
	p := &page{Number: i + 1}
	runs, letters, err := s.runs(at, p, size.Height, drawn)
	if err != nil || p.Cut {
		return p, err
	}
	if letters < 8 {
		p.Bare = true
		if s.images > 0 && s.drawn <= maxDrawn {
			s.images--
			p.PNG, err = s.render(at, size.Width*size.Height)
		}
		if err != nil || letters == 0 {
			return p, err
		}
	}
	p.Blocks = layout(runs, drawn, size.Width, size.Height, &s.runners)
	return p, nil
}

// render returns a page as an image.
func (s *server) render(at requests.Page, points float64) ([]byte, error) {
	sharp := dpi
	if points > 0 {
		sharp = max(1, min(sharp, int(72*math.Sqrt(maxPixels/points))))
	}
	image, err := s.pdfium.RenderPageInDPI(&requests.RenderPageInDPI{Page: at, DPI: sharp})
	if err != nil {
		return nil, err
	}
	defer image.Cleanup()
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed}
	err = e.Encode(&b, image.Result.RenderedImage)
	if b.Len() > maxLine/2 {
		return nil, err // noise, which no line holds
	}
	return b.Bytes(), err
}
