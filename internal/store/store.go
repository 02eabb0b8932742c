// Package store keeps finished calls and approvals in a database: SQLite in a
// file, or PostgreSQL.
//
//	s, err := store.New(ctx, store.Options{URL: "sqlite:/home/ann/.local/state/tenon/record.db"})
//	…
//	place, err := s.Reserve(ctx, timeout) // before the call: it waits, or fails, as the options say
//	…
//	s.Add(place, store.Finished{Entry: entry, Arguments: args, Result: raw})
//	…
//	page, err := s.Calls(ctx, store.Filter{Server: "docker", Limit: 20})
//
// One goroutine writes. Add hands it a finished call and returns; it masks,
// cuts, hashes and inserts what has gathered, in one transaction for many rows,
// after a quarter of a second at the latest. What was committed survives the
// death of the process and of the machine.
//
// A place is reserved before a call is carried out, so that no call that ran is
// ever left without one: where there is none, the call waits or is refused
// before it does anything. With WhenGone GoOn, calls go on while the database
// cannot be written and the queue is full; each of them is counted, and once the
// database is back a row of type "gap" says how many are missing.
//
// A call that may change something is written down by [Store.Begin] before it is
// sent, as a row of type "begun". Each process that writes has a file beside the
// database that is locked while it lives; the writer finds those of the dead, and
// gives each call that they left open an end of kind outcome_unknown (run.go).
//
// The rows are a chain: the hash of each covers its content and the hash before
// it; see [Store.Verify]. Old rows leave by [Options].Keep and its kin, and a row
// of type "pruned" says where the chain begins since, and what was wrong with those
// that left. A chain that does not go on from the head beside the database gets a row
// of type "break". The table of approvals is only where they are looked up: each row
// of it has its hash in the chain, and what the chain says counts.
//
// The first process that opens a database is its writer, by a lock that the
// system lets go of when the process dies. Others leave what they have in a
// folder beside the database, and the writer takes it from there, within a
// second; or they write it themselves once the writer has gone.
package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Options configures a Store. URL must be set.
type Options struct {
	// URL says where: sqlite:PATH, or postgres://… as its own tools take it.
	URL string
	// Dir is the folder for what lies beside a PostgreSQL database: the lock, the
	// hand-over, and the head of the chain. Empty has none. Those of SQLite are
	// beside its file.
	Dir string
	// Mask hides secrets in a text, MaskJSON in JSON, which stays JSON. Nil hides
	// nothing.
	Mask     func(text string) string
	MaskJSON func(raw []byte) []byte
	// Queue bounds the calls that are running or not yet written, QueueBytes what
	// they hold. 0 is DefaultQueue and DefaultQueueBytes.
	Queue      int
	QueueBytes int64
	// FailFull refuses a call when the queue is full; else it waits for a place.
	FailFull bool
	// StopGone refuses calls while the database cannot be written; else they go
	// on, unrecorded where the queue is full.
	StopGone bool
	// Keep is how long a row is kept, MaxRows and MaxBytes bound all of them. 0 is
	// no bound.
	Keep     time.Duration
	MaxRows  int64
	MaxBytes int64
	// Eager is for a process that is there to stay: it opens the database at once,
	// and takes over what others left. Else that waits for the first question or the
	// first second, and a process that ends before leaves its rows for the next one
	// that does: opening a database would cost more than most calls do.
	Eager  bool
	Logger *slog.Logger // nil discards
}

// The defaults of Options.
const (
	DefaultQueue      = 16_384
	DefaultQueueBytes = 64 << 20
)

const (
	flushAfter = 250 * time.Millisecond // a row waits at most this long
	batchRows  = 1024                   // in one transaction
	lookAfter  = time.Second            // between two looks at what others left
	pruneAfter = time.Minute            // between two looks at what is too old
)

// A Store keeps calls. It is safe for concurrent use. Close it.
type Store struct {
	*core

	queue   queue
	closing chan struct{}
	close   func() error
	asks    chan ask
	running sync.WaitGroup
	begin   sync.Once
	ctx     context.Context // that of the writer, which lives as long as the store
	cancel  context.CancelFunc
}

// A core is a store without its writer: where the rows go, and what they become.
type core struct {
	o     Options
	log   *slog.Logger
	place place
	base  base
	state state
	self  self
}

// A place says where the database is and what lies beside it.
type place struct {
	url      string // sqlite path, or the URL of PostgreSQL
	postgres bool
	name     string // for people: without user and password
	lock     string // path, or empty
	spool    string // folder, or empty
	head     string // path, or empty
}

// state is what is known of the writing.
type state struct {
	gone       atomic.Pointer[goneness]
	unrecorded atomic.Int64 // calls that went on without a row
	refused    atomic.Int64 // calls that were refused for want of one
	written    atomic.Int64
	lastLoss   atomic.Int64 // unix µs
}

// goneness says why the database cannot be written.
type goneness struct {
	err   error
	since time.Time
}

// Status is what operators want to know of a store.
type Status struct {
	Where string `json:"where"`
	// Gone says why rows cannot be written now, and since when; empty is that they
	// can.
	Gone  string     `json:"gone,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// Queued are calls that are running or not yet written.
	Queued     int   `json:"queued"`
	Written    int64 `json:"written"`
	Unrecorded int64 `json:"unrecorded"` // calls that went on without a record
	Refused    int64 `json:"refused"`    // calls that were refused for want of one
}

// New returns the store at a URL. Nothing is opened or created yet. The error
// says what is wrong with the URL.
func New(ctx context.Context, o Options) (*Store, error) {
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.MaskJSON == nil {
		o.MaskJSON = func(raw []byte) []byte { return raw }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	at, err := placeOf(o.URL, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{core: &core{o: o, log: o.Logger, place: at}, asks: make(chan ask), closing: make(chan struct{})}
	s.queue.limit, s.queue.most = o.Queue, o.QueueBytes
	s.queue.woken, s.queue.freed = make(chan struct{}, 1), make(chan struct{})
	s.base.place = at
	s.self.dir, s.self.log = at.spool, o.Logger
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx)) // what is finished is written whoever has given up
	s.close = sync.OnceValue(s.end)
	if o.Eager {
		s.start()
	}
	return s, nil
}

// placeOf reads a URL.
func placeOf(text, dir string) (place, error) {
	if path, ok := strings.CutPrefix(text, "sqlite:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" || strings.ContainsRune(path, 0) {
			return place{}, errors.New("the URL of the record names no file")
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return place{}, err
		}
		return place{url: path, name: path, lock: path + ".lock", spool: path + ".spool", head: path + ".head"}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return place{}, errors.New("the URL of the record is neither sqlite:PATH nor postgres://…")
	}
	at := place{url: text, postgres: true, name: "postgres://" + u.Host + u.Path}
	if dir != "" {
		sum := sha256.Sum256([]byte(u.Host + u.Path + u.Query().Get("search_path")))
		base := filepath.Join(dir, "record-"+hex.EncodeToString(sum[:6]))
		at.lock, at.spool, at.head = base+".lock", base+".spool", base+".head"
	}
	return at, nil
}

// start starts the writer, once.
func (s *Store) start() {
	s.begin.Do(func() { s.running.Go((&writer{Store: s}).run) })
}

// Close writes what is queued, and closes the database. It waits for that some
// seconds at most; what could not be written then is left for the next writer, or
// counted and logged.
func (s *Store) Close() error { return s.close() }

const closeWithin = 5 * time.Second

func (s *Store) end() error {
	s.begin.Do(func() {}) // nothing starts any more
	close(s.closing)
	stop := time.AfterFunc(closeWithin, s.cancel)
	s.running.Wait()
	stop.Stop()
	s.cancel()
	return s.base.close()
}

// Status returns how the writing goes.
func (s *Store) Status() Status {
	st := Status{
		Where: s.place.name, Queued: s.queue.used(),
		Written: s.state.written.Load(), Unrecorded: s.state.unrecorded.Load(), Refused: s.state.refused.Load(),
	}
	if g := s.state.gone.Load(); g != nil {
		st.Gone, st.Since = s.hide(g.err), &g.since
	} else if n, why := s.self.waiting(); why != "" { // of the process that writes
		st.Gone, st.Queued = why, st.Queued+int(n)
	}
	return st
}

// hide returns an error of the database as a text without secrets.
func (s *core) hide(err error) string {
	text := tool.Flatten(err)
	if u, bad := url.Parse(s.place.url); s.place.postgres && bad == nil {
		text = strings.ReplaceAll(text, s.place.url, s.place.name)
		if p, ok := u.User.Password(); ok && p != "" {
			text = strings.ReplaceAll(text, p, tool.Secret{}.String())
		}
	}
	return s.o.Mask(text)
}

// remedy says to an operator what to do about a database that cannot be written.
func (s *core) remedy(err error) string {
	if e, ok := errors.AsType[interface {
		error
		remedy() string
	}](err); ok {
		return e.remedy()
	}
	if s.place.postgres {
		return "start the database at " + s.place.name + ", or name another one as store.url"
	}
	return "make room and see that the gateway's user may write " + filepath.Dir(s.place.url) + ", or name another file as store.url"
}

// ask is a question to the writer: it is answered between two batches.
type ask struct {
	ctx  context.Context
	do   func(ctx context.Context) error
	done chan error
}

// within has the writer write all that is queued, and then do something with the
// database. A nil do only writes.
func (s *Store) within(ctx context.Context, do func(ctx context.Context) error) error {
	s.start()
	a := ask{ctx, do, make(chan error, 1)}
	select {
	case s.asks <- a:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closing:
		return errClosed
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errClosed = errors.New("the record is closed")

// Flush waits until all calls that were added before are written.
func (s *Store) Flush(ctx context.Context) error { return s.within(ctx, nil) }

// db returns the database, opened and migrated.
func (s *core) db(ctx context.Context) (*sql.DB, error) {
	db, err := s.base.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the record %s: %w", s.place.name, err)
	}
	return db, nil
}
