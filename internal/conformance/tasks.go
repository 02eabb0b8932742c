package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// The names of the protocol that the tasks fixture needs.
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	methodMissing  = -32601
	paramsInvalid  = -32602
	headerMismatch = -32020
	lacksExtension = -32021
)

// A taskServer speaks the revision of 2026-07-28 with the extension for tasks,
// which no SDK has. Its tools are those that the scenarios want.
type taskServer struct {
	ctx  context.Context //nolint:containedctx // of the fixture: tasks outlive requests
	work sync.WaitGroup

	mu    sync.Mutex
	tasks map[string]*task
}

// A task is a call that goes on after its answer.
type task struct {
	id               string
	status           string
	created, updated time.Time
	result, failure  any
	pending          map[string]any
	cancel           context.CancelFunc
	resume           chan struct{} // closed when nothing is pending
}

// taskTools are the tools, with how each takes being a task.
var taskTools = []struct{ name, support string }{
	{"greet", "forbidden"},
	{"slow_compute", "optional"},
	{"failing_job", "required"},
	{"protocol_error_job", "optional"},
	{"confirm_delete", "optional"},
	{"multi_input", "optional"},
	{"test_tool_with_task", "required"},
}

// object is a JSON object.
type object = map[string]any

// A taskRequest is what the server reads of a request.
type taskRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name           string            `json:"name"`
		TaskID         string            `json:"taskId"`
		Arguments      taskArguments     `json:"arguments"`
		InputResponses map[string]object `json:"inputResponses"`
		Meta           struct {
			Capabilities struct {
				Extensions map[string]any `json:"extensions"`
			} `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
}

type taskArguments struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// A fault is an answer that is an error.
type fault struct {
	status, code int
	message      string
	data         any
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q taskRequest
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if q.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, failed := s.answer(r, q)
	w.Header().Set("Content-Type", "application/json")
	answer := object{"jsonrpc": "2.0", "id": q.ID}
	if failed != nil {
		w.WriteHeader(failed.status)
		answer["error"] = object{"code": failed.code, "message": failed.message, "data": failed.data}
	} else {
		if _, ok := result["resultType"]; !ok {
			result["resultType"] = "complete"
		}
		answer["result"] = result
	}
	_ = json.NewEncoder(w).Encode(answer) // the client is gone
}

func (s *taskServer) answer(r *http.Request, q taskRequest) (object, *fault) {
	named := map[string]string{
		"tools/call": q.Params.Name, "tasks/get": q.Params.TaskID, "tasks/update": q.Params.TaskID, "tasks/cancel": q.Params.TaskID,
	}
	if name, ok := named[q.Method]; r.Header.Get("Mcp-Method") != q.Method || ok && r.Header.Get("Mcp-Name") != name {
		return nil, &fault{http.StatusBadRequest, headerMismatch, "headers and body differ", nil}
	}
	_, extended := q.Params.Meta.Capabilities.Extensions[tasksExtension]
	switch q.Method {
	case "server/discover":
		return object{
			"supportedVersions": []string{"2026-07-28"}, "ttlMs": 0, "cacheScope": "private",
			"capabilities": object{"tools": object{}, "extensions": object{tasksExtension: object{}}},
			"_meta":        object{"io.modelcontextprotocol/serverInfo": object{"name": "tasks", "version": "1"}},
		}, nil
	case "tools/list":
		return object{"tools": listed(), "ttlMs": 0, "cacheScope": "private"}, nil
	case "tools/call":
		return s.call(r.Context(), q, extended)
	case "tasks/get", "tasks/update", "tasks/cancel":
		if !extended {
			return nil, needsExtension()
		}
		return s.manage(q)
	}
	return nil, &fault{http.StatusNotFound, methodMissing, "no method " + q.Method, nil}
}

func listed() []object {
	var all []object
	for _, t := range taskTools {
		all = append(all, object{
			"name": t.name, "description": "a tool for tests", "inputSchema": object{"type": "object"},
			"execution": object{"taskSupport": t.support},
		})
	}
	return all
}

func needsExtension() *fault {
	return &fault{
		http.StatusBadRequest, lacksExtension, "tasks are needed",
		object{"requiredCapabilities": object{"extensions": object{tasksExtension: object{}}}},
	}
}

// call runs a tool, as a task where the client knows tasks.
func (s *taskServer) call(ctx context.Context, q taskRequest, extended bool) (object, *fault) {
	support := ""
	for _, t := range taskTools {
		if t.name == q.Params.Name {
			support = t.support
		}
	}
	person, answered := q.Params.InputResponses["user_name"]
	switch {
	case support == "":
		return nil, &fault{http.StatusBadRequest, paramsInvalid, "no tool " + q.Params.Name, nil}
	case support == "forbidden":
		return text("Hello, " + q.Params.Arguments.Name + "!"), nil
	case support == "required" && !extended:
		return nil, needsExtension()
	case q.Params.Name == "test_tool_with_task" && !answered:
		return object{"resultType": "input_required", "requestState": "asked", "inputRequests": object{"user_name": question("Who are you?")}}, nil
	case !extended:
		t := &task{}
		s.perform(ctx, t, q, nil)
		result, ok := t.result.(object)
		if !ok {
			return nil, &fault{http.StatusInternalServerError, -32603, "the job broke", nil}
		}
		return result, nil
	}
	return s.begin(q, person), nil
}

// begin makes a task of the call and answers with it.
func (s *taskServer) begin(q taskRequest, person object) object {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &task{id: fmt.Sprintf("task-%d", len(s.tasks)+1), status: "working", created: time.Now(), updated: time.Now(), cancel: cancel}
	s.tasks[t.id] = t
	created := t.object()
	created["resultType"] = "task"
	s.work.Go(func() {
		defer cancel()
		s.perform(ctx, t, q, person)
	})
	return created
}

// perform does what the tool does, and puts the outcome into t.
func (s *taskServer) perform(ctx context.Context, t *task, q taskRequest, person object) {
	var result, failure any
	switch q.Params.Name {
	case "slow_compute":
		pause(ctx, time.Duration(q.Params.Arguments.Seconds*float64(time.Second)))
		result = text("computed")
	case "failing_job":
		pause(ctx, time.Second)
		failed := text("the job failed")
		failed["isError"] = true
		result = failed
	case "protocol_error_job":
		failure = object{"code": -32603, "message": "the job broke"}
	case "confirm_delete":
		s.ask(ctx, t, "confirm")
		result = text("deleted")
	case "multi_input":
		s.ask(ctx, t, "first", "second")
		result = text("both are known")
	case "test_tool_with_task":
		content, _ := person["content"].(object)
		result = text(fmt.Sprintf("Hello, %v!", content["name"]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.status == "cancelled" {
		return
	}
	t.result, t.failure, t.status, t.updated = result, failure, "completed", time.Now()
	if failure != nil {
		t.status = "failed"
	}
}

// ask parks t until all questions are answered. A call that is no task gets no
// answers.
func (s *taskServer) ask(ctx context.Context, t *task, names ...string) {
	if t.id == "" {
		return
	}
	s.mu.Lock()
	t.pending, t.resume, t.status, t.updated = object{}, make(chan struct{}), "input_required", time.Now()
	for _, name := range names {
		t.pending[name] = question("Is " + name + " right?")
	}
	resume := t.resume
	s.mu.Unlock()
	select {
	case <-resume:
	case <-ctx.Done():
	}
}

// manage answers the methods of the extension.
func (s *taskServer) manage(q taskRequest) (object, *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[q.Params.TaskID]
	if t == nil {
		return nil, &fault{http.StatusBadRequest, paramsInvalid, "no such task", nil}
	}
	switch q.Method {
	case "tasks/get":
		return t.object(), nil
	case "tasks/cancel":
		if t.status == "working" || t.status == "input_required" {
			t.status, t.updated = "cancelled", time.Now()
			t.cancel()
		}
	case "tasks/update":
		waiting := len(t.pending)
		for name := range q.Params.InputResponses {
			delete(t.pending, name)
		}
		if waiting > 0 && len(t.pending) == 0 {
			t.status, t.updated = "working", time.Now()
			close(t.resume)
		}
	}
	return object{}, nil
}

// object is what tasks/get says of t.
func (t *task) object() object {
	o := object{
		"taskId": t.id, "status": t.status, "ttlMs": 300000, "pollIntervalMs": 100,
		"createdAt": t.created.UTC().Format(time.RFC3339Nano), "lastUpdatedAt": t.updated.UTC().Format(time.RFC3339Nano),
	}
	switch t.status {
	case "completed":
		o["result"] = t.result
	case "failed":
		o["error"] = t.failure
	case "input_required":
		open := object{}
		maps.Copy(open, t.pending)
		o["inputRequests"] = open
	}
	return o
}

func text(s string) object {
	return object{"content": []object{{"type": "text", "text": s}}}
}

func question(message string) object {
	return object{"method": "elicitation/create", "params": object{
		"mode": "form", "message": message,
		"requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string"}}},
	}}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
