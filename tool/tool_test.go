package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/tool"
)

func TestBytes(t *testing.T) {
	whole := "hello, pieces"
	for cut := range len(whole) + 1 {
		b := tool.Bytes{[]byte(whole[:cut]), nil, []byte(whole[cut:])}
		var out strings.Builder
		if n, err := b.WriteTo(&out); err != nil || int(n) != len(whole) || out.String() != whole {
			t.Fatalf("WriteTo: %q, %d, %v", out.String(), n, err)
		}
		if b.Len() != len(whole) || string(b.Join()) != whole {
			t.Fatalf("Len %d, Join %q", b.Len(), b.Join())
		}
		for i := range len(whole) + 1 {
			for j := i; j <= len(whole); j++ {
				if got := string(b.Slice(i, j).Join()); got != whole[i:j] {
					t.Fatalf("Slice(%d, %d) of a text cut at %d = %q", i, j, cut, got)
				}
			}
		}
	}
}

// TestSecretNeverShows holds all the ways in which a value gets printed.
func TestSecretNeverShows(t *testing.T) {
	const text = "hunter2-hunter2"
	s := tool.NewSecret(text)
	in := struct {
		S tool.Secret
		M map[string]tool.Secret
		P *tool.Secret
	}{s, map[string]tool.Secret{"k": s}, &s}
	js, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "in", in.M)
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", in, in, in, s, s), string(js), log.String()} {
		if strings.Contains(shown, text) {
			t.Errorf("shown: %s", shown)
		}
	}
	if s.Reveal() != text {
		t.Error("the secret is lost")
	}
}

func TestFlatten(t *testing.T) {
	leaf := errors.New("two\n  lines")
	for want, err := range map[string]error{
		"":                      nil,
		"two lines":             leaf,
		"a | b | two lines":     errors.Join(errors.New("a"), fmt.Errorf("wrapped: %w", errors.Join(errors.New("b"), leaf))),
		"open x: two lines":     fmt.Errorf("open x: %w", leaf),
		"first | second: third": errors.Join(errors.New("first"), fmt.Errorf("second: %w", errors.New("third"))),
	} {
		if got := tool.Flatten(err); got != want {
			t.Errorf("Flatten(%v) = %q, want %q", err, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	if k := tool.KindOf(fmt.Errorf("x: %w", &tool.Error{Kind: tool.Denied, Text: "no"})); k != tool.Denied {
		t.Error(k)
	}
	if k := tool.KindOf(errors.New("x")); k != tool.Internal {
		t.Error(k)
	}
	if k := tool.KindOf(nil); k != "" {
		t.Error(k)
	}
}

// TestResultGoesThroughJSON: what the REST server prints, its client reads.
func TestResultGoesThroughJSON(t *testing.T) {
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"a <b> & ü"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"new kind","n":9007199254740993}],"structuredContent":{"n":9007199254740993}}`,
		`{"content":[],"isError":true}`,
		``,
	} {
		in := &tool.Result{ID: "c_1", Server: "s", Tool: "t", Message: "only a message", Notes: []tool.Note{{Stage: "resolve", Text: "corrected"}}, Attempts: 1}
		if raw != "" {
			in.Raw, in.Message = tool.OneOf([]byte(raw)), ""
		}
		if strings.Contains(raw, "isError") {
			in.Kind = tool.Failed
		}
		js, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out tool.Result
		if err := json.Unmarshal(js, &out); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(js), string(again)); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
		if strings.Contains(raw, "9007") && strings.Count(string(js), "9007199254740993") != 2 {
			t.Errorf("an integer was rounded: %s", js)
		}
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:        "a\nb",
		`{"content":[{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}`: "inside",
		`{"content":[{"type":"resource_link","uri":"x:y","mimeType":"text/plain"}]}`: "[resource link x:y text/plain]",
		`{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`:        "[audio audio/wav, about 3 bytes]",
		`{"content":[],"structuredContent":{"a":1}}`:                                 `{"a":1}`,
		`{"content":[{"type":"hologram"}]}`:                                          `[content of type "hologram"]`,
		`{"content":[{"type":"text","text":" "}]}`:                                   "Tool t completed and returned empty text. That may be expected.",
		`{"content":[]}`:        "Tool t completed and returned no content. That may be expected.",
		`{"content":"no list"}`: `{"content":"no list"}`,
	} {
		if got := (&tool.Result{Tool: "t", Raw: tool.OneOf([]byte(raw))}).Text(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// TestRisk: what destroys is a high risk, whatever else was said of it.
func TestRisk(t *testing.T) {
	for _, c := range []struct {
		meta tool.Meta
		want tool.RiskLevel
	}{
		{tool.DefaultMeta(), tool.RiskUnknown},
		{tool.Meta{Destructive: true, RiskLevel: tool.RiskLow}, tool.RiskHigh},
		{tool.Meta{Registered: true, Destructive: true, RiskLevel: tool.RiskLow}, tool.RiskHigh},
		{tool.Meta{Registered: true, RiskLevel: tool.RiskMedium}, tool.RiskMedium},
		{tool.Meta{Registered: true}, tool.RiskLow},
	} {
		if got := c.meta.Risk(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.meta, got, c.want)
		}
	}
}
