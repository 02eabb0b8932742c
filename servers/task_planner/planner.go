// Package planner is the bundled server "task_planner": a list of what is still to
// do for one task, which a model keeps while it works.
//
//	srv, err := planner.New(planner.Options{Dir: "/var/lib/tenon/plans"})
//
// Each task has a list of its own. Which task a call is for says TASK_ID in the
// environment of the process, which the gateway sets for a process of one session
// or call; else the task, and else the session, in the _meta of the call; else
// there is one list for all.
//
// A list is one file. It is replaced as a whole, under a lock that other processes
// heed, so that a reader finds the list before or after a change and never between,
// whatever ends the writer. That is in store.go; how a list is shown is in show.go.
// The folder is called task_planner because that is the server's name.
package planner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// What a list may hold. A plan that is longer than this is no plan.
const (
	maxTitles = 50  // in one call
	maxTitle  = 300 // characters
	maxTodos  = 300 // in one list
	maxChars  = 8000
)

// Options are the settings of the server. The zero value is useful.
type Options struct {
	Dir string `json:"dir,omitempty" jsonschema:"folder for the lists, one file for each task; default: TODO_DATA_DIR in the environment of the server, else the folder todos in the user's state folder"`
}

type server struct {
	store store
	task  string // of the whole process, where it has one
}

// New returns the server. It touches no file.
func New(o Options) (*mcp.Server, error) { return build(o, os.Getenv) }

func build(o Options, getenv func(string) string) (*mcp.Server, error) {
	s := &server{task: getenv("TASK_ID")}
	s.store.dir = o.Dir
	if s.store.dir == "" {
		s.store.dir = getenv("TODO_DATA_DIR")
	}
	if s.store.dir == "" {
		if state := stateDir(runtime.GOOS, getenv); state != "" {
			s.store.dir = filepath.Join(state, "todos")
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-task-planner", Title: "Task planner", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addAdd(srv)
	s.addList(srv)
	s.addComplete(srv)
	s.addDelete(srv)
	return srv, nil
}

// stateDir is the user's folder for what a program keeps, or "" where the
// environment does not tell.
func stateDir(goos string, getenv func(string) string) string {
	absolute := func(name string) string {
		if dir := getenv(name); filepath.IsAbs(dir) {
			return dir
		}
		return ""
	}
	home := absolute("HOME")
	switch {
	case goos == "windows":
		if dir := absolute("LocalAppData"); dir != "" {
			return filepath.Join(dir, "tenon", "state")
		}
		return ""
	case absolute("XDG_STATE_HOME") != "":
		return filepath.Join(absolute("XDG_STATE_HOME"), "tenon")
	case home == "":
		return ""
	case goos == "darwin":
		return filepath.Join(home, "Library", "Application Support", "tenon")
	default:
		return filepath.Join(home, ".local", "state", "tenon")
	}
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	change := tool.Meta{Registered: true, SideEffect: tool.EffectFilesystem, RiskLevel: tool.RiskLow, MaxResultChars: maxChars}
	add, complete, remove := change, change, change
	complete.Idempotent = true
	add.SearchHint = "add todo task plan step checklist planner 添加 待办 任务 计划"
	complete.SearchHint = "complete todo task done finish check off planner 完成 待办 任务"
	remove.SearchHint = "delete todo task remove drop planner 删除 待办 任务"
	return map[string]tool.Meta{
		"add_todo": add, "complete_todo": complete, "delete_todo": remove,
		"list_todos": {
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow, MaxResultChars: maxChars,
			SearchHint: "list todos tasks plan progress pending completed planner 查看 待办 任务 计划 进度",
		},
	}
}

type addInput struct {
	Titles []string `json:"titles" jsonschema:"what is to be done, one short sentence each, in order; at most 50"`
}

type idsInput struct {
	TodoIDs []string `json:"todo_ids" jsonschema:"ids of todos as list_todos shows them: whole, or the first characters where no other id begins so; at most 300"`
}

type listInput struct {
	Status string `json:"status,omitempty" jsonschema:"which todos to show: all, pending or completed"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many of them to pass over, where they do not fit into one answer"`
}

// changes are the annotations of a tool that changes the plan.
func changes(idempotent bool) *mcp.ToolAnnotations {
	a := typed.ReadsHere()
	a.ReadOnlyHint, a.IdempotentHint = false, idempotent
	return a
}

func (s *server) addAdd(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "add_todo", Title: "Add todos", Annotations: changes(false),
		Description: "Adds todos to the plan of the current task, and shows the plan. Use it to split a task of several steps into steps, before the first of them is done.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in addInput) ([]mcp.Content, plan, error) {
		titles, err := cleanTitles(in.Titles)
		if err != nil {
			return nil, plan{}, err
		}
		var message string
		todos, err := s.store.change(ctx, s.taskOf(req), func(todos []todo) ([]todo, error) {
			if room := maxTodos - len(todos); len(titles) > room {
				return nil, fmt.Errorf("the plan has %d todos and may have %d; nothing was added. Delete what is done or no longer needed with delete_todo", len(todos), maxTodos)
			}
			added := newTodos(titles, todos)
			message = addedMessage(added)
			return append(todos, added...), nil
		})
		if err != nil {
			return nil, plan{}, err
		}
		return answer(message, todos, listInput{})
	})
}

func (s *server) addList(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "list_todos", Title: "List todos",
		Description: "Shows the plan of the current task: its todos with their ids, and which of them are done.",
		Defaults:    map[string]any{"status": "all", "offset": 0},
		Choices:     map[string][]any{"status": {"all", "pending", "completed"}},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in listInput) ([]mcp.Content, plan, error) {
		todos, err := s.store.read(ctx, s.taskOf(req))
		if err != nil {
			return nil, plan{}, err
		}
		return answer("", todos, in)
	})
}

func (s *server) addComplete(srv *mcp.Server) {
	s.addByID(srv, typed.Spec{
		Name: "complete_todo", Title: "Complete todos", Annotations: changes(true),
		Description: "Marks todos of the current task as done, and shows the plan. Call it as soon as a step is done.",
	}, "Completed", func(todos []todo, chosen map[string]bool) []todo {
		for i := range todos {
			todos[i].Completed = todos[i].Completed || chosen[todos[i].ID]
		}
		return todos
	})
}

func (s *server) addDelete(srv *mcp.Server) {
	s.addByID(srv, typed.Spec{
		Name: "delete_todo", Title: "Delete todos", Annotations: changes(false),
		Description: "Takes todos out of the plan of the current task, and shows what is left. For what turned out not to be needed; what is done is marked with complete_todo.",
	}, "Deleted", func(todos []todo, chosen map[string]bool) []todo {
		return slices.DeleteFunc(todos, func(t todo) bool { return chosen[t.ID] })
	})
}

func (s *server) addByID(srv *mcp.Server, sp typed.Spec, verb string, apply func([]todo, map[string]bool) []todo) {
	typed.AddContent(srv, sp, func(ctx context.Context, req *mcp.CallToolRequest, in idsInput) ([]mcp.Content, plan, error) {
		if len(in.TodoIDs) == 0 || len(in.TodoIDs) > maxTodos {
			return nil, plan{}, fmt.Errorf("todo_ids must name 1 to %d todos; list_todos shows their ids", maxTodos)
		}
		var message string
		todos, err := s.store.change(ctx, s.taskOf(req), func(todos []todo) ([]todo, error) {
			found := choose(todos, in.TodoIDs)
			if len(found.todos) == 0 {
				return nil, found.failure()
			}
			message = found.message(verb)
			return apply(todos, found.ids), nil
		})
		if err != nil {
			return nil, plan{}, err
		}
		return answer(message, todos, listInput{})
	})
}

// taskOf returns the task that a call is for.
func (s *server) taskOf(req *mcp.CallToolRequest) string {
	if s.task != "" {
		return "task " + s.task
	}
	for _, key := range []string{"task", "session"} {
		if id, ok := req.Params.Meta["tenon/"+key].(string); ok && id != "" {
			return key + " " + id
		}
	}
	return "default"
}
