// Package record remembers finished calls: the last of them one by one, and all
// of them in counters. Everything that the pool was asked for passes here, what
// was denied or misnamed too, so this is where an operator looks to see what an
// agent did.
//
// Neither arguments nor results are kept here: internal/store keeps them, where
// an operator wants that. An [Entry] says who called what, when, how it ended,
// what was decided and what Tenon did about it.
//
// A [Record] lives in memory and forgets: the ring holds a fixed number of
// entries, and a new one takes the place of the oldest.
//
//	r := record.New(record.Options{})
//	…
//	id, started := record.NewID(), time.Now()
//	… the call …
//	r.Add(record.Entry{ID: id, Server: "files", Tool: "read_file", Started: started, Elapsed: time.Since(started)})
//	…
//	for _, e := range r.Last(20) { … }
package record

import (
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// DefaultLimit is how many entries a record keeps where nothing else is asked.
const DefaultLimit = 10_000

const (
	// chunkSize is how many entries are allocated at once, as the ring grows.
	chunkSize = 256
	// stride is how many entries are read under one hold of the lock, so that a
	// long read never keeps a call waiting.
	stride = 64
	// maxText bounds the texts of an entry in bytes. Names that a model made up
	// can be of any length.
	maxText = 256
)

// Options says how much is kept. The zero value is useful.
type Options struct {
	Limit int // entries; DefaultLimit where it is not above 0
}

// An Entry is one finished call. The Kind is empty where it succeeded.
type Entry struct {
	ID      string
	Server  string // what really ran; where nothing did, what was asked for
	Tool    string
	Kind    tool.Kind
	Caller  tool.Caller
	Session string
	Task    string
	Skill   string
	Started time.Time
	Elapsed time.Duration
	Bytes   int // of the answer
	// Attempts counts how often the call was sent: 0 where it never was.
	Attempts int
	Notes    []tool.Note
	Decision *tool.Decision // nil where nothing was decided
	Handle   string         // of the whole result, where it was cut
	Usage    *tool.Usage    // of models; nil where none was asked
}

// A Record keeps finished calls. All methods may be called at any time from any
// goroutine.
type Record struct {
	limit int

	mu       sync.Mutex
	chunks   [][]Entry // the ring; entry n is at n modulo limit
	added    int       // entries ever added; the next one's number
	counters counters
	watchers []*watcher
	lost     uint64
}

// New returns an empty record.
func New(o Options) *Record {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	return &Record{limit: o.Limit, counters: make(counters)}
}

// Add remembers e and hands it to those who watch. It keeps e.Notes, which must
// not be changed any more; texts over 256 bytes are cut. It never waits for
// anything but other short uses of the record.
func (r *Record) Add(e Entry) {
	e.cut()
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.slot(r.added) = e
	r.added++
	r.counters.add(&e)
	for _, w := range r.watchers {
		select {
		case w.entries <- e:
		default:
			r.lost++
		}
	}
}

// cut bounds the texts that come from outside.
func (e *Entry) cut() {
	for _, s := range [...]*string{&e.ID, &e.Server, &e.Tool, &e.Caller.Name, &e.Caller.Via, &e.Session, &e.Task, &e.Skill} {
		if len(*s) > maxText {
			*s = strings.ToValidUTF8(strings.Clone((*s)[:maxText]), "")
		}
	}
}

// slot returns the place of the entry with number n, which is the next one or
// one that is still kept.
func (r *Record) slot(n int) *Entry {
	i := n % r.limit
	if i/chunkSize == len(r.chunks) {
		size := min(chunkSize, r.limit-len(r.chunks)*chunkSize)
		r.chunks = append(r.chunks, make([]Entry, size))
	}
	return &r.chunks[i/chunkSize][i%chunkSize]
}

// Last returns at most n entries, newest first.
func (r *Record) Last(n int) []Entry {
	var last []Entry
	r.newestFirst(func(e *Entry) bool {
		if len(last) >= n {
			return false
		}
		last = append(last, *e)
		return true
	})
	return last
}

// Get returns the entry with that ID, as long as it is kept. It looks at all
// entries: it is for people, not for the way of a call.
func (r *Record) Get(id string) (found Entry, ok bool) {
	r.newestFirst(func(e *Entry) bool {
		if e.ID == id {
			found, ok = *e, true
		}
		return !ok
	})
	return found, ok
}

// newestFirst calls visit with each entry until it returns false. What is added
// meanwhile is not visited, and what is overwritten meanwhile is passed over.
func (r *Record) newestFirst(visit func(*Entry) bool) {
	next := -1
	for more := true; more; {
		next, more = r.visitSome(next, visit)
	}
}

// visitSome visits the entries from number next downwards, or from the newest
// for -1, under one hold of the lock, and returns where to go on.
func (r *Record) visitSome(next int, visit func(*Entry) bool) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next < 0 {
		next = r.added - 1
	}
	oldest := max(0, r.added-r.limit)
	for range stride {
		if next < oldest || !visit(r.slot(next)) {
			return 0, false
		}
		next--
	}
	return next, next >= oldest
}
