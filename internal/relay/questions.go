package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// questions are what a legacy server asks of a modern client, under names that are given
// here, since it gives none.
type questions struct {
	rang chan struct{} // has a token when there is a new question

	mu   sync.Mutex
	all  map[string]*question
	last int
}

// A question is what a server asks.
type question struct {
	input
	answer chan json.RawMessage // holds one
}

func newQuestions() questions {
	return questions{rang: make(chan struct{}, 1), all: map[string]*question{}}
}

// ask waits for the answer to a question, until ctx ends or done is closed.
func (qs *questions) ask(ctx context.Context, done <-chan struct{}, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	q := &question{input{method, params.Join()}, make(chan json.RawMessage, 1)}
	qs.mu.Lock()
	if len(qs.all) >= maxInputs {
		qs.mu.Unlock()
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "more than %d requests at once", maxInputs)
	}
	qs.last++
	name := fmt.Sprintf("input_%d", qs.last)
	qs.all[name] = q
	qs.mu.Unlock()
	qs.ring()
	select {
	case answer := <-q.answer:
		return tool.OneOf(answer), nil
	case <-ctx.Done():
	case <-done:
	}
	qs.mu.Lock()
	delete(qs.all, name)
	qs.mu.Unlock()
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", errGone.Message)
}

func (qs *questions) ring() {
	select {
	case qs.rang <- struct{}{}:
	default:
	}
}

// open returns the questions that have no answer.
func (qs *questions) open() map[string]input {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	out := make(map[string]input, len(qs.all))
	for name, q := range qs.all {
		out[name] = q.input
	}
	return out
}

// give passes answers on to those who asked, and reports how many questions are left.
func (qs *questions) give(answers map[string]json.RawMessage) (left int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for name, q := range qs.all {
		if answer, ok := answers[name]; ok {
			delete(qs.all, name)
			q.answer <- answer
		}
	}
	return len(qs.all)
}
