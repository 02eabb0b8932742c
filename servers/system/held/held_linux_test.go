package held_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/servers/system/held"
)

const mb = 1 << 20

func bytesOf(ctx context.Context, path string) uint64 {
	for _, f := range held.Files(ctx) {
		if f.PID == os.Getpid() && f.Path == path {
			return f.Bytes
		}
	}
	return 0
}

// TestDeletedFiles finds a file that this process deleted and has open.
func TestDeletedFiles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, mb)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if n := bytesOf(t.Context(), f.Name()); n != 0 {
		t.Errorf("%d bytes before it was deleted", n)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if n := bytesOf(t.Context(), f.Name()); n < mb {
		t.Errorf("%d bytes", n)
	}
}
