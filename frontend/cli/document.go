package cli

import (
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/internal/document"
)

// documentCommand is what bundled servers read PDF with: a process of its own, so
// that a file cannot break the server.
func documentCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    document.Command,
		Short:  "Read one PDF for a bundled server",
		Hidden: true,
		Args:   exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			document.Serve(cmd.Context(), a.Stdin, a.Stdout)
			return nil
		},
	}
}
