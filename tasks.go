package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// patient is the way back to a client that lets a call wait for as long as its person
// is asked.
type patient struct {
	tool.Peer
	r *call.Request
}

// extendEvery is how often the time of a call starts anew while its person is asked.
const extendEvery = 500 * time.Millisecond

// Ask implements tool.Peer.
func (p patient) Ask(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	var wg sync.WaitGroup
	asked := make(chan struct{})
	defer wg.Wait()
	defer close(asked)
	wg.Go(func() {
		t := time.NewTicker(extendEvery)
		defer t.Stop()
		for {
			p.r.Extend()
			select {
			case <-t.C:
			case <-asked:
				return
			}
		}
	})
	return p.Peer.Ask(ctx, method, params)
}

// tasks are the tasks that servers have begun: whose they are, and where.
type tasks struct {
	mu  sync.Mutex
	all map[string]taskAt
	old []string // in the order in which they came
}

type taskAt struct{ owner, server string }

// maxTasks bounds how many are known; the oldest are forgotten.
const maxTasks = 10_000

// maxTaskResult is how long the result is that says that a task has begun.
const maxTaskResult = 64 << 10

// began remembers the task that a result says has begun, if it does.
func (t *tasks) began(owner, server string, result tool.Bytes) {
	if n := result.Len(); n == 0 || n > maxTaskResult {
		return
	}
	raw := result.Join()
	if !bytes.Contains(raw, []byte(`"taskId"`)) {
		return
	}
	var r struct {
		Task struct {
			ID string `json:"taskId"`
		} `json:"task"`
		Type string `json:"resultType"`
		ID   string `json:"taskId"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return
	}
	id := r.Task.ID
	if id == "" && r.Type == "task" {
		id = r.ID
	}
	if id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]taskAt{}
	}
	if _, known := t.all[id]; !known {
		t.old = append(t.old, id)
	}
	t.all[id] = taskAt{owner, server}
	if len(t.old) > maxTasks {
		delete(t.all, t.old[0])
		t.old = t.old[1:]
	}
}

// of returns the server of a caller's task. A task that is another caller's is not
// there; one that nobody knows is looked for at the server that is named.
func (t *tasks) of(owner, id, server string) (string, *jsonrpc.Error) {
	t.mu.Lock()
	at, known := t.all[id]
	t.mu.Unlock()
	if !known && server != "" {
		return server, nil
	}
	if !known || at.owner != owner || server != "" && at.server != server {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no task %q", id)
	}
	return at.server, nil
}

// listTasks returns the tasks that a legacy client has handles of, of all servers that it
// sees.
func (s *Session) listTasks(ctx context.Context, sees *scoped) (tool.Bytes, error) {
	return relay.ListTasks(ctx, s.client, func(name string) relay.Server {
		if m := sees.byName[name]; m != nil && sees.mayReach(m) == nil {
			return m.way()
		}
		return nil
	}, "")
}

// tasksByServer returns those tasks of a list that are this client's, by their servers.
func (s *Session) tasksByServer(ids []string) map[string][]string {
	out := map[string][]string{}
	for _, id := range ids {
		if server, e := s.g.tasksAt.of(ownerOf(s.o.Caller), id, s.o.Server); e == nil {
			out[server] = append(out[server], id)
		}
	}
	return out
}

// WatchTasks returns those of a modern client's tasks that there are, and what tells it how
// they go, from then on until stop is called.
func (s *Session) WatchTasks(ids []string, tell func(method string, params []byte)) (there []string, watch func(context.Context) (stop func())) {
	v := view{s.g, s.g.pool.Load()}
	sees, err := v.as(s.o.subject())
	if err != nil {
		return nil, func(context.Context) func() { return func() {} }
	}
	at := map[*member][]string{}
	for server, mine := range s.tasksByServer(ids) {
		if m := v.byName[server]; m != nil && sees.mayReach(m) == nil {
			there = append(there, mine...)
			at[m] = mine
		}
	}
	hidden := func(method string, params []byte) { tell(method, s.g.hidden(params)) }
	return there, func(ctx context.Context) func() {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for m, mine := range at {
			wg.Go(func() { relay.WatchTasks(ctx, s.client, m.way(), mine, hidden) })
		}
		return func() {
			cancel()
			wg.Wait()
		}
	}
}

// HasTasks reports whether one of the servers of the window that have been met has tasks.
func (s Window) HasTasks(o Viewer) bool {
	v := view{s.g, s.g.pool.Load()}
	sees, err := v.as(o.subject())
	if err != nil {
		return false
	}
	for _, m := range v.members {
		if m.server != nil && m.meta == nil && era.HasTasks(m.server.About().Raw) && sees.mayReach(m) == nil {
			return true
		}
	}
	return false
}
