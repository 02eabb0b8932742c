package text

import (
	"context"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/page"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const maxText = 4 << 20 // bytes of one element of a feed

// XML converts XML: a feed to its items, anything else to a block of code, after it
// was seen to be whole.
func XML(ctx context.Context, src draft.Source, out *draft.Out) error {
	s := xmlscan.New(src.Reader())
	if s.Next() {
		switch string(s.Name) {
		case "rss", "feed", "RDF":
			return Feed(ctx, src, out)
		case "html":
			return page.Convert(ctx, src, out)
		}
		out.Set("root", string(s.Name))
	}
	for s.Next() {
		if err := out.Err(); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return draft.Damage(err, "the XML cannot be read")
	}
	return fenced(src, out, "xml")
}

// An item is one of a feed, or the feed itself.
type item struct {
	title, link, author, date, summary, content string
}

// Feed converts RSS, RDF and Atom.
func Feed(_ context.Context, src draft.Source, out *draft.Out) error {
	f := feed{out: out, scan: xmlscan.New(src.Reader()), at: src.URL}
	if err := f.read(); err != nil {
		return err
	}
	if err := f.scan.Err(); err != nil {
		return draft.Damage(err, "the feed cannot be read")
	}
	f.begin()
	return out.Err()
}

type feed struct {
	out   *draft.Out
	scan  *xmlscan.Scanner
	at    string
	whole item
	begun bool
}

func (f *feed) read() error {
	s := f.scan
	for s.Next() {
		if err := f.out.Err(); err != nil {
			return err
		}
		if s.Kind != xmlscan.Start {
			continue
		}
		switch string(s.Name) {
		case "rss", "feed", "RDF", "channel":
		case "item", "entry":
			f.begin()
			if err := f.item(); err != nil {
				return err
			}
		default:
			f.field(&f.whole)
		}
	}
	return nil
}

// begin writes what is said of the feed, before its first item.
func (f *feed) begin() {
	if f.begun {
		return
	}
	f.begun = true
	f.out.Set("title", f.whole.title)
	f.out.Set("author", f.whole.author)
	f.out.Set("modified", f.whole.date)
	f.out.Heading(1, f.whole.title)
	f.out.Block(f.whole.link)
	f.html(f.whole.summary)
}

func (f *feed) item() error {
	var it item
	for depth := f.scan.Depth(); f.scan.Next(); {
		if f.scan.Kind == xmlscan.End && f.scan.Depth() < depth {
			break
		}
		if f.scan.Kind == xmlscan.Start {
			f.field(&it)
		}
	}
	if f.scan.Err() != nil {
		return nil // said at the end
	}
	if it.title == "" {
		it.title = "(without a title)"
	}
	f.out.Heading(2, page.Text(f.out, it.title))
	var facts []string
	for _, s := range []string{it.date, it.author, it.link} {
		if s = draft.Line(s); s != "" {
			facts = append(facts, s)
		}
	}
	f.out.Block(strings.Join(facts, " · "))
	if len(it.content) > len(it.summary) {
		it.summary = it.content
	}
	f.html(it.summary)
	return f.out.Err()
}

// field reads an element that has just started into its field of an item.
func (f *feed) field(it *item) {
	s := f.scan
	to := (*string)(nil)
	switch string(s.Name) {
	case "title":
		to = &it.title
	case "link":
		if href := s.Attr("href"); href != "" {
			if rel := s.Attr("rel"); rel == "" || rel == "alternate" {
				it.link = href
			}
			s.Skip()
			return
		}
		to = &it.link
	case "author", "creator":
		if name := draft.Line(s.Inner(maxText)); it.author == "" {
			it.author = name
		}
		return
	case "pubDate", "published", "date", "updated", "lastBuildDate":
		to = &it.date
	case "description", "summary", "subtitle":
		to = &it.summary
	case "encoded", "content":
		to = &it.content
	default:
		s.Skip()
		return
	}
	if text := s.Inner(maxText); *to == "" {
		*to = strings.TrimSpace(text)
	}
}

// html writes text that is HTML or not.
func (f *feed) html(text string) {
	if text == "" {
		return
	}
	sub := f.out.Sub(2)
	sub.Report = &draft.Report{}
	if !strings.ContainsAny(text, "<&") || page.Fragment(text, f.at, sub) != nil {
		f.out.Block(text)
	}
}
