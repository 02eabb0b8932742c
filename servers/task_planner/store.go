package planner

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
)

const (
	maxFile  = 4 << 20             // bytes; a full list has less than a quarter
	maxLists = 10_000              // files in the folder
	keep     = 30 * 24 * time.Hour // a list that nobody changes
	lockTime = 10 * time.Second    // to wait for another process
)

// A todo is one line of a plan.
type todo struct {
	ID        string    `json:"id" jsonschema:"its whole id"`
	Title     string    `json:"title" jsonschema:"what is to be done"`
	Completed bool      `json:"completed" jsonschema:"whether it is done"`
	CreatedAt time.Time `json:"created_at" jsonschema:"when it was added"`
}

// A file is what is kept of one task.
type file struct {
	Version int    `json:"version"`
	Task    string `json:"task"` // for people who look into the folder; shortened
	Todos   []todo `json:"todos"`
}

// A store is a folder of lists.
type store struct{ dir string }

func newTodos(titles []string, besides []todo) []todo {
	taken := map[string]bool{}
	for _, t := range besides {
		taken[t.ID] = true
	}
	now := time.Now().UTC().Truncate(time.Second)
	todos := make([]todo, 0, len(titles))
	for _, title := range titles {
		id := newID()
		for taken[id] {
			id = newID()
		}
		taken[id] = true
		todos = append(todos, todo{ID: id, Title: title, CreatedAt: now})
	}
	return todos
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// path is the file of a task. The name of a task is data of the caller and only
// its hash gets into the name of a file.
func (s store) path(task string) string {
	sum := sha256.Sum256([]byte(task))
	return filepath.Join(s.dir, "todos_"+hex.EncodeToString(sum[:16])+".json")
}

// read returns the list of a task, which may be empty.
func (s store) read(ctx context.Context, task string) ([]todo, error) {
	if s.dir == "" {
		return nil, errNoFolder
	}
	path := s.path(task)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return load(path)
}

var errNoFolder = errors.New("there is no folder for task plans: the operator has to set the option dir of the server task_planner")

// change replaces the list of a task by what f makes of it. Where f fails, the
// list stays as it was.
func (s store) change(ctx context.Context, task string, f func([]todo) ([]todo, error)) ([]todo, error) {
	if s.dir == "" {
		return nil, errNoFolder
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, cannot("save", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	path := s.path(task)
	todos, err := load(path)
	if err != nil {
		return nil, err
	}
	isNew := todos == nil
	if todos, err = f(todos); err != nil {
		return nil, err
	}
	if isNew {
		if err := s.sweep(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return todos, save(path, file{Version: 1, Task: short(oneLine(task)), Todos: todos})
}

// lock keeps every other process out of the folder.
func (s store) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another process holds the task plans; try again"))
	defer cancel()
	f, err := flock.Wait(ctx, filepath.Join(s.dir, ".lock"))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, cannot("lock", err)
	}
	return func() { _ = f.Close() }, nil
}

func cannot(what string, err error) error {
	return fmt.Errorf("cannot %s the task plan: %w. Nothing was changed; go on without it, and tell the user", what, bare(err))
}

// bare takes the path out of an error: the model has no use for it.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

func load(path string) ([]todo, error) {
	f, err := os.Open(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannot("read", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := cmp.Or(err, f.Close()); err != nil {
		return nil, cannot("read", err)
	}
	var kept file
	if len(b) > maxFile || json.Unmarshal(b, &kept) != nil || kept.Version != 1 || len(kept.Todos) > maxTodos {
		return nil, fmt.Errorf("cannot read the task plan: the file %s is damaged or of another version, and is left as it is. The operator can move it away", filepath.Base(path))
	}
	if kept.Todos == nil {
		kept.Todos = []todo{}
	}
	return kept.Todos, nil
}

// save puts a list in the place of the one before. What a crash leaves of a new
// list is written over by the next change.
func save(path string, f file) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return cannot("save", err)
	}
	next := path + ".next"
	w, err := os.OpenFile(filepath.Clean(next), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannot("save", err)
	}
	_, err = w.Write(append(b, '\n'))
	if err = cmp.Or(err, w.Sync()); err != nil {
		_ = w.Close() // it is written again by the next change
		return cannot("save", err)
	}
	if err = cmp.Or(w.Close(), os.Rename(next, path)); err != nil {
		return cannot("save", err)
	}
	return nil
}

// sweep makes room for one more list: those that nobody has changed for a month
// are removed.
func (s store) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return cannot("save", err)
	}
	lists := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "todos_") {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if time.Since(info.ModTime()) > keep && os.Remove(filepath.Join(s.dir, e.Name())) == nil {
			continue
		}
		lists++
	}
	if lists >= maxLists {
		return fmt.Errorf("there are %d task plans already; nothing was added. The operator can remove old files, or set another folder with the option dir", lists)
	}
	return nil
}
