package model

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

type claudeUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
}

func (u claudeUsage) input() int { return u.Input + u.CacheWrite + u.CacheRead }

type claudeBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`

	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type claudeReply struct {
	Type    string        `json:"type"`
	Model   string        `json:"model"`
	Content []claudeBlock `json:"content"`
	Stop    string        `json:"stop_reason"`
	Usage   claudeUsage   `json:"usage"`
}

// anthropic asks by POST /v1/messages.
func (c *Client) anthropic(ctx context.Context, r Request) (Answer, error) {
	to, err := address(c.BaseURL, "/v1", "/messages")
	if err != nil {
		return Answer{}, err
	}
	q := map[string]any{"model": c.Name, "max_tokens": cmp.Or(r.MaxTokens, 4096), "messages": claudeTalk(r.turns())}
	if len(r.Tools) > 0 {
		tools := make([]any, 0, len(r.Tools))
		for _, t := range r.Tools {
			tools = append(tools, map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Schema})
		}
		q["tools"] = tools
		if r.NoCalls {
			q["tool_choice"] = map[string]any{"type": "none"}
		}
	}
	if r.System != "" {
		q["system"] = r.System
	}
	if r.Temperature != nil && r.Thinking == 0 { // it takes none while it thinks
		q["temperature"] = *r.Temperature
	}
	if stops := stopsFor(r.Stops, 16); len(stops) > 0 {
		q["stop_sequences"] = stops
	}
	if r.Thinking > 0 {
		q["thinking"] = map[string]any{"type": "enabled", "budget_tokens": max(r.Thinking, minThought)}
	}
	if r.Stream {
		q["stream"] = true
	}
	body, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	h := header(r.Stream)
	h.Set("Anthropic-Version", "2023-06-01")
	h.Set("X-Api-Key", c.Key)
	var a Answer
	err = c.send(ctx, message{url: to, header: h, body: body, read: func(kind string, body io.Reader) error {
		a = Answer{}
		if kind == "text/event-stream" {
			return c.claudeStream(body, r, &a)
		}
		var reply claudeReply
		if err := c.decode(body, &reply); err != nil {
			return err
		}
		if reply.Type != "message" {
			return c.fault("gave an answer that is no message. The operator should check the base URL")
		}
		a.Usage = c.usage(reply.Model, reply.Usage.input(), reply.Usage.Output, 0)
		for _, b := range reply.Content {
			a.Text += b.Text
			a.Reasoning += b.Thinking
			if b.Type == "tool_use" {
				a.add(Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			}
		}
		return claudeEnd(c, &a, reply.Stop)
	}})
	return a, err
}

// claudeTalk returns the messages of a talk. What came of calls is the user's, all of a
// round in one message.
func claudeTalk(turns []Message) []any {
	var out []any
	var replies []any // of the message that is last
	for _, m := range turns {
		if m.Role == ToolReply {
			reply := map[string]any{"type": "tool_result", "tool_use_id": m.ReplyTo, "content": textOf(m.Parts)}
			if replies != nil {
				out = out[:len(out)-1]
			}
			replies = append(replies, reply)
			out = append(out, map[string]any{"role": "user", "content": replies})
			continue
		}
		content := claudeParts(m.Parts)
		if replies != nil && m.Role == User { // two messages of a user in a row are one
			out = out[:len(out)-1]
			content = append(replies, content...)
		}
		replies = nil
		for _, c := range m.Calls {
			content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.object()})
		}
		out = append(out, map[string]any{"role": string(m.Role), "content": content})
	}
	return out
}

func claudeParts(parts []Part) []any {
	list := make([]any, 0, len(parts))
	for _, p := range parts {
		switch {
		case p.MIME == "" && p.URI == "":
			list = append(list, map[string]any{"type": "text", "text": p.Text})
		case p.URI != "":
			list = append(list, map[string]any{"type": "image", "source": map[string]any{"type": "url", "url": p.URI}})
		default:
			list = append(list, map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": p.MIME, "data": p.Data}})
		}
	}
	return list
}

type claudeEvent struct {
	Type    string      `json:"type"`
	Message claudeReply `json:"message"`
	Delta   struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
	Usage *claudeUsage `json:"usage"`
	Error saying       `json:"error"`
}

func (c *Client) claudeStream(body io.Reader, r Request, a *Answer) error {
	var text, thought strings.Builder
	stop, done := "", false
	grown := counter{tell: r.OnText}
	err := events(body, func(data []byte) (bool, error) {
		var e claudeEvent
		if json.Unmarshal(data, &e) != nil {
			f := c.fault("sent an event that is no JSON")
			f.again = true
			return false, f
		}
		switch e.Type {
		case "message_start":
			a.Usage = c.usage(e.Message.Model, e.Message.Usage.input(), e.Message.Usage.Output, 0)
		case "content_block_delta":
			text.WriteString(e.Delta.Text)
			thought.WriteString(e.Delta.Thinking)
			grown.add(e.Delta.Text + e.Delta.Thinking)
		case "message_delta":
			stop = cmp.Or(e.Delta.Stop, stop)
			if e.Usage != nil {
				a.Usage.Output = max(e.Usage.Output, a.Usage.Output) // it counts all so far
				a.Usage.Input = max(e.Usage.input(), a.Usage.Input)
			}
		case "message_stop":
			done = true
			return false, nil
		case "error":
			return false, claudeError(c, e.Error)
		}
		return true, nil
	})
	if err == nil && !done {
		err = errCutShort
	}
	if err != nil {
		return err
	}
	a.Text, a.Reasoning = text.String(), thought.String()
	return claudeEnd(c, a, stop)
}

// claudeError returns the error that came in the middle of a stream.
func claudeError(c *Client, s saying) error {
	status := map[string]int{
		"invalid_request_error": http.StatusBadRequest, "authentication_error": http.StatusUnauthorized, "permission_error": http.StatusForbidden,
		"not_found_error": http.StatusNotFound, "rate_limit_error": http.StatusTooManyRequests, "api_error": http.StatusInternalServerError,
		"timeout_error": http.StatusGatewayTimeout, "overloaded_error": 529,
	}[s.Type]
	e := c.fault("broke its answer off with an error (%s: %q): %s", egress.Plain(s.Type, 80), c.quote(s.Message), c.advice(status, s))
	e.Type, e.Status = s.Type, status
	e.again = status == http.StatusTooManyRequests || status >= 500
	return e
}

func claudeEnd(c *Client, a *Answer, stop string) error {
	a.Cut = stop == "max_tokens" || stop == "model_context_window_exceeded"
	a.Stopped = stop == "stop_sequence"
	if stop == "refusal" {
		return c.fault("declines to answer this question. Ask in other words")
	}
	return nil
}
