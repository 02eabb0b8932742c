package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// toolsCommand lists what the pool offers.
func toolsCommand(a *app) *cobra.Command {
	var server, format, lazy string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List what the pool offers",
		Long: "List the tools of the pool by server, in the order of the configuration. A server that failed is listed with\n" +
			"its reason. Servers that are still starting are waited for, at most 15 s. Without a running gateway the tools\n" +
			"that the policy withholds are named too, with the reason.\n\n" +
			"Formats: table; prompt, for the system prompt of a model; mcp, openai, anthropic and gemini, the tools as a\n" +
			"request to that API declares them.",
		Example: "  tenon tools\n  tenon tools --server system --format openai\n  tenon tools --format openai --lazy\n  tenon tools --output json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(checkFormat(cmd, rest.Format(format), a.json()), checkLazy(cmd, lazy, rest.Format(format))); err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			p, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer p.Close()
			who := a.scope()
			who.Lazy = tenon.LazyMode(lazy)
			return runTools(ctx, a, p, tenon.ListOptions{Viewer: who, Server: server}, rest.Format(format))
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only this server")
	cmd.Flags().StringVar(&format, "format", "", "table, prompt, mcp, openai, anthropic or gemini")
	cmd.Flags().StringVar(&lazy, "lazy", "", "two tools that find and call the others in place of the list: on, or auto where it is long")
	cmd.Flags().Lookup("lazy").NoOptDefVal = string(tenon.LazyOn)
	completeFlag(cmd, "server", func(cmd *cobra.Command) []string { return serverNames(a, cmd) })
	completeFlag(cmd, "format", func(*cobra.Command) []string { return formatNames() })
	return cmd
}

// checkLazy holds the form of the list against its format.
func checkLazy(cmd *cobra.Command, lazy string, f rest.Format) error {
	modes := []string{string(tenon.LazyOff), string(tenon.LazyAuto), string(tenon.LazyOn)}
	switch {
	case lazy != "" && !slices.Contains(modes, lazy):
		return unknown(cmd, "lazy", lazy, modes)
	case lazy != "" && (f == "" || f == rest.Table):
		return usage(cmd, "--lazy is for the lists of models: name a --format")
	}
	return nil
}

func formatNames() []string {
	var names []string
	for _, f := range rest.Formats() {
		names = append(names, string(f))
	}
	return names
}

func checkFormat(cmd *cobra.Command, f rest.Format, asJSON bool) error {
	switch {
	case f != "" && !slices.Contains(rest.Formats(), f):
		return unknown(cmd, "format", string(f), formatNames())
	case asJSON && (f == rest.Table || f == rest.Prompt):
		return usage(cmd, "the format %s is text: leave out --output json", f)
	}
	return nil
}

func runTools(ctx context.Context, a *app, p pool, o tenon.ListOptions, f rest.Format) error {
	spinner := a.progress("waiting for servers")
	_, here := p.(inPlace)
	o.Withheld = here // who may read the configuration may know what it withholds
	listing, err := p.Tools(ctx, o)
	spinner.stop()
	if err != nil {
		return advised(err, "tenon servers lists them")
	}
	switch {
	case f == "" && a.json():
		a.printJSON(listing)
		return nil
	case f == "" || f == rest.Table:
		unseen := markUnseen(ctx, p, &listing)
		_, _ = a.Stdout.Write(rest.TableOf(listing, a.width))
		if len(unseen) > 0 {
			a.note("hint: the key, the mode, the skill and the policy of the gateway decide what this caller sees. tenon policy explain %s TOOL says why of a tool that you know by name; "+
				"who runs the gateway can open it in the configuration, or make a key that allows more", unseen[0])
			return nil
		}
		noteWithheld(a, &listing)
		return nil
	}
	body, err := p.Rendered(ctx, o, f)
	if err != nil {
		return err
	}
	if f != rest.Prompt { // declarations have no place for servers that failed
		for _, s := range listing.Servers {
			if s.Error != "" {
				a.note("warning: server %s: %s", s.Name, inset(s.Error))
			}
		}
	}
	_, _ = a.Stdout.Write(append(body, '\n'))
	return nil
}

// markUnseen marks the servers of a gateway that have tools, but none for who looks, and
// returns their names. How many a server has its status says to everybody.
func markUnseen(ctx context.Context, p pool, l *tool.Listing) (unseen []string) {
	none := func(s tool.ServerTools) bool { return s.Error == "" && len(s.Tools) == 0 }
	if _, ok := p.(*rest.Client); !ok || !slices.ContainsFunc(l.Servers, none) {
		return nil
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil // what was asked for is the tools
	}
	has := map[string]int{}
	for _, s := range status {
		has[s.Name] = s.Tools
	}
	for i := range l.Servers {
		if s := &l.Servers[i]; none(*s) && has[s.Name] > 0 {
			s.Withheld = make([]tool.Withheld, has[s.Name])
			unseen = append(unseen, s.Name)
		}
	}
	return unseen
}

// noteWithheld names what the policy withholds, and what opens the first tool of each
// rule.
func noteWithheld(a *app, l *tool.Listing) {
	told := map[string]bool{}
	var hints []string
	for _, s := range l.Servers {
		for _, w := range s.Withheld {
			a.note("withheld: %s/%s: %s", s.Name, w.Name, inset(w.Reason))
			if w.Opens != "" && !told[w.Rule] {
				told[w.Rule] = true
				hints = append(hints, s.Name+"/"+w.Name+": "+w.Opens)
			}
		}
	}
	for _, h := range hints {
		a.note("hint: %s", h)
	}
}

// serversCommand shows the state of each server.
func serversCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "servers",
		Short: "Show the state of each server of the pool",
		Long: "Show the state of each server: ready, starting, failed (why, since when, next try), idle (known, not running)\n" +
			"or stopped. Nothing is started; a pool without a running gateway is idle.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			p, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer p.Close()
			status, err := p.Status(ctx)
			if err != nil {
				return err
			}
			trouble, rejected := recordTrouble(ctx, p), rejectedBy(ctx, p)
			if a.json() {
				out := map[string]any{"servers": status}
				if rejected != nil {
					out["configuration"] = rejected
				}
				if trouble != nil {
					out["record"] = trouble
				}
				a.printJSON(out)
				return nil
			}
			printStatus(a, status, time.Now())
			noteMissing(a, tenon.CallPage{}, trouble)
			if rejected != nil {
				a.note("warning: the configuration is not taken since %s, and all goes on as it was%s:\n%s",
					rejected.Since.Local().Format(time.DateTime), takenAt(rejected), cmp.Or(safe(rejected.Text), "its operator can see why"))
			}
			if a.gateway() == "" {
				a.note("This is the pool as configured. tenon check --connect starts each server; --gateway URL asks a running gateway.")
			}
			return nil
		},
	}
}

// takenAt says when the configuration was taken that goes on, where the gateway says it.
func takenAt(r *tenon.Rejected) string {
	if r.Taken.IsZero() {
		return ""
	}
	return " taken at " + r.Taken.Local().Format(time.DateTime)
}

// rejectedBy returns the configuration that a gateway did not take, or nil.
func rejectedBy(ctx context.Context, p pool) *tenon.Rejected {
	c, ok := p.(*rest.Client)
	if !ok {
		return nil
	}
	out, _ := rest.RejectedBy(ctx, c) // what was asked for is the servers
	return out
}

// printStatus shows a table that is never cut, for the reasons stand at its end,
// and below it what failed servers said last.
func printStatus(a *app, status []tool.ServerStatus, now time.Time) {
	_, _ = a.stdout.Write(rest.AlignedTable(statusRows(status, now), 0))
	for _, s := range status {
		if s.State == tool.StateFailed && strings.TrimSpace(s.Stderr) != "" {
			a.printText(safe(s.Name + " said last:\n  " + strings.ReplaceAll(strings.TrimSpace(s.Stderr), "\n", "\n  ")))
		}
		for _, c := range s.Concerns {
			a.printText(safe("warning: " + s.Name + ": " + inset(c)))
		}
	}
}

func statusRows(status []tool.ServerStatus, now time.Time) [][]string {
	rows := [][]string{{"SERVER", "STATE", "TOOLS", "RESTARTS", "TRANSPORT", "ERA", "SINCE", "REASON"}}
	for _, s := range status {
		era, reason := s.Era, s.Reason
		if era == "" {
			era = "-"
		}
		if s.NextTry != nil {
			reason += fmt.Sprintf(" (next try in %s)", max(s.NextTry.Sub(now), 0).Round(time.Second))
		}
		if s.RememberedAt != nil {
			reason = strings.TrimSpace("tools as of " + s.RememberedAt.Local().Format(time.DateTime) + " " + reason)
		}
		if s.Running+s.Queued > 0 {
			reason = fmt.Sprintf("%d running, %d waiting %s", s.Running, s.Queued, reason)
		}
		rows = append(rows, []string{
			s.Name, string(s.State), strconv.Itoa(s.Tools), strconv.Itoa(s.Restarts), s.Transport, era,
			now.Sub(s.Since).Round(time.Second).String(), strings.TrimSpace(reason),
		})
	}
	return rows
}

// searchCommand finds tools by words.
func searchCommand(a *app) *cobra.Command {
	limit := rest.DefaultLimit
	cmd := &cobra.Command{
		Use:     "search WORDS…",
		Short:   "Find tools by what they do",
		Example: "  tenon search disk space",
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return usage(cmd, "the words to search for are missing")
			}
			if limit < 1 || limit > 100 {
				return usage(cmd, "--limit is a number from 1 to 100")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			p, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer p.Close()
			spinner := a.progress("waiting for servers")
			matches, err := p.Find(ctx, tenon.FindOptions{Viewer: a.scope(), Words: strings.Join(args, " "), Limit: limit})
			spinner.stop()
			if err != nil {
				return err
			}
			if a.json() {
				a.printJSON(map[string]any{"matches": matches})
				return nil
			}
			if len(matches) == 0 {
				a.note("No tool fits. tenon tools lists all.")
				return nil
			}
			rows := [][]string{{"SERVER", "TOOL", "DESCRIPTION"}}
			for _, m := range matches {
				first, _, _ := strings.Cut(m.Description, "\n")
				rows = append(rows, []string{m.Server, m.Name, first})
			}
			a.printTable(rows)
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many tools at most")
	return cmd
}
