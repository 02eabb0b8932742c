package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// recordCommand keeps the record of calls in order.
func recordCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Check, export and shorten the record of calls",
		Long: "Check, export and shorten the record of calls and approvals that store.url of the configuration names, else that\n" +
			"in the user's state folder. A gateway may be running meanwhile. tenon calls shows what is in it.",
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(recordStatus(a), recordVerify(a), recordExport(a), recordPrune(a))
	return cmd
}

// withRecord opens the record of the configuration for a command.
func withRecord(ctx context.Context, a *app, do func(ctx context.Context, r tenon.Record) error) error {
	if a.common.gateway != "" {
		return &problem{kind: tool.Invalid, text: "this is about the database itself: it takes no --gateway", hint: "--config names the configuration that says where it is"}
	}
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	gw, err := a.openGateway(ctx, a.logger(quiet))
	if err != nil {
		return err
	}
	defer gw.Close()
	return do(ctx, gw.Record())
}

func recordStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say where the record is, and how its writing goes",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			r, err := openRecorder(ctx, a)
			if err != nil {
				return err
			}
			defer r.Close()
			st, err := r.RecordStatus(ctx)
			if err != nil {
				return err
			}
			if a.json() {
				a.printJSON(st)
				return nil
			}
			a.printText(statusText(st, a.gateway() != ""))
			noteMissing(a, tenon.CallPage{}, &st)
			return nil
		},
	}
}

// statusText says where the record is, and how its writing goes. Of the user's own
// nothing was written by this command, but others may say that they cannot.
func statusText(st tenon.RecordStatus, ofGateway bool) string {
	text := "record   " + st.Where + "\nwriting  "
	switch {
	case st.Gone != "":
		text += "fails"
	case st.Where == "memory":
		text += "none: calls are kept until the gateway ends"
	default:
		text += "goes well"
	}
	if ofGateway {
		text += fmt.Sprintf("\nsince the gateway began: %s written, %d queued or running, %d unrecorded, %d refused",
			count(int(st.Written), "row"), st.Queued, st.Unrecorded, st.Refused)
	}
	return text
}

func recordVerify(a *app) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Find what was changed in the record after it was written",
		Long: "Hold every row of the record against its hash, which covers the row and the hash before: an edit, a row that was\n" +
			"taken out, put in or moved, and a missing end are found, and the exit code is 1. It prints the head, the hash of\n" +
			"the last row. Keep that elsewhere and give it as --head later: that finds even a record that was made anew.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := hex.DecodeString(head); err != nil || head != "" && len(head) != 2*sha256.Size {
				return usage(cmd, "--head is the head that tenon record verify printed: %d hexadecimal digits", 2*sha256.Size)
			}
			return withRecord(cmd.Context(), a, func(ctx context.Context, r tenon.Record) error {
				v, err := r.Verify(ctx, head)
				if err != nil {
					return err
				}
				return printVerification(a, v)
			})
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "head of an earlier verification, which must still be there")
	return cmd
}

func printVerification(a *app, v tenon.Verification) error {
	if a.json() {
		a.printJSON(v)
	} else {
		tellVerification(a, v)
	}
	if len(v.Faults) > 0 {
		return &told{code: exitCode[tool.Failed]}
	}
	return nil
}

func tellVerification(a *app, v tenon.Verification) {
	for _, f := range v.Faults {
		a.note("error: %s", faultText(f))
	}
	if v.Waiting > 0 || v.Gone != "" {
		a.note("warning: %s of a running gateway are not in it: they wait, or have gone by, while the record cannot be written: %s", count(int(v.Waiting), "call"), v.Gone)
	}
	if v.Dead > 0 {
		a.note("note: %s ended without closing the record, with %s begun and not ended in it; calls of the last second may be missing. The next command that writes the record closes them",
			wereOf(int(v.Dead), "process", "processes"), count(int(v.Open), "call"))
	}
	if v.Gaps > 0 {
		a.note("note: %s where a process was ended without closing the record: calls of its last second may be missing", count(int(v.Gaps), "place"))
	}
	if v.Unrecorded > 0 {
		a.note("note: %s went on without a record, as it says itself", count(int(v.Unrecorded), "call"))
	}
	if len(v.Faults) == 0 {
		a.printText("intact: " + count(int(v.Rows), "row") + ", head " + orDash(v.Head))
	}
}

// wereOf counts those that something was done to.
func wereOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return fmt.Sprintf("%d %s were", n, more)
}

func faultText(f tenon.RecordFault) string {
	if f.Seq == 0 { // of none
		return f.Text
	}
	return fmt.Sprintf("row %d: %s", f.Seq, f.Text)
}

func recordExport(a *app) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Print the record as JSON, one row a line, the oldest first",
		Example: "  tenon record export --since 24h > yesterday.jsonl",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var from time.Time
			if since != "" {
				var ok bool
				if from, ok = rest.ParseTime(since, time.Now()); !ok {
					return usage(cmd, "--since is a time such as 2026-01-31T08:00:00Z, a day, or how long ago, such as 90m or 7d")
				}
			}
			return withRecord(cmd.Context(), a, func(ctx context.Context, r tenon.Record) error {
				for row, err := range r.Rows(ctx, from) {
					if err != nil {
						return err
					}
					line, err := json.Marshal(exported{row.Seq, row.Hash, row})
					if err != nil {
						return err
					}
					if _, err := a.Stdout.Write(append(line, '\n')); err != nil {
						return nil // it is told at the end
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only what began then or later: a time, a day, or how long ago, such as 90m or 7d")
	return cmd
}

// exported is a row with its place in the chain.
type exported struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	tenon.RecordRow
}

func recordPrune(a *app) *cobra.Command {
	var before string
	var rows int64
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the oldest rows of the record",
		Long: "Remove the oldest rows of the record: without flags, those that the configuration no longer keeps. What stays can\n" +
			"still be verified: a row of the record says what left, and when. Rows that leave are verified before: what is wrong\n" +
			"with them is in that row, and verify goes on saying so.",
		Example: "  tenon record prune --before 90d",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := tenon.Bounds{MaxRows: rows}
			if cmd.Flags().Changed("keep-rows") && rows < 1 {
				return usage(cmd, "--keep-rows is at least 1")
			}
			if before != "" {
				var ok bool
				if b.Before, ok = rest.ParseTime(before, time.Now()); !ok {
					return usage(cmd, "--before is a time such as 2026-01-31T08:00:00Z, a day, or how long ago, such as 90m or 7d")
				}
			}
			return withRecord(cmd.Context(), a, func(ctx context.Context, r tenon.Record) error {
				if b == (tenon.Bounds{}) {
					b = r.Bounds()
				}
				n, err := r.Prune(ctx, b)
				if err != nil {
					return err
				}
				if a.json() {
					a.printJSON(map[string]int64{"removed": n})
					return nil
				}
				a.printText("removed " + count(int(n), "row"))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "rows of calls that began before: a time, a day, or how long ago, such as 90m or 7d")
	cmd.Flags().Int64Var(&rows, "keep-rows", 0, "how many rows may stay")
	return cmd
}
