package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/regular"
	"github.com/tenon-mcp/tenon/servers/knowledge/chunk"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
)

// types are the endings of names that count as documents.
var types = []string{
	".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org", ".html", ".htm", ".xhtml", ".pdf",
	".docx", ".doc", ".pptx", ".ppt", ".xlsx", ".xls", ".odt", ".ods", ".odp", ".rtf", ".epub", ".csv", ".tsv", ".ipynb", ".eml", ".msg",
}

// A file is one that may be a document.
type file struct {
	root     root
	rel      string // in the root, with slashes
	name     string // of the document
	size     int64
	modified time.Time
}

// found is what a look at the folders gave.
type found struct {
	files    []file
	dirs     []string
	complete map[string]bool // names of the roots that could be read
	tooMany  bool
	notes    []string
}

// A walker looks at folders.
type walker struct {
	o     Options
	roots []root
}

// walk looks at the folders.
func (w *walker) walk(ctx context.Context) (found, error) {
	f := found{complete: make(map[string]bool)}
	for _, r := range w.roots {
		f.complete[r.name] = true
		err := filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				if p == r.dir {
					f.complete[r.name] = false
				}
				f.notes = append(f.notes, fmt.Sprintf("%s cannot be read: %s", p, reason(err)))
				return nil
			}
			return w.visit(&f, r, p, d)
		})
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// visit takes one entry of a folder.
func (w *walker) visit(f *found, r root, p string, d fs.DirEntry) error {
	switch {
	case p != r.dir && w.excluded(d.Name()):
		if d.IsDir() {
			return filepath.SkipDir
		}
	case d.IsDir():
		f.dirs = append(f.dirs, p)
	case len(f.files) >= maxDocuments:
		f.tooMany = true
		return filepath.SkipAll
	default:
		if one, ok := w.file(r, p, d); ok {
			f.files = append(f.files, one)
		}
	}
	return nil
}

func (w *walker) excluded(name string) bool {
	if strings.HasPrefix(name, ".") || name == "node_modules" || strings.HasPrefix(name, "~$") {
		return true
	}
	return slices.ContainsFunc(w.o.Exclude, func(pattern string) bool {
		hit, _ := filepath.Match(pattern, name)
		return hit
	})
}

// file returns what is known of an entry, if it may be a document. A link counts as
// the file that it leads to, unless that lies elsewhere.
func (w *walker) file(r root, p string, d fs.DirEntry) (file, bool) {
	end := strings.ToLower(filepath.Ext(d.Name()))
	if !slices.Contains(types, end) && !slices.Contains(w.o.Types, end) {
		return file{}, false
	}
	rel, err := filepath.Rel(r.dir, p)
	if err != nil {
		return file{}, false
	}
	info, err := d.Info()
	if err == nil && d.Type()&fs.ModeSymlink != 0 {
		info, err = w.inside(r, rel)
	}
	if err != nil || !info.Mode().IsRegular() {
		return file{}, false
	}
	rel = filepath.ToSlash(rel)
	return file{r, rel, path.Join(r.name, rel), info.Size(), info.ModTime()}, true
}

func (w *walker) inside(r root, rel string) (fs.FileInfo, error) {
	dir, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Stat(rel)
}

// scan brings the index up to the folders.
func (l *Library) scan(ctx context.Context, r *run) ([]string, error) {
	f, err := (&walker{l.o, l.roots}).walk(ctx)
	if err != nil {
		return nil, err
	}
	if f.tooMany {
		f.notes = append(f.notes, fmt.Sprintf("there are more than %d documents: the rest is left out", maxDocuments))
	}
	l.status.lookedAt(f.notes)
	entries, err := r.index.Load().Entries(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]index.Entry, len(entries))
	for _, e := range entries {
		known[e.Path] = e
	}
	var changed []file
	for _, one := range f.files {
		e, ok := known[one.name]
		delete(known, one.name)
		if !ok || e.Size != one.size || !e.Modified.Equal(one.modified) {
			changed = append(changed, one)
		}
	}
	var gone []string
	for name := range known {
		// What lay in a folder that cannot be read now may be there still.
		head, _, _ := strings.Cut(name, "/")
		if len(l.roots) < 2 {
			head = ""
		}
		if complete, listed := f.complete[head]; !f.tooMany && (complete || !listed) {
			gone = append(gone, name)
		}
	}
	if err := r.index.Load().Remove(ctx, gone); err != nil {
		return f.dirs, err
	}
	return f.dirs, l.read(ctx, r, changed)
}

// Documents are written to the index in batches: of so many, of so many characters,
// or of so long, so that what was read can be found.
const (
	batchDocuments = 200
	batchChars     = 8_000_000
	batchTime      = time.Second
	readers        = 2
)

// read converts files and puts them into the index.
func (l *Library) read(ctx context.Context, r *run, files []file) error {
	if len(files) == 0 {
		return nil
	}
	l.status.set(func(s *Status) { s.Indexing, s.Done, s.Total = true, 0, len(files) })
	defer l.status.set(func(s *Status) { s.Indexing = false })
	reading, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var batch []index.Document
	chars := 0
	written := time.Now()
	for d := range l.documents(reading, &wg, r, files) {
		l.status.set(func(s *Status) { s.Done++ })
		if d == nil {
			continue
		}
		batch = append(batch, *d)
		for _, s := range d.Sections {
			chars += len(s.Text)
		}
		if len(batch) >= batchDocuments || chars >= batchChars || time.Since(written) > batchTime {
			if err := r.index.Load().Put(ctx, batch); err != nil {
				return err
			}
			batch, chars, written = nil, 0, time.Now()
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.index.Load().Put(ctx, batch)
}

// documents reads files, several at once, and returns them as they are read: nil is
// one that the index has. wg waits for what runs, which ends with ctx.
func (l *Library) documents(ctx context.Context, wg *sync.WaitGroup, r *run, files []file) <-chan *index.Document {
	done := make(chan *index.Document)
	var next atomic.Int64
	var busy sync.WaitGroup
	for range readers {
		busy.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				d := l.document(ctx, r, files[i])
				select {
				case done <- d:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wg.Go(func() { busy.Wait(); close(done) })
	return done
}

// document reads one file. It returns nil where the index has its content, or the
// reading was given up.
func (l *Library) document(ctx context.Context, r *run, one file) *index.Document {
	d := &index.Document{
		Path: one.name, Title: path.Base(one.name), Kind: strings.TrimPrefix(path.Ext(one.name), "."),
		Size: one.size, Modified: one.modified,
	}
	if one.size > l.o.MaxFile {
		d.Problem = fmt.Sprintf("too large: %d MiB, at most %d MiB are read", one.size>>20, l.o.MaxFile>>20)
		return d
	}
	f, err := openIn(one.root.dir, one.rel)
	if err != nil {
		d.Problem = "cannot be opened: " + reason(err)
		return d
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		d.Problem = "cannot be read: " + reason(err)
		return d
	}
	d.Hash = hex.EncodeToString(h.Sum(nil))
	before, err := r.index.Load().Document(ctx, one.name)
	if err == nil && before.Hash == d.Hash && before.Problem == "" && r.index.Load().Touch(ctx, one.name, one.size, one.modified) == nil {
		return nil
	}
	doc, err := convert(ctx, r, one, f, d.Hash)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		d.Problem = reason(err)
	}
	if doc.Format != "" {
		d.Kind = doc.Format
	}
	for _, s := range chunk.Sections(doc.Markdown, SectionChars) {
		d.Sections = append(d.Sections, index.Section{Heading: s.Path, Text: s.Text})
	}
	d.Title = title(doc, *d)
	return d
}

// convert converts a file. One whose reading has ended the process before is not read
// again until it is another one: else it would do so at each start.
func convert(ctx context.Context, r *run, one file, f *os.File, hash string) (document.Doc, error) {
	src := document.Source{Name: path.Base(one.rel), Data: f, Size: one.size}
	req := document.Request{MaxChars: maxText}
	if slices.Contains(harmless, strings.ToLower(path.Ext(one.rel))) {
		return r.convert.Convert(ctx, src, req)
	}
	x := r.index.Load()
	before, err := x.Attempt(ctx, one.name, hash)
	if err != nil {
		return document.Doc{}, err
	}
	if before {
		return document.Doc{}, errors.New("its reading has ended the server before: it needs too much memory, or breaks its reader")
	}
	doc, err := r.convert.Convert(ctx, src, req)
	return doc, errors.Join(err, x.Ended(context.WithoutCancel(ctx), one.name))
}

// harmless are endings of files whose reading is no more than that.
var harmless = []string{".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org"}

// title returns what a document is called: by itself, its first heading, its name.
func title(doc document.Doc, d index.Document) string {
	if doc.Title != "" {
		return clip(doc.Title, 200)
	}
	for _, s := range d.Sections {
		if s.Heading != "" {
			first, _, _ := strings.Cut(s.Heading, chunk.Separator)
			return clip(first, 200)
		}
	}
	return d.Title
}

func openIn(dir, rel string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return regular.Open(root, rel)
}

// reason returns an error without the path, which the document has.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return clip(err.Error(), 300)
}

func clip(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
