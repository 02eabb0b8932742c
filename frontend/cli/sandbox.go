package cli

import (
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/internal/sandbox/local"
)

// sandboxCommand is the first process of a sandbox of the bundled server python: it
// makes the walls, and runs code behind them.
func sandboxCommand() *cobra.Command {
	return &cobra.Command{
		Use:    local.Command,
		Short:  "Be the first process of a sandbox",
		Hidden: true,
		Args:   exactly(),
		RunE:   func(*cobra.Command, []string) error { return local.Launch() },
	}
}
