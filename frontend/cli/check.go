package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/tool"
)

// checkCommand validates the configuration.
func checkCommand(a *app) *cobra.Command {
	var connect bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; with --connect, start each server",
		Long: "Read the configuration and tell every mistake in it with its place. With --connect, start each server as well\n" +
			"and say what works, and ask each service that a bundled server is configured for one cheap thing with its key, to see\n" +
			"whether the key works. It exits 0 only where all is well: 2 for a mistake, 5 for a server that does not start, a\n" +
			"service that cannot be reached or a key that is not taken.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			gw, err := a.openGateway(ctx, a.logger(quiet))
			if err != nil {
				return err
			}
			defer gw.Close()
			spinner := a.progress("starting all servers")
			report := gw.Check(ctx, connect)
			spinner.stop()
			if err := ctx.Err(); err != nil {
				return err
			}
			checkListener(ctx, gw, &report)
			checkKeys(a, &report)
			printReport(a, &report)
			if code := reportCode(&report); code != 0 {
				return &told{code}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "start each server and say what works")
	return cmd
}

// checkListener adds to a report what tenon serve would refuse. Keys may be made
// later, and elsewhere, so that there are none is a warning.
func checkListener(ctx context.Context, gw *tenon.Gateway, r *tenon.Report) {
	s := gw.Settings()
	at := func(place tenon.Problem, err error) tenon.Problem {
		place.File = cmp.Or(place.File, s.ListenAt.File)
		place.Text = err.Error()
		return place
	}
	if err := web.CheckCertificate(s.Cert, s.Key); err != nil {
		r.Broken = append(r.Broken, at(s.TLSAt, err))
	}
	switch err := web.CheckAddress(ctx, s.Listen, gw.Access().Configured()); {
	case errors.Is(err, web.ErrNotLoopback):
		p := at(s.ListenAt, err)
		p.Hint = "tenon serve refuses it until there is one: tenon keys create NAME makes one"
		r.Warnings = append(r.Warnings, p)
	case err != nil:
		r.Broken = append(r.Broken, at(s.ListenAt, err))
	}
}

func reportCode(r *tenon.Report) int {
	switch {
	case len(r.Broken) > 0:
		return exitCode[tool.Invalid]
	case !r.OK():
		return exitCode[tool.Unavailable]
	}
	return 0
}

func printReport(a *app, r *tenon.Report) {
	if a.json() {
		a.printJSON(struct {
			Config     string              `json:"config"` // empty is the built-in pool
			OK         bool                `json:"ok"`
			Servers    []tool.ServerStatus `json:"servers"`
			Broken     []configProblem     `json:"broken,omitempty"`
			Warnings   []configProblem     `json:"warnings,omitempty"`
			Probes     []tool.Probe        `json:"probes,omitempty"`
			Undeclared []string            `json:"undeclared,omitempty"`
			Drafts     []tenon.Draft       `json:"drafts,omitempty"`
			Findings   []tenon.Finding     `json:"findings,omitempty"`
			Gaps       []tenon.Gap         `json:"gaps,omitempty"`
		}{a.configPath(), r.OK(), r.Servers, configProblems(r.Broken), configProblems(r.Warnings), r.Probes, r.Undeclared, r.Drafts, r.Findings, r.Gaps})
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", cmp.Or(a.configPath(), "built-in pool"), count(len(r.Servers), "server"))
	for _, s := range r.Servers {
		fmt.Fprintf(&b, "  %-10s %s", s.State, s.Name)
		switch {
		case s.State == tool.StateReady:
			fmt.Fprintf(&b, " (%s)", count(s.Tools, "tool"))
		case s.Reason != "":
			fmt.Fprintf(&b, ": %s", inset(s.Reason))
		}
		b.WriteString("\n")
		if s.State == tool.StateFailed && s.Stderr != "" {
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(strings.TrimSpace(s.Stderr), "\n", "\n    "))
		}
		printProbes(&b, s.Name, r.Probes)
	}
	for _, p := range r.Broken {
		fmt.Fprintf(&b, "error: %s\n", strings.TrimRight(p.String()+"\n"+p.Excerpt, "\n"))
	}
	for _, p := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", p)
	}
	printFindings(&b, "", r.Findings)
	printGaps(&b, r.Gaps)
	if n := len(r.Undeclared); n > 0 {
		fmt.Fprintf(&b, "%s without declared metadata, taken as neither read-only nor safe to run side by side: %s\n",
			count(n, "tool"), strings.Join(r.Undeclared, ", "))
		b.WriteString(pasted(r.Drafts))
	}
	a.printText(safe(b.String()))
}

// printProbes shows what was found out about the services of one server.
func printProbes(b *strings.Builder, server string, probes []tool.Probe) {
	for _, p := range probes {
		if p.Server != server {
			continue
		}
		fmt.Fprintf(b, "    %-14s %s", p.State, p.Service)
		if p.Text != "" {
			fmt.Fprintf(b, ": %s", p.Text)
		}
		b.WriteString("\n")
	}
}

// printGaps shows what clients do not have of servers, each thing once.
func printGaps(b *strings.Builder, gaps []tenon.Gap) {
	servers := map[tenon.Gap][]string{}
	var order []tenon.Gap
	for _, g := range gaps {
		name := g.Server
		g.Server = ""
		if servers[g] == nil {
			order = append(order, g)
		}
		servers[g] = append(servers[g], name)
	}
	for _, g := range order {
		clients, word := "clients", "goes in another way"
		switch g.Client {
		case "legacy":
			clients = "clients of MCP up to 2025-11-25"
		case "modern":
			clients = "clients of MCP 2026-07-28"
		}
		if g.Lost {
			word = "cannot be bridged"
		}
		fmt.Fprintf(b, "%s, for %s of %s: %s\n", word, clients, strings.Join(servers[g], ", "), g.Text)
	}
}

// pasted shows entries for tools that nobody has declared, ready to be pasted. They are
// comments, so that nothing changes before somebody has looked at them.
func pasted(drafts []tenon.Draft) string {
	var b strings.Builder
	b.WriteString("Entries to look at, and to paste into the configuration, where they change nothing before they are uncommented:\n\ntools:\n")
	for _, d := range drafts {
		why := "as its server says, and by the defaults of MCP where it says nothing"
		if d.Guessed {
			why = "nobody says what it does: the strictest"
		}
		effect := ""
		if d.SideEffect != "" {
			effect = ", side_effect: " + string(d.SideEffect)
		}
		fmt.Fprintf(&b, "  # %s. As written below, uncommented, %s.\n", why, d.Effect)
		fmt.Fprintf(&b, "  # %q: {read_only: %v, concurrency_safe: %v, destructive: %v, idempotent: %v%s, risk_level: %s}\n",
			d.Tool, d.ReadOnly, d.ConcurrencySafe, d.Destructive, d.Idempotent, effect, d.RiskLevel)
	}
	return b.String()
}
