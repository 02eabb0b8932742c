package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/alive"
	"github.com/tenon-mcp/tenon/tool"
)

// A self is this process among those that write, by a file beside the database. Those
// that stay have one, and those that are about to send a call that may change
// something.
type self struct {
	dir string // empty has none
	log *slog.Logger

	file    atomic.Pointer[alive.File]
	noted   runNote // the rest is the writer's
	strange bool    // it was told that there is no file
}

// runNote is what others may know of a process.
type runNote struct {
	Waiting int64  `json:"waiting,omitempty"` // calls that are not written yet
	Lost    int64  `json:"lost,omitempty"`    // calls that no row tells of
	Gone    string `json:"gone,omitempty"`    // why nothing can be written
}

// enrol makes the file, once.
func (s *self) enrol() {
	if s.dir == "" || s.file.Load() != nil {
		return
	}
	f, err := alive.New(s.dir)
	if err == nil {
		s.file.Store(f)
		return
	}
	if !s.strange {
		s.strange = true
		s.log.Warn("this process cannot make its file beside the record: should it die, nobody closes its calls", "error", err)
	}
}

// id returns the name of the process, or nothing.
func (s *self) id() string {
	if f := s.file.Load(); f != nil {
		return f.ID
	}
	return ""
}

// note tells others how the writing goes.
func (s *self) note(n runNote) {
	f := s.file.Load()
	if f == nil || s.noted == n {
		return
	}
	s.noted = n
	if err := f.Note(n); err != nil {
		s.log.Warn("the file of this process beside the record cannot be written", "error", err)
	}
}

// leave ends the run; lost are calls that no row tells of.
func (s *self) leave(lost int64) {
	f := s.file.Load()
	if f == nil {
		return
	}
	end := f.Remove
	if lost > 0 {
		s.note(runNote{Lost: lost})
		end = f.Leave
	}
	if err := end(); err != nil {
		s.log.Warn("the file of this process beside the record stays", "error", err)
	}
}

// others returns the files of other processes.
func (s *self) others() []string {
	if s.dir == "" {
		return nil
	}
	return alive.Others(s.dir, s.file.Load())
}

// waiting returns what other processes have not written, and why.
func (s *self) waiting() (n int64, why string) {
	for _, path := range s.others() {
		var note runNote
		if alive.Read(path, &note) == nil {
			n += note.Waiting + note.Lost
			if note.Gone != "" {
				why = note.Gone
			}
		}
	}
	return n, why
}

// dead returns the names of processes that have died, and whose calls nobody has closed
// yet.
func (s *self) dead() (ids []string) {
	for _, path := range s.others() {
		if f, ok := alive.Dead(path); ok {
			ids = append(ids, f.ID)
			_ = f.Leave() // nothing was written to it
		}
	}
	return ids
}

// An heir is the writer, which does what dead processes left undone.
type heir struct{ *writer }

// inherit closes the calls of those that have died.
func (w heir) inherit(ctx context.Context) error {
	for _, path := range w.self.others() {
		f, ok := alive.Dead(path)
		if !ok {
			continue
		}
		if err := w.close(ctx, f, path); err != nil {
			return errors.Join(err, f.Leave())
		}
		if err := f.Remove(); err != nil {
			return err
		}
	}
	return nil
}

// close closes the calls of one process.
func (w heir) close(ctx context.Context, dead *alive.File, path string) error {
	if len(w.place.left()) > 0 { // how its calls ended may be there
		if err := w.takeOver(ctx); err != nil {
			return err
		}
	}
	var note runNote
	if err := alive.Read(path, &note); err != nil {
		w.log.Warn("the file of a process beside the record is none", "file", path, "error", err)
	}
	gap := Gap{At: time.Now().UTC().Truncate(time.Microsecond), Calls: note.Lost, Why: "a process ended before they could be written"}
	if note.Lost == 0 {
		gap.Unknown, gap.Why = true, "a process was ended without closing the record: calls of its last second may be missing"
	}
	n := 0
	err := w.change(ctx, func(tx *sql.Tx, h head) (head, error) {
		open, err := w.open(ctx, tx, dead.ID)
		if err != nil {
			return h, err
		}
		n = len(open)
		return w.base.appendRows(ctx, tx, h, append(open, w.encodeRow(&Row{Type: TypeGap, Gap: &gap})))
	})
	if err != nil {
		return fmt.Errorf("close the calls of a process that has died: %w", err)
	}
	w.log.Warn("a process ended without closing the record", "open_calls", n, "lost_calls", note.Lost)
	return nil
}

// open returns what closes the calls that a process has begun and not ended.
func (w heir) open(ctx context.Context, tx *sql.Tx, id string) (out []encoded, err error) {
	rows, err := tx.QueryContext(ctx, w.base.sql("SELECT seq, hash, body FROM record WHERE type = 'begun' AND kind = ? AND NOT "+ended+" ORDER BY seq"), kindBegun+id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		if r.Call == nil {
			continue
		}
		c := *r.Call
		c.Kind, c.Attempts, c.ElapsedMS = tool.OutcomeUnknown, max(1, c.Attempts), 0 // how long it ran nobody knows
		c.Notes = append(c.Notes, tool.Note{Stage: "record", Text: "the process ended while the call ran: nobody knows whether it took effect"})
		out = append(out, w.encodeRow(&Row{Type: TypeCall, Call: &c}))
	}
	return out, rows.Err()
}

// ended is true for a row of a call that has another row, for its end.
const ended = "EXISTS (SELECT 1 FROM record AS done WHERE done.id = record.id AND done.type = 'call')"
