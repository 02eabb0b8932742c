package knowledge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/knowledge"
)

// TestFullDisk: where the index can no longer be written, it goes on in memory, and
// finds everything.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount a disk")
	}
	mount, umount := testenv.Program(t, "mount"), testenv.Program(t, "umount")
	disk := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), mount, "-t", "tmpfs", "-o", "size=1m", "none", disk).CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), umount, "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	b := open(t, knowledge.Options{IndexDir: disk}, map[string]string{"a.md": "# A\n\nfrotz\n"})
	b.eventually("search_knowledge_base", map[string]any{"query": "frotz"}, "a.md")
	if err := os.WriteFile(filepath.Join(disk, "fill"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	for i := range 50 {
		b.write(fmt.Sprintf("d%d.md", i), "# D\n\n"+strings.Repeat(fmt.Sprintf("word%d ", i), 500))
	}
	text := b.eventually("search_knowledge_base", map[string]any{"query": "word7"}, "d7.md")
	if !strings.Contains(text, "Note: the index cannot be kept on disk") {
		t.Errorf("not told:\n%s", text)
	}
	b.eventually("search_knowledge_base", map[string]any{"query": "frotz"}, "a.md")
}
