package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local/cage"
)

// A Backend makes sandboxes on this machine.
type Backend struct {
	o Options

	checking chan struct{} // held by the one that checks
	checked  *found

	mu     sync.Mutex
	boxes  map[*box]struct{}
	caged  bool // it was tried
	cages  *cage.Set
	folder *folder
	closed bool
	ends   sync.WaitGroup // of sandboxes that end by themselves
}

// found is what the self-test has found.
type found struct {
	status sandbox.Status
	python interpreter
}

// New returns the back end. It does nothing before the first Check or Create.
func New(o Options) *Backend {
	return &Backend{o: o, checking: make(chan struct{}, 1), boxes: make(map[*box]struct{})}
}

// Name returns "local".
func (b *Backend) Name() string { return "local" }

// Check tries the levels, best first, and reports the first that holds.
func (b *Backend) Check(ctx context.Context) (sandbox.Status, error) {
	f, err := b.check(ctx)
	if err != nil {
		return sandbox.Status{Level: sandbox.LevelNone}, err
	}
	return f.status, nil
}

func (b *Backend) check(ctx context.Context) (*found, error) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.checking }()
	if b.checked != nil {
		return b.checked, nil
	}
	pythons, err := interpreters(ctx, b.o)
	if err != nil {
		return nil, err
	}
	levels := b.o.Levels
	if levels == nil {
		levels = []string{sandbox.LevelNamespaces, sandbox.LevelLandlock}
	}
	var why []string
	var failed []error
	for _, level := range levels {
		for _, python := range pythons {
			f, err := b.try(ctx, level, python)
			if err == nil {
				f.status.Notes = append(f.status.Notes, why...)
				b.checked = f
				return f, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			failed = append(failed, err)
			why = append(why, fmt.Sprintf("level %s with %s: %v", level, python.path, err))
			if !errors.Is(err, errPython) {
				break // another interpreter changes nothing
			}
		}
	}
	return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "code cannot be kept apart from this machine, so none is run (" + strings.Join(why, "; ") +
		"). " + remedy(failed)}
}

// try makes a sandbox of a level and tests it.
func (b *Backend) try(ctx context.Context, level string, python interpreter) (*found, error) {
	f := &found{status: sandbox.Status{Level: level, Python: python.version}, python: python}
	x, err := b.launch(ctx, f, sandbox.Spec{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = x.Kill(context.WithoutCancel(ctx)) }() // what it was for is done
	leaks, err := spring(ctx, x)
	if err != nil {
		return nil, err
	}
	if len(leaks) > 0 {
		slices.Sort(leaks)
		return nil, fmt.Errorf("the self-test could do this from inside: %s", strings.Join(leaks, ", "))
	}
	out, err := x.Code(ctx, sandbox.Cell{Source: "6*7"})
	if err != nil || out.Error != nil || len(out.Results) != 1 || out.Results[0].Text != "42" {
		return nil, fmt.Errorf("%w there: %v %+v", errPython, err, out)
	}
	f.status.Notes = append(f.status.Notes, x.notes...)
	return f, nil
}

var errPython = errors.New("the interpreter does not run")

// Create makes a sandbox.
func (b *Backend) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	f, err := b.check(ctx)
	if err != nil {
		return nil, err
	}
	x, err := b.launch(ctx, f, spec)
	if err != nil {
		return nil, fmt.Errorf("create a sandbox: %w", err)
	}
	return x, nil
}

// Close ends all sandboxes.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	all := slices.Collect(maps.Keys(b.boxes))
	b.mu.Unlock()
	err := sandbox.EndAll(all, func(x *box) error {
		x.finish("the server was stopped")
		return nil
	})
	b.ends.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cages.Close()
	err = errors.Join(err, b.folder.close())
	b.cages, b.folder = nil, nil
	return err
}

// place returns where cgroups and folders are made, and removes there what others
// have left behind.
func (b *Backend) place(level string) (*cage.Set, *folder, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	if !b.o.NoCgroup && !b.caged {
		b.cages, b.caged = cage.New(b.o.Memory), true
	}
	if level == sandbox.LevelLandlock && b.folder == nil {
		f, err := newFolder(b.o.Dir)
		if err != nil {
			return nil, nil, err
		}
		b.folder = f
	}
	return b.cages, b.folder, nil
}

func (b *Backend) add(x *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	b.boxes[x] = struct{}{}
	return nil
}

func (b *Backend) remove(x *box) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.boxes, x)
}
