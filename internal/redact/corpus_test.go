package redact_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// TestFewFalseAlarms: real tool definitions and questions about them hold next to
// nothing that looks like a secret. What does are the examples of passwords in them.
func TestFewFalseAlarms(t *testing.T) {
	dir := testenv.Corpus(t)
	r := redactor(t, redact.Options{})
	size, hidden := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size += len(data)
		n := strings.Count(r.Text(string(data)), "•••") - strings.Count(string(data), "•••")
		if n > 0 {
			t.Logf("%s: %d", path, n)
			hidden += n
		}
		if got, _ := r.Result(tool.OneOf(data)); json.Valid(data) && !json.Valid(got.Join()) {
			t.Errorf("%s is no JSON any more", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d places in %d bytes", hidden, size)
	if most := 1 + size/(1<<20); hidden > most {
		t.Errorf("%d places were hidden in %d bytes, and at most %d may be", hidden, size, most)
	}
}
