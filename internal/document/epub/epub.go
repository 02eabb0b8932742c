// Package epub converts electronic books: what is said of them, and their chapters
// in the order in which they are read.
package epub

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/page"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const (
	maxChapter = 32 << 20
	maxItems   = 20_000
)

// A book is what its package file says of it.
type book struct {
	fields map[string][]string
	items  map[string]item
	spine  []string
}

type item struct{ href, kind, properties string }

// Convert converts a book.
func Convert(_ context.Context, src draft.Source, out *draft.Out) error {
	z, err := draft.OpenZip(src, out.Budget)
	if err != nil {
		return err
	}
	pages, err := draft.ParsePages(out.Options.Pages)
	if err != nil {
		return err
	}
	root, err := packageFile(z)
	if err != nil {
		return err
	}
	b, err := open(z, root)
	if err != nil {
		return err
	}
	b.describe(out)
	locked := lockedParts(z)
	out.Report.Pages = len(b.spine)
	for i, id := range b.spine {
		it := b.items[id]
		name := resolve(path.Dir(root), it.href)
		if !pages.Has(i+1) || strings.Contains(it.properties, "nav") && len(b.spine) > 1 || !strings.Contains(it.kind, "html") {
			continue
		}
		if locked[draft.Part(name)] {
			return draft.Locked("book")
		}
		text, err := z.Read(name, maxChapter)
		if err != nil {
			out.Note("chapter %d is left out: %v", i+1, err)
			continue
		}
		if err := page.Fragment(string(text), "", out); err != nil {
			if out.Err() != nil {
				return err
			}
			out.Note("chapter %d is left out: %v", i+1, err)
		}
	}
	return out.Err()
}

// packageFile returns the name of the file that describes the book.
func packageFile(z *draft.Zip) (string, error) {
	root := ""
	err := scan(z, "META-INF/container.xml", func(s *xmlscan.Scanner) {
		if s.Starts("rootfile") && root == "" {
			root = s.Attr("full-path")
		}
	})
	if err != nil {
		return "", err
	}
	if !z.Has(root) {
		return "", draft.Damage(nil, "the book does not say what is in it: the file is damaged")
	}
	return root, nil
}

func scan(z *draft.Zip, name string, f func(s *xmlscan.Scanner)) error {
	r, err := z.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := xmlscan.New(r)
	for s.Next() {
		f(s)
	}
	if s.Err() != nil {
		return draft.Damage(s.Err(), "the part %q of the book cannot be read", name)
	}
	return nil
}

func open(z *draft.Zip, root string) (*book, error) {
	b := &book{fields: map[string][]string{}, items: map[string]item{}}
	inMetadata := false
	err := scan(z, root, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("metadata"):
			inMetadata = true
		case s.Ends("metadata"):
			inMetadata = false
		case s.Starts("meta") && s.Attr("property") == "dcterms:modified":
			b.fields["modified"] = append(b.fields["modified"], s.Inner(1000))
		case s.Starts("item") && len(b.items) < maxItems:
			b.items[s.Attr("id")] = item{s.Attr("href"), s.Attr("media-type"), s.Attr("properties")}
		case s.Starts("itemref") && len(b.spine) < maxItems:
			b.spine = append(b.spine, s.Attr("idref"))
		case inMetadata && s.Kind == xmlscan.Start:
			name := string(s.Name)
			if text := draft.Line(s.Inner(10_000)); text != "" && len(b.fields[name]) < 50 {
				b.fields[name] = append(b.fields[name], text)
			}
		}
	})
	return b, err
}

// describe writes what is known of the book.
func (b *book) describe(out *draft.Out) {
	for _, f := range []struct{ element, field, shown string }{
		{"title", "title", "Title"},
		{"creator", "author", "Authors"},
		{"language", "language", "Language"},
		{"publisher", "publisher", "Publisher"},
		{"date", "created", "Date"},
		{"modified", "modified", ""},
		{"identifier", "identifier", "Identifier"},
		{"description", "description", "Description"},
	} {
		value := strings.Join(b.fields[f.element], ", ")
		if f.element == "description" {
			value = page.Text(out, value)
		}
		if value == "" {
			continue
		}
		out.Set(f.field, value)
		if f.shown != "" {
			out.Item("**" + f.shown + ":** " + draft.Clip(value, 2000))
		}
	}
}

// lockedParts returns the parts that are encrypted.
func lockedParts(z *draft.Zip) map[string]bool {
	locked := map[string]bool{}
	if z.Has("META-INF/encryption.xml") {
		// Where the list cannot be read, the chapters cannot either.
		_ = scan(z, "META-INF/encryption.xml", func(s *xmlscan.Scanner) {
			if s.Starts("CipherReference") && len(locked) < maxItems {
				locked[draft.Part(resolve("", s.Attr("URI")))] = true
			}
		})
	}
	return locked
}

func resolve(dir, href string) string {
	if u, err := url.PathUnescape(href); err == nil {
		href = u
	}
	href, _, _ = strings.Cut(href, "#")
	return strings.TrimPrefix(path.Join("/", dir, href), "/")
}
