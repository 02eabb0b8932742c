package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// verifyCommand compares the definitions of tools with the accepted ones.
func verifyCommand(a *app) *cobra.Command {
	var servers []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the tool definitions of all servers with tenon.lock",
		Long: "Start or connect each server and compare what it says of its tools with what was accepted by tenon lock. It exits\n" +
			"0 only where all is the same, and 1 for any difference: a tool that is new, gone, renamed or changed, another\n" +
			"version or command of a server, a server that cannot be reached, or a tenon.lock that is missing or broken.",
		Example: "  tenon verify\n  tenon verify --output json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			return a.compare(ctx, servers, runVerify)
		},
	}
	cmd.Flags().StringSliceVar(&servers, "server", nil, "only this server")
	completeFlag(cmd, "server", func(cmd *cobra.Command) []string { return serverNames(a, cmd) })
	return cmd
}

func runVerify(a *app, _ tenon.Definitions, r *tenon.DefinitionReport) error {
	switch {
	case a.json():
		a.printJSON(r)
	default:
		printDefinitions(a, r)
		if r.Error != "" {
			a.note("error: %s", r.Error)
		}
		if r.OK {
			a.printText(fmt.Sprintf("%s: %s, %s: all as accepted", filepath.Base(r.Lock), count(len(r.Servers), "server"), count(tools(r), "tool")))
		}
	}
	if r.OK {
		return nil
	}
	if !a.json() {
		a.note("hint: %s", verifyHint(r))
	}
	return &told{exitCode[tool.Failed]}
}

func verifyHint(r *tenon.DefinitionReport) string {
	switch {
	case unreachable(r):
		return "tenon check --connect says more of servers that cannot be reached"
	case r.Error != "":
		return "take the file from version control, or write it anew with tenon lock"
	}
	return "read what differs, and accept it with tenon lock"
}
