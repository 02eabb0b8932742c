// Package agent is a small agent: a model that is given tools and a subtask, and works
// on it in a bounded loop. It knows nothing of the gateway; who runs it says which tools
// there are and carries out the calls.
//
//	outcome, err := agent.Runner{Ask: endpoint.Ask, MaxIters: 3, MaxCalls: 20}.
//		Run(ctx, "Which service failed first?", tools, call, tell)
//
// Everything is bounded: rounds, calls in each and in all, tokens, and the bytes of the
// talk. After the last round the model is asked once more, without tools, for what it
// has found: an answer that says what is missing is worth more than none.
//
// An agent may call an agent. How deep that goes is carried by the context here
// (depth.go), and by _meta between programs.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds that no configuration raises.
const (
	maxPerRound = 10      // calls of one round
	maxTalk     = 2 << 20 // bytes of the whole talk
	maxToolText = 30_000  // characters of one answer of a tool
)

// A Tool is what the model is told of one.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its arguments
}

// A Runner works on subtasks. It is safe for concurrent use.
type Runner struct {
	Ask          func(ctx context.Context, t Talk) (Reply, error)
	Instructions string // for the model, before the subtask
	MaxIters     int    // rounds in which it may call tools
	MaxCalls     int    // of tools, in all
	MaxTokens    int    // of all answers and questions together; 0 is no bound
}

// A Talk is what a model is asked.
type Talk struct {
	Messages []Message
	Tools    []Tool
	Final    bool // it may call nothing
}

// A Message is one part of a talk.
type Message struct {
	Role    string // system, user, assistant, tool
	Text    string
	Calls   []Call // of an assistant
	ReplyTo string // of a tool: the ID of its call
}

// A Call is one that the model asks for.
type Call struct {
	ID, Name  string
	Arguments string // as the model wrote them
}

// A Reply is what the model said.
type Reply struct {
	Text          string
	Calls         []Call
	Input, Output int // tokens
}

// An Outcome is what came of a subtask.
type Outcome struct {
	Text     string   `json:"text"`
	Rounds   int      `json:"rounds"`
	Calls    []string `json:"calls"` // names of the tools that were called, in order
	Input    int      `json:"input_tokens"`
	Output   int      `json:"output_tokens"`
	Stopped  string   `json:"stopped,omitempty"` // by which bound, where it was one
	Failures int      `json:"failed_calls"`
}

// Run works on a subtask. call carries out a call and returns the text for the model;
// tell is told what happens, and may be nil. An error has the Outcome so far beside it.
func (r Runner) Run(ctx context.Context, subtask string, tools []Tool, call func(ctx context.Context, name string, arguments json.RawMessage) (text string, failed bool), tell func(step string)) (Outcome, error) {
	w := &work{Runner: r, call: call, tell: tell, tools: tools, out: Outcome{Calls: []string{}}}
	if r.Instructions != "" {
		w.say(Message{Role: "system", Text: r.Instructions})
	}
	w.say(Message{Role: "user", Text: subtask})
	for {
		if err := context.Cause(ctx); err != nil {
			return w.out, err
		}
		final := w.last()
		reply, err := r.Ask(ctx, Talk{Messages: w.talk, Tools: tools, Final: final})
		if err != nil {
			return w.out, err
		}
		w.out.Rounds++
		w.out.Input += reply.Input
		w.out.Output += reply.Output
		if text := strings.TrimSpace(reply.Text); text != "" && (final || len(reply.Calls) == 0) {
			w.out.Text = text
			return w.out, nil
		}
		if final || len(reply.Calls) == 0 {
			return w.out, errors.New("the model gave no answer")
		}
		w.say(Message{Role: "assistant", Text: reply.Text, Calls: reply.Calls})
		for i, c := range reply.Calls {
			w.carryOut(ctx, i, c)
		}
	}
}

// work is one run.
type work struct {
	Runner
	call  func(ctx context.Context, name string, arguments json.RawMessage) (string, bool)
	tell  func(string)
	tools []Tool
	talk  []Message
	size  int
	out   Outcome
}

func (w *work) say(m Message) {
	w.size += len(m.Text)
	for _, c := range m.Calls {
		w.size += len(c.Arguments)
	}
	w.talk = append(w.talk, m)
}

// last reports whether the model is to answer now, and notes why. Its last words of a
// bound are for whoever reads the outcome.
func (w *work) last() bool {
	switch {
	case len(w.tools) == 0:
		return true
	case w.out.Rounds >= w.MaxIters:
		w.out.Stopped = fmt.Sprintf("it had its %d rounds", w.MaxIters)
	case len(w.out.Calls) >= w.MaxCalls:
		w.out.Stopped = fmt.Sprintf("it had its %d calls", w.MaxCalls)
	case w.MaxTokens > 0 && w.out.Input+w.out.Output >= w.MaxTokens:
		w.out.Stopped = fmt.Sprintf("it had used %d of %d tokens", w.out.Input+w.out.Output, w.MaxTokens)
	case w.size >= maxTalk:
		w.out.Stopped = "its talk was too long"
	default:
		return false
	}
	w.say(Message{Role: "user", Text: "You can call no more tools. Give your answer now, from what you have found, and say what you could not find out."})
	return true
}

// carryOut carries out one call of a round.
func (w *work) carryOut(ctx context.Context, i int, c Call) {
	answer := func(text string) { w.say(Message{Role: "tool", Text: text, ReplyTo: c.ID}) }
	switch {
	case i >= maxPerRound:
		answer(fmt.Sprintf("Not carried out: more than %d calls at once.", maxPerRound))
		return
	case len(w.out.Calls) >= w.MaxCalls:
		answer("Not carried out: there are no calls left.")
		return
	case !w.has(c.Name):
		w.out.Failures++
		answer("There is no tool of this name.")
		return
	}
	arguments := json.RawMessage(c.Arguments)
	if strings.TrimSpace(c.Arguments) == "" {
		arguments = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil {
		w.out.Failures++
		answer("Not carried out: the arguments are no JSON object.")
		return
	}
	w.out.Calls = append(w.out.Calls, c.Name)
	if w.tell != nil {
		w.tell("calls " + c.Name)
	}
	text, failed := w.call(ctx, c.Name, arguments)
	if failed {
		w.out.Failures++
	}
	answer(cut(text))
}

func (w *work) has(name string) bool {
	for _, t := range w.tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// cut bounds the text of a tool.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxToolText {
		return text
	}
	return string([]rune(text)[:maxToolText]) + "\n[the rest was left out]"
}
