package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	maxReply = 8 << 20
	maxTries = 3
	maxPause = 20 * time.Second
)

// An Endpoint answers POST /chat/completions as OpenAI does, with tools.
type Endpoint struct {
	BaseURL string
	Model   string
	Key     tool.Secret // or nothing
	Limit   int         // tokens of one answer; 0 is the endpoint's own
	http    *http.Client
}

// Connect makes the endpoint ready. It reaches the host of BaseURL and nothing else.
func (e *Endpoint) Connect() error {
	c, err := egress.New(egress.Options{Server: "agent"})
	if err != nil {
		return err
	}
	s, err := c.Service(e.BaseURL)
	if err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	e.http = s.HTTP()
	return nil
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
	ReplyTo   string     `json:"tool_call_id,omitempty"`
}

// Ask asks the model.
func (e *Endpoint) Ask(ctx context.Context, t Talk) (Reply, error) {
	body, err := json.Marshal(e.question(t))
	if err != nil {
		return Reply{}, err
	}
	for try := 1; ; try++ {
		reply, pause, err := e.once(ctx, body)
		if err == nil || pause < 0 || try == maxTries {
			return reply, err
		}
		if pause == 0 {
			pause = time.Second << (try - 1)
		}
		timer := time.NewTimer(min(pause, maxPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Reply{}, context.Cause(ctx)
		}
	}
}

func (e *Endpoint) question(t Talk) map[string]any {
	messages := make([]wireMessage, 0, len(t.Messages))
	for _, m := range t.Messages {
		w := wireMessage{Role: m.Role, ReplyTo: m.ReplyTo}
		if m.Text != "" || len(m.Calls) == 0 {
			w.Content = &m.Text
		}
		for _, c := range m.Calls {
			call := wireCall{ID: c.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
			w.ToolCalls = append(w.ToolCalls, call)
		}
		messages = append(messages, w)
	}
	q := map[string]any{"model": e.Model, "messages": messages}
	if e.Limit > 0 {
		q["max_tokens"] = e.Limit
	}
	if len(t.Tools) == 0 {
		return q
	}
	tools := make([]any, 0, len(t.Tools))
	for _, tl := range t.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": tl.Name, "description": tl.Description, "parameters": tl.Schema,
		}})
	}
	q["tools"] = tools
	if t.Final {
		q["tool_choice"] = "none"
	}
	return q
}

// once asks one time. A pause of less than 0 says that asking again is of no use.
func (e *Endpoint) once(ctx context.Context, body []byte) (r Reply, pause time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.BaseURL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return r, -1, errors.New("the address of the model cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	if key := e.Key.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := e.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return r, -1, context.Cause(ctx)
		}
		return r, 0, fmt.Errorf("the model %s was not reached: %w", e.Model, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case ctx.Err() != nil:
		return r, -1, context.Cause(ctx)
	case err != nil:
		return r, 0, fmt.Errorf("the answer of the model %s broke off", e.Model)
	case len(b) > maxReply:
		return r, -1, fmt.Errorf("the answer of the model %s is larger than %d MiB", e.Model, maxReply>>20)
	case res.StatusCode == http.StatusOK:
		r, err = e.read(b)
		return r, -1, err
	}
	err = fmt.Errorf("the model %s answered with HTTP status %d%s", e.Model, res.StatusCode, e.said(b))
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return r, time.Duration(max(seconds, 0)) * time.Second, err
	}
	return r, -1, err
}

func (e *Endpoint) read(b []byte) (Reply, error) {
	var in struct {
		Choices []struct {
			Message wireMessage `json:"message"`
		} `json:"choices"`
		Usage struct {
			Input  int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(b, &in); err != nil || len(in.Choices) == 0 {
		return Reply{}, fmt.Errorf("what the model %s answered is no chat completion. The operator should check the base URL", e.Model)
	}
	m := in.Choices[0].Message
	r := Reply{Input: max(in.Usage.Input, 0), Output: max(in.Usage.Output, 0)}
	if m.Content != nil {
		r.Text = *m.Content
		if _, after, ok := strings.Cut(r.Text, "</think>"); ok {
			r.Text = after
		}
	}
	for i, c := range m.ToolCalls {
		if c.ID == "" {
			c.ID = "call_" + strconv.Itoa(i)
		}
		r.Calls = append(r.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return r, nil
}

// said is what an endpoint says of an error, bounded and without the key.
func (e *Endpoint) said(b []byte) string {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	var full struct {
		Message string `json:"message"`
	}
	text := ""
	if json.Unmarshal(b, &in) == nil && (json.Unmarshal(in.Error, &full) == nil || json.Unmarshal(in.Error, &full.Message) == nil) {
		text = full.Message
	}
	if key := e.Key.Reveal(); key != "" {
		text = strings.ReplaceAll(text, key, tool.Secret{}.String())
	}
	if text = egress.Plain(text, 300); text == "" {
		return ""
	}
	return ": " + text
}
