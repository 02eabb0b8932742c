package relay

import (
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// taskStates are the tasks that want input of clients that know no tasks, by the state
// that such a client gives back. A state is a secret of 130 bits, and good once.
type taskStates struct {
	mu  sync.Mutex
	all map[string]taskPlace
	old []string // in the order in which they came
}

// A taskPlace is where a task is.
type taskPlace struct{ server, id string }

// maxTaskStates bounds how many are known; the oldest are forgotten.
const maxTaskStates = 1000

// ask returns the result that asks a client for the input of a task.
func (t *taskStates) ask(server, id string, inputs map[string]json.RawMessage) (tool.Bytes, error) {
	state := "task " + rand.Text()
	said, err := json.Marshal(map[string]any{"resultType": "input_required", "inputRequests": inputs, "requestState": state})
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the input that the task wants cannot be read: %v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]taskPlace{}
	}
	t.all[state], t.old = taskPlace{server, id}, append(t.old, state)
	if len(t.old) > maxTaskStates {
		delete(t.all, t.old[0])
		t.old = t.old[1:]
	}
	return tool.OneOf(said), nil
}

// take returns the task of a state, which is used up.
func (t *taskStates) take(server, state string) (id string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.all[state]
	if !ok || at.server != server {
		return "", false
	}
	delete(t.all, state)
	return at.id, true
}
