package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// A recorder is the record of calls: that of this user, or of a gateway.
type recorder interface {
	Recorded(ctx context.Context, f tenon.CallFilter) (tenon.CallPage, *tenon.RecordStatus, error)
	CallRecord(ctx context.Context, id string) (tenon.CallRecord, error)
	RecordStatus(ctx context.Context) (tenon.RecordStatus, error)
	Usage(ctx context.Context, f tenon.CallFilter) ([]tenon.UsageSum, error)
	Close() error
}

var (
	_ recorder = rest.RecordClient{}
	_ recorder = ownRecord{}
)

// ownRecord is the record of this user.
type ownRecord struct{ gw *tenon.Gateway }

// Recorded returns calls by a filter.
func (r ownRecord) Recorded(ctx context.Context, f tenon.CallFilter) (tenon.CallPage, *tenon.RecordStatus, error) {
	page, err := r.gw.Record().Calls(ctx, f)
	return page, nil, err
}

// CallRecord returns the record of one call.
func (r ownRecord) CallRecord(ctx context.Context, id string) (tenon.CallRecord, error) {
	return r.gw.Record().Call(ctx, id)
}

// RecordStatus returns where the record is, and whether it can be used.
func (r ownRecord) RecordStatus(ctx context.Context) (tenon.RecordStatus, error) {
	_, err := r.gw.Record().Calls(ctx, tenon.CallFilter{Limit: 1})
	st, _ := r.gw.Record().Status()
	if err != nil && st.Gone == "" {
		st.Gone = strings.TrimPrefix(explain(err).text, "the record of calls cannot be read: ")
	}
	return st, ctx.Err()
}

// Usage sums up what models took.
func (r ownRecord) Usage(ctx context.Context, f tenon.CallFilter) ([]tenon.UsageSum, error) {
	return r.gw.Record().Usage(ctx, f)
}

// Close closes the record.
func (r ownRecord) Close() error { return r.gw.Close() }

// openRecorder opens the record: that of the gateway that is named, else the user's.
func openRecorder(ctx context.Context, a *app) (recorder, error) {
	if url := a.gateway(); url != "" {
		c, err := a.client(url)
		if err != nil {
			return nil, err
		}
		return rest.RecordClient{Client: c}, nil
	}
	gw, err := a.openGateway(ctx, a.logger(quiet))
	if err != nil {
		return nil, err
	}
	return ownRecord{gw}, nil
}

// callsFlags are the flags of tenon calls.
type callsFlags struct {
	filter             tenon.CallFilter
	kind, since, until string
	follow             bool
	usage              bool
}

// callsCommand shows the record of calls.
func callsCommand(a *app) *cobra.Command {
	var in callsFlags
	cmd := &cobra.Command{
		Use:   "calls [ID]",
		Short: "Show the calls that were made",
		Long: "Show the record of calls, the newest first: those of this user, or with --gateway those of a gateway. With an ID,\n" +
			"all that is kept of one call: arguments (secrets masked), decision, notes, the beginning of the result.\n\n" +
			"--session and --task show the calls of one session and one task. A call that may change something is shown while it\n" +
			"runs, with the outcome running; others once they have ended.",
		Example: "  tenon calls --kind denied --since 24h\n" +
			"  tenon calls --usage --since 7d\n" +
			"  tenon calls --server docker --tool docker_restart --limit 10\n" +
			"  tenon calls c_0h8x…",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "there is one ID at most")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.follow && (in.usage || len(args) == 1) {
				return usage(cmd, "--follow is for the list of calls: it takes no ID and no --usage")
			}
			if len(args) == 1 {
				return runCallRecord(cmd.Context(), a, args[0])
			}
			if err := in.complete(a, cmd, time.Now()); err != nil {
				return err
			}
			if in.usage {
				return runUsage(cmd.Context(), a, in.filter)
			}
			return runCalls(cmd.Context(), a, in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.filter.Server, "server", "", "calls of this server")
	f.StringVar(&in.filter.Tool, "tool", "", "calls of this tool")
	f.StringVar(&in.kind, "kind", "", "calls that ended in this kind of error, such as denied; ok for those that succeeded, running for those that run")
	f.StringVar(&in.filter.Caller, "caller", "", "calls of this caller; of those without a name how they came: cli, rest or mcp")
	f.StringVar(&in.since, "since", "", "calls that began then or later: a time, a day, or how long ago, such as 90m or 7d")
	f.StringVar(&in.until, "until", "", "calls that began before; as --since")
	f.IntVar(&in.filter.Limit, "limit", 20, "how many at most, up to 1000")
	f.BoolVar(&in.usage, "usage", false, "in place of the calls, what models took for them: tokens and cost by caller, server and model")
	f.BoolVarP(&in.follow, "follow", "f", false, "go on showing calls as they are made, the newest last")
	return cmd
}

// complete reads the flags that are no plain texts.
func (in *callsFlags) complete(a *app, cmd *cobra.Command, now time.Time) error {
	in.filter.Session, in.filter.Task = a.common.session, a.common.task
	kinds := []string{
		"ok", "running", string(tool.Invalid), string(tool.NotFound), string(tool.Denied), string(tool.Unavailable), string(tool.Timeout),
		string(tool.Canceled), string(tool.Failed), string(tool.OutcomeUnknown), string(tool.Internal),
	}
	switch {
	case in.kind != "" && !slices.Contains(kinds, in.kind):
		return usage(cmd, "--kind is one of %s", strings.Join(kinds, ", "))
	case in.filter.Limit < 1 || in.filter.Limit > 1000:
		return usage(cmd, "--limit is a number from 1 to 1000")
	case in.kind == "ok":
		in.filter.OK = true
	case in.kind == "running":
		in.filter.Running = true
	default:
		in.filter.Kind = tool.Kind(in.kind)
	}
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"since", in.since, &in.filter.Since}, {"until", in.until, &in.filter.Until}} {
		if t.text == "" {
			continue
		}
		at, ok := rest.ParseTime(t.text, now)
		if !ok {
			return usage(cmd, "--%s is a time such as 2026-01-31T08:00:00Z, a day, or how long ago, such as 90m or 7d", t.name)
		}
		*t.to = at
	}
	return nil
}

func runCalls(ctx context.Context, a *app, in callsFlags) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	r, err := openRecorder(ctx, a)
	if err != nil {
		return err
	}
	defer r.Close()
	page, status, err := r.Recorded(ctx, in.filter)
	if err != nil {
		return err
	}
	if in.follow {
		noteMissing(a, page, status)
		return followCalls(ctx, a, r, in.filter, page)
	}
	if a.json() {
		out := struct {
			Calls      []tenon.CallRecord  `json:"calls"`
			Unrecorded int64               `json:"unrecorded,omitempty"`
			Record     *tenon.RecordStatus `json:"record,omitempty"`
		}{page.Calls, page.Unrecorded, status}
		a.printJSON(out)
		return nil
	}
	if len(page.Calls) == 0 {
		a.note("%s", noCalls(in))
	} else {
		rows := [][]string{callHeads}
		for _, c := range page.Calls {
			rows = append(rows, callRow(c))
		}
		a.printTable(rows)
	}
	if page.Next > 0 {
		a.note("note: there are more; --limit shows them, --until goes back")
	}
	noteMissing(a, page, status)
	return nil
}

// runUsage shows what models took.
func runUsage(ctx context.Context, a *app, f tenon.CallFilter) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	r, err := openRecorder(ctx, a)
	if err != nil {
		return err
	}
	defer r.Close()
	sums, err := r.Usage(ctx, f)
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(map[string]any{"usage": sums})
		return nil
	}
	if len(sums) == 0 {
		a.note("No model was asked for the calls that are recorded.")
		return nil
	}
	rows := [][]string{{"CALLER", "SERVER", "MODEL", "CALLS", "ANSWERS", "TOKENS IN", "TOKENS OUT", "COST"}}
	for _, s := range sums {
		cost := "-"
		if s.Cost != nil {
			cost = fmt.Sprintf("%.6g", *s.Cost)
		}
		rows = append(rows, []string{orDash(s.Caller), orDash(s.Server), orDash(s.Model), fmt.Sprint(s.Calls), fmt.Sprint(s.Requests), fmt.Sprint(s.Input), fmt.Sprint(s.Output), cost})
	}
	a.printTable(rows)
	return nil
}

// noCalls says that there is nothing to show.
func noCalls(in callsFlags) string {
	f := in.filter
	f.Limit = 0
	if f == (tenon.CallFilter{}) {
		return "No calls are recorded yet."
	}
	return "No call in the record fits these flags."
}

// recordTrouble returns how a gateway's record is written, where that does not go
// well. Of a pool that was opened here nothing was called yet.
func recordTrouble(ctx context.Context, p pool) *tenon.RecordStatus {
	c, ok := p.(*rest.Client)
	if !ok {
		return nil
	}
	st, err := rest.RecordClient{Client: c}.RecordStatus(ctx)
	if err != nil || st.Gone == "" && st.Unrecorded == 0 {
		return nil // what was asked for is the servers
	}
	return &st
}

// noteMissing tells that the record does not hold every call.
func noteMissing(a *app, page tenon.CallPage, status *tenon.RecordStatus) {
	if page.Unrecorded > 0 {
		a.note("warning: %s went on without a record here, for it could not be written", count(int(page.Unrecorded), "call"))
	}
	if status == nil {
		return
	}
	if status.Unrecorded > 0 {
		a.note("warning: %s went on without a record since the gateway began", count(int(status.Unrecorded), "call"))
	}
	if status.Gone != "" {
		a.note("warning: the record %s cannot be written: %s", status.Where, status.Gone)
	}
}

// callHeads are the heads of what callRow gives.
var callHeads = []string{"TIME", "SERVER", "TOOL", "OUTCOME", "TOOK", "CALLER", "SESSION", "ID"}

func callRow(c tenon.CallRecord) []string {
	return []string{
		c.Started.Local().Format("01-02 15:04:05"), c.Server, c.Tool, outcome(c), took(c), callerOf(c), orDash(c.Session), c.ID,
	}
}

func outcome(c tenon.CallRecord) string {
	switch {
	case c.Running:
		return "running"
	case c.Kind == "":
		return "ok"
	}
	return string(c.Kind)
}

// took shows how long a call took, where that is known: not of one that runs, or that ran
// when its process was killed.
func took(c tenon.CallRecord) string {
	if c.ElapsedMS == 0 && (c.Running || c.Kind == tool.OutcomeUnknown) {
		return "-"
	}
	d := time.Duration(c.ElapsedMS * float64(time.Millisecond))
	if d < time.Second {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func callerOf(c tenon.CallRecord) string {
	if c.Caller.Name == "" {
		return c.Caller.Via
	}
	return c.Caller.Name + " (" + c.Caller.Via + ")"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func runCallRecord(ctx context.Context, a *app, id string) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	r, err := openRecorder(ctx, a)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := r.CallRecord(ctx, id)
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(c)
		return nil
	}
	a.printText(safe(callText(c)))
	return nil
}

// callText shows all that is kept of a call.
func callText(c tenon.CallRecord) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, strings.ReplaceAll(text, "\n", "\n           "))
		}
	}
	line("call", "%s", c.ID)
	line("tool", "%s/%s", c.Server, c.Tool)
	line("outcome", "%s", outcome(c))
	line("started", "%s", c.Started.Local().Format(time.RFC3339Nano))
	if c.Running {
		line("", "it runs; nothing is known of its end yet")
	}
	line("took", "%s, %s, %s", took(c), count(c.Attempts, "attempt"), count(c.Bytes, "byte"))
	line("caller", "%s", callerOf(c))
	line("session", "%s", c.Session)
	line("task", "%s", c.Task)
	line("skill", "%s", c.Skill)
	for _, n := range c.Notes {
		line("note", "%s: %s", n.Stage, n.Text)
	}
	if u := c.Usage; u != nil {
		line("models", "%s", usageText(u))
	}
	d := c.CallDetails
	if d == nil {
		line("details", "for its own caller and for an approver")
		return b.String()
	}
	line("key", "%s", d.Key)
	if d.Decision != nil {
		line("decision", "%s by %s. %s", d.Decision.Behavior, d.Decision.ReasonType, d.Decision.Reason)
		for _, s := range d.Decision.Chain {
			line("", "%s %s: %s", s.Rule, s.Verdict, s.Text)
		}
	}
	line("arguments", "%s", d.Arguments)
	line("arguments", "%s", d.ArgumentsHead)
	if d.ArgumentsSize > 0 {
		line("", "… of %d bytes, SHA-256 %s", d.ArgumentsSize, d.ArgumentsHash)
	}
	line("handle", "%s", d.Handle)
	line("result", "%s", d.ResultHead)
	return b.String()
}

// usageText says what models took.
func usageText(u *tool.Usage) string {
	text := fmt.Sprintf("%s: %s, %d tokens in, %d out", u.Model, count(u.Requests, "answer"), u.Input, u.Output)
	if u.Cost != nil {
		text += fmt.Sprintf(", cost %g", *u.Cost)
	}
	return text
}
