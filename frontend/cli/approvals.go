package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

const approverHelp = "It works on the gateway that runs (--gateway, $TENON_GATEWAY, else 127.0.0.1:8400), which needs an approver's\n" +
	"credential: that of $TENON_APPROVER_TOKEN, or the one that the gateway of this user keeps in the state folder."

// approvalsCommand is for the person who is asked.
func approvalsCommand(a *app) *cobra.Command {
	var recent bool
	limit := 50
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "See and decide the calls that wait for a person",
		Long: "List the calls that wait for a person: who calls what, with which arguments, what it can do, and until when\n" +
			"it waits. tenon approvals approve or deny decides one, and watch shows them as they come.\n\n" + approverHelp,
		Example: "  tenon approvals\n  tenon approvals approve apv_1k1… --reason 'old data'\n  tenon approvals watch",
		Args:    knownCommand,
		RunE: decider(a, func(ctx context.Context, c *rest.Client, _ []string) error {
			items, err := c.Approvals().List(ctx, recent, limit)
			if err != nil {
				return err
			}
			printApprovals(a, items, recent)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&recent, "recent", false, "the last ones, whatever came of them")
	cmd.Flags().IntVar(&limit, "limit", limit, "how many at most")
	cmd.AddCommand(showCommand(a), approveCommand(a), denyCommand(a), watchCommand(a))
	return cmd
}

// decider returns what runs a command with a client of the gateway.
func decider(a *app, run func(ctx context.Context, c *rest.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := a.bounded(cmd.Context())
		defer cancel()
		c, err := a.operator()
		if err != nil {
			return err
		}
		defer c.Close()
		return run(ctx, c, args)
	}
}

func showCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one, with all its arguments",
		Args:  exactly("ID"),
		RunE: decider(a, func(ctx context.Context, c *rest.Client, args []string) error {
			p, err := c.Approvals().Get(ctx, args[0])
			if err != nil {
				return err
			}
			printApproval(a, p)
			return nil
		}),
	}
}

func approveCommand(a *app) *cobra.Command {
	var scope, reason string
	var patterns []string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Let a call run",
		Long: "Let a call run: this one, or with --scope session every call of the tool by its caller in its session, or with\n" +
			"--scope pattern those of them whose arguments match. Arguments that no --pattern names must then be as they are\n" +
			"in this call. In a glob * is any text without a slash, ** any text, ? one character; a path with .. in it never matches.\n\n" + approverHelp,
		Example: "  tenon approvals approve apv_1k1…\n  tenon approvals approve apv_1k1… --scope pattern --pattern 'path=/tmp/*'",
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := verdictOf(cmd, scope, patterns)
			if err != nil {
				return err
			}
			v.Why = reason
			return decider(a, func(ctx context.Context, c *rest.Client, _ []string) error { return settle(ctx, a, c, args[0], v) })(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&scope, "scope", "once", "how far it reaches: once, session or pattern")
	f.StringArrayVar(&patterns, "pattern", nil, "name=glob of an argument, for the scope pattern; may be repeated")
	f.StringVar(&reason, "reason", "", "why; the model is told")
	completeFlag(cmd, "scope", func(*cobra.Command) []string { return []string{"once", "session", "pattern"} })
	return cmd
}

// verdictOf returns what the flags of approve say.
func verdictOf(cmd *cobra.Command, scope string, patterns []string) (tool.Verdict, error) {
	v := tool.Verdict{Approved: true, Scope: tool.ApprovalScope(scope)}
	switch v.Scope {
	case tool.ScopeOnce, tool.ScopeSession, tool.ScopePattern:
	default:
		return v, unknown(cmd, "scope", scope, []string{"once", "session", "pattern"})
	}
	if (v.Scope == tool.ScopePattern) != (len(patterns) > 0) {
		return v, usage(cmd, "--scope pattern and --pattern name=glob go together")
	}
	if len(patterns) == 0 {
		return v, nil
	}
	globs := map[string]string{}
	for _, p := range patterns {
		name, glob, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return v, usage(cmd, "--pattern wants name=glob, and not %q", p)
		}
		globs[name] = glob
	}
	v.Pattern, _ = json.Marshal(globs) // texts always marshal
	return v, nil
}

func denyCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse a call",
		Args:  exactly("ID"),
		RunE: decider(a, func(ctx context.Context, c *rest.Client, args []string) error {
			return settle(ctx, a, c, args[0], tool.Verdict{Why: reason})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the model is told")
	return cmd
}

// settle decides one and tells what it is now.
func settle(ctx context.Context, a *app, c *rest.Client, id string, v tool.Verdict) error {
	p, err := c.Approvals().Decide(ctx, id, v)
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(p)
		return nil
	}
	text := string(p.Status)
	if p.Status == tool.ApprovalApproved && p.Scope != tool.ScopeOnce {
		text += " for this " + string(p.Scope)
	}
	a.printText(fmt.Sprintf("%s: %s/%s is %s", p.ID, p.Server, p.Tool, text))
	return nil
}

func watchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show calls that wait as they come, and decide them on a terminal",
		Long: "Show calls that wait as they come, and what becomes of them, until it is interrupted: a gateway that ends is waited\n" +
			"for until it is back. On a terminal it asks what to do with each: y lets it run, s also lets the calls of the tool run\n" +
			"that come later in the same session, n refuses it, and an empty line leaves it to somebody else. With --output json\n" +
			"each is one line.\n\n" + approverHelp,
		Args: exactly(),
		RunE: decider(a, func(ctx context.Context, c *rest.Client, _ []string) error {
			w := &watching{app: a, c: c, shown: map[string]bool{}}
			if a.Watched && a.width > 0 && !a.json() {
				w.lines = linesOf(a.Stdin)
			}
			return w.run(ctx)
		}),
	}
}

// linesOf returns what is typed, line by line, and closes it at its end.
func linesOf(in io.Reader) <-chan string {
	out := make(chan string)
	// Nobody can wait for a read of a terminal: the last one is left to the end of the
	// program.
	var typing sync.WaitGroup
	typing.Go(func() {
		defer close(out)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			out <- strings.TrimSpace(lines.Text())
		}
	})
	return out
}

// watching is one run of watch.
type watching struct {
	*app
	c     *rest.Client
	lines <-chan string // nil where nobody is asked
	queue []tool.Approval
	shown map[string]bool // those that wait: a gateway that is back gives them again
}

// news is what has come: an approval, or what the person is to know, or the end.
type news struct {
	p    tool.Approval
	note string
	err  error
}

func (w *watching) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	came := make(chan news)
	wg.Go(func() {
		defer close(came)
		w.follow(ctx, func(n news) bool {
			select {
			case came <- n:
				return n.err == nil
			case <-ctx.Done():
				return false
			}
		})
	})
	for {
		select {
		case n, ok := <-came:
			switch {
			case !ok:
				return nil // interrupted, which is how it is ended
			case n.err != nil && errors.Is(n.err, context.Canceled):
				return nil
			case n.err != nil:
				return n.err
			case n.note != "":
				w.note("%s", n.note)
				continue
			}
			w.news(n.p)
		case line, ok := <-w.lines:
			if !ok {
				w.lines = nil
				continue
			}
			w.answer(ctx, line)
		case <-w.expiry():
			w.drop(0)
		}
	}
}

// How long a gateway that has gone is waited for before it is asked again.
const (
	firstWait = 250 * time.Millisecond
	longWait  = 10 * time.Second
)

// follow tells what comes, over and over where the gateway ends and begins again. One
// that was never there, or refuses, is an error.
func (w *watching) follow(ctx context.Context, tell func(news) bool) {
	if _, err := w.c.Approvals().List(ctx, false, 1); err != nil {
		tell(news{err: err})
		return
	}
	for {
		err := error(&problem{kind: tool.Unavailable, text: "the gateway has ended"})
		for p, broken := range w.c.Approvals().Watch(ctx) {
			if broken != nil {
				err = broken
				break
			}
			if !tell(news{p: p}) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if tool.KindOf(err) != tool.Unavailable {
			tell(news{err: err})
			return
		}
		if !tell(news{note: err.Error() + "; trying again until it is back, or this is interrupted"}) || !w.await(ctx, tell) {
			return
		}
	}
}

// await waits until the gateway answers, and reports whether it is to be watched.
func (w *watching) await(ctx context.Context, tell func(news) bool) bool {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
		_, err := w.c.Approvals().List(ctx, false, 1)
		switch {
		case err == nil:
			return tell(news{note: "the gateway answers again"})
		case ctx.Err() != nil:
			return false
		case tool.KindOf(err) != tool.Unavailable:
			tell(news{err: err})
			return false
		}
	}
}

// expiry returns a channel that tells when the one that is asked about is over.
func (w *watching) expiry() <-chan time.Time {
	if len(w.queue) == 0 {
		return nil
	}
	return time.After(time.Until(w.queue[0].ExpiresAt))
}

// news shows what has come.
func (w *watching) news(p tool.Approval) {
	again := w.shown[p.ID]
	if w.shown[p.ID] = true; p.Status != tool.ApprovalPending {
		delete(w.shown, p.ID)
	}
	switch i := w.index(p.ID); {
	case p.Status == tool.ApprovalPending && again:
	case w.json():
		b, _ := json.Marshal(p) // it came as JSON
		w.printText(string(b))
	case p.Status != tool.ApprovalPending:
		w.printText(inset(resolvedLine(p)))
		w.drop(i)
	case w.lines == nil:
		printApproval(w.app, p)
	case i < 0:
		w.queue = append(w.queue, p)
		if len(w.queue) == 1 {
			w.ask()
		}
	}
}

func resolvedLine(p tool.Approval) string {
	text := fmt.Sprintf("%s %s/%s: %s", p.ID, p.Server, p.Tool, p.Status)
	if p.DecidedBy != "" {
		text += " by " + p.DecidedBy
	}
	if p.Why != "" {
		text += ": " + p.Why
	}
	return text
}

func (w *watching) index(id string) int {
	for i, p := range w.queue {
		if p.ID == id {
			return i
		}
	}
	return -1
}

// drop takes one out of those that are to be asked about.
func (w *watching) drop(i int) {
	if i < 0 || i >= len(w.queue) {
		return
	}
	w.queue = append(w.queue[:i], w.queue[i+1:]...)
	if i == 0 && len(w.queue) > 0 {
		w.ask()
	}
}

func (w *watching) ask() {
	printApproval(w.app, w.queue[0])
	choices := "y = once, n = no, Enter = leave it"
	if w.queue[0].Session != "" {
		choices = "y = once, s = for this session, n = no, Enter = leave it"
	}
	_, _ = io.WriteString(w.stderr, "Let it run? "+choices+": ")
}

// answer does what was typed with the one that is asked about.
func (w *watching) answer(ctx context.Context, line string) {
	if len(w.queue) == 0 {
		return
	}
	var v tool.Verdict
	switch strings.ToLower(line) {
	case "":
		w.drop(0)
		return
	case "y", "yes":
		v.Approved = true
	case "s", "session":
		v.Approved, v.Scope = true, tool.ScopeSession
	case "n", "no":
	default:
		_, _ = io.WriteString(w.stderr, "y, s, n or nothing: ")
		return
	}
	p := w.queue[0]
	if _, err := w.c.Approvals().Decide(ctx, p.ID, v); err != nil {
		w.note("error: %s", inset(err.Error()))
	}
	if i := w.index(p.ID); i >= 0 {
		w.drop(i)
	}
}

// printApprovals shows a table.
func printApprovals(a *app, items []tool.Approval, recent bool) {
	if a.json() {
		a.printJSON(map[string]any{"items": items})
		return
	}
	if len(items) == 0 {
		a.note("No call waits for a person.")
		return
	}
	now := time.Now()
	rows := [][]string{{"ID", "STATUS", "WHO", "TOOL", "AGE", "EXPIRES", "IMPACT", "ARGUMENTS"}}
	for _, p := range items {
		expires := "in " + max(p.ExpiresAt.Sub(now), 0).Round(time.Second).String()
		if p.Status != tool.ApprovalPending {
			expires = "-"
		}
		rows = append(rows, []string{
			p.ID, string(p.Status), who(p), p.Server + "/" + p.Tool, now.Sub(p.CreatedAt).Round(time.Second).String(),
			expires, p.Impact, string(p.Arguments),
		})
	}
	if recent {
		a.printTable(rows)
		return
	}
	for i := range rows { // all of them are pending
		rows[i] = append(rows[i][:1:1], rows[i][2:]...)
	}
	a.printTable(rows)
}

// who names the caller of a call.
func who(p tool.Approval) string {
	text := cmp.Or(tenon.ShownApproval(p).Caller.Name, "local user")
	if p.Caller.Via != "" {
		text += " over " + p.Caller.Via
	}
	if p.Session != "" {
		text += ", session " + p.Session
	}
	return text
}

// printApproval shows one, with all its arguments.
func printApproval(a *app, p tool.Approval) {
	if a.json() {
		a.printJSON(p)
		return
	}
	args := bytes.NewBuffer(nil)
	if json.Indent(args, p.Arguments, "", "  ") != nil {
		args = bytes.NewBuffer(p.Arguments)
	}
	lines := [][2]string{
		{"approval", p.ID},
		{"status", string(p.Status)},
		{"who", who(p)},
		{"task", p.Task},
		{"skill", p.Skill},
		{"tool", p.Server + "/" + p.Tool},
		{"impact", p.Impact},
		{"reason", p.Reason + " (" + p.Rule + ")"},
		{"asked", p.CreatedAt.Local().Format(time.DateTime)},
		{"expires", p.ExpiresAt.Local().Format(time.DateTime)},
		{"scope", string(p.Scope)},
		{"pattern", string(p.Pattern)},
		{"decided by", p.DecidedBy},
		{"because", p.Why},
		{"used by call", p.UsedBy},
		{"hash", p.Hash},
		{"arguments", args.String()},
	}
	var b strings.Builder
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(&b, "%-13s%s\n", l[0], inset(safe(l[1])))
		}
	}
	a.printText(b.String())
}
