package docker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	topChars  = 4000
	topMost   = 200
	diffChars = 6000
	diffMost  = 500
)

type topOutput struct {
	Container string     `json:"container" jsonschema:"name or id, as given"`
	Titles    []string   `json:"titles" jsonschema:"what the columns are"`
	Processes [][]string `json:"processes" jsonschema:"one row for each process, those that use most first; at most 200; secrets in commands masked"`
	Total     int        `json:"total" jsonschema:"how many processes there are"`
}

func (s *server) addTop(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_top", Title: "Processes of a container",
		Description: "Lists the processes that run in one container: process id on the host, parent, user, processor share, memory (KiB), how long it runs, command line with secrets masked. The container must run.",
	}}, top)
}

// columns are given to ps by us alone, and never by who calls.
var columns = []string{"-eo", "pid,ppid,user,pcpu,rss,etime,args"}

func top(ctx context.Context, e *engine, in nameInput) (string, topOutput, error) {
	out := topOutput{Container: in.Name, Titles: []string{}, Processes: [][]string{}}
	about, err := e.ContainerInspect(ctx, in.Name, client.ContainerInspectOptions{})
	if err != nil {
		return "", out, err
	}
	if st := about.Container.State; !runs(st) {
		return fmt.Sprintf("%s does not run (%s), so it has no processes.", in.Name, stateWord(st)), out, nil
	}
	res, err := e.ContainerTop(ctx, about.Container.ID, client.ContainerTopOptions{Arguments: columns})
	if err != nil && ctx.Err() == nil { // a ps that knows no columns, as that of busybox
		res, err = e.ContainerTop(ctx, about.Container.ID, client.ContainerTopOptions{})
	}
	if err != nil {
		return "", out, err
	}
	for _, t := range res.Titles[:min(len(res.Titles), 20)] {
		out.Titles = append(out.Titles, answer.Line(t, 20))
	}
	sortByUse(res.Titles, res.Processes)
	out.Total = len(res.Processes)
	for _, p := range res.Processes[:min(out.Total, topMost)] {
		row := make([]string, 0, len(out.Titles))
		for i, cell := range p[:min(len(p), len(out.Titles))] {
			if i == len(out.Titles)-1 {
				cell = cmdmask.Joined(answer.Cut(cell, 8000))
			}
			row = append(row, answer.Line(cell, 200))
		}
		out.Processes = append(out.Processes, row)
	}
	head := fmt.Sprintf("## Processes of %s\n\n%d in all\n\n", in.Name, out.Total)
	body := answer.Table(out.Titles, out.Processes, topChars-len(head))
	return head + body, out, nil
}

// sortByUse puts first what uses most of a processor, then of memory.
func sortByUse(titles []string, rows [][]string) {
	figure := func(row []string, title string) float64 {
		i := slices.Index(titles, title)
		if i < 0 || i >= len(row) {
			return 0
		}
		f, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return 0
		}
		return f
	}
	slices.SortStableFunc(rows, func(a, b []string) int {
		for _, title := range []string{"%CPU", "RSS"} {
			if x, y := figure(a, title), figure(b, title); x != y {
				if x > y {
					return -1
				}
				return 1
			}
		}
		return 0
	})
}

type diffInput struct {
	Name string `json:"name" jsonschema:"name or id of the container, as docker_ps lists it"`
	Path string `json:"path,omitempty" jsonschema:"only what lies at or below this absolute path in the container"`
}

func (in diffInput) about() string { return in.Name }

func (in diffInput) check() error {
	if in.Path != "" && (!strings.HasPrefix(in.Path, "/") || len(in.Path) > 1000) {
		return fmt.Errorf("path must be an absolute path, such as /etc, of at most 1000 characters")
	}
	return checkName(in.Name)
}

type diffOutput struct {
	Container string       `json:"container" jsonschema:"name or id, as given"`
	Added     int          `json:"added" jsonschema:"how many files and folders were added"`
	Changed   int          `json:"changed" jsonschema:"how many were changed; a folder counts where something in it was"`
	Deleted   int          `json:"deleted" jsonschema:"how many were deleted"`
	Changes   []diffChange `json:"changes" jsonschema:"the changes, by path; at most 500"`
}

type diffChange struct {
	Kind string `json:"kind" jsonschema:"added, changed or deleted"`
	Path string `json:"path" jsonschema:"path in the container"`
}

func (s *server) addDiff(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_diff", Title: "Changed files of a container",
		Description: "Lists which files and folders of a container differ from its image: added, changed, deleted. Shows what a program wrote into the container itself, which is lost with it; volumes and mounts are not part of that.",
	}, limit: longLimit}, diff)
}

func diff(ctx context.Context, e *engine, in diffInput) (string, diffOutput, error) {
	out := diffOutput{Container: in.Name, Changes: []diffChange{}}
	res, err := e.ContainerDiff(ctx, in.Name, client.ContainerDiffOptions{})
	if err != nil {
		return "", out, err
	}
	slices.SortFunc(res.Changes, func(a, b container.FilesystemChange) int { return strings.Compare(a.Path, b.Path) })
	below := strings.TrimRight(in.Path, "/")
	var rows [][]string
	for _, c := range res.Changes {
		if below != "" && c.Path != below && !strings.HasPrefix(c.Path, below+"/") {
			continue
		}
		kind := "changed"
		switch c.Kind {
		case container.ChangeAdd:
			kind = "added"
			out.Added++
		case container.ChangeDelete:
			kind = "deleted"
			out.Deleted++
		case container.ChangeModify:
			out.Changed++
		}
		if len(out.Changes) < diffMost {
			out.Changes = append(out.Changes, diffChange{kind, answer.Line(c.Path, 300)})
		}
		rows = append(rows, []string{kind, answer.Line(c.Path, 160)})
	}
	if len(rows) == 0 {
		return fmt.Sprintf("Nothing in %s differs from its image%s.", in.Name, where(below)), out, nil
	}
	head := fmt.Sprintf("## Changed files of %s\n\n%d added, %d changed, %d deleted%s\n\n", in.Name, out.Added, out.Changed, out.Deleted, where(below))
	body := answer.Table([]string{"", "path"}, rows, diffChars-len(head))
	return head + body, out, nil
}

func where(path string) string {
	if path == "" {
		return ""
	}
	return " below " + answer.Line(path, 200)
}
