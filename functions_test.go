package tenon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestFunctionThatPanics: it fails its own call, the log has the stack, and the pool lives on.
func TestFunctionThatPanics(t *testing.T) {
	t.Parallel()
	type in struct {
		Panic bool `json:"panic,omitempty"`
	}
	var log bytes.Buffer
	o := tenon.Options{Config: write(t, "version: 1\n"), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	tenon.AddTool(&o, tenon.Function{Name: "risky"}, func(_ context.Context, v in) (in, error) {
		if v.Panic {
			panic("the secret state of the program")
		}
		return v, nil
	})
	g := open(t, o)
	res := g.Call(t.Context(), tool.Call{Tool: "risky", Arguments: json.RawMessage(`{"panic":true}`)})
	if text := res.Text(); res.Kind != tool.Failed || !strings.Contains(text, "risky") || strings.Contains(text, "secret state") || strings.Contains(text, "goroutine") {
		t.Errorf("%s: %s", res.Kind, text)
	}
	if said := log.String(); !strings.Contains(said, "the secret state of the program") || !strings.Contains(said, "functions_test.go") {
		t.Errorf("the log lacks the panic, or its stack: %s", said)
	}
	if res := g.Call(t.Context(), tool.Call{Tool: "risky"}); res.Kind != "" {
		t.Errorf("after it: %s: %s", res.Kind, res.Text())
	}
}
