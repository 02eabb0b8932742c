package stops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
	"github.com/tenon-mcp/tenon/internal/glob"
)

// lock locks the file against other processes.
func lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("another process holds %s.lock", path))
	defer cancel()
	f, err := flock.Wait(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // that frees the lock in any case
}

// A stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
	info fs.FileInfo
}

func (a stamp) same(b stamp) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return a.at.Equal(b.at) && a.size == b.size && os.SameFile(a.info, b.info)
}

const unreadable = "the file of stops cannot be read"

// unread is what holds while the file cannot be read, since it became so.
func unread(now stamp, err error) Stop {
	since := time.Now()
	if isLost(err) {
		since = now.at
	}
	return Stop{
		Server: "*", Tool: "*", Reason: unreadable + ": " + err.Error(), By: "tenon",
		Since: since.UTC().Truncate(time.Millisecond), unread: true,
	}
}

// isLost reports whether this error of reading says that what the file held is lost, and
// not only that it cannot be had.
func isLost(err error) bool {
	_, passes := errors.AsType[*fs.PathError](err)
	return err != nil && !passes
}

// reread takes what the file says, if it is another one than before. The error says
// that it cannot be read; called with mu held.
func (s *Stops) reread() error {
	now := stamp{}
	info, err := os.Stat(s.o.Path)
	switch {
	case err == nil:
		now = stamp{info.ModTime(), info.Size(), info}
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	before := s.broken
	var set []Stop
	if err == nil {
		if before == nil && now.same(s.seen) {
			return nil
		}
		set, err = read(s.o.Path, now)
	}
	if err != nil && before != nil && err.Error() == before.Error() && now.same(s.seen) {
		return err
	}
	s.seen, s.broken, s.kept = now, err, set
	switch {
	case err != nil:
		s.kept = []Stop{unread(now, err)}
		s.o.Log.Error(unreadable+": every tool is stopped until it can be", "file", s.o.Path, "error", err)
	case before != nil:
		s.o.Log.Info("the file of stops can be read again", "file", s.o.Path, "stops", len(set))
	}
	s.overtake()
	s.take(s.inForce())
	return err
}

func read(path string, now stamp) ([]Stop, error) {
	switch {
	case now.info == nil:
		return nil, nil
	case !now.info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case now.size > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var set []Stop
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range set {
		if glob.Check(set[i].Server) != nil || glob.Check(set[i].Tool) != nil || set[i].Server == "" || set[i].Tool == "" {
			return nil, fmt.Errorf("%s: stop %d names no server and tool", path, i+1)
		}
		set[i].Since = set[i].Since.UTC() // so that those of one time are ==
	}
	return set, nil
}

// write writes the set, whole or not at all: it is what the file says then, and nothing
// is unkept. Without a file it is only remembered.
func (s *Stops) write(set []Stop) error {
	for i := range set {
		if set[i].unread {
			set[i].Reason, set[i].unread = "the file of stops could not be read, and what it said is lost", false
		}
	}
	if s.o.Path != "" {
		now, err := replace(s.o.Path, set)
		if err != nil {
			return err
		}
		s.seen = now
	}
	s.kept, s.unkept, s.broken = set, nil, nil
	return nil
}

// replace writes the file and returns what it is then.
func replace(path string, set []Stop) (stamp, error) {
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return stamp{}, err
	}
	if len(text) >= maxFile {
		return stamp{}, fmt.Errorf("the stops are larger than %d bytes", maxFile)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".stops-*") // of mode 0600
	if err != nil {
		return stamp{}, err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return stamp{}, errors.Join(err, os.Remove(f.Name()))
	}
	if info, err := os.Stat(path); err == nil {
		return stamp{info.ModTime(), info.Size(), info}, nil
	}
	return stamp{}, nil // it is read again
}
