// Package results is the store behind handles. An answer that is too long for a
// model is kept whole here; the model gets its beginning and a handle, and reads
// on, searches, or hands it to another tool by that handle.
//
//	store, err := results.New(results.Options{Dir: dir})
//	…
//	kept, err := store.Put("alice", results.Item{Body: tool.OneOf(text)})
//	…
//	reading, err := store.Read(ctx, "alice", results.ReadOptions{ID: kept.Handle.ID, Offset: 16_000})
//	found, err := store.Read(ctx, "alice", results.ReadOptions{ID: kept.Handle.ID, Grep: "(?i)error", Context: 2})
//
// A body is written as it comes, piece by piece, and never held in one: small
// ones stay in memory, the others are files. While it passes, its characters are
// counted, a sparse index of them is made (so that reading at an offset does not
// read what is before it), and it is found out whether it is JSON.
//
// What is kept is bounded in bytes, in number and in time. The oldest leave
// first. A handle is readable by the caller whose call it came from, in any of
// their sessions: ids cannot be guessed, and a run that hands work to another
// one hands over the id.
//
// The folder of a store is removed when it is closed. Those of stores whose
// process was killed are removed by the next one; see dir.go.
//
// Errors that callers decide on are a *tool.Error whose text says what to do.
package results

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Options configures a Store. The zero value keeps everything in memory.
type Options struct {
	// Dir is the folder that stores share; each makes a folder of its own in it,
	// once it has something to write. Empty keeps everything in memory.
	Dir      string
	MaxBytes int64         // of all bodies; 0 is DefaultMaxBytes
	MaxCount int           // of bodies; 0 is DefaultMaxCount
	TTL      time.Duration // how long a handle is good; 0 is DefaultTTL
	Query    Query         // nil is no jq
	Logger   *slog.Logger  // nil discards
}

// The defaults of Options.
const (
	DefaultMaxBytes = 1 << 30
	DefaultMaxCount = 10_000
	DefaultTTL      = 2 * time.Hour
)

// The kinds of what is kept, beside MIME types.
const (
	KindText = "text"
	KindJSON = "json"
)

// A body of up to smallBody bytes stays in memory while all those together have
// at most memoryBytes.
const (
	smallBody   = 64 << 10
	memoryBytes = 8 << 20
)

// ErrFull says that a body is larger than all that may be kept.
var ErrFull = errors.New("the store of results is full")

// A Store keeps bodies behind handles. It is safe for concurrent use. Close it.
type Store struct {
	o   Options
	jq  turns
	dir dir

	mu     sync.Mutex
	closed bool
	items  map[string]*item
	order  []*item // the oldest first
	bytes  int64   // of all bodies, those being written included
	memory int64   // the part of bytes that is in memory
	timer  *time.Timer
}

// An item is one body. Nothing changes it once it is in the store.
type item struct {
	handle tool.Handle
	caller string
	body   []byte // nil where it is in a file
	path   string
	chars  int
	marks  []int64 // the byte offset of every markEvery-th character
	first  string
}

// New returns a store. It removes what stores of killed processes left in the
// folder, and creates nothing yet.
func New(o Options) *Store {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxCount <= 0 {
		o.MaxCount = DefaultMaxCount
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{o: o, items: map[string]*item{}, jq: turns{all: make(chan struct{}, maxQueries)}, dir: dir{base: o.Dir, log: o.Logger}}
	s.dir.clean()
	return s
}

// Close forgets everything and removes the folder. Handles are good no more.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.items, s.order = map[string]*item{}, nil
	s.bytes, s.memory = 0, 0
	s.mu.Unlock()
	return s.dir.close()
}

// An Item is what to keep.
type Item struct {
	// Kind is a MIME type; empty is text, or JSON where the body is an object or
	// an array.
	Kind string
	Body io.WriterTo // writes the body, in as many pieces as it likes
}

// A Kept is what came of it.
type Kept struct {
	Handle tool.Handle
	Chars  int // of the body
}

// Put keeps an item for a caller. The error says why it could not be kept: the
// disk, most often.
func (s *Store) Put(caller string, in Item) (Kept, error) {
	w := &writer{store: s, caller: caller, sniff: in.Kind == ""}
	if _, err := in.Body.WriteTo(w); err != nil {
		w.abandon()
		return Kept{}, fmt.Errorf("keep a result: %w", err)
	}
	it, err := w.finish()
	if err != nil {
		w.abandon()
		return Kept{}, fmt.Errorf("keep a result: %w", err)
	}
	it.caller = caller
	if in.Kind != "" {
		it.handle.Kind = in.Kind
	}
	it.handle.ID = newID()
	if err := s.add(it); err != nil {
		w.abandon()
		return Kept{}, err
	}
	return Kept{it.handle, it.chars}, nil
}

// newID returns an id with 130 random bits.
func newID() string {
	return "h_" + strings.ToLower(rand.Text())
}

func (s *Store) add(it *item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("keep a result: the store is closed")
	}
	it.handle.ExpiresAt = time.Now().Add(s.o.TTL)
	s.items[it.handle.ID] = it
	s.order = append(s.order, it)
	if s.timer == nil {
		s.timer = time.AfterFunc(s.o.TTL, s.expire)
	}
	return nil
}

// reserve makes room for n more bytes of a caller's body that is being written, for which the
// oldest pay of the caller who keeps the most: nobody makes others lose what is theirs
// by keeping much. It fails where there is nobody left to pay.
func (s *Store) reserve(caller string, before, n int, inMemory bool) error {
	s.mu.Lock()
	var gone []*item
	for len(s.order) > 0 && (s.bytes+int64(n) > s.o.MaxBytes || len(s.order) >= s.o.MaxCount) {
		at := s.payer(caller, before+n, len(s.order) >= s.o.MaxCount)
		if at < 0 {
			break
		}
		gone = append(gone, s.drop(at))
	}
	full := s.closed || s.bytes+int64(n) > s.o.MaxBytes
	if !full {
		s.bytes += int64(n)
		if inMemory {
			s.memory += int64(n)
		}
	}
	s.mu.Unlock()
	s.remove(gone)
	if full {
		return ErrFull
	}
	return nil
}

// release gives back what was reserved.
func (s *Store) release(n, inMemory int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // Close has given back everything
	}
	s.bytes -= int64(n)
	s.memory -= int64(inMemory)
}

// memoryFor reports whether n more bytes may stay in memory.
func (s *Store) memoryFor(n int) bool {
	if s.o.Dir == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory+int64(n) <= memoryBytes
}

// payer returns the place of the oldest item of the caller who keeps the most items, or
// the most bytes, what the one given is about to keep included; -1 where that one has
// nothing to pay with. The lock is held.
func (s *Store) payer(caller string, size int, items bool) int {
	weigh := func(it *item) int {
		if items {
			return 1
		}
		return it.handle.Size
	}
	most := map[string]int{caller: size}
	if items {
		most[caller] = 1
	}
	for _, it := range s.order {
		most[it.caller] += weigh(it)
	}
	at, heaviest := -1, most[caller]
	for i, it := range s.order {
		if n := most[it.caller]; n > heaviest || at < 0 && n == heaviest && it.caller == caller {
			at, heaviest = i, n
		}
	}
	if at < 0 && items { // all have one
		return 0
	}
	return at
}

// drop takes an item out. The caller holds the lock, and removes its file afterwards.
func (s *Store) drop(at int) *item {
	it := s.order[at]
	if at == 0 { // the usual case
		s.order[0] = nil
		s.order = s.order[1:]
	} else {
		s.order = slices.Delete(s.order, at, at+1)
	}
	delete(s.items, it.handle.ID)
	s.bytes -= int64(it.handle.Size)
	if it.path == "" {
		s.memory -= int64(it.handle.Size)
	}
	return it
}

// expire drops what is too old, and comes back when the next one will be.
func (s *Store) expire() {
	s.mu.Lock()
	var gone []*item
	now := time.Now()
	for len(s.order) > 0 && !now.Before(s.order[0].handle.ExpiresAt) {
		gone = append(gone, s.drop(0))
	}
	switch {
	case s.closed:
	case len(s.order) > 0:
		s.timer.Reset(s.order[0].handle.ExpiresAt.Sub(now))
	default:
		s.timer = nil
	}
	s.mu.Unlock()
	s.remove(gone)
}

// remove removes the files of items that are out of the store. Whoever is reading
// one reads on, but on Windows, where the file then stays until Close.
func (s *Store) remove(items []*item) {
	for _, it := range items {
		if it.path == "" {
			continue
		}
		if err := os.Remove(it.path); err != nil {
			s.o.Logger.Warn("a kept result stays on the disk", "file", filepath.Base(it.path), "error", err)
		}
	}
}

// find returns the item of a caller.
func (s *Store) find(caller, id string) (*item, error) {
	s.mu.Lock()
	it := s.items[id]
	s.mu.Unlock()
	if it == nil || it.caller != caller || !time.Now().Before(it.handle.ExpiresAt) {
		// Whose it is, and whether it ever was, is not for others to know.
		return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("There is no stored result %q: it has expired, was never yours, or its gateway has ended since. "+
			"Stored results are kept for %s at most. Make the call again that gave it.", clipped(id, 64), s.o.TTL)}
	}
	return it, nil
}

// open returns the body.
func (it *item) open() (io.ReadSeekCloser, error) {
	if it.path == "" {
		return memoryBody{bytes.NewReader(it.body)}, nil
	}
	f, err := os.Open(it.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &tool.Error{Kind: tool.NotFound, Text: "The stored result has just expired. Make the call again that gave it.", Err: err}
	}
	return f, err
}

type memoryBody struct{ *bytes.Reader }

// Close does nothing.
func (memoryBody) Close() error { return nil }

// clipped returns at most n characters of s.
func clipped(s string, n int) string {
	i := 0
	for at := range s {
		if i == n {
			return s[:at] + "…"
		}
		i++
	}
	return s
}
