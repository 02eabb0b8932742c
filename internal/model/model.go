// Package model asks models: of OpenAI and all that answer as it does (vLLM, Ollama,
// llama.cpp, OpenRouter, Whisper servers), of Anthropic, and Gemini. It knows the few
// endpoints that bundled servers need, and no more.
//
//	m := &model.Client{Kind: model.OpenAI, HTTP: client, BaseURL: "https://api.openai.com/v1", Name: "gpt-4o", Key: key, KeyName: "OPENAI_API_KEY"}
//	answer, err := m.Ask(ctx, model.Request{Parts: []model.Part{model.Text("What is this?"), model.File("image/png", png)}})
//	…
//	fmt.Println(answer.Text, answer.Usage.Input, answer.Usage.Output)
//
// A model may be given tools to call. Whoever asks carries the calls out, and asks again
// with what came of them:
//
//	a, err := m.Ask(ctx, model.Request{Messages: talk, Tools: tools})
//	talk = append(talk, model.Message{Role: model.Assistant, Calls: a.Calls})
//	talk = append(talk, model.Message{Role: model.ToolReply, ReplyTo: a.Calls[0].ID, Parts: []model.Part{model.Text("12 °C")}})
//
// A request is repeated by the rules of the vendors: after 408, 409, 429 and 5xx, or as
// x-should-retry says, not before Retry-After is over, and never beyond the deadline of
// its context. The errors are sentences that say what to do; none holds a key.
package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/tool"
)

// A Kind is the shape in which an endpoint is asked.
type Kind int

// The shapes that are known.
const (
	OpenAI Kind = iota // POST /chat/completions and /audio/transcriptions
	Anthropic
	Gemini
)

// A Client is an endpoint and the model to use there. It is safe for concurrent use.
type Client struct {
	Kind    Kind
	Label   string         // as people call it; default: by Kind
	HTTP    *egress.Client // that reaches BaseURL
	BaseURL string         // or the whole address of the endpoint
	Name    string
	Key     string // or nothing, where the endpoint wants none
	KeyName string // the setting that holds the key, for what errors say
	Prices  Prices
	Waits   []time.Duration // before each repetition; nil: 1, 2 and 4 seconds
	// MaxTokensField is the field of OpenAI's requests that bounds an answer: max_tokens
	// or max_completion_tokens; default: the latter at OpenAI itself, the former elsewhere.
	MaxTokensField string
	NoStream       bool // take answers in one piece, also where somebody listens
}

// A Request is one question: the last message of a user, or Messages, or both.
type Request struct {
	System      string
	Messages    []Message
	Parts       []Part
	Tools       []Tool // that the answer may call; it comes in one piece then
	NoCalls     bool   // it may call none of them any more
	MaxTokens   int    // of the answer, with the thinking; 0: the endpoint's own bound
	Temperature *float64
	TopP        *float64
	// Stops are texts at which the answer ends, without them. Endpoints get those that
	// they take; wherever the model goes on all the same, the rest is left out.
	Stops    []string
	Thinking int // tokens that Anthropic and Gemini may think; 0: as they do by themselves
	// Stream takes the answer as it is made, which keeps connections alive while a model
	// thinks. OnText, where not nil, is told how many characters there are so far.
	Stream bool
	OnText func(characters int)
}

// A Part is a piece of a question: a text, or a file by its content or its address.
type Part struct {
	Text string
	MIME string
	Data []byte
	URI  string // of a video or file that the vendor fetches; Gemini alone knows it
}

// Text returns a part that is a text.
func Text(s string) Part { return Part{Text: s} }

// File returns a part that is an image, a sound or a video.
func File(mime string, data []byte) Part { return Part{MIME: mime, Data: data} }

// An Answer is what a model said.
type Answer struct {
	Text      string
	Calls     []Call // of tools
	Reasoning string // what it thought, where the endpoint tells
	Cut       bool   // it would have said more
	Stopped   bool   // at one of Request.Stops, as far as that shows
	Usage     Usage
}

// Usage is what calls of models have taken.
type Usage = tool.Usage

const (
	maxAnswer  = 16 << 20 // bytes of an answer, or of all its events
	maxBlank   = 2        // times that an answer without text is asked for again
	minThought = 1024     // the least thinking that Anthropic takes
)

// Ask asks the model.
func (c *Client) Ask(ctx context.Context, r Request) (Answer, error) {
	ask := map[Kind]func(context.Context, Request) (Answer, error){OpenAI: c.chat, Anthropic: c.anthropic, Gemini: c.gemini}[c.Kind]
	r.Stream = r.Stream && !c.NoStream && len(r.Tools) == 0
	var spent Usage
	for blank := 0; ; blank++ {
		a, err := ask(ctx, r)
		c.Prices.set(&a.Usage)
		note(ctx, a.Usage)
		spent.Add(a.Usage)
		a.Usage = spent
		if err != nil {
			return a, err
		}
		a.stop(r.Stops)
		a.Text = strings.TrimSpace(a.Text)
		switch {
		case a.Text != "", len(a.Calls) > 0, a.Stopped:
			return a, nil
		case a.Cut:
			return a, c.fault("used all tokens that an answer may have without saying anything. Ask for less, or raise the bound")
		case a.Reasoning != "": // it would be paid for again
			return a, c.fault("thought, and gave no answer. Ask in other words")
		case blank == maxBlank:
			return a, c.fault("gave an answer without text, each of %d times. Ask in other words, or later", maxBlank+1)
		}
	}
}

// stop ends the text at the first of stops.
func (a *Answer) stop(stops []string) {
	for _, s := range stops {
		if at := strings.Index(a.Text, s); s != "" && at >= 0 {
			a.Text, a.Stopped, a.Cut = a.Text[:at], true, false
		}
	}
}

// stopsFor returns the stops that an endpoint takes: so many, and none of blanks alone.
func stopsFor(stops []string, most int) []string {
	var out []string
	for _, s := range stops {
		if strings.TrimSpace(s) != "" && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}

// Provider returns how people call the endpoint.
func (c *Client) Provider() string {
	return cmp.Or(c.Label, map[Kind]string{OpenAI: "OpenAI", Anthropic: "Anthropic", Gemini: "Gemini"}[c.Kind])
}

// usage returns the usage of one request.
func (c *Client) usage(name string, input, output, reasoning int) Usage {
	return Usage{Provider: c.Provider(), Model: cmp.Or(egress.Plain(name, 120), c.Name), Requests: 1, Input: max(input, 0), Output: max(output, 0), Reasoning: max(reasoning, 0)}
}

// over returns the error for a request that nobody waits for any more.
func over(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return errors.New("canceled")
	}
	return fmt.Errorf("the time for this call is over: %w", context.Cause(ctx))
}
