//go:build unix

package knowledge_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/servers/knowledge"
)

// TestPipe: a pipe in the place of a document that is linked to holds nobody.
func TestPipe(t *testing.T) {
	b := open(t, knowledge.Options{}, map[string]string{"a.md": "# A\n\nfrotz\n"})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "b.md"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("b.md", filepath.Join(b.dir, "c.md")); err != nil {
		t.Skip(err)
	}
	b.write("d.md", "# D\n\nplugh\n")
	b.eventually("search_knowledge_base", map[string]any{"query": "plugh"}, "d.md")
}
