package tenon

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/agent"
	"github.com/tenon-mcp/tenon/internal/agent/a2a"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// elsewhere returns the agent that an entry names by its URL. It reaches the host of that
// URL and nothing else.
func elsewhere(k maker, d *delegate) (*a2a.Agent, error) {
	limit := k.cfg.Gateway.MaxCallTimeout
	out, err := egress.New(egress.Options{Server: "agent", Proxy: d.set.Proxy.Reveal(), CAFile: d.set.CAFile, Times: egress.Times{Header: limit, Total: limit}})
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	service, err := out.Service(d.set.A2A)
	if err != nil {
		return nil, fmt.Errorf("agent: a2a: %w", err)
	}
	return a2a.New(a2a.Options{URL: d.set.A2A, HTTP: service.HTTP(), Header: reveal(d.set.Headers), Go: k.tasks.Go, Closing: k.closing.Done()})
}

// An a2aHop is an agent elsewhere, as a modern server: what it wants to know it asks by
// input_required, so that clients of both eras are asked as by any other server.
type a2aHop struct {
	*deputy
	subtask string
	asks    bool   // the client can be asked
	waits   string // the task that waits for an answer
}

// a2aState is what a client comes again with. The relay signs it.
type a2aState struct {
	Task    string `json:"t"`
	Context string `json:"c"`
	Round   int    `json:"n"`
}

// maxQuestions is how often an agent may ask during one subtask.
const maxQuestions = 10

// call has an agent elsewhere work.
func (w *deputy) call(ctx context.Context, subtask string, params []byte) (tool.Bytes, error) {
	h := &a2aHop{deputy: w, subtask: subtask}
	client, _ := w.asked.Origin.(*relay.Client)
	progress := w.asked.ProgressFunc()
	if client == nil {
		return h.Send(ctx, &relay.Sending{Params: params, Progress: progress})
	}
	h.asks = slices.Contains(strings.Fields(client.Can()), "elicitation")
	result, err := client.Do(ctx, h, relay.Request{Method: "tools/call", Params: params, Peer: w.asked.Peer, Progress: progress})
	if err != nil { // the client was asked, and had no answer
		h.there.Cancel(ctx, h.waits, false)
	} else if h.waits != "" { // the client is to come again, and may not
		h.there.Await(ctx, h.waits, relay.ParkedFor)
	}
	return result, err
}

// Name implements relay.Server.
func (h *a2aHop) Name() string { return h.entry.Name }

// Era implements relay.Server.
func (*a2aHop) Era(context.Context) (era.Era, error) { return era.Modern, nil }

// Open implements relay.Server.
func (*a2aHop) Open(context.Context, relay.Greeting) (relay.Link, error) {
	return nil, relay.ErrModernOnly
}

// Send implements relay.Server.
func (h *a2aHop) Send(ctx context.Context, s *relay.Sending) (tool.Bytes, error) {
	h.waits = ""
	work, state, refused := h.begin(ctx, s.Params)
	if refused != "" {
		return agentFailed(refused, nil), nil
	}
	out, err := h.there.Run(ctx, work, h.steps(s.Progress))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, a2a.ErrLost):
		return nil, &tool.Error{Kind: tool.OutcomeUnknown, Text: fmt.Sprintf("The agent %s was asked, and the connection ended before it said anything. It may work on the subtask or not.", h.entry.Name), Err: err}
	case err != nil:
		why := egress.Plain(h.secrets.Text(err.Error()), 600)
		if errors.Is(err, a2a.ErrUnmet) && work.Task == "" {
			return nil, h.unbegun(why, err)
		}
		return agentFailed(fmt.Sprintf("The agent %s gave no answer: %s.", h.entry.Name, why), nil), nil
	case out.Question != "":
		return h.ask(ctx, out, state)
	case out.Failed != "":
		h.there.Cancel(ctx, out.Task, !out.Open)
		return agentFailed(fmt.Sprintf("The agent %s gave up: %s", h.entry.Name, shortened(out.Failed, h.set.MaxResult)), nil), nil
	}
	return h.answer(out)
}

// begin returns what the agent is to be told: the subtask, or the answer to what it asked.
// refused says why it is told nothing.
func (h *a2aHop) begin(ctx context.Context, params []byte) (w a2a.Work, state a2aState, refused string) {
	w = a2a.Work{Text: h.subtask, Metadata: map[string]any{agent.DepthKey: h.depth}}
	coded := textOf(params, "requestState")
	if coded == "" {
		return w, state, ""
	}
	b, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil || json.Unmarshal(b, &state) != nil || state.Task == "" {
		return w, state, "What the call comes again with is not of this agent. Begin anew, without requestState."
	}
	var said struct {
		Responses struct {
			Answer struct {
				Action  string `json:"action"`
				Content struct {
					Answer string `json:"answer"`
				} `json:"content"`
			} `json:"answer"`
		} `json:"inputResponses"`
	}
	h.there.TakeUp(state.Task)
	_ = json.Unmarshal(params, &said) // what cannot be read is no answer
	a := said.Responses.Answer
	if a.Action != "accept" || strings.TrimSpace(a.Content.Answer) == "" {
		h.there.Cancel(ctx, state.Task, false)
		return w, state, fmt.Sprintf("The agent %s wanted to know something, and got no answer (%s). Its task was canceled.", h.entry.Name, cmp.Or(egress.Plain(a.Action, 20), "none"))
	}
	w.Text, w.Task, w.Context = a.Content.Answer, state.Task, state.Context
	return w, state, ""
}

// steps returns what tells the caller what the agent says meanwhile.
func (h *a2aHop) steps(told func(tool.Bytes)) func(string) {
	if told == nil {
		return nil
	}
	n := 0
	return func(step string) {
		n++
		b, err := json.Marshal(map[string]any{"progressToken": 0, "progress": n, "message": step})
		if err == nil {
			told(tool.OneOf(b))
		}
	}
}

// ask asks the client what the agent wants to know, or says that nobody can be asked.
func (h *a2aHop) ask(ctx context.Context, out a2a.Outcome, state a2aState) (tool.Bytes, error) {
	question := shortened(out.Question, 2000)
	if !h.asks || state.Round >= maxQuestions {
		h.there.Cancel(ctx, out.Task, false)
		return agentFailed(fmt.Sprintf("The agent %s wants to know something before it goes on, and nobody can be asked here, so its task was canceled. Call it again with the answer in the subtask. It asked: %s", h.entry.Name, question), nil), nil
	}
	h.waits = out.Task
	b, err := json.Marshal(a2aState{out.Task, out.Context, state.Round + 1})
	if err != nil {
		return nil, err
	}
	b, err = json.Marshal(map[string]any{
		"resultType": "input_required", "requestState": base64.RawURLEncoding.EncodeToString(b),
		"inputRequests": map[string]any{"answer": map[string]any{"method": "elicitation/create", "params": map[string]any{
			"mode": "form", "message": "The agent " + h.entry.Name + " asks: " + question,
			"requestedSchema": map[string]any{
				"type": "object", "required": []string{"answer"}, "properties": map[string]any{"answer": map[string]any{"type": "string", "title": "Answer"}},
			},
		}}},
	})
	return tool.OneOf(b), err
}

// answer returns the result of a task that is done.
func (h *a2aHop) answer(out a2a.Outcome) (tool.Bytes, error) {
	left := h.set.MaxResult
	for _, block := range out.Content {
		if b, ok := block.(map[string]any); ok && b["type"] == "text" {
			text, _ := b["text"].(string)
			if left <= len("\n[cut]") {
				text = ""
			} else {
				text = shortened(text, left)
			}
			b["text"] = text
			left -= len([]rune(text))
		}
	}
	if len(out.Content) == 0 {
		out.Content = []any{map[string]any{"type": "text", "text": "The agent has finished, and said nothing."}}
	}
	result := map[string]any{"content": out.Content}
	if out.Structured != nil {
		result["structuredContent"] = out.Structured
	}
	b, err := json.Marshal(result)
	return tool.OneOf(b), err
}
