package relay

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// An atModern is a task of a modern server, for its legacy client.
type atModern struct {
	c *Client
	s Server
	h *held
}

// beginAtModern sends a call that a legacy client wants to become a task to a modern server,
// which decides by itself. Of a call that it does not make a task of, the client gets one
// that is over.
func beginAtModern(ctx context.Context, c *Client, s Server, r Request) (tool.Bytes, error) {
	if t, ok := s.(tasking); ok {
		s = t.Server // which waits for the end
	}
	meta, err := knowingTasks(c.meta())
	if err != nil {
		return nil, err
	}
	h, err := hold(c, s.Name(), true)
	if err != nil {
		return nil, err
	}
	r.Params = era.Without(r.Params, "task")
	result, err := c.rounds(ctx, s, r, meta)
	if err != nil {
		h.drop()
		return nil, err
	}
	t := era.Task{ID: "-", Status: era.TaskCompleted}
	if taskOf(result).Type == "task" {
		if t, err = era.ReadTask(result.Join()); err != nil {
			h.drop()
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the task that server %s has begun cannot be read: %v", s.Name(), err)
		}
	} else {
		h.atOnce = &outcome{result: result}
	}
	h.keep(t)
	if !t.Over() && c.o.Notify != nil {
		atModern{c, s, h}.watch(meta)
	}
	return tool.OneOf(append(append([]byte(`{"task":`), h.note(t).Legacy()...), '}')), nil
}

// way is how requests about the task go.
func (a atModern) way(r Request) (*Sending, error) {
	meta, err := knowingTasks(a.c.meta())
	return &Sending{Meta: meta, Progress: r.Progress, Stream: &flight{c: a.c, peer: r.Peer}}, err
}

// carry carries a request about the task.
func (a atModern) carry(ctx context.Context, r Request) (tool.Bytes, error) {
	way, err := a.way(r)
	if err != nil {
		return nil, err
	}
	switch r.Method {
	case "tasks/get":
		t, err := a.get(ctx, way)
		return tool.OneOf(t.Legacy()), err
	case "tasks/result":
		result, err := a.result(ctx, way, r)
		if err != nil {
			return nil, err
		}
		return jsonrpc.EditMeta(result.Join(), related(a.h.handle))
	case "tasks/cancel":
		return a.cancel(ctx, way)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", r.Method)
}

func (a atModern) get(ctx context.Context, way *Sending) (era.Task, error) {
	if a.h.atOnce != nil {
		return a.h.known(), nil
	}
	raw, err := a.s.Send(ctx, about(way, "tasks/get", a.h.id, nil))
	if err != nil {
		return era.Task{}, err
	}
	t, err := era.ReadTask(raw.Join())
	if err != nil {
		return era.Task{}, jsonrpc.Errorf(jsonrpc.CodeInternal, "what server %s says of the task cannot be read: %v", a.s.Name(), err)
	}
	return a.h.note(t), nil
}

// result waits for the end of the task, and has its client asked for what it wants.
func (a atModern) result(ctx context.Context, way *Sending, r Request) (tool.Bytes, error) {
	if a.h.atOnce != nil {
		return a.h.atOnce.result, nil
	}
	for round := 0; ; {
		t, err := watchTask(ctx, a.s, way, a.h.id)
		if err != nil {
			return nil, err
		}
		if t.Status != era.TaskInputRequired {
			return t.outcome(a.s.Name())
		}
		inputs, err := a.h.claim(t.Inputs)
		if err != nil {
			return nil, err
		}
		if len(inputs) == 0 { // what it wants is on its way to it
			if err := pause(ctx, t.Poll); err != nil {
				return nil, err
			}
			continue
		}
		if round++; round > maxRounds {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s wanted input more than %d times for one task", a.s.Name(), maxRounds)
		}
		if err := a.ask(ctx, way, r, inputs); err != nil {
			a.h.unclaim(inputs)
			return nil, err
		}
	}
}

// ask asks the client for inputs, and tells the server what it says.
func (a atModern) ask(ctx context.Context, way *Sending, r Request, inputs map[string]input) error {
	for name, in := range inputs {
		if params, err := jsonrpc.EditMeta(in.Params, related(a.h.handle)); err == nil {
			inputs[name] = input{in.Method, params.Join()}
		}
	}
	answers, err := answer(ctx, a.c, r.Peer, inputs)
	if err != nil {
		return err
	}
	said, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	_, err = a.s.Send(ctx, about(way, "tasks/update", a.h.id, append([]byte(`,"inputResponses":`), said...)))
	return err
}

// claim returns those inputs that nobody has been asked for yet.
func (h *held) claim(wanted map[string]json.RawMessage) (map[string]input, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]input{}
	for name, raw := range wanted {
		var in input
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the input %q that the task wants cannot be read: %v", name, err)
		}
		if !h.asked[name] && len(out) < maxInputs {
			out[name] = in
		}
	}
	for name := range out {
		h.asked[name] = true
	}
	return out, nil
}

func (h *held) unclaim(inputs map[string]input) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range inputs {
		delete(h.asked, name)
	}
}

// cancel ends the task. The legacy era answers with what it is then.
func (a atModern) cancel(ctx context.Context, way *Sending) (tool.Bytes, error) {
	t, err := a.get(ctx, way)
	if err != nil {
		return nil, err
	}
	if t.Over() {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the task cannot be canceled: it has ended, %s", t.Status)
	}
	if _, err := a.s.Send(ctx, about(way, "tasks/cancel", a.h.id, nil)); err != nil {
		return nil, err
	}
	t, err = a.get(ctx, way)
	return tool.OneOf(t.Legacy()), err
}

// watch tells the session of the client how the task goes, if the server does.
func (a atModern) watch(meta []jsonrpc.Field) {
	ctx, stop := context.WithCancel(a.h.ctx)
	if !a.c.subs.add(stop) {
		stop()
		return
	}
	a.h.r.tasks.Go(func() {
		defer stop()
		// A server that does not tell ends the stream, or says nothing on it.
		_ = listen(ctx, a.s, map[string]any{"taskIds": []string{a.h.id}}, meta, heard(func(method string, params tool.Bytes) {
			if method != "notifications/tasks" {
				return
			}
			t, err := era.ReadTask(params.Join())
			if err != nil || t.ID != a.h.id {
				return
			}
			a.c.tell(nil, "notifications/tasks/status", a.h.note(t).Legacy())
			if t.Over() {
				stop()
			}
		}))
	})
}

// ListTasks returns the tasks of modern servers that a legacy client has handles of; server
// is the only one that counts, or empty.
func ListTasks(ctx context.Context, c *Client, at func(server string) Server, server string) (tool.Bytes, error) {
	all := c.r.held.of(c, server)
	said := make([][]byte, len(all))
	var wg sync.WaitGroup
	places := make(chan struct{}, maxInputs)
	for i, h := range all {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			s := at(h.server)
			if s == nil {
				return
			}
			a := atModern{c, s, h}
			way, err := a.way(Request{})
			if err != nil {
				return
			}
			if t, err := a.get(ctx, way); err == nil { // one that its server has forgotten is none
				said[i] = t.Legacy()
			}
		})
	}
	wg.Wait()
	var texts []string
	for _, t := range said {
		if t != nil {
			texts = append(texts, string(t))
		}
	}
	return tool.OneOf([]byte(`{"tasks":[` + strings.Join(texts, ",") + `]}`)), nil
}
