package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

// A Finished is a call that has ended. Nothing of it may be changed any more.
type Finished struct {
	record.Entry
	Arguments json.RawMessage
	Result    tool.Bytes // the CallToolResult, or nothing
	Message   string     // in place of Result

	size  int               // of the arguments, before they were cut
	sum   [sha256.Size]byte // of the arguments, where they were cut
	begun chan struct{}     // closed once it is written, of a call that has only begun
}

// A Place is the right to one row. The zero value is none.
type Place bool

// queue holds what is not written yet.
type queue struct {
	limit int
	most  int64
	woken chan struct{} // has room for one

	mu       sync.Mutex
	reserved int           // places that calls hold, or rows that wait
	bytes    int64         // what the rows that wait hold
	rows     []Finished    // that wait
	freed    chan struct{} // closed, and made anew, when places become free
	waiting  int           // for freed
	begun    int           // of the rows: somebody waits for them
}

func (q *queue) used() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reserved
}

// take takes a place, or returns what tells of the next one that is freed.
func (q *queue) take(waits bool) (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reserved < q.limit && q.bytes < q.most {
		q.reserved++
		return true, nil
	}
	if waits {
		q.waiting++
	}
	return false, q.freed
}

// put adds a row that has a place, and reports whether the writer must wake.
func (q *queue) put(f Finished) {
	q.mu.Lock()
	q.rows = append(q.rows, f)
	q.bytes += f.held()
	wake := len(q.rows) == 1 || len(q.rows)%batchRows == 0 || f.begun != nil
	if f.begun != nil {
		q.begun++
	}
	q.mu.Unlock()
	if wake {
		select {
		case q.woken <- struct{}{}:
		default:
		}
	}
}

// drain moves up to n rows to the end of to.
func (q *queue) drain(to []Finished, n int) []Finished {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.rows))
	to = append(to, q.rows[:n]...)
	rest := copy(q.rows, q.rows[n:])
	clear(q.rows[rest:])
	q.rows = q.rows[:rest]
	if q.begun > 0 {
		q.begun = 0
		for i := range q.rows {
			if q.rows[i].begun != nil {
				q.begun++
			}
		}
	}
	return to
}

// full reports whether the rows must not wait for more.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.begun > 0 || len(q.rows) >= batchRows
}

// idle reports whether nothing runs, and nothing waits.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reserved == 0 && len(q.rows) == 0
}

// free gives back the places of rows.
func (q *queue) free(n int, bytes int64) {
	q.mu.Lock()
	q.reserved -= n
	q.bytes -= bytes
	if q.waiting > 0 {
		q.waiting = 0
		close(q.freed)
		q.freed = make(chan struct{})
	}
	q.mu.Unlock()
}

// held is about how much memory a row holds on to.
func (f *Finished) held() int64 {
	return int64(len(f.Arguments) + f.Result.Len() + len(f.Message) + 512)
}

// ErrNoPlace is in the errors of Reserve.
var ErrNoPlace = errors.New("no place in the record of calls")

// Reserve returns a place for one call that is about to be carried out. Where
// none is free it waits, at most until ctx ends and for that long, or fails at
// once, as the options say. The error is a *tool.Error of kind Unavailable: the call was not carried
// out. A place must be given to Add, also one that is none: then calls go on
// although they cannot be recorded.
func (s *Store) Reserve(ctx context.Context, most time.Duration) (Place, error) {
	s.start() // the database is opened while the call runs
	var end time.Time
	for {
		gone := s.state.gone.Load()
		if gone != nil && s.o.StopGone {
			s.state.refused.Add(1)
			return false, s.refusal(errors.Join(ErrNoPlace, gone.err))
		}
		ok, freed := s.queue.take(gone == nil && !s.o.FailFull)
		switch {
		case ok:
			return true, nil
		case gone != nil:
			return false, nil // Add counts it
		case s.o.FailFull:
			s.state.refused.Add(1)
			return false, &tool.Error{Kind: tool.Unavailable, Err: ErrNoPlace, Text: "The record of calls is behind, and takes no more at the moment. This call was not carried out; try again in a second."}
		}
		if end.IsZero() {
			end = time.Now().Add(most)
		}
		again := time.NewTimer(min(flushAfter, time.Until(end))) // the database may be found gone meanwhile
		select {
		case <-freed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		if ctx.Err() != nil || !time.Now().Before(end) {
			s.state.refused.Add(1)
			return false, &tool.Error{
				Kind: tool.Unavailable, Err: errors.Join(ErrNoPlace, context.Cause(ctx)),
				Text: "The record of calls was behind for as long as this call may take. The call was not carried out; try again later.",
			}
		}
	}
}

// Add hands over a finished call. It never waits for the database. Without a
// place the call is counted as unrecorded.
func (s *Store) Add(p Place, f Finished) {
	select {
	case <-s.closing:
		s.lose(1, p)
		return
	default:
	}
	if !p {
		s.lose(1, false)
		return
	}
	f.trim()
	s.queue.put(f)
}

// lose counts calls that have no row.
func (s *Store) lose(n int, reserved Place) {
	if reserved {
		s.queue.free(n, 0)
	}
	s.state.lastLoss.Store(time.Now().UnixMicro())
	if total := s.state.unrecorded.Add(int64(n)); total == int64(n) || total/1000 != (total-int64(n))/1000 {
		var why error
		if g := s.state.gone.Load(); g != nil {
			why = g.err
		}
		s.log.Error("calls go on unrecorded", "unrecorded", total, "remedy", s.remedy(why))
	}
}

// heavy is what is cut at once, so that the queue never holds on to a long answer.
const heavy = 256 << 10

// trim lets go of what will not be kept anyway.
func (f *Finished) trim() {
	f.size = len(f.Arguments)
	if f.size > heavy {
		f.sum = sha256.Sum256(f.Arguments)
		f.Arguments = append(json.RawMessage(nil), f.Arguments[:maxArguments+slack]...)
	}
	if f.Result.Len() > heavy {
		f.Result = tool.OneOf(append([]byte(nil), f.Result.Slice(0, headScan).Join()...))
	}
}
