package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
)

// A writer is the goroutine that writes.
type writer struct {
	*Store

	lock   *os.File // held while this process is the writer of the database
	batch  []Finished
	rows   []encoded // the batch, once it was encoded
	told   int64     // of the unrecorded calls, those that a gap row tells of
	tries  int       // that failed in a row
	again  time.Time // not before
	pruned time.Time
	looked time.Time
	behind bool // rows of this process were left, and come before those that it writes
}

// run writes until the store closes, and then what is left.
func (w *writer) run() {
	defer w.unlock()
	defer func() { w.self.leave(w.state.unrecorded.Load() - w.told) }()
	if w.o.Eager {
		w.work(w.ctx)
	}
	tick := time.NewTimer(lookAfter)
	defer tick.Stop()
	for {
		var late <-chan time.Time
		select {
		case <-w.queue.woken:
			t := time.NewTimer(w.patience())
			late = t.C
			if w.gather(late) {
				w.flush(w.ctx)
			}
			t.Stop()
		case a := <-w.asks:
			w.answer(a)
		case <-tick.C:
			if w.o.Eager || w.base.isOpen() || w.tries > 0 {
				w.work(w.ctx)
			}
			tick.Reset(w.rest())
		case <-w.closing:
			w.last()
			return
		}
	}
}

// patience is how long a row may wait for others.
func (w *writer) patience() time.Duration {
	if w.o.Eager || w.base.isOpen() {
		return flushAfter
	}
	return lookAfter // this process may end before, and spare itself the database
}

// gather waits until there is a batch, or the first row of it has waited long
// enough, or somebody asks. It reports false where the store closes.
func (w *writer) gather(late <-chan time.Time) bool {
	for {
		if w.queue.full() {
			return true
		}
		select {
		case <-w.queue.woken:
		case <-late:
			return true
		case a := <-w.asks:
			w.answer(a)
			return true
		case <-w.closing:
			return false
		}
	}
}

// rest returns how long to sleep before the next look.
func (w *writer) rest() time.Duration {
	if wait := time.Until(w.again); w.tries > 0 && wait > 0 {
		return wait
	}
	return lookAfter
}

// work does what is due: what failed before, what others left, what is too old.
func (w *writer) work(ctx context.Context) {
	if w.o.Eager {
		w.self.enrol()
	}
	w.look()
	w.flush(ctx)
	if w.tries > 0 || !w.holds() {
		return
	}
	if err := errors.Join(w.takeOver(ctx), heir{w}.inherit(ctx)); err != nil {
		w.failed(err)
		return
	}
	if time.Since(w.pruned) >= pruneAfter {
		w.pruned = time.Now()
		if _, err := w.prune(ctx, w.Bounds()); err != nil {
			w.failed(err)
		}
	}
}

// answer writes what is queued and does what was asked.
func (w *writer) answer(a ask) {
	w.again = time.Time{} // somebody waits: try again at once
	w.work(w.ctx)
	var err error
	if g := w.state.gone.Load(); g != nil {
		err = g.err
	}
	if err == nil && a.do != nil {
		err = a.do(a.ctx)
	}
	a.done <- err
}

// flush writes all that is queued, batch by batch, or fails and keeps the batch
// for the next time.
func (w *writer) flush(ctx context.Context) {
	if w.tries > 0 && time.Now().Before(w.again) {
		return
	}
	for {
		if !w.next() && w.tries == 0 && w.told == w.state.unrecorded.Load() {
			return
		}
		if err := w.write(ctx); err != nil {
			w.failed(err)
			return
		}
		w.recovered()
	}
}

// write writes the batch, and a row for what could not be recorded before.
func (w *writer) write(ctx context.Context) error {
	rows, told := w.rows, w.state.unrecorded.Load()
	if told > w.told {
		gap := Row{Type: TypeGap, Gap: &Gap{At: time.Now().UTC(), Calls: told - w.told, Why: "the record could not be written"}}
		rows = append(slices.Clip(rows), w.encodeRow(&gap))
	}
	if w.hurries() || !w.holds() {
		if len(rows) > 0 {
			if err := w.leave(rows); err != nil {
				return err
			}
			w.behind = true
		}
		w.done(told)
		return nil
	}
	w.look()
	if w.behind { // the end of a call comes after its beginning
		if err := w.takeOver(ctx); err != nil {
			return err
		}
		w.behind = false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	stop := context.AfterFunc(w.ctx, cancel)
	defer stop()
	err := w.change(ctx, func(tx *sql.Tx, h head) (head, error) { return w.base.appendRows(ctx, tx, h, rows) })
	if err != nil {
		return err
	}
	w.done(told)
	return nil
}

// hurries reports whether somebody waits for the batch in a process that may end
// before it needs the database: then it is left, which is the faster way to the disk.
func (w *writer) hurries() bool {
	return !w.o.Eager && !w.base.isOpen() && w.place.spool != "" && slices.ContainsFunc(w.batch, func(f Finished) bool { return f.begun != nil })
}

// look notices that the file of the database was taken away, or another one put in
// its place: what is written to it would be nowhere.
func (w *writer) look() {
	if !w.base.vanished() {
		return
	}
	w.log.Error("the file of the record is gone, or another one, while it was in use: rows may be lost, and what is written goes into the file that is there now",
		"file", w.place.name, "remedy", "put the file back while the gateway is stopped; tenon record verify tells what is missing")
	w.base.reopen()
}

// writeWithin bounds one transaction: a database that says nothing is gone.
const writeWithin = 15 * time.Second

// done gives back the places of the batch.
func (w *writer) done(told int64) {
	var bytes int64
	n := 0
	for i := range w.batch {
		bytes += w.batch[i].held()
		if begun := w.batch[i].begun; begun != nil {
			close(begun)
		} else {
			n++
		}
	}
	clear(w.batch)
	w.batch, w.rows, w.told = w.batch[:0], w.rows[:0], told
	w.state.written.Add(int64(n))
	w.queue.free(n, bytes)
}

// failed remembers that the database cannot be written, and when to try again.
func (w *writer) failed(err error) {
	err = w.base.cause(err)
	w.tries++
	w.again = time.Now().Add(min(flushAfter<<min(w.tries-1, 5), 5*time.Second))
	w.self.note(runNote{Waiting: int64(w.queue.used()), Lost: w.state.unrecorded.Load() - w.told, Gone: clip(w.hide(err), 150)})
	if w.state.gone.Load() != nil {
		return
	}
	w.state.gone.Store(&goneness{err, time.Now()})
	what := "calls go on; what does not fit into the queue is not recorded"
	if w.o.StopGone {
		what = "no call is carried out until it can"
	}
	w.log.Error("the record of calls cannot be written", "error", w.hide(err), "then", what, "remedy", w.remedy(err))
}

func (w *writer) recovered() {
	w.tries = 0
	w.self.note(runNote{})
	if w.state.gone.Swap(nil) != nil {
		w.log.Warn("the record of calls can be written again", "unrecorded", w.state.unrecorded.Load())
	}
}

// holds reports whether this process is the writer of the database, and becomes it
// where nobody is.
func (w *writer) holds() bool {
	if w.lock != nil || w.place.lock == "" {
		return true
	}
	if time.Since(w.looked) < lookAfter/4 {
		return false
	}
	w.looked = time.Now()
	if err := os.MkdirAll(filepath.Dir(w.place.lock), 0o700); err != nil {
		return true // the database says what is wrong
	}
	f, err := os.OpenFile(w.place.lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return true
	}
	if !flock.Try(f) {
		_ = f.Close() // nothing was written to it
		return false
	}
	w.lock = f
	return true
}

// unlock lets another process be the writer. The file stays, for a lock on a
// removed file would be one that nobody sees.
func (w *writer) unlock() {
	if w.lock != nil {
		_ = w.lock.Close() // nothing was written to it
	}
}

// last writes what is left when the store closes. What the database does not take
// is left for the next writer; what cannot be left either is counted.
func (w *writer) last() {
	if w.o.Eager || w.base.isOpen() || w.place.spool == "" || len(w.place.left()) >= maxLeft {
		w.again = time.Time{}
		w.work(w.ctx)
		if w.state.gone.Load() == nil {
			return
		}
	}
	for w.next() {
		if err := w.leave(w.rows); err != nil {
			n := 0
			for i := range w.batch {
				if w.batch[i].begun == nil {
					n++
				}
			}
			w.lose(n, false)
			w.state.gone.CompareAndSwap(nil, &goneness{w.base.cause(err), time.Now()})
			w.log.Error("calls stay unrecorded", "calls", n, "error", w.hide(err))
		}
		w.done(w.told)
	}
}

// maxLeft is how many files a process that ends lets lie for the next one.
const maxLeft = 64

// next encodes the next batch, unless there is one; false where nothing is queued.
func (w *writer) next() bool {
	if len(w.batch) == 0 {
		w.batch = w.queue.drain(w.batch, batchRows)
	}
	if len(w.rows) != len(w.batch) {
		w.rows = w.rows[:0]
		if slices.ContainsFunc(w.batch, func(f Finished) bool { return f.begun != nil }) {
			w.self.enrol()
		}
		for i := range w.batch {
			w.rows = append(w.rows, w.encode(&w.batch[i]))
		}
	}
	return len(w.batch) > 0
}
