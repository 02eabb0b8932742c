//go:build unix

package regular_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/regular"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700), os.Symlink("/dev/zero", filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := regular.Open(root, "file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "text" {
		t.Errorf("read %q, %v", b, err)
	}
	for _, name := range []string{"pipe", "folder"} {
		if _, err := regular.Open(root, name); !errors.Is(err, regular.ErrNot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"out", "nowhere", "../x"} {
		if _, err := regular.Open(root, name); err == nil {
			t.Errorf("%s is opened", name)
		}
	}
}
