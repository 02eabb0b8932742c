// Package begun remembers whose the tasks are that servers have begun, and where. A server
// names its tasks as it likes, so each has names of its own, and a name belongs to
// whoever was given it first.
//
//	var tasks begun.Tasks
//	tasks.Began("ann", begun.Place{Server: "files"}, result) // {"task":{"taskId":"t1",…}}
//	server, err := tasks.Server("ann", "t1", "") // files
//	server, err = tasks.Server("bob", "t1", "")  // there is no such task
package begun

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	// Most bounds how many tasks are known; whoever has too many forgets his oldest.
	Most = 10_000
	// maxResult is how long the result is, in bytes, that says that a task has begun.
	maxResult = 64 << 10
)

// A Place is where a task runs: a server, and whose process that is where callers share
// none.
type Place struct{ Server, Of string }

// Tasks are the tasks that are known. The zero value knows none. All methods may be called
// concurrently.
type Tasks struct {
	mu     sync.Mutex
	places share.Places
	all    map[at]*task
	mine   map[string][]*task // of an owner, in the order in which they came
}

// An at is what names a task.
type at struct {
	Place
	id string
}

type task struct {
	at
	owner string
	until time.Time // its server may use the name again from then on; zero is never
}

// Began remembers the task of the owner that a result says has begun, if it does.
func (t *Tasks) Began(owner string, p Place, result tool.Bytes) {
	id, life := read(result)
	if id == "" {
		return
	}
	b := &task{at: at{p, id}, owner: owner}
	if life > 0 {
		b.until = time.Now().Add(life)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.all[b.at]; old != nil {
		if old.owner != owner && (old.until.IsZero() || time.Now().Before(old.until)) {
			return // whatever its server says, it is somebody else's
		}
		t.forget(old)
	}
	for t.places.Take(owner, Most) != nil {
		t.forget(t.oldest(owner))
	}
	if t.all == nil {
		t.all, t.mine = map[at]*task{}, map[string][]*task{}
	}
	t.all[b.at] = b
	t.mine[owner] = append(t.mine[owner], b)
}

// oldest returns the oldest task of an owner, or of whoever has most where that one has
// none. The lock is held.
func (t *Tasks) oldest(owner string) *task {
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
func (t *Tasks) forget(b *task) {
	delete(t.all, b.at)
	i := slices.Index(t.mine[b.owner], b)
	if t.mine[b.owner] = slices.Delete(t.mine[b.owner], i, i+1); len(t.mine[b.owner]) == 0 {
		delete(t.mine, b.owner)
	}
	t.places.Give(b.owner)
}

// Server returns the server of an owner's task, which is looked for everywhere where no
// server is named. A task that is another one's is not there.
func (t *Tasks) Server(owner, id, server string) (string, *jsonrpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := ""
	for _, b := range t.mine[owner] {
		switch {
		case b.id != id || server != "" && b.Server != server:
		case found != "" && found != b.Server:
			return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "servers %s and %s both have a task %q of this caller: ask for it at /mcp/s/ and the name of its server", found, b.Server, id)
		default:
			found = b.Server
		}
	}
	if found == "" {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no task %q", id)
	}
	return found, nil
}

// Knows reports whether a task of that name is somebody's, at whatever server.
func (t *Tasks) Knows(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.all {
		if at.id == id {
			return true
		}
	}
	return false
}

// read returns the name of the task that a result says has begun, if it does, and how
// long its server keeps it; 0 is for as long as it likes.
func read(result tool.Bytes) (id string, life time.Duration) {
	if n := result.Len(); n == 0 || n > maxResult {
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
	said, err := era.ReadTask(r.Task)
	if err != nil {
		return "", 0
	}
	const longest = 1 << 40 // milliseconds, which is for ever
	if ms, err := strconv.ParseInt(string(said.TTL), 10, 64); err == nil && ms > 0 && ms < longest {
		life = time.Duration(ms) * time.Millisecond
	}
	return said.ID, life
}
