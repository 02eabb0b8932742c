// Package ledger remembers what came of calls that named an idempotency key, so
// that a call which is repeated, because its caller did not see the answer, runs
// once:
//
//	l := new(ledger.Ledger)
//	res, before, err := l.Run(ctx, key, arguments, id, func() (res, keep *tool.Result) {
//		res = run()
//		return res, res // nil to keep would free the key
//	})
//
// While the first call runs, those that repeat it wait for it. What is remembered
// is bounded in number, size and age, and kept in memory alone.
package ledger

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// What a Ledger keeps at most.
const (
	maxEntries = 10_000
	maxBytes   = 32 << 20       // of results in all
	maxResult  = 1 << 20        // of one; of a larger one only the fact is kept
	maxSlim    = 1 << 10        // of one that stays where there are too many bytes
	maxAge     = 24 * time.Hour // since the call ended
)

// MaxKey bounds the idempotency key that a caller chose, in bytes.
const MaxKey = 255

// A Key names a call within what its caller calls a session: the same text of
// another caller, in another session or of another tool is another key.
type Key struct {
	Caller, Session string
	Tool            tool.ID
	Text            string
}

// A Ledger is safe for concurrent use. The zero value is empty and ready.
type Ledger struct {
	mu      sync.Mutex
	entries map[Key]*entry
	shares  map[string]*share // by caller
	count   int               // of calls that have ended
	bytes   int
}

// A share is what the calls of one caller take. Where there is too much in all, it
// is the caller with the largest share who gives way: nobody makes the ledger
// forget the calls of somebody else.
type share struct {
	ended list.List // of *entry, the oldest first
	slim  int       // of them, from the oldest on, have no result any more
	bytes int
}

// An entry is one call, that runs or has ended.
type entry struct {
	key   Key
	args  [sha256.Size]byte // of the canonical arguments
	id    string            // of the call
	done  chan struct{}     // closed when it has ended
	ended time.Time
	// result is what came of it, set before done is closed; nil where nothing was
	// done, so that the key may be used again.
	result *tool.Result
}

// An Earlier is the call whose result answers another one.
type Earlier struct {
	ID    string
	Ended time.Time
}

// An InUseError says that a key was used for other arguments, by the call ID.
type InUseError struct{ ID string }

// Error says so.
func (e *InUseError) Error() string {
	return "the idempotency key was used with other arguments by call " + e.ID
}

// Run carries out the call of this id once, by do, which also returns the result
// to keep, or nil where the call may run again. Where the same call is running or
// has ended, the result is a copy of what was kept, and before says of what. The
// error is an *InUseError, the cause of ctx, or says what is wrong with the
// arguments. Of a call that panics nobody knows what it did, so its key stays used.
func (l *Ledger) Run(ctx context.Context, key Key, args json.RawMessage, id string, do func() (res, keep *tool.Result)) (res *tool.Result, before *Earlier, err error) {
	hash, err := canonical(args)
	if err != nil {
		return nil, nil, err
	}
	for {
		e, first := l.enter(key, hash, id)
		if first {
			return l.carryOut(e, do), nil, nil
		}
		if e.args != hash {
			return nil, nil, &InUseError{e.id}
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if e.result != nil {
			kept := *e.result
			return &kept, &Earlier{e.id, e.ended}, nil
		}
		// Nothing was done: this call may do it.
	}
}

// Has reports whether a call with this key has left a result.
func (l *Ledger) Has(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	return e != nil && e.result != nil
}

// enter returns the entry of a key, made where there is none.
func (l *Ledger) enter(key Key, args [sha256.Size]byte, id string) (e *entry, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if e := l.entries[key]; e != nil {
		return e, false
	}
	if l.entries == nil {
		l.entries = map[Key]*entry{}
	}
	e = &entry{key: key, args: args, id: id, done: make(chan struct{})}
	l.entries[key] = e
	return e, true
}

// carryOut runs the first call of a key.
func (l *Ledger) carryOut(e *entry, do func() (res, keep *tool.Result)) *tool.Result {
	keep := &tool.Result{
		Server: e.key.Tool.Server, Tool: e.key.Tool.Name, Kind: tool.OutcomeUnknown,
		Message: "Tenon itself failed on this call. Nobody knows whether it took effect: check that before calling again.",
	}
	defer func() { l.end(e, keep) }()
	var res *tool.Result
	res, keep = do()
	return res
}

// end takes what came of a call; nil frees its key.
func (l *Ledger) end(e *entry, keep *tool.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(e.done)
	if keep == nil {
		delete(l.entries, e.key)
		return
	}
	e.ended = time.Now()
	e.result = stored(keep, e.ended)
	if l.shares == nil {
		l.shares = map[string]*share{}
	}
	sh := l.shares[e.key.Caller]
	if sh == nil {
		sh = &share{}
		l.shares[e.key.Caller] = sh
	}
	sh.ended.PushBack(e)
	sh.bytes += e.size()
	l.bytes += e.size()
	l.count++
	l.forget()
}

// forget drops what is too old, or too much; called with the lock held. Of results
// that are too many bytes it drops those, and keeps that their calls were carried
// out.
func (l *Ledger) forget() {
	for caller, sh := range l.shares {
		for sh.ended.Len() > 0 && time.Since(sh.first().ended) > maxAge {
			l.drop(caller, sh)
		}
	}
	for l.count > maxEntries {
		caller, sh := l.largest(func(sh *share) int { return sh.ended.Len() })
		l.drop(caller, sh)
	}
	for l.bytes > maxBytes {
		_, sh := l.largest(func(sh *share) int { return sh.bytes })
		l.slim(sh)
	}
}

// largest returns the share that is the largest by a measure.
func (l *Ledger) largest(measure func(*share) int) (caller string, most *share) {
	for c, sh := range l.shares {
		if most == nil || measure(sh) > measure(most) {
			caller, most = c, sh
		}
	}
	return caller, most
}

func (sh *share) first() *entry {
	e, _ := sh.ended.Front().Value.(*entry)
	return e
}

// drop forgets the oldest call of a share.
func (l *Ledger) drop(caller string, sh *share) {
	e := sh.first()
	sh.ended.Remove(sh.ended.Front())
	sh.slim = max(0, sh.slim-1)
	sh.bytes -= e.size()
	l.bytes -= e.size()
	l.count--
	delete(l.entries, e.key)
	if sh.ended.Len() == 0 {
		delete(l.shares, caller)
	}
}

// slim drops the oldest result of a share that is still there.
func (l *Ledger) slim(sh *share) {
	at := sh.ended.Front()
	for range sh.slim {
		at = at.Next()
	}
	e, _ := at.Value.(*entry)
	size := e.size()
	if sh.slim++; size <= maxSlim {
		return
	}
	e.result = gone(e.result, e.ended, size)
	sh.bytes += e.size() - size
	l.bytes += e.size() - size
}

// gone returns a result of which only the fact is kept.
func gone(res *tool.Result, at time.Time, size int) *tool.Result {
	kept := *res
	kept.Raw = nil
	kept.Message = fmt.Sprintf("The call was carried out at %s. Its result of %d bytes was too large to keep for a repeated call. "+
		"To have it, call the tool again without this idempotency key, if that does no harm.", at.UTC().Format(time.RFC3339), size)
	return &kept
}

func (e *entry) size() int { return e.result.Raw.Len() + len(e.result.Message) }

// stored returns a result as it is kept: a copy, for its caller may change it, and
// because its bytes may be a small part of a large message.
func stored(res *tool.Result, at time.Time) *tool.Result {
	kept := *res
	if n := res.Raw.Len(); n > maxResult {
		return gone(res, at, n)
	}
	if len(res.Raw) > 0 {
		kept.Raw = tool.OneOf(bytes.Clone(res.Raw.Join()))
	}
	return &kept
}

// canonical returns a hash of arguments that does not depend on the order of keys
// or on white space.
func canonical(args json.RawMessage) ([sha256.Size]byte, error) {
	if text := bytes.TrimSpace(args); len(text) == 0 || string(text) == "null" {
		args = json.RawMessage("{}")
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber() // 9007199254740993 and 9007199254740992 differ
	if err := d.Decode(&object); err != nil {
		return [sha256.Size]byte{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return [sha256.Size]byte{}, errors.New("more follows the object")
	}
	text, err := json.Marshal(object)
	return sha256.Sum256(text), err
}
