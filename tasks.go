package tenon

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/internal/begun"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// placeOf names the process of a server that works for a caller.
func placeOf(owner string, m *member) begun.Place {
	if m.server == nil || upstream.IsShared(m.server) {
		owner = ""
	}
	return begun.Place{Server: m.name, Of: owner}
}

// taskServer returns the server of the client's task. Where all callers are one and the
// same, that one may ask a server for a task that it has begun before this process was
// there. A handle says itself whose it is.
func taskServer(s *Session, id string) (string, *jsonrpc.Error) {
	server, err := s.g.begun.Server(ownerOf(s.o.Caller), id, s.o.Server)
	if err != nil && s.o.Server != "" && (relay.IsHandle(id) || isAlone(s) && !s.g.begun.Knows(id)) {
		return s.o.Server, nil
	}
	return server, err
}

// isAlone reports whether nobody but this client's caller can have begun a task.
func isAlone(s *Session) bool { return ownerOf(s.o.Caller) == "" && !s.g.access.Configured() }

// ownTasks returns a server's list of tasks with those alone that are this client's.
func ownTasks(s *Session, list tool.Bytes) (tool.Bytes, error) {
	found, _, err := jsonrpc.ReadPage(list, "tasks")
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(found, func(task json.RawMessage) bool {
		_, err := taskServer(s, textOf(task, "taskId"))
		return err != nil
	})
	out, err := jsonrpc.Edit(list.Join(), jsonrpc.Field{Key: "tasks", Value: jsonrpc.Array(mine)})
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
