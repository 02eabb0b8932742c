package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// callCommand carries out one call.
func callCommand(a *app) *cobra.Command {
	var whole, key string
	var single []string
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL",
		Short: "Call a tool",
		Long: "Call a tool and print what it says. A name that is nearly right is corrected, and the correction is told.\n\n" +
			"-a gives one argument by the tool's schema: a text, a number, true or false; JSON for arrays and objects; an\n" +
			"array also by repeating its key. key:=JSON gives a value as it is. --args gives all arguments as one JSON object,\n" +
			"from a file as @FILE, from standard input as -. Both may be used: -a goes over --args.",
		Example: "  tenon call system list_top_processes -a sort_by=cpu -a limit=3\n" +
			"  tenon call files read_file --args '{\"path\": \"notes.txt\"}' --timeout 30s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Contains(args[0], "/") {
				return nil // SERVER/TOOL
			}
			return exactly("SERVER", "TOOL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				args = strings.SplitN(args[0], "/", 2)
			}
			if key != "" && a.gateway() == "" { // a ledger lives as long as its gateway
				return usage(cmd, "--idempotency-key is for a running gateway: name it with --gateway or $TENON_GATEWAY")
			}
			return runCall(a, cmd, tool.Call{Server: args[0], Tool: args[1], IdempotencyKey: key}, whole, single)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeCall(a, cmd, args)
		},
	}
	cmd.Flags().StringVar(&whole, "args", "", "all arguments as a JSON object, @FILE, or - for standard input")
	cmd.Flags().StringArrayVarP(&single, "arg", "a", nil, "one argument, key=value or key:=JSON; may be repeated")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "a call repeated with the same key and arguments runs once; for a running gateway")
	return cmd
}

func runCall(a *app, cmd *cobra.Command, c tool.Call, whole string, single []string) error {
	var err error
	if c.Arguments, err = wholeArguments(a, whole); err != nil {
		return err
	}
	assigned, err := parseAssignments(single)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	spinner := a.progress(c.Server + "/" + c.Tool)
	c.Progress = func(params json.RawMessage) { spinner.say(c.Server + "/" + c.Tool + progressText(params)) }
	res := carryOut(ctx, a, p, c, assigned)
	spinner.stop()
	if a.json() {
		a.printJSON(res)
	} else {
		a.printResult(res)
		a.noteHandle(res)
		noteOpens(ctx, a, p, c, res)
		if res.Kind == tool.NotFound {
			a.note("hint: tenon tools lists what there is")
		}
	}
	if code := exitCode[res.Kind]; code != 0 {
		return &told{code}
	}
	return nil
}

// noteOpens says what opens a tool that the policy refused. Only who may read the
// configuration can tell: a gateway tells its callers no more than that it was refused.
func noteOpens(ctx context.Context, a *app, p pool, c tool.Call, res *tool.Result) {
	here, ok := p.(inPlace)
	if !ok || res.Kind != tool.Denied {
		return
	}
	c.Server, c.Tool = res.Server, res.Tool // as they were corrected
	e, err := here.Policy().Explain(ctx, a.complete(c))
	if err == nil && e.Opens != "" {
		a.note("hint: %s", e.Opens)
	}
}

// carryOut adds the single arguments, typed by the tool's schema, and makes the
// call. Without any, the arguments pass as they were given.
func carryOut(ctx context.Context, a *app, p pool, c tool.Call, assigned []assignment) *tool.Result {
	begun := time.Now()
	if len(assigned) > 0 {
		schema, err := a.schemaFor(ctx, p, c)
		if err == nil {
			c.Arguments, err = assign(c.Arguments, assigned, schema)
		}
		if err != nil {
			return &tool.Result{Server: c.Server, Tool: c.Tool, Kind: tool.KindOf(err), Message: err.Error(), Err: err}
		}
	}
	c = a.complete(c)
	if c.Timeout > 0 { // it bounds the whole
		c.Timeout = max(c.Timeout-time.Since(begun), time.Millisecond)
	}
	return p.Call(ctx, c)
}

// schemaFor returns the schema of the tool's arguments, or nil where there is no
// such tool: then the call is made all the same, for the gateway to correct.
func (a *app) schemaFor(ctx context.Context, p pool, c tool.Call) (json.RawMessage, error) {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	l, err := p.Tools(ctx, tenon.ListOptions{Viewer: a.scope(), Server: c.Server})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, &tool.Error{Kind: tool.Timeout, Text: "The time given by --timeout has passed before the call was made: the list of tools did not come.", Err: ctx.Err()}
	}
	if ctx.Err() != nil {
		return nil, &tool.Error{Kind: tool.Canceled, Text: "The call was canceled.", Err: ctx.Err()}
	}
	if err != nil && tool.KindOf(err) != tool.NotFound {
		return nil, err
	}
	for _, s := range l.Servers {
		for _, t := range s.Tools {
			if t.Name == c.Tool {
				return t.Schema, nil
			}
		}
	}
	return nil, nil
}

// wholeArguments reads the value of --args: a JSON object, or nil.
func wholeArguments(a *app, whole string) (json.RawMessage, error) {
	var text []byte
	var err error
	switch {
	case whole == "":
		return nil, nil
	case whole == "-":
		text, err = readInput(a, whole)
	case whole[0] == '@':
		text, err = readInput(a, whole[1:])
	default:
		text = []byte(whole)
	}
	if err != nil {
		return nil, &problem{kind: tool.Invalid, text: "--args: " + err.Error(), hint: "give one JSON object, a file that holds one as @FILE, or - for standard input", err: err}
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil || o == nil {
		hint := `give one JSON object, such as --args '{"key": "value"}'`
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); err == nil || other {
			return nil, &problem{kind: tool.Invalid, text: "--args is no JSON object", hint: hint}
		}
		return nil, &problem{kind: tool.Invalid, text: "--args is no JSON object: " + err.Error(), hint: hint, err: err}
	}
	return text, nil
}

// progressText shows the params of a progress notification.
func progressText(params json.RawMessage) string {
	var p struct {
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	text := fmt.Sprintf(" %g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf("/%g", p.Total)
	}
	if p.Message != "" {
		text += " " + strings.Join(strings.Fields(safe(p.Message)), " ")
	}
	return text
}
