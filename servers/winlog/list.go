package winlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxListed = 100

type listInput struct {
	Filter       string `json:"filter,omitempty" jsonschema:"part of the name of a log, whatever its case; left out: all logs"`
	IncludeEmpty bool   `json:"include_empty,omitempty" jsonschema:"also list logs without records"`
}

type listOutput struct {
	Channels []channel `json:"channels" jsonschema:"the logs, those with the newest records first"`
	Total    int       `json:"total" jsonschema:"how many logs there are that fit"`
	Empty    int       `json:"empty" jsonschema:"how many without records were left out"`
	Damage   []string  `json:"damage,omitempty" jsonschema:"what is wrong with the files, and what could not be read"`
	Notes    []string  `json:"notes,omitempty" jsonschema:"what to know about this answer"`
}

func (s *server) addList(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "list_event_channels", Title: "Windows event logs",
		Description: "Lists the Windows event logs (channels) that can be looked into, with the number of their records and the times of the oldest and the newest one. " +
			"Where logs are read from files it names the files, and says which of them are damaged.",
		Defaults: map[string]any{"include_empty": false},
	}, s.list)
}

func (s *server) list(ctx context.Context, in listInput) (string, listOutput, error) {
	part, err := needle("filter", in.Filter)
	if err != nil {
		return "", listOutput{}, err
	}
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := s.source.logs(inTime, part)
	if err := gone(ctx, err); err != nil {
		return "", listOutput{}, err
	}
	out := listOutput{Channels: []channel{}, Damage: damageLines(found.damages), Notes: found.notes}
	for _, c := range found.channels {
		if c.Records == 0 && c.shut {
			c.Records = -1 // it may hold many
		}
		if c.Records == 0 && !in.IncludeEmpty {
			out.Empty++
			continue
		}
		out.Channels = append(out.Channels, c)
	}
	slices.SortStableFunc(out.Channels, func(a, b channel) int {
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	out.Total = len(out.Channels)
	if found.cut {
		out.Notes = append(out.Notes, "The call ran out of time; the list is not whole. Use filter.")
	}
	if out.Total > maxListed {
		out.Notes = append(out.Notes, fmt.Sprintf("%d logs were left out. Use filter.", out.Total-maxListed))
		out.Channels = out.Channels[:maxListed]
	}
	for i := range out.Channels {
		c := &out.Channels[i]
		c.Name = plain(c.Name, 200)
		if !c.last.IsZero() {
			c.Oldest, c.Newest = c.first.UTC().Format(timeLayout), c.last.UTC().Format(timeLayout)
		}
		if n := len(c.Files); n > 10 {
			c.Files = append(c.Files[:10:10], fmt.Sprintf("and %d more", n-10))
		}
	}
	return listText(&out, part), out, nil
}

func listText(out *listOutput, part string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Event logs (%d)\n\n", out.Total)
	switch {
	case out.Total == 0 && part != "":
		fmt.Fprintf(&b, "No log with %s in its name.\n", quoted(part))
	case out.Total == 0:
		b.WriteString("No logs with records.\n")
	default:
		b.WriteString("| log | records | oldest (UTC) | newest (UTC) | size | files |\n| --- | --- | --- | --- | --- | --- |\n")
	}
	for _, c := range out.Channels {
		records, files := "?", "-"
		if c.Records >= 0 {
			records = fmt.Sprint(c.Records)
			if c.About {
				records = "about " + records
			}
		}
		if len(c.Files) > 0 {
			files = shown(strings.Join(c.Files, ", "), 120)
		}
		times := []string{"-", "-"}
		if !c.last.IsZero() {
			times = []string{stamp(c.first), stamp(c.last)}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", shown(c.Name, 120), records, times[0], times[1], size(c.Bytes), files)
	}
	if out.Empty > 0 {
		fmt.Fprintf(&b, "\n%d logs without records were left out; include_empty lists them.\n", out.Empty)
	}
	writeNotes(&b, out.Notes)
	writeDamages(&b, out.Damage)
	return b.String()
}

func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
