package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/store"
)

// TestDamaged: a record whose end is missing is told as that, and not as a full disk.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.db")
	o := store.Options{URL: "sqlite:" + path}
	s := open(t, o)
	addMany(t, s, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	v, err := open(t, o).Verify(t.Context(), "")
	if err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0].Text, "record.db is damaged") || !strings.Contains(v.Faults[0].Text, "move ") {
		t.Errorf("%v: %+v", err, v.Faults)
	}
}
