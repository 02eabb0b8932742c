package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// handleCommand reads a long result of a running gateway.
func handleCommand(a *app) *cobra.Command {
	var o tenon.ReadOptions
	cmd := &cobra.Command{
		Use:   "handle ID",
		Short: "Read a long result of a running gateway",
		Long: "Read the result of an earlier call that was cut. The result has a handle, h_…, behind which a running gateway\n" +
			"(--gateway, $TENON_GATEWAY) keeps the whole for a while. Without more, the text from --offset on is given; with\n" +
			"--grep the lines that match, each with its number and its offset; with --jq the output of a query on JSON.",
		Example: "  tenon handle h_2xk… --offset 16000\n" +
			"  tenon handle h_2xk… --grep '(?i)error' --context 2\n" +
			"  tenon handle h_2xk… --jq '.items | length'",
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			for _, name := range []string{"limit", "page"} {
				if n, _ := cmd.Flags().GetInt(name); cmd.Flags().Changed(name) && n < 1 {
					return usage(cmd, "--%s is at least 1", name)
				}
			}
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			return runHandle(ctx, a, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Offset, "offset", 0, "characters to leave out first")
	f.IntVar(&o.Limit, "limit", 0, "characters to give at most, up to 100000; 16000 without it")
	f.IntVar(&o.Page, "page", 0, "in place of --offset: the number of a page of --limit characters")
	f.StringVar(&o.Grep, "grep", "", "regular expression (RE2) that lines must match")
	f.IntVar(&o.Context, "context", 0, "lines to give around each match of --grep")
	f.StringVar(&o.JQ, "jq", "", "query in the language jq, for JSON")
	return cmd
}

func runHandle(ctx context.Context, a *app, o tenon.ReadOptions) error {
	url := a.gateway()
	if url == "" {
		return &problem{
			kind: tool.Invalid, text: "handles live in a running gateway, and none is named",
			hint: "name it with --gateway http://127.0.0.1:8400 or $TENON_GATEWAY; tenon serve runs one",
		}
	}
	c, err := a.client(url)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.ReadResult(ctx, o)
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(r)
		return nil
	}
	a.printText(r.Text)
	switch {
	case r.Next != nil:
		a.note("note: there is more: --offset %d (of %d characters)", *r.Next, r.Chars)
	case r.Text == "" && o.Grep != "":
		a.note("note: no line matches, in %d characters", r.Chars)
	}
	return nil
}

// noteHandle tells the person how to read on in a result that was cut.
func (a *app) noteHandle(res *tool.Result) {
	switch {
	case res.Handle != nil:
		a.note("note: the whole: %s", fmt.Sprintf("tenon handle %s", res.Handle.ID))
	case res.Truncated && a.gateway() == "":
		a.note("note: the rest was not kept, for the pool of this command ends with it; a running gateway (tenon serve, --gateway) keeps it for tenon handle")
	}
}

const queryName = "jq"

// queryCommand is what the gateway runs a query on a long result with.
func queryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    queryName,
		Short:  "Run one query of the gateway",
		Hidden: true,
		Args:   exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if status := tenon.ServeQuery(cmd.Context(), a.Stdin, a.Stdout, a.Stderr, os.Exit); status != 0 {
				return &told{code: status}
			}
			return nil
		},
	}
}
