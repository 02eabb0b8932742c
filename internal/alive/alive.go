// Package alive tells the processes that work on one thing of each other, and of
// those that have died: each has a file in a folder that they share, locked while it
// lives, and removed when it ends in order.
//
//	mine, err := alive.New(dir)
//	…
//	err = mine.Note(note) // for the others, and for those after
//	…
//	for _, path := range alive.Others(dir, mine) {
//		dead, ok := alive.Dead(path)
//		if !ok {
//			continue // it lives
//		}
//		… // do what it left undone
//		err = dead.Remove()
//	}
//
// The room of a note on the disk is had from the start, so that it can be written
// when nothing else can.
package alive

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
)

const (
	suffix = ".run"
	room   = 1024
	begin  = 1         // of the note: on Windows nobody else reads what is locked
	birth  = time.Hour // far longer than a process takes from making its file to locking it
)

// A File is that of one process.
type File struct {
	ID   string
	file *os.File
}

// New makes the file of this process.
func New(dir string) (*File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for range 5 {
		f := &File{ID: strings.ToLower(rand.Text())}
		path := filepath.Join(dir, f.ID+suffix)
		var err error
		if f.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, err
		}
		// Who looks for the dead may hold it for a moment.
		if !flock.Try(f.file) || !isStill(f.file, path) {
			_, _ = f.file.Close(), os.Remove(path) // another one is made
			continue
		}
		if err := f.Note(struct{}{}); err != nil { // only now it can be taken for that of a dead process
			return nil, errors.Join(err, f.file.Close(), os.Remove(path))
		}
		return f, nil
	}
	return nil, errors.New("other processes take the file away")
}

// isStill reports whether a path leads to an open file.
func isStill(f *os.File, path string) bool {
	has, err1 := f.Stat()
	is, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(has, is)
}

// Note writes what others may read, in JSON of less than a kilobyte, and returns once
// it is on the disk.
func (f *File) Note(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) >= room {
		return errors.New("the note is too long")
	}
	b = append(append(b, bytes.Repeat([]byte{' '}, room-1-len(b))...), '\n')
	_, err = f.file.WriteAt(b, begin)
	return errors.Join(err, f.file.Sync())
}

// Remove ends in order. Of a dead process it says that nothing is left undone.
func (f *File) Remove() error {
	err := os.Remove(f.file.Name())
	if cerr := f.file.Close(); err != nil && cerr == nil {
		err = os.Remove(f.file.Name()) // Windows removes no open file
	}
	return err
}

// Leave lets go of the file, and leaves it for others.
func (f *File) Leave() error { return f.file.Close() }

// Others returns the files of other processes, dead ones too. Mine may be nil.
func Others(dir string, mine *File) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // most often there is none
	}
	var out []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok && (mine == nil || id != mine.ID) && e.Type().IsRegular() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// Read reads the note of a process.
func Read(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, begin, room))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// Dead takes the file of a process that has died; ok is false where it lives.
func Dead(path string) (*File, bool) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, false // another one has done it
	}
	if !flock.Try(f) || !isStill(f, path) {
		_ = f.Close() // nothing was written to it
		return nil, false
	}
	if info, err := f.Stat(); err != nil || info.Size() == 0 { // its process is about to lock it
		_ = f.Close()
		if err == nil && time.Since(info.ModTime()) > birth {
			_ = os.Remove(path) // or died before it did anything
		}
		return nil, false
	}
	return &File{ID: strings.TrimSuffix(filepath.Base(path), suffix), file: f}, true
}
