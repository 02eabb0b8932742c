package alive_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/alive"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	mine, err := alive.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if others := alive.Others(dir, mine); len(others) > 0 {
		t.Error(others)
	}
	others := alive.Others(dir, nil)
	if len(others) != 1 {
		t.Fatal(others)
	}
	if _, ok := alive.Dead(others[0]); ok {
		t.Error("who lives is dead")
	}
	before, err := os.Stat(others[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Note(map[string]int{"lost": 3}); err != nil {
		t.Fatal(err)
	}
	if err := mine.Note(strings.Repeat("x", 2000)); err == nil {
		t.Error("a note takes more room than there is")
	}
	if after, err := os.Stat(others[0]); err != nil || after.Size() != before.Size() {
		t.Error("a note takes more room than it had", err)
	}
	if err := mine.Leave(); err != nil {
		t.Fatal(err)
	}
	var note struct{ Lost int }
	dead, ok := alive.Dead(others[0])
	if err := alive.Read(others[0], &note); err != nil || !ok || note.Lost != 3 || dead.ID != mine.ID {
		t.Errorf("%+v %v %v", note, ok, err)
	}
	if _, ok := alive.Dead(others[0]); ok {
		t.Error("two take it")
	}
	if err := dead.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, ok := alive.Dead(others[0]); ok || len(alive.Others(dir, nil)) > 0 {
		t.Error("it is still there")
	}
}

// Who is being born is not dead, however closely the others look.
func TestBirth(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "newborn.run") // as a process has made it, and not locked it yet
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := alive.Dead(path); ok {
		t.Error("who is being born is dead")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("the file of who is being born is gone:", err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if _, ok := alive.Dead(path); ok || len(alive.Others(dir, nil)) > 0 {
		t.Error("who died at birth left something undone, or its file")
	}

	born := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(born)
		for range 20 {
			f, err := alive.New(dir)
			if err != nil {
				continue // the others were too close each time, which is told
			}
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
		}
	})
	for {
		for _, path := range alive.Others(dir, nil) {
			if f, ok := alive.Dead(path); ok {
				t.Error("who lives is dead")
				_ = f.Remove()
			}
		}
		select {
		case <-born:
			wg.Wait()
			return
		default:
		}
	}
}
