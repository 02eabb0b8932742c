package sampling_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/sampling"
)

func TestAnswer(t *testing.T) {
	var asked model.Request
	s := sampling.New(sampling.Options{MaxTokens: 100, Ask: func(_ context.Context, r model.Request) (model.Answer, error) {
		asked = r
		return model.Answer{Text: "<think>hm</think> Blue.", Cut: r.MaxTokens < 10, Usage: model.Usage{Model: "m-2", Requests: 1, Input: 5}}, nil
	}})
	result, used, err := s.Answer(t.Context(), []byte(`{"systemPrompt": "Be brief.", "maxTokens": 5000, "temperature": 0.5, "stopSequences": ["END"], "includeContext": "allServers",
		"modelPreferences": {"hints": [{"name": "dearest"}]}, "messages": [
		{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image", "mimeType": "image/png", "data": "aGk="}]},
		{"role": "assistant", "content": {"type": "text", "text": "The sky."}}, {"role": "user", "content": {"type": "text", "text": "Its colour?"}}]}`))
	if err != nil || used.Input != 5 {
		t.Fatal(err, used)
	}
	var got, want any
	if json.Unmarshal(result, &got) != nil || json.Unmarshal([]byte(`{"role": "assistant", "model": "m-2", "stopReason": "endTurn", "content": {"type": "text", "text": "Blue."}}`), &want) != nil ||
		string(mustJSON(t, got)) != string(mustJSON(t, want)) {
		t.Errorf("answered %s", result)
	}
	if asked.MaxTokens != 100 || asked.System != "Be brief." || len(asked.Messages) != 3 || string(asked.Messages[0].Parts[1].Data) != "hi" || asked.Messages[1].Role != model.Assistant || *asked.Temperature != 0.5 || strings.Join(asked.Stops, "") != "END" || len(asked.Tools) != 0 {
		t.Errorf("asked %+v", asked)
	}
	if result, _, _ = s.Answer(t.Context(), []byte(`{"maxTokens": 5, "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}`)); !strings.Contains(string(result), "maxTokens") || asked.MaxTokens != 5 {
		t.Errorf("%s, asked %+v", result, asked)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWhatIsRefused costs no question.
func TestWhatIsRefused(t *testing.T) {
	s := sampling.New(sampling.Options{MaxTokens: 100, PerMinute: 1, Ask: func(context.Context, model.Request) (model.Answer, error) {
		return model.Answer{Usage: model.Usage{Requests: 1}}, errors.New("it is out")
	}})
	const hello = `{"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}`
	for _, tt := range []struct{ params, want string }{
		{`{`, "none of sampling"},
		{`{"messages": []}`, "0 messages"},
		{`{"messages": [` + strings.TrimSuffix(strings.Repeat(`{},`, 101), ",") + `]}`, "101 messages"},
		{`{"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}`, `role "system"`},
		{`{"messages": [{"role": "user", "content": []}]}`, "no content"},
		{`{"messages": [{"role": "user", "content": "x"}]}`, "no block"},
		{`{"messages": [{"role": "user", "content": {"type": "tool_result"}}]}`, "not supported"},
		{`{"messages": [{"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": "*"}}]}`, "no base64"},
		{`{"messages": [{"role": "user", "content": {"type": "audio", "mimeType": "audio/wav", "data": ""}}]}`, "not supported"},
		{`{"stopSequences": [` + strings.TrimSuffix(strings.Repeat(`"x",`, 17), ",") + `], "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}`, "17 stop sequences"},
		{`{"tools": [{"name": "x"}], "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}`, "tools in sampling"},
		{strings.Repeat(" ", 9<<20) + hello, "8 MiB"},
		{hello, "it is out"},
		{hello, "1 times within a minute"},
	} {
		if result, _, err := s.Answer(t.Context(), []byte(tt.params)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: %s, %v, want %q", tt.params, result, err, tt.want)
		}
	}
}
