package call

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
	ledgerEntries = 10_000
	ledgerBytes   = 32 << 20       // of results in all
	ledgerResult  = 1 << 20        // of one; of a larger one only the fact is kept
	ledgerAge     = 24 * time.Hour // since the call ended
	maxKey        = 255            // bytes of an idempotency key
)

// A Ledger remembers what came of calls that named an idempotency key, so that a
// call which is repeated, because its caller did not see the answer, runs once.
// It is bounded in number, size and age, and kept in memory alone. It is safe for
// concurrent use. The zero value is empty and ready.
type Ledger struct {
	mu      sync.Mutex
	entries map[ledgerKey]*ledgerEntry
	ended   list.List // of *ledgerEntry, the oldest first
	bytes   int
}

// A ledgerKey names a call within what its caller calls a session: the same key
// of another caller, in another session or of another tool is another one.
type ledgerKey struct {
	caller, session string
	tool            tool.ID
	key             string
}

// A ledgerEntry is one call, that runs or has ended.
type ledgerEntry struct {
	key   ledgerKey
	args  [sha256.Size]byte // of the canonical arguments
	id    string            // of the call
	done  chan struct{}     // closed when it has ended
	ended time.Time
	// result is what came of it, set before done is closed; nil where nothing was
	// done, so that the key may be used again.
	result *tool.Result
}

// ledger answers a call that repeats an idempotency key. It is inside authorize,
// so that nobody is answered who may not call, and outside admit, so that an
// answer which is known needs no place.
func ledger(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if r.IdempotencyKey == "" {
			return next(ctx, r)
		}
		return o.Ledger.run(ctx, r, func() (res, keep *tool.Result) {
			before := r.Attempts
			res = next(ctx, r)
			return res, o.lasting(r, res, r.Attempts > before)
		})
	}
}

// lasting returns what a repeated call is to be answered with, or nil where it may
// run again: because nothing was done, or because doing it again does no harm. A
// call that was sent and then given up is one of those of which nobody knows.
func (o *Options) lasting(r *Request, res *tool.Result, sent bool) *tool.Result {
	meta := r.Target.Meta
	switch res.Kind {
	case "", tool.OutcomeUnknown:
		return res
	case tool.Failed:
		if meta.ReadOnly {
			return nil
		}
		return res
	case tool.Timeout, tool.Canceled, tool.Internal:
		if !sent || meta.ReadOnly || meta.Idempotent {
			return nil
		}
		kept := *res
		kept.Kind = tool.OutcomeUnknown
		kept.Raw, kept.Message = nil, "The call was sent, and ended before its answer came. Nobody knows whether it took effect. "+o.howToCheck(r.Target)
		return &kept
	case tool.Invalid, tool.NotFound, tool.Denied, tool.Unavailable:
	}
	return nil
}

// run carries out a call once, by do, which also returns the result to keep, or
// nil. Where the same call is running or has ended, its result is the answer.
func (l *Ledger) run(ctx context.Context, r *Request, do func() (res, keep *tool.Result)) *tool.Result {
	if len(r.IdempotencyKey) > maxKey {
		return r.fail(tool.Invalid, "The idempotency key is longer than %d bytes. Use a shorter one, such as a UUID.", maxKey)
	}
	args, err := canonical(r.Arguments)
	if err != nil {
		return r.fail(tool.Invalid, "The arguments of %s are not valid: %v. Send a JSON object.", r.Target.Name, err)
	}
	key := keyOf(r, r.Target.ID)
	for {
		e, first := l.enter(key, args, r.ID)
		if first {
			return l.carryOut(e, do)
		}
		if e.args != args {
			return r.fail(tool.Invalid, "The idempotency key %q was used for a call of %s with other arguments (call %s). "+
				"Nothing was done now. Use a new key for a new call.", r.IdempotencyKey, r.Target.Name, e.id)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return failed(r, context.Cause(ctx))
		}
		if e.result != nil {
			return e.answer(r)
		}
		// Nothing was done: this call may do it.
	}
}

func keyOf(r *Request, id tool.ID) ledgerKey {
	session := r.Session
	if session == "" {
		session = r.Task // as send has it
	}
	return ledgerKey{r.Caller.Name, session, id, r.IdempotencyKey}
}

// enter returns the entry of a key, made where there is none.
func (l *Ledger) enter(key ledgerKey, args [sha256.Size]byte, id string) (e *ledgerEntry, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if e := l.entries[key]; e != nil {
		return e, false
	}
	if l.entries == nil {
		l.entries = map[ledgerKey]*ledgerEntry{}
	}
	e = &ledgerEntry{key: key, args: args, id: id, done: make(chan struct{})}
	l.entries[key] = e
	return e, true
}

// has reports whether a call with this key has left a result.
func (l *Ledger) has(key ledgerKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	return e != nil && e.result != nil
}

// carryOut runs the first call of a key. Of one that panics nobody knows what it
// did, so its key stays used.
func (l *Ledger) carryOut(e *ledgerEntry, do func() (res, keep *tool.Result)) *tool.Result {
	keep := &tool.Result{
		Server: e.key.tool.Server, Tool: e.key.tool.Name, Kind: tool.OutcomeUnknown,
		Message: "Tenon itself failed on this call. Nobody knows whether it took effect: check that before calling again.",
	}
	defer func() { l.end(e, keep) }()
	var res *tool.Result
	res, keep = do()
	return res
}

// end takes what came of a call; nil frees its key.
func (l *Ledger) end(e *ledgerEntry, keep *tool.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(e.done)
	if keep == nil {
		delete(l.entries, e.key)
		return
	}
	e.ended = time.Now()
	e.result = stored(keep, e.ended)
	l.bytes += e.size()
	l.ended.PushBack(e)
	l.forget()
}

// forget drops what is too old, or too much; called with the lock held.
func (l *Ledger) forget() {
	for l.ended.Len() > 0 {
		front := l.ended.Front()
		e, _ := front.Value.(*ledgerEntry)
		if l.ended.Len() <= ledgerEntries && l.bytes <= ledgerBytes && time.Since(e.ended) <= ledgerAge {
			return
		}
		l.ended.Remove(front)
		l.bytes -= e.size()
		delete(l.entries, e.key)
	}
}

func (e *ledgerEntry) size() int { return e.result.Raw.Len() + len(e.result.Message) }

// stored returns a result as it is kept: a copy, for stages outside change theirs,
// and because its bytes may be a small part of a large message.
func stored(res *tool.Result, at time.Time) *tool.Result {
	kept := *res
	if n := res.Raw.Len(); n > ledgerResult {
		kept.Raw = nil
		kept.Message = fmt.Sprintf("The call was carried out at %s. Its result of %d bytes was too large to keep for a repeated call. "+
			"To have it, call the tool again without this idempotency key, if that does no harm.", at.UTC().Format(time.RFC3339), n)
		return &kept
	}
	if len(res.Raw) > 0 {
		kept.Raw = tool.OneOf(bytes.Clone(res.Raw.Join()))
	}
	return &kept
}

// answer returns the stored result as that of r.
func (e *ledgerEntry) answer(r *Request) *tool.Result {
	res := *e.result
	res.ID, res.Attempts = r.ID, r.Attempts
	r.Note("ledger", "already done at %s by call %s with this idempotency key: this is what came of it", e.ended.UTC().Format(time.RFC3339), e.id)
	return &res
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
