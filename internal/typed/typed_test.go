package typed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/typed"
)

type input struct {
	Host  string `json:"host" jsonschema:"name of a host"`
	Count int    `json:"count,omitempty" jsonschema:"how many"`
	Depth int    `json:"depth,omitempty" jsonschema:"how deep"`
	Mode  string `json:"mode,omitempty" jsonschema:"how"`
}

type output struct {
	Said string `json:"said" jsonschema:"what it said"`
}

func client(t *testing.T) *mcp.ClientSession {
	t.Helper()
	srv := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	typed.Add(srv, typed.Spec{
		Name: "say", Title: "Say", Description: "Says it.", Defaults: map[string]any{"count": 4, "mode": "loud"},
		Bounds:  map[string][2]int{"depth": {1, 3}},
		Choices: map[string][]any{"mode": {"loud", "low"}},
		Shape: func(in, out *jsonschema.Schema) {
			in.Properties["count"].Maximum = new(9.0)
			out.AdditionalProperties = nil
		},
	}, func(_ context.Context, in input) (string, output, error) {
		if in.Host == "bad" {
			return "", output{}, errors.New("no such host. Try another")
		}
		s := fmt.Sprint(in.Host, in.Count, in.Mode)
		if in.Depth > 0 {
			s += fmt.Sprint(in.Depth)
		}
		return s, output{s}, nil
	})
	return testenv.Client(t, srv)
}

func TestAdd(t *testing.T) {
	cs := client(t)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool := list.Tools[0]
	if tool.OutputSchema == nil || tool.Annotations.Title != "Say" || !tool.Annotations.ReadOnlyHint || *tool.Annotations.DestructiveHint {
		t.Errorf("listed %+v", tool)
	}
	for arguments, want := range map[string]string{
		`{"host":"a"}`:                          "a4loud",
		`{"host":"a","count":2,"mode":"low"}`:   "a2low",
		`{"host":"a","count":null,"mode":null}`: "a4loud",
		`{"host":"bad"}`:                        "no such host. Try another",
		`{"host":"a","mode":"shrill"}`:          "mode",
		`{"host":"a","count":10}`:               "count",
		`{"host":7}`:                            "host",
		`{"host":"a","count":"x\u001b[31m\ny"}`: "count",
		`{"host":"a","more":1}`:                 "more",
		`null`:                                  "host",
		`{}`:                                    "host",
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatalf("%s: %v", arguments, err)
		}
		text, _ := res.Content[0].(*mcp.TextContent)
		if !strings.Contains(text.Text, want) || strings.ContainsAny(text.Text, "\n\x1b") || len(text.Text) > 1000 {
			t.Errorf("%s: %q, want %q", arguments, text.Text, want)
		}
		data, _ := json.Marshal(res.StructuredContent)
		if !res.IsError && string(data) != `{"said":"`+want+`"}` || res.IsError && res.StructuredContent != nil {
			t.Errorf("%s: %s", arguments, data)
		}
	}
}

// TestBounds holds that a number beyond its bounds is brought to them, and that the
// answer says so.
func TestBounds(t *testing.T) {
	cs := client(t)
	for arguments, want := range map[string]string{
		`{"host":"a","depth":2}`:                    "",
		`{"host":"a"}`:                              "",
		`{"host":"a","depth":0}`:                    "Note: depth was brought from 0 to 1.\n",
		`{"host":"a","depth":99999999999}`:          "Note: depth was brought from 99999999999 to 3.\n",
		`{"host":"a","depth":-9223372036854775808}`: "do not fit",
		`{"host":"a","depth":1e300}`:                "do not fit",
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatalf("%s: %v", arguments, err)
		}
		last := res.Content[len(res.Content)-1].(*mcp.TextContent).Text
		if first := res.Content[0].(*mcp.TextContent).Text; !res.IsError && len(res.Content) > 1 && first != "a4loud"+want[len(want)-3:len(want)-2] {
			t.Errorf("%s: %q", arguments, first)
		}
		if (len(res.Content) > 1) != strings.HasPrefix(want, "Note") || !strings.Contains(last, want) {
			t.Errorf("%s: %q, want %q", arguments, last, want)
		}
	}
}

func TestBadSpec(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "no property nowhere") {
			t.Errorf("recovered %v", p)
		}
	}()
	typed.Definition[input, output](typed.Spec{Name: "x", Defaults: map[string]any{"nowhere": 1}})
}
