package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
	"github.com/tenon-mcp/tenon/servers/knowledge/library"
)

type listInput struct {
	In     string `json:"in,omitempty" jsonschema:"list only documents whose path matches this pattern, such as runbooks/* or *.pdf, or begins with this folder"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many to list, 1 to 200"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many to leave out first, to go on from an earlier list"`
}

type listOutput struct {
	Total     int            `json:"total" jsonschema:"documents that match"`
	Documents []listed       `json:"documents" jsonschema:"in the order of their paths"`
	Next      int            `json:"next_offset,omitempty" jsonschema:"offset to go on from"`
	Indexing  *library.State `json:"indexing,omitempty" jsonschema:"set while documents are still being read"`
	Notes     []string       `json:"notes,omitempty" jsonschema:"what could not be read"`
}

type listed struct {
	Path     string `json:"path"`
	Title    string `json:"title"`
	Kind     string `json:"kind"`
	Chars    int    `json:"chars" jsonschema:"length of its text"`
	Sections int    `json:"sections"`
	Modified string `json:"modified" jsonschema:"UTC, ISO 8601"`
	Problem  string `json:"problem,omitempty" jsonschema:"why it cannot be searched"`
}

func (s *server) addList(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "kb_list_documents", Title: "Documents of the knowledge base",
		Description: "Lists the documents of the knowledge base with title, kind and length, and those that could not be read with the reason.",
		Defaults:    map[string]any{"limit": 50, "offset": 0},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in listInput) ([]mcp.Content, listOutput, error) {
		out, err := s.list(ctx, req, in)
		return typed.Text(out.markdown()), out, err
	})
}

func (s *server) list(ctx context.Context, req *mcp.CallToolRequest, in listInput) (listOutput, error) {
	limit := 50
	if in.Limit != 0 {
		limit = min(max(in.Limit, 1), 200)
	}
	if in.Offset < 0 {
		return listOutput{}, errors.New("offset is below 0")
	}
	matches := func(string) bool { return true }
	if p := strings.TrimSpace(in.In); p != "" {
		var err error
		if matches, err = matcher(p); err != nil {
			return listOutput{}, err
		}
	}
	release, err := s.use(ctx)
	if err != nil {
		return listOutput{}, err
	}
	defer release()
	if err := s.lib.Await(ctx, s.patience, progress(ctx, req)); err != nil {
		return listOutput{}, err
	}
	entries, err := s.lib.Index().Entries(ctx)
	if err != nil {
		return listOutput{}, err
	}
	out := listOutput{Documents: []listed{}}
	for _, e := range entries {
		if !matches(e.Path) {
			continue
		}
		if out.Total++; out.Total > in.Offset && len(out.Documents) < limit {
			out.Documents = append(out.Documents, listedOf(e))
		}
	}
	if shown := in.Offset + len(out.Documents); shown < out.Total {
		out.Next = shown
	}
	status := s.lib.Status()
	out.Notes = status.Notes
	if status.Indexing {
		out.Indexing = &status.State
	}
	return out, nil
}

func listedOf(e index.Entry) listed {
	return listed{
		Path: e.Path, Title: answer.Line(e.Title, 200), Kind: e.Kind, Chars: e.Chars, Sections: e.Count,
		Modified: e.Modified.UTC().Format("2006-01-02T15:04:05Z"), Problem: answer.Line(e.Problem, 300),
	}
}

func (o listOutput) markdown() string {
	var b strings.Builder
	if o.Indexing != nil {
		fmt.Fprintf(&b, "Note: documents are still being read (%d of %d).\n", o.Indexing.Done, o.Indexing.Total)
	}
	for _, n := range o.Notes {
		b.WriteString("Note: " + answer.Line(n, 300) + "\n")
	}
	fmt.Fprintf(&b, "%d documents", o.Total)
	if len(o.Documents) < o.Total {
		fmt.Fprintf(&b, ", of which %d are shown", len(o.Documents))
	}
	b.WriteString("\n\n")
	rows := make([][]string, len(o.Documents))
	for i, d := range o.Documents {
		title := d.Title
		if d.Problem != "" {
			title = "cannot be searched: " + d.Problem
		}
		rows[i] = []string{d.Path, title, d.Kind, fmt.Sprint(d.Chars), d.Modified[:min(len(d.Modified), len(time.DateOnly))]}
	}
	if len(rows) > 0 {
		b.WriteString(answer.Table([]string{"path", "title", "kind", "characters", "changed"}, rows, listChars-b.Len()-100))
	}
	if o.Next > 0 {
		fmt.Fprintf(&b, "\nGo on with offset %d.\n", o.Next)
	}
	return strings.TrimRight(b.String(), "\n")
}
