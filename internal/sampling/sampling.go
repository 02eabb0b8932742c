// Package sampling answers what MCP servers ask a model for (sampling/createMessage) by an
// endpoint that the operator has chosen.
//
//	s := sampling.New(sampling.Options{Ask: client.Ask, MaxTokens: 1000, PerMinute: 30})
//	result, used, err := s.Answer(ctx, params)
//
// The text of a server is that of a stranger. The model gets it as a question and nothing
// else: no tools, nothing of the caller's talk. What servers wish for beside the question,
// such as another model, is passed over, as the protocol allows.
package sampling

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/model"
)

// Bounds of one question.
const (
	maxParams   = 8 << 20 // bytes
	maxMessages = 100
	maxStops    = 16
)

// Options say who answers, and how much.
type Options struct {
	Ask       func(ctx context.Context, r model.Request) (model.Answer, error)
	MaxTokens int  // of one answer; servers may ask for less
	PerMinute int  // questions of all servers; 0 is no bound
	Sound     bool // the model takes sounds
}

// A Sampler answers. It is safe for concurrent use.
type Sampler struct {
	o     Options
	limit *rate.Limiter
}

// New returns a sampler.
func New(o Options) *Sampler {
	s := &Sampler{o: o, limit: rate.NewLimiter(rate.Inf, 1)}
	if o.PerMinute > 0 {
		s.limit = rate.NewLimiter(rate.Every(time.Minute/time.Duration(o.PerMinute)), o.PerMinute)
	}
	return s
}

// Answer answers the params of a sampling/createMessage with its result. What the model
// took is told also where it failed.
func (s *Sampler) Answer(ctx context.Context, params []byte) (result []byte, used model.Usage, err error) {
	r, err := s.read(params)
	if err != nil {
		return nil, used, err
	}
	if !s.limit.Allow() {
		return nil, used, jsonrpc.Errorf(jsonrpc.CodeInternal, "models were asked %d times within a minute for servers; try again later", s.o.PerMinute)
	}
	a, err := s.o.Ask(ctx, r)
	if err != nil {
		return nil, a.Usage, jsonrpc.Errorf(jsonrpc.CodeInternal, "the model gave no answer: %v", err)
	}
	stop := "endTurn"
	switch {
	case a.Cut:
		stop = "maxTokens"
	case a.Stopped:
		stop = "stopSequence"
	}
	result, err = json.Marshal(map[string]any{
		"role": "assistant", "model": a.Usage.Model, "stopReason": stop,
		"content": map[string]string{"type": "text", "text": model.Spoken(a.Text)},
	})
	return result, a.Usage, err
}

// question is what is read of the params.
type question struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	System      string          `json:"systemPrompt"`
	MaxTokens   int             `json:"maxTokens"`
	Temperature *float64        `json:"temperature"`
	Stops       []string        `json:"stopSequences"`
	Tools       json.RawMessage `json:"tools"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Data string `json:"data"`
	MIME string `json:"mimeType"`
}

func wrong(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

// read returns the request for a model.
func (s *Sampler) read(params []byte) (r model.Request, err error) {
	var q question
	switch {
	case len(params) > maxParams:
		return r, wrong("the question is larger than %d MiB", maxParams>>20)
	case json.Unmarshal(params, &q) != nil:
		return r, wrong("the params are none of sampling/createMessage")
	case len(q.Messages) == 0 || len(q.Messages) > maxMessages:
		return r, wrong("there are %d messages; 1 to %d are answered", len(q.Messages), maxMessages)
	case len(q.Tools) > 0 && string(q.Tools) != "null" && string(q.Tools) != "[]":
		return r, wrong("tools in sampling are not supported, and were not declared")
	}
	if len(q.Stops) > maxStops {
		return r, wrong("there are %d stop sequences; at most %d are taken", len(q.Stops), maxStops)
	}
	r = model.Request{System: q.System, Temperature: q.Temperature, Stops: q.Stops, MaxTokens: s.o.MaxTokens}
	if q.MaxTokens > 0 {
		r.MaxTokens = min(q.MaxTokens, s.o.MaxTokens)
	}
	for i, m := range q.Messages {
		roles := map[string]model.Role{"user": model.User, "assistant": model.Assistant}
		role, ok := roles[m.Role]
		if !ok {
			return r, wrong("message %d has the role %.20q", i+1, m.Role)
		}
		parts, err := s.parts(m.Content)
		if err != nil {
			return r, wrong("message %d: %v", i+1, err)
		}
		r.Messages = append(r.Messages, model.Message{Role: role, Parts: parts})
	}
	return r, nil
}

// parts reads the content of a message: a block, or a list of them.
func (s *Sampler) parts(content json.RawMessage) ([]model.Part, error) {
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		var one block
		if json.Unmarshal(content, &one) != nil {
			return nil, errors.New("its content is no block")
		}
		blocks = []block{one}
	}
	if len(blocks) == 0 {
		return nil, errors.New("it has no content")
	}
	var out []model.Part
	for _, b := range blocks {
		switch {
		case b.Type == "text":
			out = append(out, model.Text(b.Text))
		case b.Type == "image" && strings.HasPrefix(b.MIME, "image/"), b.Type == "audio" && strings.HasPrefix(b.MIME, "audio/") && s.o.Sound:
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return nil, fmt.Errorf("its %s is no base64", b.Type)
			}
			out = append(out, model.File(b.MIME, data))
		default:
			return nil, fmt.Errorf("content of type %.20q is not supported", b.Type)
		}
	}
	return out, nil
}
