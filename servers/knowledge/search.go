package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
	"github.com/tenon-mcp/tenon/servers/knowledge/library"
)

// How sections are found.
const (
	maxQuery      = 2000 // characters
	retrieved     = 20   // sections that each way of finding gives
	fusion        = 60   // the constant of reciprocal rank fusion (Cormack et al., 2009)
	weightWords   = 0.4  // of being found by words, where meaning counts too
	weightMeaning = 0.6
	rerankChars   = 1200 // of a section that the reranker sees
	rerankTime    = 8 * time.Second
	embedTime     = 5 * time.Second
	previewChars  = 240
)

type searchInput struct {
	Query string `json:"query" jsonschema:"what to look for, as a question or as words; the words of an error message or the name of a component find most"`
	TopK  int    `json:"top_k,omitempty" jsonschema:"how many sections to return, 1 to 10"`
	In    string `json:"in,omitempty" jsonschema:"search only documents whose path matches this pattern, such as runbooks/* or *.pdf, or begins with this folder"`
}

type searchOutput struct {
	Hits     []hit          `json:"hits" jsonschema:"best first"`
	Notes    []string       `json:"notes,omitempty" jsonschema:"what was not searched, or not as it should be"`
	Indexing *library.State `json:"indexing,omitempty" jsonschema:"set while documents are still being read"`
}

type hit struct {
	Source    string  `json:"source" jsonschema:"path of the document, for kb_get_document"`
	Title     string  `json:"title"`
	Chapter   string  `json:"chapter" jsonschema:"headings that the section stands under"`
	Preview   string  `json:"preview" jsonschema:"the first characters of the section"`
	Score     float64 `json:"score" jsonschema:"comparable within one search only"`
	ParentID  int64   `json:"parent_id" jsonschema:"number of the section"`
	Truncated bool    `json:"truncated,omitempty" jsonschema:"the section is longer than what the text shows"`
	text      string
}

func (s *server) addSearch(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "search_knowledge_base", Title: "Search the knowledge base",
		Description: "Finds the sections of the knowledge base (runbooks, manuals, notes) that have most to do with a question, and returns them with the document and headings that they stand in. Look here before guessing how this system is run. For more of a document call kb_get_document with its source.",
		Defaults:    map[string]any{"top_k": 3},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in searchInput) ([]mcp.Content, searchOutput, error) {
		out, err := s.search(ctx, req, in)
		return typed.Text(out.markdown(in.Query)), out, err
	})
}

func (s *server) search(ctx context.Context, req *mcp.CallToolRequest, in searchInput) (searchOutput, error) {
	query := strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return searchOutput{}, errors.New("query is empty: say what to look for")
	case utf8.RuneCountInString(query) > maxQuery:
		return searchOutput{}, fmt.Errorf("query has %d characters, at most %d are searched: ask with the words that matter", utf8.RuneCountInString(query), maxQuery)
	}
	release, err := s.use(ctx)
	if err != nil {
		return searchOutput{}, err
	}
	defer release()
	if err := s.lib.Await(ctx, s.patience, progress(ctx, req)); err != nil {
		return searchOutput{}, err
	}
	out := searchOutput{Hits: []hit{}}
	allowed, err := s.among(ctx, in.In)
	if err != nil {
		return searchOutput{}, err
	}
	found, err := s.find(ctx, query, allowed, &out)
	if err != nil {
		return searchOutput{}, err
	}
	found = s.order(ctx, query, found, &out)
	top := 3
	if in.TopK != 0 {
		top = min(max(in.TopK, 1), 10)
	}
	for _, f := range found[:min(len(found), top)] {
		out.Hits = append(out.Hits, hitOf(f, searchChars/top-300))
	}
	status := s.lib.Status()
	out.Notes = append(out.Notes, status.Notes...)
	if status.Indexing {
		out.Indexing = &status.State
	}
	return out, nil
}

// progress returns what tells a caller how far the first look at the folders is.
func progress(ctx context.Context, req *mcp.CallToolRequest) func(library.Status) {
	token := req.Params.GetProgressToken()
	return func(s library.Status) {
		if token == nil {
			return
		}
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // one that is lost is followed by others
			ProgressToken: token, Progress: float64(s.Done), Total: float64(s.Total),
			Message: fmt.Sprintf("reading documents: %d of %d", s.Done, s.Total),
		})
	}
}

// among returns which documents a pattern allows.
func (s *server) among(ctx context.Context, pattern string) (func(int64) bool, error) {
	pattern = strings.TrimSpace(pattern)
	if pattern == "" {
		return func(int64) bool { return true }, nil
	}
	matches, err := matcher(pattern)
	if err != nil {
		return nil, err
	}
	entries, err := s.lib.Index().Entries(ctx)
	if err != nil {
		return nil, err
	}
	allowed := make(map[int64]bool)
	for _, e := range entries {
		if matches(e.Path) {
			allowed[e.ID] = true
		}
	}
	if len(allowed) == 0 {
		return nil, fmt.Errorf("no document matches %q: kb_list_documents lists their paths", answer.Cut(pattern, 100))
	}
	return func(id int64) bool { return allowed[id] }, nil
}

// matcher returns what tells whether a path matches a pattern: as a whole, by its
// name, or by a folder above it.
func matcher(pattern string) (func(string) bool, error) {
	if _, err := path.Match(pattern, "x"); err != nil {
		return nil, fmt.Errorf("%q is no pattern of paths: write it like runbooks/* or *.pdf", answer.Cut(pattern, 100))
	}
	folder := strings.TrimSuffix(pattern, "/") + "/"
	return func(p string) bool {
		whole, _ := path.Match(pattern, p)
		name, _ := path.Match(pattern, path.Base(p))
		return whole || name || strings.HasPrefix(p, folder)
	}, nil
}

// A candidate is a section that was found.
type candidate struct {
	index.Found
	score float64
}

// find returns the sections that are found by words, and by meaning where a model
// answers, best first.
func (s *server) find(ctx context.Context, query string, allowed func(int64) bool, out *searchOutput) ([]candidate, error) {
	x := s.lib.Index()
	byWords, err := x.Search(ctx, index.Query{Words: query, Limit: retrieved, In: allowed})
	if err != nil {
		return nil, err
	}
	scores := make(map[int64]float64)
	if byMeaning := s.nearest(ctx, query, allowed, out); byMeaning != nil {
		for i, h := range byWords {
			scores[h.Section] += weightWords / float64(fusion+i+1)
		}
		for i, h := range byMeaning {
			scores[h.Section] += weightMeaning / float64(fusion+i+1)
		}
	} else {
		for _, h := range byWords {
			scores[h.Section] = h.Score
		}
	}
	var found []candidate
	for id, score := range scores {
		f, err := x.Section(ctx, id)
		if errors.Is(err, index.ErrNone) {
			continue // its document has just changed
		}
		if err != nil {
			return nil, err
		}
		found = append(found, candidate{f, score})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

// nearest returns what is found by meaning, or nil where there is no model that
// answers.
func (s *server) nearest(ctx context.Context, query string, allowed func(int64) bool, out *searchOutput) []index.Hit {
	if s.embedder == nil {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, embedTime)
	defer cancel()
	vectors, err := s.embedder.Embed(asking, []string{query})
	if err == nil {
		if q := index.Quantize(vectors[0]); q != nil {
			var hits []index.Hit
			if hits, err = s.lib.Index().Nearest(ctx, q, retrieved, allowed); err == nil {
				return hits
			}
		}
	}
	if err != nil {
		out.Notes = append(out.Notes, "found by words alone: "+err.Error())
	}
	return nil
}

// order puts what was found in the order of a reranker, where one answers.
func (s *server) order(ctx context.Context, query string, found []candidate, out *searchOutput) []candidate {
	if s.reranker == nil || len(found) < 2 {
		return found
	}
	asking, cancel := context.WithTimeout(ctx, rerankTime)
	defer cancel()
	texts := make([]string, len(found))
	for i, f := range found {
		texts[i] = answer.Cut(f.Heading+"\n"+f.Text, rerankChars)
	}
	ranks, err := s.reranker.Rerank(asking, query, texts)
	if err != nil {
		out.Notes = append(out.Notes, "not put in order by the reranker: "+err.Error())
		return found
	}
	ordered := make([]candidate, len(ranks))
	for i, r := range ranks {
		ordered[i] = candidate{found[r.Index].Found, r.Score}
	}
	slices.SortStableFunc(ordered, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return ordered
}

func hitOf(c candidate, most int) hit {
	body := strings.TrimSpace(c.Text)
	h := hit{
		Source: c.Document.Path, Title: c.Document.Title, Chapter: c.Heading, ParentID: c.ID,
		Score: float64(int64(c.score*10_000+0.5)) / 10_000, Preview: answer.Cut(strings.Join(strings.Fields(body), " "), previewChars),
	}
	h.text = readable(body)
	if most = min(most, library.SectionChars); utf8.RuneCountInString(h.text) > most {
		h.text, h.Truncated = answer.Cut(h.text, most), true
	}
	return h
}

func (o searchOutput) markdown(query string) string {
	var b strings.Builder
	// What was not searched comes first: without it, nothing found means something else.
	if o.Indexing != nil {
		fmt.Fprintf(&b, "Note: documents are still being read (%d of %d): search again later for the rest.\n", o.Indexing.Done, o.Indexing.Total)
	}
	for _, n := range o.Notes {
		b.WriteString("Note: " + answer.Line(n, 300) + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	for i, h := range o.Hits {
		fmt.Fprintf(&b, "## Source %d | %s", i+1, answer.Line(h.Source, 300))
		if h.Chapter != "" {
			fmt.Fprintf(&b, " | Chapter: %s", answer.Line(h.Chapter, 300))
		}
		// Its text cannot leave the fence, and so not pass for another source.
		fence := answer.Fence(h.text)
		b.WriteString("\n\n" + fence + "markdown\n" + h.text + "\n" + fence)
		if h.Truncated {
			b.WriteString("\n… (cut: kb_get_document has the whole)")
		}
		b.WriteString("\n\n")
	}
	if len(o.Hits) == 0 {
		fmt.Fprintf(&b, "Nothing in the knowledge base has to do with %q. Try other words, such as the name of a component or the text of an error; kb_list_documents shows what there is.\n", answer.Cut(query, 200))
	}
	return strings.TrimRight(b.String(), "\n")
}
