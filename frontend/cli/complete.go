package cli

import (
	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// completeFlag makes the shell complete a flag with names.
func completeFlag(cmd *cobra.Command, flag string, names func(*cobra.Command) []string) {
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return names(cmd), cobra.ShellCompDirectiveNoFileComp
	})
}

// serverNames returns the names of the servers of the pool. It starts nothing.
func serverNames(a *app, cmd *cobra.Command) []string {
	p, err := a.open(cmd.Context())
	if err != nil {
		return nil
	}
	defer p.Close()
	status, err := p.Status(cmd.Context())
	if err != nil {
		return nil
	}
	names := make([]string, len(status))
	for i, s := range status {
		names[i] = s.Name
	}
	return names
}

// completeCall completes server and tool of a call.
func completeCall(a *app, cmd *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return serverNames(a, cmd), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return toolNames(a, cmd, args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// toolNames returns the tools of a server where they are known without starting
// it: those of a bundled server, or of one that a gateway runs.
func toolNames(a *app, cmd *cobra.Command, server string) []string {
	p, err := a.open(cmd.Context())
	if err != nil {
		return nil
	}
	defer p.Close()
	status, err := p.Status(cmd.Context())
	if err != nil {
		return nil
	}
	for _, s := range status {
		if s.Name == server && (s.Transport == "bundled" || s.State == tool.StateReady) {
			return listed(cmd, p, server)
		}
	}
	return nil
}

func listed(cmd *cobra.Command, p pool, server string) []string {
	l, err := p.Tools(cmd.Context(), tenon.ListOptions{Server: server})
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range l.Servers {
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
	}
	return names
}
