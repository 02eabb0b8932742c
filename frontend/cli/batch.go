package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// batchCommand carries out many calls.
func batchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "batch FILE",
		Short: "Make many calls from a file, or from standard input as -",
		Long: "Make the calls of a file and print a result for each, in their order. The file is a JSON array of calls, an\n" +
			"object {\"calls\": […]}, or one call a line. A call is {\"server\", \"tool\", \"arguments\", \"session\", \"skill\",\n" +
			"\"task_id\", \"timeout\"}. A mistake in the file is told before anything is called.\n\n" +
			"Neighbours whose tools are concurrency-safe run side by side, every other call alone. At most gateway.max_batch\n" +
			"calls are carried out, 10 unless the configuration says otherwise; the rest are denied.",
		Example: "  tenon batch calls.json\n  echo '{\"server\": \"time\", \"tool\": \"get_current_time\"}' | tenon batch -",
		Args:    exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			calls, err := readBatch(a, args[0])
			if err != nil {
				return err
			}
			for i := range calls {
				calls[i] = a.complete(calls[i])
			}
			p, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			spinner := a.progress(count(len(calls), "call"))
			for i, c := range calls {
				calls[i].Progress = func(params json.RawMessage) {
					spinner.say(fmt.Sprintf("%s: [%d] %s/%s%s", count(len(calls), "call"), i+1, c.Server, c.Tool, progressText(params)))
				}
			}
			results := p.CallBatch(cmd.Context(), calls)
			spinner.stop()
			printBatch(a, results)
			return batchOutcome(results)
		},
	}
}

// batchOutcome says whether all calls have a result, or whether the person ended
// the batch.
func batchOutcome(results []*tool.Result) error {
	code := 0
	for _, r := range results {
		switch {
		case r.Kind == tool.Canceled:
			return &told{exitCode[tool.Canceled]}
		case r.Kind != "":
			code = 1
		}
	}
	if code == 0 {
		return nil
	}
	return &told{code}
}

func printBatch(a *app, results []*tool.Result) {
	if a.json() {
		out := map[string]any{"results": results}
		if notes := tenon.BatchNotes(results); len(notes) > 0 {
			out["notes"] = notes
		}
		a.printJSON(out)
		return
	}
	for i, r := range results {
		a.printText(fmt.Sprintf("[%d] %s/%s", i+1, r.Server, r.Tool))
		a.printResult(r)
	}
}

func readBatch(a *app, name string) ([]tool.Call, error) {
	text, err := readInput(a, name)
	if err != nil {
		return nil, &problem{kind: tool.Invalid, text: err.Error(), hint: "give a file of calls, or - for standard input; see tenon batch --help", err: err}
	}
	calls, err := parseBatch(text)
	if err != nil {
		return nil, &problem{kind: tool.Invalid, text: name + ": " + err.Error(), hint: "see tenon batch --help for the forms of the file", err: err}
	}
	return calls, nil
}

// parseBatch reads the three forms of a batch.
func parseBatch(text []byte) ([]tool.Call, error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil, errors.New("there are no calls in it")
	case text[0] == '[':
		return rest.DecodeBatch(append(append([]byte(`{"calls":`), text...), '}'))
	}
	var whole struct {
		Calls json.RawMessage `json:"calls"`
	}
	if json.Unmarshal(text, &whole) == nil && whole.Calls != nil {
		return rest.DecodeBatch(text)
	}
	var calls []tool.Call
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		c, err := rest.DecodeCall(line, "")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		calls = append(calls, c)
	}
	return calls, nil
}
