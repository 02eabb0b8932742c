package era

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// MetaRelatedTask is the key of _meta under which the legacy era says to which task
// something belongs.
const MetaRelatedTask = "io.modelcontextprotocol/related-task"

// The states of a task that both eras know.
const (
	TaskWorking       = "working"
	TaskInputRequired = "input_required"
	TaskCompleted     = "completed"
	TaskFailed        = "failed"
	TaskCancelled     = "cancelled"
)

// A Task is what both eras say of a task. Its times are texts and its spans are numbers
// as its server wrote them; a span that is nil is not there.
type Task struct {
	ID, Status, Text string
	Created, Updated string
	TTL, Poll        json.RawMessage // in milliseconds
}

// ReadTask reads what a server of either era says of a task.
func ReadTask(raw []byte) (Task, error) {
	var t struct {
		ID      string          `json:"taskId"`
		Status  string          `json:"status"`
		Text    string          `json:"statusMessage"`
		Created string          `json:"createdAt"`
		Updated string          `json:"lastUpdatedAt"`
		TTL     json.RawMessage `json:"ttl"`
		TTLMs   json.RawMessage `json:"ttlMs"`
		Poll    json.RawMessage `json:"pollInterval"`
		PollMs  json.RawMessage `json:"pollIntervalMs"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return Task{}, err
	}
	if t.ID == "" || t.Status == "" {
		return Task{}, errors.New("it lacks taskId or status")
	}
	out := Task{ID: t.ID, Status: t.Status, Text: t.Text, Created: t.Created, Updated: t.Updated, TTL: t.TTL, Poll: t.Poll}
	if out.TTL == nil {
		out.TTL = t.TTLMs
	}
	if out.Poll == nil {
		out.Poll = t.PollMs
	}
	return out, nil
}

// Over reports whether the task has ended.
func (t Task) Over() bool {
	return t.Status == TaskCompleted || t.Status == TaskFailed || t.Status == TaskCancelled
}

// Legacy returns the members that the legacy era has of the task.
func (t Task) Legacy() []byte { return t.object(nil, "ttl", "pollInterval") }

// Modern returns the members that the modern era has of the task, after those given.
func (t Task) Modern(fields ...jsonrpc.Field) []byte {
	return t.object(fields, "ttlMs", "pollIntervalMs")
}

func (t Task) object(fields []jsonrpc.Field, ttl, poll string) []byte {
	add := func(key string, value []byte) { fields = append(fields, jsonrpc.Field{Key: key, Value: value}) }
	add("taskId", jsonrpc.Quote(nil, t.ID))
	add("status", jsonrpc.Quote(nil, t.Status))
	if t.Text != "" {
		add("statusMessage", jsonrpc.Quote(nil, t.Text))
	}
	now := time.Now().UTC().Format(time.RFC3339)
	add("createdAt", jsonrpc.Quote(nil, cmp.Or(t.Created, now)))
	add("lastUpdatedAt", jsonrpc.Quote(nil, cmp.Or(t.Updated, t.Created, now)))
	if t.TTL == nil {
		t.TTL = json.RawMessage("null")
	}
	add(ttl, t.TTL)
	if t.Poll != nil && string(t.Poll) != "null" {
		add(poll, t.Poll)
	}
	return jsonrpc.Prepend(tool.OneOf([]byte("{}")), fields...).Join()
}

// Without returns an object without the member with that key.
func Without(obj []byte, key string) []byte {
	var at [1]jsonrpc.Span
	if jsonrpc.Members(tool.OneOf(obj), []string{key}, at[:]) != nil || !at[0].Found() {
		return obj
	}
	return cut(slices.Clone(obj), key, at[0].Start, at[0].End)
}

// theirTasks says of a server that has tasks of its era that it has those of the other one,
// which is what its clients of that one are given.
func theirTasks(capabilities []byte) []byte {
	var all, extensions map[string]json.RawMessage
	if json.Unmarshal(capabilities, &all) != nil {
		return capabilities
	}
	_ = json.Unmarshal(all["extensions"], &extensions) // there need be none
	said, legacy := all["tasks"]
	_, modern := extensions[TasksExtension]
	if !legacy && !modern {
		return capabilities
	}
	delete(all, "tasks")
	delete(extensions, TasksExtension)
	if modern {
		all["tasks"] = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	} else if callsAsTasks(said) {
		if extensions == nil {
			extensions = map[string]json.RawMessage{}
		}
		extensions[TasksExtension] = json.RawMessage("{}")
	}
	if extensions != nil {
		left, err := json.Marshal(extensions)
		if err != nil {
			return capabilities
		}
		all["extensions"] = left
	}
	out, err := json.Marshal(all)
	if err != nil {
		return capabilities
	}
	return out
}

// callsAsTasks reports whether a legacy server runs calls of tools as tasks.
func callsAsTasks(tasks []byte) bool {
	var t struct {
		Requests struct {
			Tools struct {
				Call json.RawMessage `json:"call"`
			} `json:"tools"`
		} `json:"requests"`
	}
	return json.Unmarshal(tasks, &t) == nil && t.Requests.Tools.Call != nil
}

// HasTasks reports whether a server says in its answer to initialize, or to
// server/discover, that calls of its tools can be tasks.
func HasTasks(said []byte) bool {
	var c struct {
		Capabilities struct {
			Tasks      json.RawMessage            `json:"tasks"`
			Extensions map[string]json.RawMessage `json:"extensions"`
		} `json:"capabilities"`
	}
	if len(said) == 0 || json.Unmarshal(said, &c) != nil {
		return false
	}
	_, modern := c.Capabilities.Extensions[TasksExtension]
	return modern || callsAsTasks(c.Capabilities.Tasks)
}
