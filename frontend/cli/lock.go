package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
)

// lockCommand accepts the definitions of tools.
func lockCommand(a *app) *cobra.Command {
	var servers []string
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Accept the tool definitions of all servers, into tenon.lock",
		Long: "Start or connect each server, show how its tools differ from those that were accepted, and accept them: they are\n" +
			"written to tenon.lock beside the configuration, which belongs into version control. What may be hidden in a\n" +
			"definition is told as a warning. Nothing is written where a server cannot be reached.",
		Example: "  tenon lock\n  tenon lock --server github\n  git diff tenon.lock",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			return a.compare(ctx, servers, runLock)
		},
	}
	cmd.Flags().StringSliceVar(&servers, "server", nil, "only this server; the others stay as they were accepted")
	completeFlag(cmd, "server", func(cmd *cobra.Command) []string { return serverNames(a, cmd) })
	return cmd
}

func runLock(a *app, d tenon.Definitions, r *tenon.DefinitionReport) error {
	changed, err := d.Accept(r)
	if err != nil {
		if !a.json() {
			printDefinitions(a, r)
		}
		return err
	}
	if a.json() {
		a.printJSON(struct {
			Changed bool                      `json:"changed"`
			Lock    string                    `json:"lock"`
			Servers []tenon.ServerDefinitions `json:"servers"`
		}{changed, r.Lock, r.Servers})
		return nil
	}
	printDefinitions(a, r)
	what := "nothing has changed"
	if changed {
		what = "written"
	}
	a.printText(fmt.Sprintf("%s: %s, %s: %s", filepath.Base(r.Lock), count(len(r.Servers), "server"), count(tools(r), "tool"), what))
	return nil
}

// compare opens the pool, compares the definitions of its servers with the accepted
// ones, and hands the outcome to then.
func (a *app) compare(ctx context.Context, servers []string, then func(*app, tenon.Definitions, *tenon.DefinitionReport) error) error {
	gw, err := a.openGateway(ctx, a.logger(quiet))
	if err != nil {
		return err
	}
	defer gw.Close()
	left := len(gw.Status())
	if len(servers) > 0 {
		left = len(servers)
	}
	spinner := a.progress(fmt.Sprintf("waiting for %s", count(left, "server")))
	var mu sync.Mutex
	d := gw.Definitions()
	r, err := d.Compare(ctx, servers, func(string) {
		mu.Lock()
		defer mu.Unlock()
		left--
		spinner.say(fmt.Sprintf("waiting for %s", count(left, "server")))
	})
	spinner.stop()
	if err != nil {
		return advised(err, "tenon servers lists them")
	}
	return then(a, d, r)
}

func tools(r *tenon.DefinitionReport) int {
	n := 0
	for i := range r.Servers {
		n += r.Servers[i].Count
	}
	return n
}

// printDefinitions shows how definitions differ from the accepted ones.
func printDefinitions(a *app, r *tenon.DefinitionReport) {
	var b strings.Builder
	for i := range r.Servers {
		s := &r.Servers[i]
		fmt.Fprintf(&b, "%-12s %s", s.State, s.Name)
		switch s.State {
		case "unreachable":
			fmt.Fprintf(&b, ": %s", s.Error)
		case "removed":
			b.WriteString(": it is not in the configuration any more")
		default:
			fmt.Fprintf(&b, " (%s)", count(s.Count, "tool"))
		}
		b.WriteString("\n")
		for _, f := range s.Source {
			printField(&b, "  ", strings.TrimPrefix(f.Place, "/"), f.Was, f.Is, f.Diff)
		}
		if s.State != "new" {
			printChanges(&b, s)
		}
		if s.Floating != "" {
			fmt.Fprintf(&b, "  note: %s is run in its newest version, whichever that is: name one\n", s.Floating)
		}
		printFindings(&b, "  ", s.Findings)
	}
	a.printText(safe(b.String()))
}

// printChanges shows the changes of tools, each with a sign.
func printChanges(b *strings.Builder, s *tenon.ServerDefinitions) {
	for _, c := range s.Tools {
		switch c.Change {
		case tenon.ToolAdded:
			fmt.Fprintf(b, "  + %s\n", tenon.Visible(c.Name))
		case tenon.ToolRemoved:
			fmt.Fprintf(b, "  - %s\n", tenon.Visible(c.Name))
		case tenon.ToolRenamed:
			fmt.Fprintf(b, "  = %s, which was called %s\n", tenon.Visible(c.Name), tenon.Visible(c.Was))
		case tenon.ToolChanged:
			fmt.Fprintf(b, "  ~ %s\n", tenon.Visible(c.Name))
		}
		for _, f := range c.Fields {
			printField(b, "      ", f.Place, f.Was, f.Is, f.Diff)
		}
	}
}

// maxValue is how much of a value is shown in a line.
const maxValue = 300

func printField(b *strings.Builder, indent, place, was, is, diff string) {
	place = tenon.Visible(place)
	switch {
	case diff != "":
		fmt.Fprintf(b, "%s%s: %s\n", indent, place, strings.ReplaceAll(strings.TrimSpace(diff), "\n", "\n"+indent+"  "))
	case was == "":
		fmt.Fprintf(b, "%s%s: {+%s+}\n", indent, place, short(is))
	case is == "":
		fmt.Fprintf(b, "%s%s: [-%s-]\n", indent, place, short(was))
	default:
		fmt.Fprintf(b, "%s%s: [-%s-] {+%s+}\n", indent, place, short(was), short(is))
	}
}

// short returns the first maxValue characters of a text.
func short(s string) string {
	r := []rune(s)
	if len(r) > maxValue {
		return string(r[:maxValue]) + "…"
	}
	return s
}

// printFindings shows what may be hidden in definitions. What is only unusual is left
// to JSON.
func printFindings(b *strings.Builder, indent string, findings []tenon.Finding) {
	for i := range findings {
		f := &findings[i]
		if !f.Serious() {
			continue
		}
		where := f.Server + "/" + f.Tool
		if f.Tool == "" {
			where = "instructions of " + f.Server
		}
		fmt.Fprintf(b, "%swarning: %s: %s at %s: %s\n%s  %s\n", indent, tenon.Visible(where), f.Rule, tenon.Visible(f.Place), f.Why, indent, f.Text)
	}
}

// unreachable reports whether a server could not be asked.
func unreachable(r *tenon.DefinitionReport) bool {
	for i := range r.Servers {
		if r.Servers[i].State == "unreachable" {
			return true
		}
	}
	return false
}
