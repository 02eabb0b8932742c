// Package library keeps an index of the documents in some folders, and keeps it up
// with them: what is new, changed or gone there is so in the index a moment later.
//
//	lib, err := library.New(library.Options{Roots: []string{"./docs"}})
//	release, err := lib.Use(ctx) // opens the index, and indexes in the background
//	defer release()              // the last one ends that, and waits for it
//	hits, err := lib.Index().Search(ctx, index.Query{Words: "disk full", Limit: 3})
//
// A Library is safe for concurrent use. Folders are read through os.Root: a link
// that leads out of one is not followed.
package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/servers/knowledge/index"
	"github.com/tenon-mcp/tenon/servers/knowledge/meaning"
)

// Bounds.
const (
	DefaultMaxFile = 50 << 20
	maxDocuments   = 50_000
	maxText        = 4_000_000 // characters of one document
	// SectionChars is how long a section is at most, apart from what is never cut.
	SectionChars = 2400
)

// Options configure a Library.
type Options struct {
	Roots    []string // folders of documents
	IndexDir string   // folder of the index; "" is one in the user's cache folder, "-" memory alone
	MaxFile  int64    // bytes; 0 is DefaultMaxFile
	Types    []string // endings of names that count as documents besides the usual ones, as .log
	Exclude  []string // patterns of names of files and folders that are left out, as path.Match has them
	Embedder *meaning.Model
	Getenv   func(string) string // of which programs that help get what finds them; nil: nothing
}

// A Library keeps documents.
type Library struct {
	o     Options
	roots []root
	path  string // of the index

	mu    sync.Mutex
	users int
	run   *run

	status statusBoard
}

type root struct {
	name string // what its documents' paths begin with, or nothing where it is the only one
	dir  string
}

// A run is the time between the first user and the last.
type run struct {
	index   atomic.Pointer[index.Index]
	given   *index.Index // up for one in memory: it could not be written
	convert *document.Converter
	spawner *proc.Spawner
	stop    context.CancelFunc
	ended   sync.WaitGroup
	look    chan struct{} // a reason to look at the folders again
	first   chan struct{} // closed when they were looked at once
}

// New returns a Library. It fails where a root is no folder. One that does not exist
// may come yet: until then a note says so.
func New(o Options) (*Library, error) {
	l := &Library{o: o}
	if l.o.MaxFile == 0 {
		l.o.MaxFile = DefaultMaxFile
	}
	for _, dir := range o.Roots {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("folder %s: %w", dir, err)
		}
		if target, err := filepath.EvalSymlinks(abs); err == nil {
			abs = target // else it may come yet
		}
		if info, err := os.Stat(abs); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s is no folder", dir)
		}
		if !slices.ContainsFunc(l.roots, func(r root) bool { return r.dir == abs }) {
			l.roots = append(l.roots, root{dir: abs})
		}
	}
	l.roots = outermost(l.roots)
	l.name()
	for _, pattern := range o.Exclude {
		if _, err := filepath.Match(pattern, "x"); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	l.path = l.indexPath()
	return l, nil
}

// outermost returns the folders that lie in no other one: their documents are found by
// that.
func outermost(roots []root) []root {
	return slices.DeleteFunc(slices.Clone(roots), func(r root) bool {
		return slices.ContainsFunc(roots, func(o root) bool {
			rel, err := filepath.Rel(o.dir, r.dir)
			return err == nil && rel != "." && filepath.IsLocal(rel)
		})
	})
}

// name gives each of several roots a name of its own.
func (l *Library) name() {
	if len(l.roots) < 2 {
		return
	}
	taken := make(map[string]bool)
	for i := range l.roots {
		base := filepath.Base(l.roots[i].dir)
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		l.roots[i].name = name
	}
}

// indexPath returns the file of the index of these folders.
func (l *Library) indexPath() string {
	dir := l.o.IndexDir
	if dir == "-" {
		return ""
	}
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(cache, "tenon", "knowledge")
	}
	h := sha256.New()
	for _, r := range l.roots {
		fmt.Fprintf(h, "%s\x00%s\x00", r.name, r.dir)
	}
	return filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:12])+".db")
}

// Use opens the index, if nobody did, and begins to keep it up with the folders. It
// returns the function that says that it is no longer used. That of the last user
// waits for what runs.
func (l *Library) Use(ctx context.Context) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		if l.run, err = l.open(ctx); err != nil {
			return nil, err
		}
	}
	l.users++
	return sync.OnceFunc(l.leave), nil
}

func (l *Library) leave() {
	l.mu.Lock()
	l.users--
	r := l.run
	if l.users > 0 {
		l.mu.Unlock()
		return
	}
	l.run = nil
	l.mu.Unlock()
	r.close()
}

const inMemory = "the index cannot be kept on disk and is made anew at each start: "

func (l *Library) open(ctx context.Context) (*run, error) {
	x, err := index.Open(ctx, l.path)
	if err != nil && l.path != "" && ctx.Err() == nil {
		// A cache that cannot be written costs time at each start, and nothing else.
		l.status.note(inMemory + err.Error())
		x, err = index.Open(ctx, "")
	}
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	r := &run{spawner: proc.New(proc.Options{}), look: make(chan struct{}, 1), first: make(chan struct{})}
	r.index.Store(x)
	executable, _ := os.Executable() // without it PDF is read in this process
	r.convert = document.New(document.Options{Spawner: r.spawner, Command: document.Self(executable), Env: document.Environment(l.o.Getenv)})
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.ended.Go(func() { l.keepUp(background, r) })
	return r, nil
}

func (r *run) close() {
	r.stop()
	r.ended.Wait()
	err := errors.Join(r.spawner.Close(), r.index.Load().Close())
	if r.given != nil {
		err = errors.Join(err, r.given.Close())
	}
	_ = err // nothing of theirs is waited for
}

// toMemory goes on with an index in memory, where the one on disk cannot be written.
func (r *run) toMemory(ctx context.Context) error {
	if r.given != nil {
		return errors.New("it is in memory already")
	}
	x, err := index.Open(ctx, "")
	if err != nil {
		return err
	}
	r.given = r.index.Swap(x) // it stays open for those who read it
	return nil
}

func (l *Library) current() *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// Index returns the index. It may be used between Use and release.
func (l *Library) Index() *index.Index { return l.current().index.Load() }

// Look asks for a look at the folders soon.
func (l *Library) Look() { l.current().again() }

func (r *run) again() {
	select {
	case r.look <- struct{}{}:
	default: // it is asked for already
	}
}

// Await waits until the folders were looked at once, at most patience, and calls
// progress from time to time.
func (l *Library) Await(ctx context.Context, patience time.Duration, progress func(Status)) error {
	first := l.current().first
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-first:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return nil
		case <-tick.C:
			progress(l.Status())
		}
	}
}

// Roots returns the folders, with the names that the paths of their documents begin
// with.
func (l *Library) Roots() map[string]string {
	m := make(map[string]string, len(l.roots))
	for _, r := range l.roots {
		m[r.name] = r.dir
	}
	return m
}

// Name returns the path that the document of a file has, and whether it lies in one
// of the folders.
func (l *Library) Name(file string) (string, bool) {
	for _, r := range l.roots {
		rel, err := filepath.Rel(r.dir, file)
		if err == nil && filepath.IsLocal(rel) {
			return strings.TrimPrefix(r.name+"/"+filepath.ToSlash(rel), "/"), true
		}
	}
	return "", false
}
