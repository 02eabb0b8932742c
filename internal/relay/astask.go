package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of a call that is run as a task because its tool knows no other way.
const (
	shortestPoll = 50 * time.Millisecond
	usualPoll    = 500 * time.Millisecond
	longestPoll  = 5 * time.Second
	cancelWait   = 5 * time.Second // for telling the server that nobody waits any more
)

// maxTask is how long what a server says of a task may be, its result apart.
const maxTask = 64 << 10

// AsTask returns a server whose calls run only as tasks, for clients that know none of its
// kind: they get the result when the task is done.
func (r *Relay) AsTask(s Server) Server { return tasking{s, &r.tasking} }

// OnlyTask reports whether a tool says that it runs only as a task.
func OnlyTask(t *tool.Tool) bool {
	return t != nil && bytes.Contains(t.Raw, []byte(`"taskSupport"`)) && era.TaskSupport(t.Raw) == era.TaskRequired
}

// tasking is a server whose calls are sent as tasks.
type tasking struct {
	Server
	states *taskStates
}

// Send implements Server.
func (h tasking) Send(ctx context.Context, s *Sending) (tool.Bytes, error) {
	if s.Method == "" || s.Method == "tools/call" {
		return h.asTask(ctx, s)
	}
	return h.Server.Send(ctx, s)
}

// A task is what both eras say of one; each has some members of its own.
type task struct {
	ID     string                     `json:"taskId"`
	Type   string                     `json:"resultType"`
	Status string                     `json:"status"`
	Text   string                     `json:"statusMessage"`
	Poll   int64                      `json:"pollIntervalMs"`
	Result json.RawMessage            `json:"result"`
	Error  json.RawMessage            `json:"error"`
	Inputs map[string]json.RawMessage `json:"inputRequests"`
	Inner  *task                      `json:"task"`
}

// stateIn returns the requestState of params.
func stateIn(params []byte) string {
	var span [1]jsonrpc.Span
	if jsonrpc.Members(tool.OneOf(params), []string{"requestState"}, span[:]) != nil {
		return ""
	}
	text, _ := jsonrpc.String(span[0].In(tool.OneOf(params)).Join())
	return text
}

func taskOf(result tool.Bytes) (t task) {
	if result.Len() <= maxTask {
		_ = json.Unmarshal(result.Join(), &t) // what cannot be read is none
	}
	return t
}

// asTask sends a call as a task, and waits for its end.
func (h tasking) asTask(ctx context.Context, s *Sending) (tool.Bytes, error) {
	spoken, err := h.Era(ctx)
	switch {
	case err != nil:
		return nil, err
	case spoken == era.Modern:
		return h.asModernTask(ctx, s)
	case IsOfTask("", s.Params):
		return h.Server.Send(ctx, s)
	}
	begin := *s
	if begin.Params, err = jsonrpc.Edit(s.Params, jsonrpc.Field{Key: "task", Value: []byte("{}")}); err != nil {
		return nil, err
	}
	result, err := h.Server.Send(ctx, &begin)
	if err != nil {
		return nil, err
	}
	t := taskOf(result)
	if t.Inner == nil || t.Inner.ID == "" {
		return result, nil
	}
	result, err = h.Server.Send(ctx, about(s, "tasks/result", t.Inner.ID, nil))
	if ctx.Err() != nil {
		h.drop(ctx, s, t.Inner.ID)
	}
	return result, err
}

// drop tells the server that nobody waits for a task.
func (h tasking) drop(ctx context.Context, s *Sending, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	_, _ = h.Server.Send(ctx, about(s, "tasks/cancel", id, nil)) // its server ends it in its own time else
}

// asModernTask is asTask at a server of the modern era. Such a task may want input: the result
// says so as that of a call does, and the next call carries on.
func (h tasking) asModernTask(ctx context.Context, s *Sending) (tool.Bytes, error) {
	if era.MetaOf(tool.OneOf(s.Params)).Version != "" {
		return h.Server.Send(ctx, s) // a client of the same era is told what it lacks
	}
	next := *s
	if next.Meta == nil {
		next.Meta = era.ClientMeta("tenon", "0")
	}
	var err error
	if next.Meta, err = knowingTasks(next.Meta); err != nil {
		return nil, err
	}
	if id, ok := h.states.take(h.Name(), stateIn(s.Params)); ok {
		var span [1]jsonrpc.Span
		_ = jsonrpc.Members(tool.OneOf(s.Params), []string{"inputResponses"}, span[:]) // checked before
		said := span[0].In(tool.OneOf(s.Params)).Join()
		if len(said) == 0 {
			said = []byte("{}")
		}
		if _, err := h.Server.Send(ctx, about(&next, "tasks/update", id, append([]byte(`,"inputResponses":`), said...))); err != nil {
			return nil, err
		}
		return h.poll(ctx, &next, id)
	}
	result, err := h.Server.Send(ctx, &next)
	if err != nil {
		return nil, err
	}
	if t := taskOf(result); t.Type == "task" && t.ID != "" {
		return h.poll(ctx, &next, t.ID)
	}
	return result, nil
}

// poll waits for the end of a task, or for its wanting input.
func (h tasking) poll(ctx context.Context, s *Sending, id string) (tool.Bytes, error) {
	t, err := watchTask(ctx, h.Server, s, id)
	switch {
	case err != nil && ctx.Err() != nil:
		h.drop(ctx, s, id)
		return nil, err
	case err != nil:
		return nil, err
	case t.Status == era.TaskInputRequired:
		return h.states.ask(h.Name(), id, t.Inputs)
	}
	return t.outcome(h.Name())
}

// watchTask asks a modern server for a task until it has ended, or wants input.
func watchTask(ctx context.Context, s Server, way *Sending, id string) (t task, err error) {
	for {
		raw, err := s.Send(ctx, about(way, "tasks/get", id, nil))
		if err != nil {
			return t, err
		}
		t = task{}
		if err := json.Unmarshal(raw.Join(), &t); err != nil {
			return t, jsonrpc.Errorf(jsonrpc.CodeInternal, "what server %s says of task %q cannot be read: %v", s.Name(), id, err)
		}
		if t.Status != era.TaskWorking {
			return t, nil
		}
		if err := pause(ctx, t.Poll); err != nil {
			return t, err
		}
	}
}

// outcome returns what came of a task that has ended.
func (t task) outcome(server string) (tool.Bytes, error) {
	switch t.Status {
	case era.TaskCompleted:
		return tool.OneOf(t.Result), nil
	case era.TaskFailed:
		return nil, jsonrpc.ErrorOf(tool.OneOf(t.Error))
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s ended the task of the call: %s %s", server, t.Status, t.Text)
}

func pollWait(ms int64) time.Duration {
	if ms <= 0 {
		return usualPoll
	}
	return max(time.Duration(min(ms, longestPoll.Milliseconds()))*time.Millisecond, shortestPoll)
}

// pause waits for as long as a server wants between two questions for a task.
func pause(ctx context.Context, ms int64) error {
	t := time.NewTimer(pollWait(ms))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func extensionsOf(capabilities []byte) map[string]json.RawMessage {
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	_ = json.Unmarshal(capabilities, &c) // what cannot be read declares nothing
	return c.Extensions
}

// knowingTasks returns what a modern server is told of a client, which knows tasks.
func knowingTasks(meta []jsonrpc.Field) ([]jsonrpc.Field, error) {
	out, capabilities := []jsonrpc.Field{}, []byte("{}")
	for _, f := range meta {
		if f.Key != era.MetaCapabilities {
			out = append(out, f)
		} else if len(f.Value) > 0 {
			capabilities = f.Value
		}
	}
	extensions := extensionsOf(capabilities)
	if extensions == nil {
		extensions = map[string]json.RawMessage{}
	}
	extensions[era.TasksExtension] = json.RawMessage("{}")
	raw, err := json.Marshal(extensions)
	if err == nil {
		capabilities, err = jsonrpc.Edit(capabilities, jsonrpc.Field{Key: "extensions", Value: raw})
	}
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the capabilities of the client cannot be read: %v", err)
	}
	return append(out, jsonrpc.Field{Key: era.MetaCapabilities, Value: capabilities}), nil
}
