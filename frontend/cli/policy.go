package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// policyCommand explains and tests what callers may do.
func policyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Explain or test what callers may do",
		Args:  knownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(policyExplainCommand(a), policyTestCommand(a))
	return cmd
}

func policyExplainCommand(a *app) *cobra.Command {
	var whole, mode, caller string
	cmd := &cobra.Command{
		Use:   "explain SERVER TOOL",
		Short: "Say what would be decided about a call, and why",
		Long: "Say what would be decided about a call, with every rule that was asked. No call is made. The server is started\n" +
			"only where its tools are not known; where it does not start, the configuration alone decides, with a note.\n\n" +
			"It exits 0 where the call may be made, at once or after a person has agreed, and 4 where it is denied.",
		Example: "  tenon policy explain kube kubectl --args '{\"verb\": \"delete\"}' --mode read_only\n" +
			"  tenon policy explain docker docker_restart --skill container_diagnosis --caller ci-7 --output json",
		Args: exactly("SERVER", "TOOL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.complete(tool.Call{Server: args[0], Tool: args[1], Mode: tool.Mode(mode)})
			c.Caller.Name = caller
			var err error
			if c.Arguments, err = wholeArguments(a, whole); err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			from, err := openSkills(ctx, a)
			if err != nil {
				return err
			}
			defer from.Close()
			spinner := a.progress("asking for the tools of " + c.Server)
			e, err := from.Explain(ctx, c)
			spinner.stop()
			if err != nil {
				return err
			}
			printExplanation(a, e)
			if e.Decision.Behavior == tool.Deny {
				return &told{exitCode[tool.Denied]}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&whole, "args", "", "the arguments as a JSON object, @FILE, or - for standard input")
	f.StringVar(&mode, "mode", "", "mode that the call asks for; it can only be stricter")
	f.StringVar(&caller, "caller", "", "name of the caller; without it, whoever runs this command")
	return cmd
}

func printExplanation(a *app, e *tenon.Explanation) {
	if a.json() {
		a.printJSON(e)
		return
	}
	var b strings.Builder
	d := e.Decision
	fmt.Fprintf(&b, "%s: %s/%s (%s)\n%s\n\n", d.Behavior, e.Server, e.Tool, d.ReasonType, d.Reason)
	for _, s := range d.Chain {
		verdict := "-"
		if s.Verdict != "" {
			verdict = string(s.Verdict)
		}
		fmt.Fprintf(&b, "  %-17s %-6s %s\n", s.Rule, verdict, s.Text)
	}
	fmt.Fprintf(&b, "\nmode: %s\n", e.Mode)
	if e.Skill != "" {
		fmt.Fprintf(&b, "skill: %s\n", e.Skill)
	}
	if len(e.Limits) > 0 {
		fmt.Fprintf(&b, "limits: %s\n", strings.Join(e.Limits, ", "))
	}
	listed := "yes"
	if !e.Listed {
		listed = "no"
	}
	fmt.Fprintf(&b, "listed: %s\n", listed)
	m := e.Metadata
	fmt.Fprintf(&b, "metadata: registered %v, read_only %v, destructive %v, risk %s, is_notification %v\n",
		m.Registered, m.ReadOnly, m.Destructive, m.Risk(), m.Notification)
	if len(d.Suggestions) > 0 {
		fmt.Fprintf(&b, "suggestions: %s\n", strings.Join(d.Suggestions, "; "))
	}
	if e.Opens != "" {
		fmt.Fprintf(&b, "to open it: %s\n", e.Opens)
	}
	if e.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", e.Note)
	}
	a.printText(safe(b.String()))
}

// A policyCase is one row of a table of expected decisions.
type policyCase struct {
	Name       string         `yaml:"name"`
	Server     string         `yaml:"server"`
	Tool       string         `yaml:"tool"`
	Args       map[string]any `yaml:"args"`
	Caller     string         `yaml:"caller"`
	Session    string         `yaml:"session"`
	Skill      string         `yaml:"skill"`
	Mode       string         `yaml:"mode"`
	Expect     string         `yaml:"expect"`
	ReasonType string         `yaml:"reason_type"`
}

// A mismatch is a row whose decision is another one.
type mismatch struct {
	Row      int            `json:"row"` // from 1
	Name     string         `json:"name,omitempty"`
	Server   string         `json:"server"`
	Tool     string         `json:"tool"`
	Expected string         `json:"expected"`
	Got      string         `json:"got"`
	Reason   string         `json:"reason"`
	Decision *tool.Decision `json:"decision,omitempty"`
}

func policyTestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE",
		Short: "Hold the policy against a table of expected decisions",
		Long: "Hold the policy against a table in YAML, - for standard input: a list of rows with server, tool and expect\n" +
			"(allow, ask or deny), and where wanted args, caller, session, skill, mode, reason_type and name. No call is made.\n\n" +
			"It exits 0 where every decision is the expected one, and 1 where some are not.",
		Example: "  - {server: kube, tool: kubectl, args: {verb: get}, expect: allow}\n" +
			"  - {server: kube, tool: kubectl, args: {verb: delete}, caller: ci-7, expect: deny, reason_type: mode_read_only}",
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := readCases(a, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd.Context())
			defer cancel()
			from, err := openSkills(ctx, a)
			if err != nil {
				return err
			}
			defer from.Close()
			wrong, err := testCases(ctx, from, cases)
			if err != nil {
				return err
			}
			return tellCases(a, len(cases), wrong)
		},
	}
}

// maxCases bounds the rows of a table.
const maxCases = 100_000

// readCases reads a table, and refuses rows that expect nothing.
func readCases(a *app, path string) ([]policyCase, error) {
	bad := func(format string, args ...any) error {
		return &problem{kind: tool.Invalid, text: path + ": " + fmt.Sprintf(format, args...), hint: "see tenon policy test --help"}
	}
	data, err := readInput(a, path)
	if err != nil {
		return nil, bad("%v", err)
	}
	var cases []policyCase
	if err := yaml.UnmarshalWithOptions(data, &cases, yaml.DisallowUnknownField()); err != nil {
		return nil, bad("%s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if len(cases) == 0 || len(cases) > maxCases {
		return nil, bad("holds %d rows", len(cases))
	}
	for i, c := range cases {
		switch tool.Behavior(c.Expect) {
		case tool.Allow, tool.Ask, tool.Deny:
		default:
			return nil, bad("row %d: expect wants allow, ask or deny, and holds %q", i+1, c.Expect)
		}
		if c.Server == "" || c.Tool == "" {
			return nil, bad("row %d: server or tool is missing", i+1)
		}
	}
	return cases, nil
}

// testCases returns the rows whose decision is another one.
func testCases(ctx context.Context, from skillSource, cases []policyCase) ([]mismatch, error) {
	wrong := []mismatch{}
	for i, c := range cases {
		var args json.RawMessage
		if c.Args != nil {
			var err error
			if args, err = json.Marshal(c.Args); err != nil {
				return nil, &problem{kind: tool.Invalid, text: fmt.Sprintf("row %d: args: %v", i+1, err)}
			}
		}
		expected := strings.TrimSpace(c.Expect + " " + c.ReasonType)
		m := mismatch{Row: i + 1, Name: c.Name, Server: c.Server, Tool: c.Tool, Expected: expected}
		e, err := from.Explain(ctx, tool.Call{
			Server: c.Server, Tool: c.Tool, Arguments: args, Session: c.Session, Skill: c.Skill, Mode: tool.Mode(c.Mode),
			Caller: tool.Caller{Name: c.Caller, Via: "cli"},
		})
		switch kind := tool.KindOf(err); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case kind == tool.Denied: // no profile: a skill that this caller may not choose
			e = &tenon.Explanation{Decision: &tool.Decision{Behavior: tool.Deny, ReasonType: "skill_allowlist", Reason: err.Error()}}
		case kind == tool.NotFound || kind == tool.Invalid:
			m.Got, m.Reason = string(kind), err.Error()
			wrong = append(wrong, m)
			continue
		case err != nil:
			return nil, err
		}
		d := e.Decision
		if string(d.Behavior) == c.Expect && (c.ReasonType == "" || d.ReasonType == c.ReasonType) {
			continue
		}
		m.Got, m.Reason, m.Decision = string(d.Behavior)+" "+d.ReasonType, d.Reason, d
		wrong = append(wrong, m)
	}
	return wrong, nil
}

func tellCases(a *app, n int, wrong []mismatch) error {
	if a.json() {
		a.printJSON(struct {
			OK         bool       `json:"ok"`
			Rows       int        `json:"rows"`
			Mismatches []mismatch `json:"mismatches"`
		}{len(wrong) == 0, n, wrong})
	} else {
		var b strings.Builder
		for _, m := range wrong {
			name := ""
			if m.Name != "" {
				name = " (" + m.Name + ")"
			}
			fmt.Fprintf(&b, "row %d%s: %s/%s: expected %s, got %s: %s\n", m.Row, name, m.Server, m.Tool, m.Expected, m.Got, m.Reason)
		}
		fmt.Fprintf(&b, "%s, %s\n", count(n, "row"), countWrong(len(wrong)))
		a.printText(safe(b.String()))
	}
	if len(wrong) > 0 {
		return &told{exitCode[tool.Failed]}
	}
	return nil
}

func countWrong(n int) string {
	if n == 1 {
		return "1 mismatch"
	}
	return fmt.Sprintf("%d mismatches", n)
}
