package call_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// words forbids arguments that hold "bad", answers from "afar", and cuts "link".
type words struct{ asked []string }

func (w *words) Refuse(t *tool.Tool, arguments []byte) string {
	w.asked = append(w.asked, t.String()+" "+string(arguments))
	if bytes.Contains(arguments, []byte("bad")) {
		return "100% forbidden"
	}
	return ""
}

func (w *words) Clean(_ *tool.Tool, answer tool.Bytes) (tool.Bytes, string, string) {
	raw := answer.Join()
	switch {
	case bytes.Contains(raw, []byte("afar")):
		return answer, "", "that is afar"
	case bytes.Contains(raw, []byte("link")):
		return tool.OneOf(bytes.ReplaceAll(raw, []byte("link"), nil)), "removed 1 link", ""
	}
	return answer, "", ""
}

func withRules(send func(context.Context, *call.Request, []byte) (tool.Bytes, error)) (*bench, *words) {
	w := &words{}
	b := &bench{shelf: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}}}
	b.run = call.New(call.Options{
		Catalog: b.shelf,
		Send: func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
			b.sent = append(b.sent, string(params))
			return send(ctx, r, params)
		},
		Record: func(_ *call.Request, res *tool.Result) { b.recorded = append(b.recorded, res) },
		NewID:  func() string { return "id" },
		Rules:  w,
	})
	return b, w
}

func TestRulesSeeWhatIsSent(t *testing.T) {
	b, w := withRules(answer(text("ok"), nil))
	for _, c := range []struct {
		call   tool.Call
		asked  string
		denied bool
	}{
		{tool.Call{Arguments: []byte(`{"a":"good"}`)}, `{"a":"good"}`, false},
		{tool.Call{Arguments: []byte(`{"a":"bad"}`)}, `{"a":"bad"}`, true},
		{tool.Call{Arguments: []byte(`{"a":"good"}`), Params: []byte(`{"name":"t","arguments":{"a":"bad"}}`)}, `{"name":"t","arguments":{"a":"bad"}}`, true},
		{tool.Call{}, "", false},
	} {
		b.sent, w.asked, b.recorded = nil, nil, nil
		c.call.Server, c.call.Tool = "s", "t"
		res := b.run(t.Context(), c.call)
		if want := fmt.Sprint([]string{"s/t " + c.asked}); fmt.Sprint(w.asked) != want {
			t.Errorf("asked %q, want %s", w.asked, want)
		}
		if (res.Kind == tool.Denied) != c.denied || (len(b.sent) == 0) != c.denied {
			t.Errorf("%s: %q, sent %q", c.asked, res.Kind, b.sent)
		}
		if c.denied && res.Text() != "100% forbidden" {
			t.Errorf("the model reads %q", res.Text())
		}
		if len(b.recorded) != 1 || b.recorded[0] != res {
			t.Errorf("recorded %d", len(b.recorded))
		}
	}
}

func TestRulesSeeTheAnswer(t *testing.T) {
	for _, c := range []struct {
		said, want, note string
		kind             tool.Kind
	}{
		{"plain", "plain", "", ""},
		{"a link here", "a  here", "removed 1 link", ""},
		{"from afar", "that is afar", "left out the answer", tool.Denied},
	} {
		b, _ := withRules(answer(text(c.said), nil))
		res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
		if res.Kind != c.kind || res.Text() != c.want || res.Attempts != 1 || (len(res.Notes) > 0) != (c.note != "") {
			t.Errorf("%s: %q %q %v, %d attempts", c.said, res.Kind, res.Text(), res.Notes, res.Attempts)
		}
		for _, n := range res.Notes {
			if n.Stage != "rules" || !strings.Contains(n.Text, c.note) {
				t.Errorf("%s: note %v", c.said, n)
			}
		}
	}
}

// TestRulesSeeTheTrueTool: a call that turns to another server is looked at again.
func TestRulesSeeTheTrueTool(t *testing.T) {
	b, w := withRules(func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
		if r.Target.Server == "other" {
			return text("from the other"), nil
		}
		return tool.OneOf([]byte(`{"isError":true,"content":[{"type":"text","text":"Unknown tool: t"}]}`)), nil
	})
	b.shelf.tools = append(b.shelf.tools, tool.Tool{ID: tool.ID{Server: "other", Name: "t"}})
	res := b.run(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: []byte(`{}`)})
	if want := "[s/t {} other/t {}]"; fmt.Sprint(w.asked) != want || res.Server != "other" {
		t.Errorf("asked %v, want %s; %s", w.asked, want, res.Text())
	}
}
