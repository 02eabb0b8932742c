package python

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const maxListed = 500

type listInput struct {
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
	Path      string `json:"path,omitempty" jsonschema:"folder in the sandbox, with all below it"`
}

type listOutput struct {
	Path  string  `json:"path" jsonschema:"the folder"`
	Files []entry `json:"files" jsonschema:"what is in it"`
	More  bool    `json:"more" jsonschema:"not all is listed"`
}

type entry struct {
	Path     string `json:"path" jsonschema:"whole path"`
	Kind     string `json:"kind" jsonschema:"file, directory, symlink or other"`
	Size     int64  `json:"size" jsonschema:"bytes"`
	Modified string `json:"modified" jsonschema:"when it was last changed"`
}

func (s *server) addList(srv *mcp.Server) {
	a := typed.ReadsHere()
	typed.AddContent(srv, typed.Spec{
		Name: "list_files", Title: "List files",
		Description: "Lists the files of a sandbox in a folder and all below it, with their sizes. Symbolic links are shown and not followed.",
		Defaults:    map[string]any{"path": sandbox.Home}, Annotations: a, MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in listInput) ([]mcp.Content, listOutput, error) {
		h, done, err := s.boxes.use(req, in.SandboxID)
		if err != nil {
			return nil, listOutput{}, err
		}
		defer done()
		if in.Path == "" {
			in.Path = sandbox.Home
		}
		l, err := h.List(ctx, in.Path, maxListed)
		if err != nil {
			return nil, listOutput{}, s.told(err)
		}
		out := listOutput{Path: l.Path, Files: []entry{}, More: l.More}
		var t text
		if len(l.Files) == 0 {
			t.add("%s is empty.", l.Path)
		}
		for _, f := range l.Files {
			e := entry{f.Path, f.Kind, f.Size, f.Modified.Format(time.RFC3339)}
			out.Files = append(out.Files, e)
			t.add("%s  %s  %d bytes  %s", fmt.Sprintf("%q", e.Path), e.Kind, e.Size, e.Modified)
		}
		if out.More {
			t.add("There is more: list a folder below it.")
		}
		all := out
		out = fitted(s.most, func(budget int) listOutput {
			if n := budget / 40; n < len(all.Files) { // less than any entry has
				return listOutput{all.Path, all.Files[:n], true}
			}
			return all
		})
		return typed.Text(t.within(s.most)), out, nil
	})
}

type killInput struct {
	SandboxID string `json:"sandbox_id" jsonschema:"name of the sandbox, from create_sandbox"`
}

type killOutput struct {
	Killed bool `json:"killed" jsonschema:"it has ended"`
}

func (s *server) addKill(srv *mcp.Server) {
	a := changes(false)
	a.IdempotentHint = true
	typed.AddContent(srv, typed.Spec{
		Name: "kill_sandbox", Title: "End a sandbox",
		Description: "Ends a sandbox with all that runs in it. Its files and variables are gone. Call it when the work is done, so that others have room.",
		Annotations: a, MaxArguments: maxArguments,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in killInput) ([]mcp.Content, killOutput, error) {
		h, done, err := s.boxes.use(req, in.SandboxID)
		if err != nil {
			return nil, killOutput{}, err
		}
		defer done()
		if err := h.Kill(ctx); err != nil {
			return nil, killOutput{}, s.told(err)
		}
		return typed.Text("The sandbox has ended."), killOutput{true}, nil
	})
}
