package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
)

// A Window lets so many calls through in any time of a length. Its zero value lets
// everything through. It is safe for concurrent use.
//
// Where it has a file, all processes that name the same one share the window; only when
// calls were made is in it.
type Window struct {
	Calls int
	Every time.Duration
	File  string
	Now   func() time.Time // default: time.Now

	mu      sync.Mutex
	alone   []int64 // Unix milliseconds of calls, where there is no file
	trouble error   // why the file is not used
}

// maxKept bounds the file, whatever another process wrote.
const maxKept = 100_000

// lockTime is how long another process may keep the file.
const lockTime = 2 * time.Second

// Take counts calls, or returns a *Refusal that says when there is room again.
func (w *Window) Take(ctx context.Context, calls int) error {
	if w.Calls <= 0 {
		return nil
	}
	if w.File != "" {
		left, err := w.shared(ctx, calls)
		if err == nil || ctx.Err() != nil {
			w.note(nil)
			return w.refusal(left, ctx.Err())
		}
		w.note(err) // calls of this process alone are counted then
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	kept, left := w.take(w.alone, calls)
	w.alone = kept
	return w.refusal(left, nil)
}

// Trouble returns why the file is not used, where it is not.
func (w *Window) Trouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

func (w *Window) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = err
}

func (w *Window) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Window) refusal(left time.Duration, err error) error {
	if err != nil || left == 0 {
		return err
	}
	return &Refusal{fmt.Sprintf("refused: %d searches in %s are all that this server makes, and they were made. Search again in %s, or go on with what was found",
		w.Calls, w.Every, max(left.Round(time.Second), time.Second))}
}

// take returns the calls of the window with new ones, or how long to wait for room.
func (w *Window) take(calls []int64, n int) ([]int64, time.Duration) {
	now := w.now().UnixMilli()
	calls = slices.DeleteFunc(calls, func(t int64) bool { return t <= now-w.Every.Milliseconds() || t > now+w.Every.Milliseconds() })
	if len(calls)+n > w.Calls {
		slices.Sort(calls)
		first := now
		if i := len(calls) + n - w.Calls - 1; i >= 0 && i < len(calls) {
			first = calls[i]
		}
		return calls, max(time.Duration(first+w.Every.Milliseconds()-now)*time.Millisecond, time.Millisecond)
	}
	for range n {
		calls = append(calls, now)
	}
	return calls, 0
}

// shared is Take in the file.
func (w *Window) shared(ctx context.Context, n int) (time.Duration, error) {
	if err := os.MkdirAll(filepath.Dir(w.File), 0o700); err != nil {
		return 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock, err := flock.Wait(waiting, w.File+".lock")
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	calls, err := readCalls(w.File)
	if err != nil {
		return 0, err
	}
	calls, left := w.take(calls, n)
	if left > 0 {
		return left, nil
	}
	return 0, writeCalls(w.File, calls)
}

// readCalls reads the file. One that is broken counts as empty.
func readCalls(file string) ([]int64, error) {
	info, err := os.Lstat(file)
	switch {
	case os.IsNotExist(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: file, Err: errors.New("it is no file")}
	case info.Size() > maxKept*16:
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var calls []int64
	if json.Unmarshal(b, &calls) != nil || len(calls) > maxKept {
		return nil, nil
	}
	return calls, nil
}

// writeCalls replaces the file.
func writeCalls(file string, calls []int64) error {
	b, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".rate-*")
	if err != nil {
		return err
	}
	_, err = next.Write(b)
	if e := next.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // the error says what is wrong
	}
	return err
}
