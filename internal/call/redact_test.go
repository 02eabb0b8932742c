package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// plainSecrets hides the word SECRET, and in a failure FAILURE as well.
type plainSecrets struct{ skipped []string }

func (*plainSecrets) Text(s string) string { return strings.ReplaceAll(s, "SECRET", "•••") }

func (p *plainSecrets) Failure(raw []byte) []byte {
	return []byte(p.Text(strings.ReplaceAll(string(raw), "FAILURE", "•••")))
}

func (p *plainSecrets) Result(raw tool.Bytes, skip ...jsonrpc.Span) (tool.Bytes, int) {
	for _, s := range skip {
		p.skipped = append(p.skipped, string(s.In(raw).Join()))
	}
	text := string(raw.Join())
	n := strings.Count(text, "SECRET")
	if n == 0 {
		return raw, 0
	}
	return tool.OneOf([]byte(p.Text(text))), n
}

// redacted returns what becomes of an answer, and what was kept of it.
func redacted(t *testing.T, s *plainSecrets, on bool, limit int, answer func(*call.Request) (tool.Bytes, error)) (*tool.Result, *kept) {
	t.Helper()
	k := &kept{}
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{MaxResultChars: limit}}}},
		Keeper:  k, NewID: func() string { return "c_1" }, Secrets: s, Redact: on,
		Send:   func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) { return answer(r) },
		Record: func(*call.Request, *tool.Result) {},
	})
	return run(t.Context(), tool.Call{Server: "s", Tool: "t"}), k
}

func gives(raw string) func(*call.Request) (tool.Bytes, error) {
	return func(*call.Request) (tool.Bytes, error) { return tool.OneOf([]byte(raw)), nil }
}

func TestRedact(t *testing.T) {
	raw := string(answerOf(textOf("a SECRET and a SECRET"), `{"a":"SECRET"}`).Join())
	res, _ := redacted(t, &plainSecrets{}, true, 0, gives(raw))
	if got := string(res.Raw.Join()); strings.Contains(got, "SECRET") || strings.Count(got, "•••") != 3 {
		t.Error(got)
	}
	if len(res.Notes) != 1 || res.Notes[0] != (tool.Note{Stage: "redacted", Text: "3 secrets were hidden"}) {
		t.Errorf("%v", res.Notes)
	}
	res, _ = redacted(t, &plainSecrets{}, true, 0, gives(string(answerOf(textOf("one SECRET"), "").Join())))
	if len(res.Notes) != 1 || res.Notes[0].Text != "1 secret was hidden" {
		t.Errorf("%v", res.Notes)
	}
	res, _ = redacted(t, &plainSecrets{}, false, 0, gives(raw))
	if got := string(res.Raw.Join()); got != raw || len(res.Notes) > 0 {
		t.Errorf("without the policy: %s %v", got, res.Notes)
	}
	clean := []byte(string(answerOf(textOf("nothing"), "").Join()))
	res, _ = redacted(t, &plainSecrets{}, true, 0, func(*call.Request) (tool.Bytes, error) { return tool.OneOf(clean), nil })
	if &res.Raw[0][0] != &clean[0] || len(res.Notes) > 0 {
		t.Error("a clean answer is another one")
	}
}

// TestRedactBeforeKept: what is kept behind a handle has no secret either, and one
// that stands where the text is cut is hidden whole.
func TestRedactBeforeKept(t *testing.T) {
	text := strings.Repeat("x", 997) + "SECRET" + strings.Repeat("y", 2000)
	res, k := redacted(t, &plainSecrets{}, true, 1000, gives(string(answerOf(textOf(text), "").Join())))
	if got := string(res.Raw.Join()); strings.Contains(got, "SEC") || !strings.Contains(got, "•••") {
		t.Error(got)
	}
	if len(k.bodies) != 1 || strings.Contains(k.bodies[0], "SECRET") || !strings.Contains(k.bodies[0], "•••") {
		t.Errorf("kept: %v", k.bodies)
	}
}

// TestRedactFailures: failures hide more, whatever the policy says.
func TestRedactFailures(t *testing.T) {
	for _, on := range []bool{true, false} {
		for name, answer := range map[string]func(*call.Request) (tool.Bytes, error){
			"result": gives(`{"content":[{"type":"text","text":"the SECRET FAILURE"}],"isError":true}`),
			"protocol": func(*call.Request) (tool.Bytes, error) {
				return nil, jsonrpc.ErrorOf(tool.OneOf([]byte(`{"code":-1,"message":"the SECRET FAILURE"}`)))
			},
			"message": func(*call.Request) (tool.Bytes, error) {
				return nil, &tool.Error{Kind: tool.Unavailable, Text: "the SECRET •••"}
			},
		} {
			res, _ := redacted(t, &plainSecrets{}, on, 0, answer)
			said := res.Text() + string(res.Raw.Join())
			if e, ok := errors.AsType[*jsonrpc.Error](res.Err); ok {
				said += e.Message + string(e.Raw)
			}
			if res.Kind == "" || strings.Contains(said, "SECRET") || strings.Contains(said, "FAILURE") || !strings.Contains(said, "the ••• •••") {
				t.Errorf("%s, %v: %q %s", name, on, res.Kind, said)
			}
		}
	}
}

// TestRedactLeavesMedia: images, audio and blobs are told to be left alone, in order.
func TestRedactLeavesMedia(t *testing.T) {
	s := &plainSecrets{}
	raw := `{"structuredContent":{"data":"x"}, "content" : [ {"type":"image","data":"aW1n","mimeType":"image/png"},
		{"type":"text","text":"t","data":"no"}, {"type":"resource","resource":{"uri":"x","blob":"YmxvYg=="}},
		{"type":"resource","resource":{"uri":"x","text":"SECRET"}}, {"data":"YXU=", "type":"audio"}, 7, {"type":"image","data":3} ] }`
	res, _ := redacted(t, s, true, 0, gives(raw))
	if got := strings.Join(s.skipped, " "); got != `"aW1n" "YmxvYg==" "YXU="` {
		t.Error(got)
	}
	if got := string(res.Raw.Join()); got != strings.ReplaceAll(raw, "SECRET", "•••") {
		t.Error(got)
	}
	for _, odd := range []string{`{}`, `{"content":7}`, `{"content":[]}`} {
		if res, _ := redacted(t, s, true, 0, gives(odd)); string(res.Raw.Join()) != odd {
			t.Errorf("%s becomes %s", odd, res.Raw.Join())
		}
	}
}

// TestRedactProgress: what a server says of its progress is hidden as results are.
func TestRedactProgress(t *testing.T) {
	for _, on := range []bool{true, false} {
		var got []string
		run := call.New(call.Options{
			Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}}, NewID: func() string { return "c_1" }, Secrets: &plainSecrets{}, Redact: on,
			Send: func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
				r.ProgressFunc()(tool.OneOf([]byte(`{"progressToken":1,"progress":1,"message":"a SECRET"}`)))
				return tool.OneOf([]byte(`{"content":[]}`)), nil
			},
			Record: func(*call.Request, *tool.Result) {},
		})
		run(t.Context(), tool.Call{Server: "s", Tool: "t", Progress: func(p json.RawMessage) { got = append(got, string(p)) }})
		want := map[bool]string{true: `[{"progressToken":1,"progress":1,"message":"a •••"}]`, false: `[{"progressToken":1,"progress":1,"message":"a SECRET"}]`}[on]
		if fmt.Sprint(got) != want {
			t.Errorf("%v: %v", on, got)
		}
	}
}

// TestRedactNotes: what other stages quote of a failure, shortened, holds no secret
// either, whole or in part.
func TestRedactNotes(t *testing.T) {
	said := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 193) + ` SECRET"}],"isError":true}`
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{
			{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{ReadOnly: true}}, {ID: tool.ID{Server: "s", Name: "u"}, Meta: tool.Meta{ReadOnly: true}},
		}},
		NewID: func() string { return "c_1" }, Secrets: &plainSecrets{},
		Fallbacks: []call.Fallback{{Match: func(id tool.ID) bool { return id.Name == "t" }, Members: []call.Member{
			{Tool: tool.ID{Server: "s", Name: "u"}, On: []tool.Kind{tool.Failed}},
		}}},
		Send: func(_ context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
			if r.Target.Name == "t" {
				return tool.OneOf([]byte(said)), nil
			}
			return tool.OneOf([]byte(`{"content":[{"type":"text","text":"fine"}]}`)), nil
		},
		Record: func(*call.Request, *tool.Result) {},
	})
	res := run(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: []byte(`{}`)})
	notes := fmt.Sprint(res.Notes)
	if res.Kind != "" || !strings.Contains(notes, "xxx •••") || strings.Contains(notes, "SEC") {
		t.Errorf("%q %v", res.Kind, notes)
	}
}
