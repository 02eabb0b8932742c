package relay

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// questionWait is how long a modern client waits for what a legacy task wants, once its
// server says that it wants something.
const questionWait = time.Second

// An atLegacy is a task of a legacy server, for its modern client.
type atLegacy struct {
	s Server
	h *held
}

// knowsTasks reports whether a modern client has declared the extension.
func (c visit) knowsTasks() bool {
	_, ok := extensionsOf(c.o.Capabilities)[era.TasksExtension]
	return ok
}

// beginAtLegacy sends a call of a tool that runs only as a task to a legacy server, for a
// modern client that knows tasks.
func (c visit) beginAtLegacy(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	params, err := jsonrpc.Edit(r.Params, jsonrpc.Field{Key: "task", Value: []byte("{}")})
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params: %v", err)
	}
	h, err := hold(c.Client, s.Name(), false)
	if err != nil {
		return nil, err
	}
	if c.asks || c.o.Level != "" {
		if h.lease, err = c.lease(ctx, s); err != nil {
			h.drop()
			return nil, err
		}
	}
	if h.lease != nil {
		h.lease.use(h)
	}
	send := h.way()
	send.Method, send.Params, send.Progress = r.Method, params, r.Progress
	result, err := s.Send(ctx, send)
	if err != nil {
		h.drop()
		return nil, err
	}
	var begun struct {
		Task json.RawMessage `json:"task"`
	}
	if result.Len() <= maxTask {
		_ = json.Unmarshal(result.Join(), &begun) // one that cannot be read is no task
	}
	t, err := era.ReadTask(begun.Task)
	if err != nil {
		h.drop()
		return result, nil
	}
	h.keep(t)
	return tool.OneOf(h.note(t).Modern(jsonrpc.Field{Key: "resultType", Value: []byte(`"task"`)})), nil
}

// way is how requests about the task go.
func (h *held) way() *Sending {
	s := &Sending{}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease != nil {
		s.Link, s.Stream = h.lease.link, h
	}
	return s
}

// Asked implements Handler.
func (h *held) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	if !h.can(method) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "the client has not declared what %q needs", method)
	}
	return h.questions.ask(ctx, h.ctx.Done(), method, params)
}

// Heard implements Handler.
func (h *held) Heard(method string, _ tool.Bytes) {
	if method == "notifications/tasks/status" {
		select {
		case h.changed <- struct{}{}:
		default:
		}
	}
}

var complete = jsonrpc.Field{Key: "resultType", Value: []byte(`"complete"`)}

// acknowledged is the answer to what has nothing to say.
func acknowledged() tool.Bytes { return tool.OneOf([]byte(`{"resultType":"complete"}`)) }

// carry carries a request about the task.
func (a atLegacy) carry(ctx context.Context, r Request) (tool.Bytes, error) {
	switch r.Method {
	case "tasks/get":
		fields, t, err := a.get(ctx)
		if err != nil {
			return nil, err
		}
		return tool.OneOf(t.Modern(append([]jsonrpc.Field{complete}, fields...)...)), nil
	case "tasks/update":
		var p struct {
			Answers map[string]json.RawMessage `json:"inputResponses"`
		}
		if err := json.Unmarshal(r.Params, &p); err != nil || p.Answers == nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of tasks/update lack inputResponses, an object")
		}
		a.h.questions.give(p.Answers)
		return acknowledged(), nil
	case "tasks/cancel":
		_, err := a.s.Send(ctx, about(a.h.way(), "tasks/cancel", a.h.id, nil))
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeInvalidParams {
			err = nil // it has ended before, which the modern era takes for an end as well
		}
		return acknowledged(), err
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", r.Method)
}

// get returns what the task is, and the member that its state has.
func (a atLegacy) get(ctx context.Context) ([]jsonrpc.Field, era.Task, error) {
	for again := true; ; again = false {
		raw, err := a.s.Send(ctx, about(a.h.way(), "tasks/get", a.h.id, nil))
		if err != nil {
			return nil, era.Task{}, err
		}
		t, err := era.ReadTask(raw.Join())
		if err != nil {
			return nil, t, jsonrpc.Errorf(jsonrpc.CodeInternal, "what server %s says of the task cannot be read: %v", a.s.Name(), err)
		}
		t = a.h.note(t)
		switch t.Status {
		case era.TaskCompleted, era.TaskFailed:
			fields, err := a.outcome(ctx, &t)
			return fields, t, err
		case era.TaskCancelled:
			a.h.release()
		case era.TaskInputRequired:
			inputs, ended, err := a.wanted(ctx)
			if ended && again {
				continue // it wants nothing any more
			}
			return []jsonrpc.Field{{Key: "inputRequests", Value: inputs}}, t, err
		}
		return nil, t, nil
	}
}

// outcome returns what came of the task. A result that says that the tool has failed is
// complete in the modern era, where an error of the protocol alone is a failure.
func (a atLegacy) outcome(ctx context.Context, t *era.Task) ([]jsonrpc.Field, error) {
	select {
	case <-a.h.fetch(a.s):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a.h.release()
	got := a.h.fetched
	if got.err == nil {
		t.Status = era.TaskCompleted
		return []jsonrpc.Field{{Key: "result", Value: era.Complete(got.result).Join()}}, nil
	}
	e, ok := errors.AsType[*jsonrpc.Error](got.err)
	if !ok {
		a.h.forget()
		return nil, got.err
	}
	t.Status = era.TaskFailed
	return []jsonrpc.Field{{Key: "error", Value: e.JSON()}}, nil
}

// wanted returns what the task wants of its client, which its server says to whoever waits
// for the result. ended reports that it wants nothing, since there is a result.
func (a atLegacy) wanted(ctx context.Context) (inputs []byte, ended bool, err error) {
	if a.h.way().Link == nil {
		return []byte("{}"), false, nil // it cannot be asked, and its server knows
	}
	fetched := a.h.fetch(a.s)
	late := time.NewTimer(questionWait)
	defer late.Stop()
	for len(a.h.questions.open()) == 0 {
		select {
		case <-a.h.questions.rang:
			continue
		case <-fetched:
			return nil, true, nil
		case <-late.C:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		break
	}
	inputs, err = json.Marshal(a.h.questions.open())
	return inputs, false, err
}

// fetch has the result of the task brought, if nobody does already. The channel is closed
// when it is there.
func (h *held) fetch(s Server) <-chan struct{} {
	send := about(h.way(), "tasks/result", h.id, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fetching != nil {
		return h.fetching
	}
	done := make(chan struct{})
	h.fetching = done
	h.r.tasks.Go(func() {
		defer close(done)
		h.fetched.result, h.fetched.err = s.Send(h.ctx, send)
	})
	return done
}

// forget lets the result be fetched again.
func (h *held) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fetching, h.fetched = nil, outcome{}
}

// WatchTasks tells a modern client how tasks of a server go, until ctx ends: those that it
// has handles of, and those of a modern server. It returns when nothing more can come, and
// leaves out the tasks that are not the client's.
func WatchTasks(ctx context.Context, c *Client, s Server, ids []string, tell func(method string, params []byte)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var plain []string
	for _, id := range ids {
		if !IsHandle(id) {
			plain = append(plain, id)
		} else if h, err := heldAs(c, s.Name(), id); err == nil && !h.modern {
			wg.Go(func() { atLegacy{s, h}.watch(ctx, tell) })
		}
	}
	if spoken, err := s.Era(ctx); len(plain) == 0 || err != nil || spoken != era.Modern {
		return
	}
	_ = listen(ctx, s, map[string]any{"taskIds": plain}, c.meta(), heard(func(method string, params tool.Bytes) {
		if method == "notifications/tasks" {
			tell(method, params.Join())
		}
	})) // a server that does not tell ends it
}

// watch tells a modern client of each change of the task, until it has ended.
func (a atLegacy) watch(ctx context.Context, tell func(method string, params []byte)) {
	for last := ""; ; {
		fields, t, err := a.get(ctx)
		if ctx.Err() != nil || a.h.ctx.Err() != nil {
			return
		}
		if now := string(t.Modern(fields...)); err == nil && now != last {
			last = now
			tell("notifications/tasks", []byte(now))
		}
		if err == nil && t.Over() {
			return
		}
		late := time.NewTimer(pollOf(t.Poll))
		select {
		case <-a.h.changed:
		case <-late.C:
		case <-a.h.ctx.Done():
			return
		case <-ctx.Done():
			return
		}
		late.Stop()
	}
}

// pollOf returns how long a server wants to be left alone between two questions for a task.
func pollOf(ms json.RawMessage) time.Duration {
	n, err := strconv.ParseInt(string(ms), 10, 64)
	if err != nil {
		n = 0
	}
	return pollWait(n)
}
