package doubles

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Anthropic stands in for api.anthropic.com: POST /v1/messages. It repeats what it was
// told, as [OpenAI] does. Of a fault, Empty makes an answer without text, Code, with a
// status of 0, is the stop_reason, and Warning breaks a stream off with an error of that
// type.
func Anthropic() *Double {
	return newDouble("anthropic", serveAnthropic, func(w http.ResponseWriter, f Fault) { claudeError(w, f.Status, f.Code, "the request was refused") })
}

func claudeError(w http.ResponseWriter, status int, kind, message string) {
	if kind == "" {
		kind = map[int]string{
			400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
			413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
		}[status]
	}
	if kind == "" {
		kind = "api_error"
	}
	reply(w, status, object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"})
}

type claudeQuestion struct {
	Model     string   `json:"model"`
	MaxTokens int      `json:"max_tokens"`
	Stream    bool     `json:"stream"`
	System    string   `json:"system"`
	Temp      *float64 `json:"temperature"`
	Thinking  *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Messages []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

func serveAnthropic(w http.ResponseWriter, c Call, f Fault) {
	list := c.Method == http.MethodGet && c.Path == "/v1/models"
	if !list && (c.Method != http.MethodPost || c.Path != "/v1/messages") {
		claudeError(w, 404, "", "Not Found")
		return
	}
	if c.Header.Get("X-Api-Key") != Key {
		claudeError(w, 401, "", "invalid x-api-key")
		return
	}
	if c.Header.Get("Anthropic-Version") != "2023-06-01" {
		claudeError(w, 400, "", "anthropic-version: header is required")
		return
	}
	if list {
		model := object{"type": "model", "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5", "created_at": "2025-09-29T00:00:00Z"}
		reply(w, 200, object{"data": []object{model}, "has_more": false, "first_id": model["id"], "last_id": model["id"]})
		return
	}
	q, text, why := readMessages(c)
	if why != "" {
		claudeError(w, 400, "", why)
		return
	}
	stop := "end_turn"
	if f.Code != "" {
		stop = f.Code
	}
	if f.Empty {
		text = ""
	}
	if q.Stream {
		streamMessages(w, q, text, stop, f)
		return
	}
	var content []any
	if q.Thinking != nil && q.Thinking.Type == "enabled" {
		content = append(content, object{"type": "thinking", "thinking": "Let me see.", "signature": "sig"})
	}
	content = append(content, object{"type": "text", "text": text})
	reply(w, 200, object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": content, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	})
}

func readMessages(c Call) (q claudeQuestion, text, why string) {
	var in map[string]json.RawMessage
	if !c.JSON(&in) {
		return q, "", "The request body is not valid JSON"
	}
	for name := range in {
		if !slices.Contains([]string{"model", "max_tokens", "stream", "system", "temperature", "thinking", "messages", "stop_sequences"}, name) {
			return q, "", name + ": Extra inputs are not permitted"
		}
	}
	if err := json.Unmarshal(c.Body, &q); err != nil {
		return q, "", err.Error()
	}
	switch t := q.Thinking; {
	case q.Model == "":
		return q, "", "model: Field required"
	case q.MaxTokens < 1:
		return q, "", "max_tokens: Field required"
	case len(q.Messages) == 0 || q.Messages[0].Role != "user":
		return q, "", "messages: first message must use the user role"
	case t != nil && t.Type == "enabled" && (t.Budget < 1024 || t.Budget >= q.MaxTokens):
		return q, "", "max_tokens must be greater than thinking.budget_tokens, which must be at least 1024"
	case t != nil && q.Temp != nil && *q.Temp != 1:
		return q, "", "temperature may only be set to 1 when thinking is enabled"
	case q.MaxTokens > 21_333 && !q.Stream:
		return q, "", "Streaming is required for operations that may take longer than 10 minutes"
	}
	var b strings.Builder
	for _, m := range q.Messages {
		for _, block := range m.Content {
			s, why := claudeBlock(block)
			if why != "" {
				return q, "", why
			}
			b.WriteString(s + "\n")
		}
	}
	return q, b.String(), ""
}

func claudeBlock(raw json.RawMessage) (text, why string) {
	var b struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type  string `json:"type"`
			Media string `json:"media_type"`
			Data  string `json:"data"`
			URL   string `json:"url"`
		} `json:"source"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return "", err.Error()
	}
	switch {
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return "", "messages: text content blocks must be non-empty"
	case b.Type == "text":
		return b.Text, ""
	case b.Type != "image":
		return "", "messages: Input tag '" + b.Type + "' is not expected here"
	case b.Source.Type == "url" && strings.HasPrefix(b.Source.URL, "https://"):
		return "[" + b.Source.URL + "]", ""
	}
	data, err := base64.StdEncoding.DecodeString(b.Source.Data)
	switch {
	case b.Source.Type != "base64" || err != nil || !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, b.Source.Media):
		return "", "messages: image source is not valid"
	case !sniffed(b.Source.Media, data):
		return "", "messages: Image does not match the provided media type " + b.Source.Media
	case len(b.Source.Data) > 5<<20:
		return "", "messages: image exceeds 5 MB maximum"
	}
	return fmt.Sprintf("[%s of %d bytes]", b.Source.Media, len(data)), ""
}

func streamMessages(w http.ResponseWriter, q claudeQuestion, text, stop string, f Fault) {
	list := []any{
		object{"type": "message_start", "message": object{
			"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": object{"input_tokens": 100, "output_tokens": 1},
		}},
		object{"type": "ping"},
	}
	block := func(i int, start object, deltas ...object) {
		list = append(list, object{"type": "content_block_start", "index": i, "content_block": start})
		for _, d := range deltas {
			list = append(list, object{"type": "content_block_delta", "index": i, "delta": d})
		}
		list = append(list, object{"type": "content_block_stop", "index": i})
	}
	i := 0
	if q.Thinking != nil && q.Thinking.Type == "enabled" {
		block(0, object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": "Let me see."}, object{"type": "signature_delta", "signature": "sig"})
		i = 1
	}
	half := len(text) / 2
	block(i, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": text[:half]}, object{"type": "text_delta", "text": text[half:]})
	if f.Warning != "" {
		list = append(list, object{"type": "error", "error": object{"type": f.Warning, "message": "Overloaded"}})
	} else {
		list = append(list,
			object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 20}},
			object{"type": "message_stop"})
	}
	stream(w, "type", list...)
}
