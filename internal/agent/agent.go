// Package agent is a small agent: a model that is given tools and a subtask, and works
// on it in a bounded loop. It knows nothing of the gateway; who runs it says which tools
// there are and carries out the calls.
//
//	outcome, err := agent.Runner{Ask: client.Ask, MaxIters: 3, MaxCalls: 20}.
//		Run(ctx, "Which service failed first?", tools, call, tell)
//
// Everything is bounded: rounds, calls in each and in all, tokens, and the bytes of the
// talk. After the last round the model is asked once more, without tools, for what it
// has found: an answer that says what is missing is worth more than none. Where it gives
// none, what its tools found is there all the same (found.go).
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

	"github.com/tenon-mcp/tenon/internal/model"
)

// Bounds that no configuration raises.
const (
	maxPerRound = 10      // calls of one round
	maxTalk     = 2 << 20 // bytes of the whole talk
	maxToolText = 30_000  // characters of one answer of a tool
)

// A Runner works on subtasks. It is safe for concurrent use.
type Runner struct {
	Ask          func(ctx context.Context, r model.Request) (model.Answer, error)
	Instructions string // for the model, before the subtask
	MaxIters     int    // rounds in which it may call tools
	MaxCalls     int    // of tools, in all
	MaxTokens    int    // of all answers and questions together; 0 is no bound
	MaxAnswer    int    // tokens of one answer; 0 is the endpoint's own bound
	// Spent is told what each question took, as soon as it is answered, and says why no
	// further one may be asked. It may be nil.
	Spent func(u model.Usage) error
	// Refuse returns what the model is told that asks for a tool which is not among those
	// it was given; nothing where there is none of that name. It may be nil.
	Refuse func(ctx context.Context, name string, arguments json.RawMessage) string
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
	// Unfinished says that Text is no answer of the model, but what there was when it ended.
	Unfinished bool `json:"unfinished,omitempty"`

	found []found
}

// Run works on a subtask. call carries out a call and returns the text for the model;
// tell is told what happens, and may be nil. An error has the Outcome so far beside it.
func (r Runner) Run(ctx context.Context, subtask string, tools []model.Tool, call func(ctx context.Context, name string, arguments json.RawMessage) (text string, failed bool), tell func(step string)) (Outcome, error) {
	w := &work{Runner: r, call: call, tell: tell, tools: tools, out: Outcome{Calls: []string{}}}
	w.say(model.Message{Role: model.User, Parts: []model.Part{model.Text(subtask)}})
	for {
		if err := context.Cause(ctx); err != nil {
			return w.out, err
		}
		final := w.last()
		reply, err := w.ask(ctx, final)
		if err != nil {
			return w.out, err
		}
		if text := reply.Text; text != "" && (final || len(reply.Calls) == 0) {
			w.out.Text = text
			return w.out, nil
		}
		if final || len(reply.Calls) == 0 {
			if w.press(reply) {
				continue
			}
			return w.out, errNoAnswer
		}
		if w.broke != nil {
			return w.out, w.broke
		}
		said := model.Message{Role: model.Assistant, Calls: reply.Calls}
		if reply.Text != "" {
			w.out.found = append(w.out.found, found{"", reply.Text})
			said.Parts = []model.Part{model.Text(reply.Text)}
		}
		w.say(said)
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
	tools []model.Tool
	talk  []model.Message
	size  int
	broke error // why no further question may be asked
	out   Outcome

	pressed bool // it was asked for its answer twice
}

var errNoAnswer = errors.New("the model gave no answer")

// ask asks the model once, and counts what it took.
func (w *work) ask(ctx context.Context, final bool) (model.Answer, error) {
	reply, err := w.Ask(ctx, model.Request{System: w.Instructions, Messages: w.talk, Tools: w.tools, NoCalls: final, MaxTokens: w.MaxAnswer})
	w.out.Input += reply.Usage.Input
	w.out.Output += reply.Usage.Output
	if w.Spent != nil && w.broke == nil {
		w.broke = w.Spent(reply.Usage)
	}
	if err != nil {
		if w.pressed { // the question before was answered, if by nothing of use
			err = errNoAnswer
		}
		return reply, err
	}
	w.out.Rounds++
	reply.Text = model.Spoken(reply.Text)
	return reply, nil
}

// press asks once more for the answer of a model that has asked for tools where it may
// call none.
func (w *work) press(reply model.Answer) bool {
	if len(reply.Calls) == 0 || len(w.tools) == 0 || w.broke != nil {
		return false
	}
	w.pressed, w.tools = true, nil
	w.say(model.Message{Role: model.User, Parts: []model.Part{model.Text(
		"There are no tools any more, and nothing that you ask for is carried out. Write your answer now, as plain text.")}})
	return true
}

func (w *work) say(m model.Message) {
	for _, p := range m.Parts {
		w.size += len(p.Text)
	}
	for _, c := range m.Calls {
		w.size += len(c.Arguments)
	}
	w.talk = append(w.talk, m)
}

// last reports whether the model is to answer now, and notes why. Its last words of a
// bound are for whoever reads the outcome.
func (w *work) last() bool {
	switch {
	case len(w.tools) == 0: // or it is pressed
		return true
	case w.out.Rounds >= w.MaxIters:
		w.out.Stopped = "it had its " + Count(w.MaxIters, "round")
	case len(w.out.Calls) >= w.MaxCalls:
		w.out.Stopped = "it had its " + Count(w.MaxCalls, "call")
	case w.MaxTokens > 0 && w.out.Input+w.out.Output >= w.MaxTokens:
		w.out.Stopped = fmt.Sprintf("it had used %d of %d tokens", w.out.Input+w.out.Output, w.MaxTokens)
	case w.size >= maxTalk:
		w.out.Stopped = "its talk was too long"
	default:
		return false
	}
	w.say(model.Message{Role: model.User, Parts: []model.Part{model.Text(
		"You can call no more tools. Give your answer now, from what you have found, and say what you could not find out.")}})
	return true
}

// carryOut carries out one call of a round.
func (w *work) carryOut(ctx context.Context, i int, c model.Call) {
	answer := func(text string) {
		w.say(model.Message{Role: model.ToolReply, Parts: []model.Part{model.Text(text)}, ReplyTo: c.ID})
	}
	switch {
	case i >= maxPerRound:
		answer(fmt.Sprintf("Not carried out: more than %d calls at once.", maxPerRound))
		return
	case len(w.out.Calls) >= w.MaxCalls:
		answer("Not carried out: there are no calls left.")
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
	if !w.has(c.Name) {
		w.out.Failures++
		answer(w.refusal(ctx, c.Name, arguments))
		return
	}
	w.out.Calls = append(w.out.Calls, c.Name)
	if w.tell != nil {
		w.tell("calls " + c.Name)
	}
	text, failed := w.call(ctx, c.Name, arguments)
	if failed {
		w.out.Failures++
	} else {
		w.out.found = append(w.out.found, found{c.Name, cut(text)})
	}
	answer(cut(text))
}

// refusal returns what the model is told that asks for a tool it was not given.
func (w *work) refusal(ctx context.Context, name string, arguments json.RawMessage) string {
	why := ""
	if w.Refuse != nil {
		why = w.Refuse(ctx, name, arguments)
	}
	if why == "" {
		return "There is no tool of this name. Use those that you were given."
	}
	return cut(why)
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
