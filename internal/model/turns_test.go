package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
)

// toolAnswers are answers that call a tool, as each vendor gives them.
var toolAnswers = map[model.Kind]string{
	model.OpenAI: `{"model": "m", "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
		{"id": "c9", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"sky\"}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}`,
	model.Anthropic: `{"type": "message", "model": "m", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c9", "name": "look", "input": {"at": "sky"}}],
		"stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}`,
	model.Gemini: `{"modelVersion": "m", "candidates": [{"content": {"parts": [{"functionCall": {"name": "look", "args": {"at": "sky"}}, "thoughtSignature": "bWFyaw=="}]}, "finishReason": "STOP"}],
		"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}`,
}

// talked has a model of that kind call a tool twice, and returns the body of the next
// question.
func talked(t *testing.T, kind model.Kind, path string, final bool) []byte {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, toolAnswers[kind])
	}))
	t.Cleanup(srv.Close)
	out, err := egress.New(egress.Options{Server: "test", Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	service, err := out.Service(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	c := &model.Client{Kind: kind, HTTP: service, BaseURL: srv.URL + path, Name: "m"}
	r := model.Request{
		System: "Look.", Messages: []model.Message{{Role: model.User, Parts: []model.Part{model.Text("What is up?")}}}, NoCalls: final, Stream: true,
		Tools: []model.Tool{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)}},
	}
	a, err := c.Ask(t.Context(), r)
	if err != nil || len(a.Calls) != 1 || a.Calls[0].Name != "look" || a.Calls[0].ID == "" || a.Usage.Input != 3 {
		t.Fatalf("%d: %+v, %v", kind, a, err)
	}
	var in struct{ At string }
	if json.Unmarshal([]byte(a.Calls[0].Arguments), &in) != nil || in.At != "sky" {
		t.Fatalf("arguments %q", a.Calls[0].Arguments)
	}
	odd := model.Call{ID: "c10", Name: "look", Arguments: "no JSON"}
	r.Messages = append(r.Messages,
		model.Message{Role: model.Assistant, Calls: append(a.Calls, odd)},
		model.Message{Role: model.ToolReply, ReplyTo: a.Calls[0].ID, Parts: []model.Part{model.Text("blue")}},
		model.Message{Role: model.ToolReply, ReplyTo: "c10", Parts: []model.Part{model.Text("no")}},
		model.Message{Role: model.User, Parts: []model.Part{model.Text("Answer now.")}})
	if _, err := c.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestATalkWithTools is sent as each vendor has it.
func TestATalkWithTools(t *testing.T) {
	for kind, want := range map[model.Kind]string{
		model.Anthropic: `{"model": "m", "max_tokens": 4096, "system": "Look.", "tool_choice": {"type": "none"},
			"tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}],
			"messages": [
				{"role": "user", "content": [{"type": "text", "text": "What is up?"}]},
				{"role": "assistant", "content": [{"type": "tool_use", "id": "c9", "name": "look", "input": {"at": "sky"}}, {"type": "tool_use", "id": "c10", "name": "look", "input": {}}]},
				{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c9", "content": "blue"}, {"type": "tool_result", "tool_use_id": "c10", "content": "no"}, {"type": "text", "text": "Answer now."}]}]}`,
		model.Gemini: `{"systemInstruction": {"parts": [{"text": "Look."}]}, "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
			"tools": [{"functionDeclarations": [{"name": "look", "description": "Looks.", "parametersJsonSchema": {"type": "object", "properties": {"at": {"type": "string"}}}}]}],
			"contents": [
				{"role": "user", "parts": [{"text": "What is up?"}]},
				{"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": "sky"}}, "thoughtSignature": "bWFyaw=="}, {"functionCall": {"name": "look", "args": {}}}]},
				{"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "blue"}}}, {"functionResponse": {"name": "look", "response": {"result": "no"}}}]},
				{"role": "user", "parts": [{"text": "Answer now."}]}]}`,
	} {
		var got, expected any
		body := talked(t, kind, "", true)
		if json.Unmarshal(body, &got) != nil || json.Unmarshal([]byte(want), &expected) != nil || !reflect.DeepEqual(got, expected) {
			t.Errorf("%d:\n%s\nwant\n%s", kind, body, strings.Join(strings.Fields(want), " "))
		}
	}
}
