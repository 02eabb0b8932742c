package model

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strings"
)

type geminiReply struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
				Mark    string `json:"thoughtSignature"`
				Call    *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt   int `json:"promptTokenCount"`
		Answer   int `json:"candidatesTokenCount"`
		Thoughts int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	Version string `json:"modelVersion"`
}

// gemini asks by POST /v1beta/models/NAME:generateContent.
func (c *Client) gemini(ctx context.Context, r Request) (Answer, error) {
	verb := ":generateContent"
	if r.Stream {
		verb = ":streamGenerateContent"
	}
	version := "/v1beta"
	if strings.HasSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1") {
		version = ""
	}
	to, err := address(c.BaseURL, version, "/models/"+strings.TrimPrefix(c.Name, "models/")+verb)
	if err != nil {
		return Answer{}, err
	}
	if r.Stream {
		to = withQuery(to, "alt=sse")
	}
	body, err := json.Marshal(geminiRequest(r))
	if err != nil {
		return Answer{}, err
	}
	h := header(r.Stream)
	h.Set("X-Goog-Api-Key", c.Key)
	var a Answer
	err = c.send(ctx, message{url: to, header: h, body: body, read: func(kind string, body io.Reader) error {
		t := geminiTaking{c: c, grown: counter{tell: r.OnText}}
		if err := geminiRead(c, kind, body, t.take); err != nil {
			a = t.answer
			return err
		}
		a = t.answer
		if t.finish == "" && t.block == "" && kind == "text/event-stream" {
			return errCutShort
		}
		return geminiEnd(c, &a, t.finish, t.block)
	}})
	return a, err
}

// geminiTaking puts an answer together.
type geminiTaking struct {
	c             *Client
	answer        Answer
	finish, block string
	grown         counter
}

func (t *geminiTaking) take(g geminiReply) {
	a := &t.answer
	if a.Usage.Requests == 0 {
		a.Usage = t.c.usage(g.Version, 0, 0, 0)
	}
	if u := g.Usage; u != nil {
		a.Usage = t.c.usage(cmp.Or(g.Version, a.Usage.Model), u.Prompt, u.Answer+u.Thoughts, u.Thoughts)
	}
	t.block = cmp.Or(g.Feedback.Block, t.block)
	if len(g.Candidates) == 0 {
		return
	}
	t.finish = cmp.Or(g.Candidates[0].Finish, t.finish)
	for _, p := range g.Candidates[0].Content.Parts {
		if p.Thought {
			a.Reasoning += p.Text
		} else {
			a.Text += p.Text
		}
		if p.Call != nil {
			a.add(Call{ID: p.Call.ID, Name: p.Call.Name, Arguments: string(p.Call.Args), Mark: p.Mark})
		}
		t.grown.add(p.Text)
	}
}

func geminiRead(c *Client, kind string, body io.Reader, take func(geminiReply)) error {
	var reply geminiReply
	if kind != "text/event-stream" {
		if err := c.decode(body, &reply); err != nil {
			return err
		}
		take(reply)
		return nil
	}
	return events(body, func(data []byte) (bool, error) {
		reply = geminiReply{}
		if json.Unmarshal(data, &reply) != nil {
			e := c.fault("sent an event that is no JSON")
			e.again = true
			return false, e
		}
		take(reply)
		return true, nil
	})
}

// geminiTalk returns the contents of a talk.
func geminiTalk(turns []Message) []any {
	var out []any
	names := map[string]string{} // of calls
	var replies []any            // to the calls of one message, which must come together
	for i, m := range turns {
		role, parts := "user", geminiParts(m.Parts)
		switch m.Role {
		case Assistant:
			role = "model"
			for _, c := range m.Calls {
				names[c.ID] = c.Name
				part := map[string]any{"functionCall": map[string]any{"name": c.Name, "args": c.object()}}
				if c.Mark != "" {
					part["thoughtSignature"] = c.Mark
				}
				parts = append(parts, part)
			}
		case ToolReply:
			replies = append(replies, map[string]any{"functionResponse": map[string]any{
				"name": names[m.ReplyTo], "response": map[string]any{"result": textOf(m.Parts)},
			}})
			if i+1 < len(turns) && turns[i+1].Role == ToolReply {
				continue
			}
			parts, replies = replies, nil
		case User:
		}
		out = append(out, map[string]any{"role": role, "parts": parts})
	}
	return out
}

func geminiParts(list []Part) []any {
	parts := make([]any, 0, len(list))
	for _, p := range list {
		switch {
		case p.URI != "":
			parts = append(parts, map[string]any{"fileData": map[string]any{"fileUri": p.URI}})
		case p.MIME != "":
			parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": p.MIME, "data": p.Data}})
		default:
			parts = append(parts, map[string]any{"text": p.Text})
		}
	}
	return parts
}

func geminiTools(q map[string]any, r Request) {
	if len(r.Tools) == 0 {
		return
	}
	list := make([]any, 0, len(r.Tools))
	for _, t := range r.Tools {
		list = append(list, map[string]any{"name": t.Name, "description": t.Description, "parametersJsonSchema": t.Schema})
	}
	q["tools"] = []any{map[string]any{"functionDeclarations": list}}
	if r.NoCalls {
		q["toolConfig"] = map[string]any{"functionCallingConfig": map[string]any{"mode": "NONE"}}
	}
}

func geminiRequest(r Request) map[string]any {
	q := map[string]any{"contents": geminiTalk(r.turns())}
	geminiTools(q, r)
	if r.System != "" {
		q["systemInstruction"] = map[string]any{"parts": []any{map[string]any{"text": r.System}}}
	}
	config := map[string]any{}
	if r.MaxTokens > 0 {
		config["maxOutputTokens"] = r.MaxTokens
	}
	if r.Temperature != nil {
		config["temperature"] = *r.Temperature
	}
	if r.TopP != nil {
		config["topP"] = *r.TopP
	}
	if stops := stopsFor(r.Stops, 5); len(stops) > 0 {
		config["stopSequences"] = stops
	}
	if r.Thinking > 0 {
		config["thinkingConfig"] = map[string]any{"thinkingBudget": r.Thinking}
	}
	if len(config) > 0 {
		q["generationConfig"] = config
	}
	return q
}

func geminiEnd(c *Client, a *Answer, finish, block string) error {
	a.Cut = finish == "MAX_TOKENS"
	switch {
	case block != "":
		return c.fault("does not answer this question (%s): its filter takes the question or the file for something that it does not answer. Ask in other words", c.quote(block))
	case a.Text == "" && len(a.Calls) == 0 && finish != "" && finish != "STOP" && finish != "MAX_TOKENS" && finish != "OTHER":
		return c.fault("held its answer back (%s). Ask in other words", c.quote(finish))
	}
	return nil
}
