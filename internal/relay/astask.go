package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	result, err = h.Server.Send(ctx, h.about(s, "tasks/result", t.Inner.ID, nil))
	if ctx.Err() != nil {
		h.drop(ctx, s, t.Inner.ID)
	}
	return result, err
}

// about returns a request about a task, on the way of the call that began it.
func (h tasking) about(s *Sending, method, id string, more []byte) *Sending {
	params := append(jsonrpc.Quote([]byte(`{"taskId":`), id), more...)
	return &Sending{Method: method, Params: append(params, '}'), Link: s.Link, Meta: s.Meta, Progress: s.Progress, Stream: s.Stream, Header: map[string][]string{}}
}

// drop tells the server that nobody waits for a task.
func (h tasking) drop(ctx context.Context, s *Sending, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	_, _ = h.Server.Send(ctx, h.about(s, "tasks/cancel", id, nil)) // its server ends it in its own time else
}

// asModernTask is asTask at a server of the modern era. Such a task may want input: the result
// says so as that of a call does, and the next call carries on.
func (h tasking) asModernTask(ctx context.Context, s *Sending) (tool.Bytes, error) {
	if era.MetaOf(tool.OneOf(s.Params)).Version != "" {
		return h.Server.Send(ctx, s) // a client of the same era is told what it lacks
	}
	capabilities, err := withTasks(capabilitiesOf(s))
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the capabilities of the client cannot be read: %v", err)
	}
	next := *s
	if next.Meta == nil {
		next.Meta = era.ClientMeta("tenon", "0")
	}
	next.Meta = slices.DeleteFunc(slices.Clone(next.Meta), func(f jsonrpc.Field) bool { return f.Key == era.MetaCapabilities })
	next.Meta = append(next.Meta, jsonrpc.Field{Key: era.MetaCapabilities, Value: capabilities})
	if id, ok := h.states.take(h.Name(), stateIn(s.Params)); ok {
		var span [1]jsonrpc.Span
		_ = jsonrpc.Members(tool.OneOf(s.Params), []string{"inputResponses"}, span[:]) // checked before
		said := span[0].In(tool.OneOf(s.Params)).Join()
		if len(said) == 0 {
			said = []byte("{}")
		}
		if _, err := h.Server.Send(ctx, h.about(&next, "tasks/update", id, append([]byte(`,"inputResponses":`), said...))); err != nil {
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
	for {
		raw, err := h.Server.Send(ctx, h.about(s, "tasks/get", id, nil))
		if err != nil {
			if ctx.Err() != nil {
				h.drop(ctx, s, id)
			}
			return nil, err
		}
		var t task
		if err := json.Unmarshal(raw.Join(), &t); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "what server %s says of task %q cannot be read: %v", h.Name(), id, err)
		}
		switch t.Status {
		case "completed":
			return tool.OneOf(t.Result), nil
		case "failed":
			return nil, jsonrpc.ErrorOf(tool.OneOf(t.Error))
		case "input_required":
			return h.states.ask(h.Name(), id, t.Inputs)
		case "working":
		default:
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s ended the task of the call: %s %s", h.Name(), t.Status, t.Text)
		}
		wait := min(max(time.Duration(t.Poll)*time.Millisecond, shortestPoll), longestPoll)
		if t.Poll <= 0 {
			wait = usualPoll
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			h.drop(ctx, s, id)
			return nil, context.Cause(ctx)
		}
	}
}

// capabilitiesOf returns what a request says that its client can do.
func capabilitiesOf(s *Sending) []byte {
	for _, f := range s.Meta {
		if f.Key == era.MetaCapabilities {
			return f.Value
		}
	}
	return nil
}

func extensionsOf(capabilities []byte) map[string]json.RawMessage {
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	_ = json.Unmarshal(capabilities, &c) // what cannot be read declares nothing
	return c.Extensions
}

// withTasks adds the extension for tasks to what a client can do.
func withTasks(capabilities []byte) ([]byte, error) {
	if len(capabilities) == 0 {
		capabilities = []byte("{}")
	}
	extensions := extensionsOf(capabilities)
	if extensions == nil {
		extensions = map[string]json.RawMessage{}
	}
	extensions[era.TasksExtension] = json.RawMessage("{}")
	raw, err := json.Marshal(extensions)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	return jsonrpc.Edit(capabilities, jsonrpc.Field{Key: "extensions", Value: raw})
}
