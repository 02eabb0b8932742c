package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/spelling"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
	"github.com/tenon-mcp/tenon/servers/knowledge/library"
)

// maxPath is the longest path of a document that is looked for, in bytes.
const maxPath = 1000

type getInput struct {
	Path     string `json:"path" jsonschema:"path of the document, as search_knowledge_base and kb_list_documents give it"`
	Chapter  string `json:"chapter,omitempty" jsonschema:"return only the sections whose headings contain this"`
	Offset   int    `json:"offset,omitempty" jsonschema:"how many characters to leave out first"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how many characters to return, 1 to 20000"`
}

type getOutput struct {
	Path     string   `json:"path" jsonschema:"path of the document"`
	Title    string   `json:"title" jsonschema:"what the document is called"`
	Text     string   `json:"text" jsonschema:"Markdown"`
	Chars    int      `json:"chars" jsonschema:"length of the document, or of the sections that were asked for"`
	Next     int      `json:"next_offset,omitempty" jsonschema:"offset to go on from, where there is more"`
	Chapters []string `json:"chapters,omitempty" jsonschema:"headings of the document, where it is longer than what is returned"`
}

func (s *server) addGet(srv *mcp.Server) {
	typed.Add(srv, typed.Spec{
		Name: "kb_get_document", Title: "Document of the knowledge base",
		Description: "Returns a document of the knowledge base as Markdown, or one chapter of it. A long one comes in parts, the first with the list of its chapters.",
		Defaults:    map[string]any{"offset": 0, "max_chars": 20_000},
	}, func(ctx context.Context, in getInput) (string, getOutput, error) {
		out, err := s.get(ctx, in)
		return out.markdown(), out, err
	})
}

func (s *server) get(ctx context.Context, in getInput) (getOutput, error) {
	most := 20_000
	if in.MaxChars != 0 {
		most = min(max(in.MaxChars, 1), 20_000)
	}
	name := strings.TrimSpace(in.Path)
	if name == "" || len(name) > maxPath || in.Offset < 0 {
		return getOutput{}, fmt.Errorf("path must name a document in at most %d bytes, and offset must not be below 0", maxPath)
	}
	release, err := s.use(ctx)
	if err != nil {
		return getOutput{}, err
	}
	defer release()
	if err := s.lib.Await(ctx, s.patience, nobody); err != nil {
		return getOutput{}, err
	}
	e, err := s.lib.Index().Document(ctx, name)
	if errors.Is(err, index.ErrNone) {
		return getOutput{}, s.none(ctx, name)
	}
	if err != nil {
		return getOutput{}, err
	}
	out := getOutput{Path: e.Path, Title: e.Title}
	var whole strings.Builder
	for _, section := range e.Sections {
		if in.Chapter == "" || strings.Contains(strings.ToLower(section.Heading), strings.ToLower(in.Chapter)) {
			whole.WriteString(section.Text)
		}
		if n := len(out.Chapters); section.Heading != "" && n < 200 && !slices.Contains(out.Chapters, section.Heading) {
			out.Chapters = append(out.Chapters, section.Heading)
		}
	}
	if in.Chapter != "" && whole.Len() == 0 {
		return getOutput{}, fmt.Errorf("%s has no chapter %q. It has: %s", e.Path, answer.Cut(in.Chapter, 100), answer.Cut(strings.Join(out.Chapters, "; "), 2000))
	}
	body := []rune(readable(whole.String()))
	out.Chars = len(body)
	if in.Offset > out.Chars {
		return getOutput{}, fmt.Errorf("offset %d is beyond the end: %s has %d characters", in.Offset, e.Path, out.Chars)
	}
	body = body[in.Offset:]
	if len(body) > most {
		body, out.Next = body[:most], in.Offset+most
	}
	out.Text = string(body)
	if out.Chars <= most || in.Offset > 0 || in.Chapter != "" {
		out.Chapters = nil
	}
	if e.Problem != "" && out.Chars == 0 {
		return getOutput{}, fmt.Errorf("%s cannot be read: %s", e.Path, answer.Cut(e.Problem, 300))
	}
	return out, nil
}

// none is the error of a document that is not there, with those that are named alike.
func (s *server) none(ctx context.Context, name string) error {
	entries, err := s.lib.Index().Entries(ctx)
	if err != nil {
		return err
	}
	if near := alike(name, entries); len(near) > 0 {
		return fmt.Errorf("the knowledge base has no document %q. Did you mean %s?", answer.Cut(name, 100), strings.Join(near, ", "))
	}
	return fmt.Errorf("the knowledge base has no document %q: kb_list_documents lists those that there are", answer.Cut(name, 100))
}

// alike returns at most five paths that somebody who asks for this one may have meant:
// those of the same name in another folder, else those that hold the name, else those
// that are spelled like it.
func alike(name string, entries []index.Entry) []string {
	want := strings.ToLower(path.Base(name))
	var near, holding []string
	for _, e := range entries {
		switch p := strings.ToLower(e.Path); {
		case path.Base(p) == want:
			near = append(near, e.Path)
		case strings.Contains(p, want):
			holding = append(holding, e.Path)
		}
	}
	if len(near) == 0 {
		near = holding
	}
	slips := map[string]int{}
	if len(near) == 0 {
		for _, e := range entries {
			d := spelling.Distance(strings.ToLower(path.Base(e.Path)), want)
			if d <= max(2, len(want)/4) {
				slips[e.Path] = d
				near = append(near, e.Path)
			}
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(slips[a], slips[b]), cmp.Compare(len(a), len(b)))
	})
	return near[:min(len(near), 5)]
}

func (o getOutput) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Document %s (%d characters)\n\n", o.Path, o.Chars)
	if len(o.Chapters) > 0 {
		b.WriteString("Chapters: " + answer.Cut(strings.Join(o.Chapters, "; "), 2000) + "\n\n")
	}
	b.WriteString(o.Text)
	if o.Next > 0 {
		fmt.Fprintf(&b, "\n\n… (%d more characters: go on with offset %d)", o.Chars-o.Next, o.Next)
	}
	return b.String()
}

// nobody is told of progress.
func nobody(library.Status) {}

// readable frees a text of a document of what is no text for a reader.
func readable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two join letters
			return r
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}
