package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Each process that stays, or is about to send a call that may change something, has a
// file of its own beside the database, which is locked while it lives and removed
// when it ends in order. Its room on the disk is had from the start, so that it
// can be written when nothing else can. Whoever becomes the writer finds the files
// of the dead: their calls are closed, and what they lost is a row.
const (
	runSuffix = ".run"
	runRoom   = 1024
)

// A run is a process that writes.
type run struct {
	id   string
	file *os.File
}

// runNote is what is in the file of a run.
type runNote struct {
	Waiting int64  `json:"waiting,omitempty"` // calls that are not written yet
	Lost    int64  `json:"lost,omitempty"`    // calls that no row tells of
	Gone    string `json:"gone,omitempty"`    // why nothing can be written
}

// enrol makes the file of this process, once.
func (w *writer) enrol() {
	if w.place.spool == "" || w.self.Load() != nil {
		return
	}
	if err := w.enrolled(); err != nil && !w.strange {
		w.strange = true
		w.log.Warn("the file of this process cannot be made beside the record; calls that it leaves open stay open", "error", err)
	}
}

func (w *writer) enrolled() error {
	if err := os.MkdirAll(w.place.spool, 0o700); err != nil {
		return err
	}
	for range 5 {
		id := strings.ToLower(rand.Text())
		path := filepath.Join(w.place.spool, id+runSuffix)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := writeNote(f, runNote{}); err != nil {
			return errors.Join(err, f.Close(), os.Remove(path))
		}
		// Who looks for the dead may have taken it before it was locked.
		if tryLock(f) && isStill(f, path) {
			w.self.Store(&run{id, f})
			return nil
		}
		_ = f.Close()
	}
	return errors.New("other processes take it away")
}

// isStill reports whether a path leads to an open file.
func isStill(f *os.File, path string) bool {
	has, err1 := f.Stat()
	is, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(has, is)
}

func writeNote(f *os.File, n runNote) error {
	for {
		b, err := json.Marshal(n)
		if err != nil {
			return err
		}
		if len(b) < runRoom {
			b = append(append(b, bytes.Repeat([]byte{' '}, runRoom-1-len(b))...), '\n')
			_, err = f.WriteAt(b, 0)
			return errors.Join(err, f.Sync())
		}
		n.Gone = clip(n.Gone, len(n.Gone)/2)
	}
}

// note tells others how the writing goes.
func (w *writer) note(n runNote) {
	r := w.self.Load()
	if r == nil || w.noted == n {
		return
	}
	w.noted = n
	if err := writeNote(r.file, n); err != nil {
		w.log.Warn("the file of this process beside the record cannot be written", "error", err)
	}
}

// leaves ends the run in order; lost are calls that no row tells of.
func (w *writer) leaves(lost int64) {
	if lost > 0 {
		w.note(runNote{Lost: lost})
	}
	r := w.self.Load()
	if r == nil {
		return
	}
	path := r.file.Name()
	_ = r.file.Close() // what was written to it is on the disk
	if lost == 0 {
		if err := os.Remove(path); err != nil {
			w.log.Warn("the file of this process beside the record stays", "error", err)
		}
	}
}

// runOf returns the process of a call that has begun.
func (s *core) runOf(f *Finished) string {
	if r := s.self.Load(); f.begun != nil && r != nil {
		return r.id
	}
	return ""
}

// runs returns the files of processes, that of this one left out.
func (s *core) runs() []string {
	if s.place.spool == "" {
		return nil
	}
	entries, err := os.ReadDir(s.place.spool)
	if err != nil {
		return nil // most often there is none
	}
	own := ""
	if r := s.self.Load(); r != nil {
		own = r.id
	}
	var out []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), runSuffix); ok && id != own && e.Type().IsRegular() {
			out = append(out, filepath.Join(s.place.spool, e.Name()))
		}
	}
	return out
}

// waiting returns what other processes have not written, and why.
func (s *core) waiting() (n int64, why string) {
	for _, path := range s.runs() {
		if note, err := readNote(path); err == nil {
			n += note.Waiting + note.Lost
			if note.Gone != "" {
				why = note.Gone
			}
		}
	}
	return n, why
}

func readNote(path string) (n runNote, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(b, &n)
}

// bury does what dead processes left open.
func (w *writer) bury(ctx context.Context) error {
	for _, path := range w.runs() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			w.log.Debug("the file of a process beside the record cannot be opened", "error", err)
			continue
		}
		if !tryLock(f) {
			_ = f.Close() // it lives
			continue
		}
		err = w.buryOne(ctx, path)
		err = errors.Join(err, f.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// buryOne closes the calls of a process that has died, and removes its file, which is
// locked.
func (w *writer) buryOne(ctx context.Context, path string) error {
	if len(w.place.left()) > 0 { // how its calls ended may be there
		if err := w.takeOver(ctx); err != nil {
			return err
		}
	}
	id := strings.TrimSuffix(filepath.Base(path), runSuffix)
	note, err := readNote(path)
	if err != nil {
		w.log.Warn("the file of a process beside the record is none", "file", path, "error", err)
	}
	gap := Gap{At: time.Now().UTC().Truncate(time.Microsecond), Calls: note.Lost, Why: "a process ended before they could be written"}
	if note.Lost == 0 {
		gap.Unknown, gap.Why = true, "a process was ended without closing the record: calls of its last second may be missing"
	}
	var open []encoded
	err = w.change(ctx, func(tx *sql.Tx, h head) (head, error) {
		open, err = w.openCalls(ctx, tx, id)
		if err != nil {
			return h, err
		}
		return w.base.appendRows(ctx, tx, h, append(open, w.encodeRow(&Row{Type: TypeGap, Gap: &gap})))
	})
	if err != nil {
		return fmt.Errorf("close the calls of a process that has died: %w", err)
	}
	w.log.Warn("a process ended without closing the record", "open_calls", len(open), "lost_calls", note.Lost)
	return os.Remove(path)
}

// openCalls returns what closes the calls that a run has begun and not ended.
func (w *writer) openCalls(ctx context.Context, tx *sql.Tx, id string) (out []encoded, err error) {
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
		c.Kind, c.Attempts = tool.OutcomeUnknown, max(1, c.Attempts)
		c.Notes = append(c.Notes, tool.Note{Stage: "record", Text: "the process ended while the call ran: nobody knows whether it took effect"})
		out = append(out, w.encodeRow(&Row{Type: TypeCall, Call: &c}))
	}
	return out, rows.Err()
}

// ended is true for a row of a call that has another row, for its end.
const ended = "EXISTS (SELECT 1 FROM record AS done WHERE done.id = record.id AND done.type = 'call')"
