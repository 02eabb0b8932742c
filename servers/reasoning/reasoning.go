// Package reasoning is the bundled server "reasoning": it gives a hard question to a
// model that thinks before it answers.
//
//	srv, err := reasoning.New(reasoning.Options{})
//
// Who thinks is the first that is set up of these: an endpoint of one's own that answers
// as OpenAI does (REASONING_BASE_URL), OpenAI, Anthropic, Gemini. The answer is taken as
// it is made, so that no connection is idle while a model thinks, and what was thought is
// left out of it.
package reasoning

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the environment.
type Options struct {
	ReasoningBaseURL   string `json:"reasoning_base_url,omitempty" jsonschema:"base URL, or address of /chat/completions, of an endpoint like OpenAI's whose model thinks (vLLM, Ollama, llama.cpp), which is asked before all others; default: $REASONING_BASE_URL"`
	ReasoningAPIKey    string `json:"reasoning_api_key,omitempty" jsonschema:"key of that endpoint; better in the environment of the server as REASONING_API_KEY"`
	ReasoningModelName string `json:"reasoning_model_name,omitempty" jsonschema:"model of that endpoint; default: $REASONING_MODEL_NAME"`
	ThinkingTokens     int    `json:"thinking_tokens,omitempty" jsonschema:"tokens that Anthropic may think for an answer, and Gemini where this is set, 1024 to 60000; default: 19000"`
	MaxTokens          int    `json:"max_tokens,omitempty" jsonschema:"tokens that an answer may have with its thinking, 1024 to 100000; default: at Anthropic 2000 more than thinking_tokens, else the endpoint's own bound"`
	NoStream           bool   `json:"no_stream,omitempty" jsonschema:"take answers in one piece, for endpoints that cannot stream"`
	modeltool.Vendors
	modeltool.Common
}

type server struct {
	base    *modeltool.Base
	thinker *model.Client // nil: none is set up
	request model.Request // without the question
}

const (
	maxChars    = 20_000  // of an answer
	maxQuestion = 400_000 // characters
)

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := build(o, getenv)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

func build(o Options, getenv func(string) string) (*server, error) {
	o.Complete(getenv)
	modeltool.Fill(getenv, map[*string]string{
		&o.ReasoningBaseURL: "REASONING_BASE_URL", &o.ReasoningAPIKey: "REASONING_API_KEY", &o.ReasoningModelName: "REASONING_MODEL_NAME",
	})
	if o.ThinkingTokens != 0 && (o.ThinkingTokens < 1024 || o.ThinkingTokens > 60_000) {
		return nil, fmt.Errorf("option thinking_tokens: %d is not between 1024 and 60000", o.ThinkingTokens)
	}
	if o.MaxTokens != 0 && (o.MaxTokens < 1024 || o.MaxTokens > 100_000) {
		return nil, fmt.Errorf("option max_tokens: %d is not between 1024 and 100000", o.MaxTokens)
	}
	base, err := o.Open("reasoning", nil)
	if err != nil {
		return nil, err
	}
	s := &server{base: base, request: model.Request{MaxTokens: o.MaxTokens, Stream: true}}
	if err := s.choose(o); err != nil {
		return nil, err
	}
	if s.thinker != nil {
		s.thinker.NoStream = o.NoStream
	}
	return s, nil
}

// choose sets who thinks, and how it is asked.
func (s *server) choose(o Options) (err error) {
	s.base.Waits = egress.Seconds(5, 10, 20, 40)
	switch {
	case o.ReasoningBaseURL != "":
		s.base.Waits = egress.Seconds(1, 2, 4, 8, 16, 30, 30, 30, 30)
		if o.ReasoningModelName == "" {
			return errors.New("option reasoning_model_name (REASONING_MODEL_NAME): it must be set with reasoning_base_url")
		}
		temperature, topP := 0.6, 0.95 // what the makers of open models that think advise
		s.request.Temperature, s.request.TopP = &temperature, &topP
		s.thinker, err = s.base.Client("reasoning_base_url", model.Client{
			Kind: model.OpenAI, Label: "the reasoning endpoint", BaseURL: o.ReasoningBaseURL, Name: o.ReasoningModelName, Key: o.ReasoningAPIKey, KeyName: "REASONING_API_KEY",
		})
	case o.OpenAIAPIKey != "":
		s.thinker, err = s.base.OpenAI(o.Vendors, "o3")
	case o.AnthropicAPIKey != "":
		s.request.Thinking = o.ThinkingTokens
		if s.request.Thinking == 0 {
			s.request.Thinking = 19_000
		}
		if s.request.MaxTokens == 0 {
			s.request.MaxTokens = s.request.Thinking + 2000
		}
		if s.request.MaxTokens <= s.request.Thinking {
			return fmt.Errorf("option max_tokens: %d must be more than the %d of thinking_tokens", s.request.MaxTokens, s.request.Thinking)
		}
		s.thinker, err = s.base.Anthropic(o.Vendors)
	case o.GeminiAPIKey != "":
		s.request.Thinking = o.ThinkingTokens
		s.thinker, err = s.base.Gemini(o.Vendors)
	}
	return err
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	return map[string]tool.Meta{"reasoning": {
		Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
		SideEffect: tool.EffectExternal, RiskLevel: tool.RiskMedium, MaxResultChars: maxChars, AsksModels: true,
		SearchHint: "think hard reasoning puzzle math proof logic planning analysis second opinion 推理 思考 数学 逻辑 难题",
	}}
}

type input struct {
	Question string `json:"question" jsonschema:"the whole question with all that is needed to answer it: facts, data, conditions and the form of the answer; nothing else of the conversation is known there"`
}

type output struct {
	Answer   string       `json:"answer" jsonschema:"the answer, without what was thought"`
	Provider string       `json:"provider" jsonschema:"who has answered"`
	Usage    *model.Usage `json:"usage,omitempty" jsonschema:"what the model has taken"`
	Notes    []string     `json:"notes,omitempty" jsonschema:"what was left out"`
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-reasoning", Title: "Reasoning", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	srv.AddReceivingMiddleware(modeltool.Bill)
	typed.AddContent(srv, typed.Spec{
		Name: "reasoning", Title: "Think about a hard question", Annotations: modeltool.External(), MaxArguments: 4 << 20,
		Description: "Gives a hard question to a model that thinks at length before it answers: mathematics, puzzles, plans, contradictions in evidence. It knows nothing of this conversation, sees no files and uses no tools: write all that it needs into the question. It takes minutes and costs more than other tools, so do not use it for what can be looked up.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in input) ([]mcp.Content, output, error) {
		ctx, cancel := s.base.Deadline(ctx)
		defer cancel()
		out, err := s.think(ctx, req, in.Question)
		if err != nil {
			return nil, out, err
		}
		return typed.Text(out.markdown()), out, nil
	})
	return srv
}

func (s *server) think(ctx context.Context, req *mcp.CallToolRequest, question string) (output, error) {
	question = strings.TrimSpace(question)
	switch n := utf8.RuneCountInString(question); {
	case question == "":
		return output{}, errors.New("question is empty: write down what to think about, with all that is needed for it")
	case n > maxQuestion:
		return output{}, fmt.Errorf("question has %d characters, at most %d are asked: leave out what does not matter", n, maxQuestion)
	case s.thinker == nil:
		return output{}, errors.New("no model that thinks is set up here: the operator must set REASONING_BASE_URL with REASONING_MODEL_NAME, OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY for this server")
	}
	r := s.request
	r.Parts, r.OnText = []model.Part{model.Text(question)}, modeltool.Growth(ctx, req)
	a, err := s.thinker.Ask(ctx, r)
	out := output{Provider: s.thinker.Provider()}
	if a.Usage.Requests > 0 {
		out.Usage = &a.Usage
	}
	if err != nil {
		// A model that was cut off while it thought, or whose server takes all it says
		// for thinking, has still said something.
		if _, said := errors.AsType[*model.Error](err); !said || strings.TrimSpace(a.Reasoning) == "" || ctx.Err() != nil {
			return out, err
		}
		a.Text = a.Reasoning
		out.Notes = append(out.Notes, "the model gave no answer apart from what it thought, which this is")
	}
	out.Answer = model.Spoken(a.Text)
	if a.Cut {
		out.Notes = append(out.Notes, "it was cut at the bound of the model: ask for less at once")
	}
	return out, nil
}

func (o *output) markdown() string {
	answer, cut := modeltool.Bounded(o.Answer, maxChars-1000)
	if cut {
		o.Notes = append(o.Notes, fmt.Sprintf("the answer is longer than the %d characters that are shown: ask for a shorter one", maxChars-1000))
	}
	return answer + modeltool.Notes(o.Notes)
}
