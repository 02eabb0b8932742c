package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/internal/upstream"
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

// tasks are the tasks that servers have begun: whose they are, and where. A server names
// its tasks as it likes, so each has its own names, and a name belongs to whoever was
// given it first.
type tasks struct {
	mu     sync.Mutex
	places share.Places
	all    map[taskAt]*begun
	mine   map[string][]*begun // of a caller, in the order in which they came
}

// A taskAt is what names a task: its server, whose process that is where callers share
// none, and the name that it has there.
type taskAt struct{ server, of, id string }

type begun struct {
	taskAt
	owner string
	until time.Time // its server may use the name again from then on; zero is never
}

// maxTasks bounds how many are known; whoever has too many forgets his oldest.
const maxTasks = 10_000

// maxTaskResult is how long the result is that says that a task has begun.
const maxTaskResult = 64 << 10

// began remembers the task that a result says has begun, if it does.
func (t *tasks) began(owner string, m *member, result tool.Bytes) {
	id, life := taskIn(result)
	if id == "" {
		return
	}
	b := &begun{taskAt: taskAt{m.name, processOf(owner, m), id}, owner: owner}
	if life > 0 {
		b.until = time.Now().Add(life)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.all[b.taskAt]; old != nil {
		if old.owner != owner && (old.until.IsZero() || time.Now().Before(old.until)) {
			return // whatever its server says, it is somebody else's
		}
		t.forget(old)
	}
	for {
		err := t.places.Take(owner, maxTasks)
		if err == nil {
			break
		}
		t.forget(t.oldest(owner))
	}
	if t.all == nil {
		t.all, t.mine = map[taskAt]*begun{}, map[string][]*begun{}
	}
	t.all[b.taskAt] = b
	t.mine[owner] = append(t.mine[owner], b)
}

// oldest returns the oldest task of an owner, or of whoever has most where that one has
// none. The lock is held.
func (t *tasks) oldest(owner string) *begun {
	list := t.mine[owner]
	if len(list) == 0 {
		for _, other := range t.mine {
			if len(other) > len(list) {
				list = other
			}
		}
	}
	return list[0]
}

// forget forgets a task. The lock is held.
func (t *tasks) forget(b *begun) {
	delete(t.all, b.taskAt)
	at := slices.Index(t.mine[b.owner], b)
	if t.mine[b.owner] = slices.Delete(t.mine[b.owner], at, at+1); len(t.mine[b.owner]) == 0 {
		delete(t.mine, b.owner)
	}
	t.places.Give(b.owner)
}

// taskIn returns the name of the task that a result says has begun, if it does, and how
// long its server keeps it; 0 is for as long as it likes.
func taskIn(result tool.Bytes) (id string, life time.Duration) {
	if n := result.Len(); n == 0 || n > maxTaskResult {
		return "", 0
	}
	raw := result.Join()
	if !bytes.Contains(raw, []byte(`"taskId"`)) {
		return "", 0
	}
	var r struct {
		Task json.RawMessage `json:"task"`
		Type string          `json:"resultType"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return "", 0
	}
	if r.Task == nil && r.Type == "task" {
		r.Task = raw
	}
	task, err := era.ReadTask(r.Task)
	if err != nil {
		return "", 0
	}
	const longest = 1 << 40 // milliseconds, which is for ever
	if ms, err := strconv.ParseInt(string(task.TTL), 10, 64); err == nil && ms > 0 && ms < longest {
		life = time.Duration(ms) * time.Millisecond
	}
	return task.ID, life
}

// processOf names whose process of a server it is that works for a caller.
func processOf(owner string, m *member) string {
	if m.server == nil || upstream.IsShared(m.server) {
		return ""
	}
	return owner
}

// of returns the server of a caller's task, which is looked for everywhere where none is
// named. A task that is another caller's is not there.
func (t *tasks) of(owner, id, server string) (string, *jsonrpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := ""
	for _, b := range t.mine[owner] {
		switch {
		case b.id != id || server != "" && b.server != server:
		case found != "" && found != b.server:
			return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "servers %s and %s both have a task %q of this caller: ask for it at /mcp/s/ and the name of its server", found, b.server, id)
		default:
			found = b.server
		}
	}
	if found == "" {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no task %q", id)
	}
	return found, nil
}

// taskServer returns the server of the client's task. Where all callers are one and the
// same, that one may ask a server for a task that it has begun before this process was
// there. A handle says itself whose it is.
func taskServer(s *Session, id string) (string, *jsonrpc.Error) {
	server, err := s.g.tasksAt.of(ownerOf(s.o.Caller), id, s.o.Server)
	if err != nil && s.o.Server != "" && (relay.IsHandle(id) || isAlone(s) && !s.g.tasksAt.known(id)) {
		return s.o.Server, nil
	}
	return server, err
}

// isAlone reports whether nobody but this client's caller can have begun a task.
func isAlone(s *Session) bool { return ownerOf(s.o.Caller) == "" && !s.g.access.Configured() }

// known reports whether a task of that name is somebody's, at whatever server.
func (t *tasks) known(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.all {
		if at.id == id {
			return true
		}
	}
	return false
}

// ownTasks returns a server's list of tasks with those alone that are this client's.
func ownTasks(s *Session, list tool.Bytes) (tool.Bytes, error) {
	var all map[string]json.RawMessage
	var found []json.RawMessage
	if err := json.Unmarshal(list.Join(), &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(all["tasks"], &found); err != nil {
		return nil, err
	}
	mine := []json.RawMessage{}
	for _, task := range found {
		if _, err := taskServer(s, textOf(task, "taskId")); err == nil {
			mine = append(mine, task)
		}
	}
	var err error
	if all["tasks"], err = json.Marshal(mine); err != nil {
		return nil, err
	}
	out, err := json.Marshal(all)
	return tool.OneOf(out), err
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
		if server, e := taskServer(s, id); e == nil {
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
