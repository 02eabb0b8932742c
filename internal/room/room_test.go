package room_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/room"
)

func TestNone(t *testing.T) {
	full := fmt.Errorf("it is: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if runtime.GOOS == "linux" { // what the system says itself
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		_, full = f.WriteString("x")
	}
	for err, want := range map[error]bool{nil: false, errors.New("other"): false, fs.ErrPermission: false, full: true, syscall.EDQUOT: true} {
		if room.None(err) != want {
			t.Errorf("%v: want %v", err, want)
		}
	}
}

func TestLeft(t *testing.T) {
	dir := t.TempDir()
	if !room.Left(dir, 1000) || !room.Left(filepath.Join(dir, "nowhere"), 1000) {
		t.Error("there is room, or something else is wrong")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
