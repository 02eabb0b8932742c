package model

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

type chatRequest struct {
	Model       string         `json:"model"`
	Messages    []chatMessage  `json:"messages"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	MaxNew      int            `json:"max_completion_tokens,omitempty"`
	Temperature *float64       `json:"temperature,omitempty"`
	TopP        *float64       `json:"top_p,omitempty"`
	Stops       []string       `json:"stop,omitempty"`
	Stream      bool           `json:"stream,omitempty"`
	Options     *streamOptions `json:"stream_options,omitempty"`
	Tools       []chatTool     `json:"tools,omitempty"`
	Choice      string         `json:"tool_choice,omitempty"`
}

type streamOptions struct {
	Usage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	ReplyTo string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function chatFunc `json:"function"`
}

type chatFunc struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatToolFunc `json:"function"`
}

type chatToolFunc struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parameters,omitempty"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// A turn is what a model said, or a piece of it. Servers of open models name what was
// thought in one of two ways.
type turn struct {
	Content   content `json:"content"`
	Refusal   string  `json:"refusal"`
	Reasoning string  `json:"reasoning_content"`
	Thought   any     `json:"reasoning"`

	Calls []chatCall `json:"tool_calls"`
}

func (t turn) thought() string {
	s, _ := t.Thought.(string)
	return cmp.Or(t.Reasoning, s)
}

// content is a text, or a list of pieces of text.
type content string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*c = content(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text)
	}
	return nil
}

type chatReply struct {
	Model   string `json:"model"`
	Choices []struct {
		Message turn   `json:"message"`
		Delta   turn   `json:"delta"`
		Finish  string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// chat asks by POST /chat/completions.
func (c *Client) chat(ctx context.Context, r Request) (Answer, error) {
	to, err := address(c.BaseURL, "", "/chat/completions")
	if err != nil {
		return Answer{}, err
	}
	q := chatRequest{Model: c.Name, Temperature: r.Temperature, TopP: r.TopP, Stream: r.Stream, Stops: stopsFor(r.Stops, 4)}
	q.talk(r)
	if r.Stream {
		q.Options = &streamOptions{Usage: true}
	}
	field := cmp.Or(c.MaxTokensField, "max_tokens")
	if c.MaxTokensField == "" && strings.Contains(to, "//api.openai.com/") {
		field = "max_completion_tokens"
	}
	if field == "max_tokens" {
		q.MaxTokens = r.MaxTokens
	} else {
		q.MaxNew = r.MaxTokens
	}
	for {
		a, err := c.chatOnce(ctx, to, q, r)
		e, ok := errors.AsType[*Error](err)
		switch { // models that think take neither, and say so
		case !ok || e.Status != http.StatusBadRequest:
			return a, err
		case len(q.Stops) > 0 && strings.Contains(e.text, "stop"):
			q.Stops = nil
		case r.NoCalls && len(q.Tools) < len(r.Tools) && strings.Contains(e.text, "tool"): // it wants those that the talk calls
			q.offer(r.Tools)
			q.Choice = "none"
		case q.MaxTokens > 0 && c.MaxTokensField == "" && strings.Contains(e.text, "max_completion_tokens"):
			q.MaxTokens, q.MaxNew = 0, q.MaxTokens
		default:
			return a, err
		}
	}
}

// talk fills in what was said, and which tools there are.
func (q *chatRequest) talk(r Request) {
	if r.System != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: r.System})
	}
	for _, m := range r.turns() {
		out := chatMessage{Role: string(m.Role), ReplyTo: m.ReplyTo}
		if len(m.Parts) > 0 || len(m.Calls) == 0 {
			out.Content = chatParts(m.Parts)
		}
		for _, c := range m.Calls {
			out.Calls = append(out.Calls, chatCall{c.ID, "function", chatFunc{c.Name, c.Arguments}})
		}
		q.Messages = append(q.Messages, out)
	}
	if !r.NoCalls { // some servers take no notice of tool_choice: what is not there is not called
		q.offer(r.Tools)
	}
}

func (q *chatRequest) offer(tools []Tool) {
	for _, t := range tools {
		q.Tools = append(q.Tools, chatTool{"function", chatToolFunc(t)})
	}
}

// chatParts returns a plain text where there is nothing else: some servers know that alone.
func chatParts(parts []Part) any {
	if len(parts) == 1 && parts[0].MIME == "" {
		return parts[0].Text
	}
	list := make([]map[string]any, 0, len(parts))
	for _, p := range parts {
		kind, sub, _ := strings.Cut(p.MIME, "/")
		switch kind {
		case "":
			list = append(list, map[string]any{"type": "text", "text": p.Text})
		case "audio":
			format := "mp3"
			if sub == "wav" {
				format = "wav"
			}
			list = append(list, map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": base64.StdEncoding.EncodeToString(p.Data), "format": format}})
		case "video": // no part of OpenAI's, but of the servers of open models
			list = append(list, map[string]any{"type": "video_url", "video_url": map[string]any{"url": dataURI(p)}})
		default:
			list = append(list, map[string]any{"type": "image_url", "image_url": map[string]any{"url": dataURI(p)}})
		}
	}
	return list
}

func dataURI(p Part) string {
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

func (c *Client) chatOnce(ctx context.Context, to string, q chatRequest, r Request) (Answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	h := header(r.Stream)
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
	var a Answer
	err = c.send(ctx, message{url: to, header: h, body: body, read: func(kind string, body io.Reader) error {
		a = Answer{}
		if kind == "text/event-stream" {
			return c.chatStream(body, r, &a)
		}
		var reply chatReply
		if err := c.decode(body, &reply); err != nil {
			return err
		}
		if err := chatError(c, reply); err != nil {
			return err
		}
		if len(reply.Choices) == 0 {
			return c.fault("gave an answer without choices. The operator should check the base URL")
		}
		choice := reply.Choices[0]
		takeUsage(c, &a, reply)
		a.Text, a.Reasoning = string(choice.Message.Content), choice.Message.thought()
		for _, call := range choice.Message.Calls {
			a.add(Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		return chatEnd(c, &a, choice.Finish, choice.Message.Refusal)
	}})
	return a, err
}

func (c *Client) chatStream(body io.Reader, r Request, a *Answer) error {
	var text, thought, refusal strings.Builder
	finish, done := "", false
	grown := counter{tell: r.OnText}
	err := events(body, func(data []byte) (bool, error) {
		if string(data) == "[DONE]" {
			done = true
			return false, nil
		}
		var piece chatReply
		if json.Unmarshal(data, &piece) != nil {
			e := c.fault("sent an event that is no JSON")
			e.again = true
			return false, e
		}
		if err := chatError(c, piece); err != nil {
			return false, err
		}
		takeUsage(c, a, piece)
		if len(piece.Choices) > 0 {
			d := piece.Choices[0].Delta
			text.WriteString(string(d.Content))
			thought.WriteString(d.thought())
			refusal.WriteString(d.Refusal)
			grown.add(string(d.Content) + d.thought())
			finish = cmp.Or(piece.Choices[0].Finish, finish)
		}
		return true, nil
	})
	if err == nil && !done && finish == "" {
		err = errCutShort
	}
	if err != nil {
		return err
	}
	a.Text, a.Reasoning = text.String(), thought.String()
	return chatEnd(c, a, finish, refusal.String())
}

// chatError returns the error that some servers put into an answer of status 200.
func chatError(c *Client, r chatReply) error {
	if len(r.Error) == 0 || string(r.Error) == "null" {
		return nil
	}
	body, err := json.Marshal(map[string]json.RawMessage{"error": r.Error})
	if err != nil {
		return err
	}
	s := readSaying(body)
	status := 0
	if n, ok := s.Code.(float64); ok {
		status = int(n)
	}
	e := c.fault("answered with an error: %q. Try again later", c.quote(s.Message))
	e.Type, e.Status = s.code(), status
	e.again = status == http.StatusTooManyRequests || status >= 500 || status == 0 && strings.Contains(s.code(), "server_error")
	return e
}

func takeUsage(c *Client, a *Answer, r chatReply) {
	if a.Usage.Requests == 0 {
		a.Usage = c.usage(r.Model, 0, 0, 0)
	}
	if r.Usage != nil {
		a.Usage = c.usage(cmp.Or(r.Model, a.Usage.Model), r.Usage.Prompt, r.Usage.Completion, r.Usage.Details.Reasoning)
	}
}

func chatEnd(c *Client, a *Answer, finish, refusal string) error {
	a.Cut = finish == "length"
	switch {
	case finish == "content_filter":
		return c.fault("held its answer back: its filter takes the question or the file for something that it does not answer. Ask in other words")
	case a.Text == "" && refusal != "":
		return c.fault("declines to answer: %q. Ask in other words", c.quote(refusal))
	}
	return nil
}
