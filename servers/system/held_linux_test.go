package system_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/servers/system"
)

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
	if n := system.DeletedBytes(t.Context(), os.Getpid(), f.Name()); n != 0 {
		t.Errorf("%d bytes before it was deleted", n)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if n := system.DeletedBytes(t.Context(), os.Getpid(), f.Name()); n < mb {
		t.Errorf("%d bytes", n)
	}
}
