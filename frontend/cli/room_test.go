package cli_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/frontend/cli"
	"github.com/tenon-mcp/tenon/tool"
)

// TestNoRoom: where a file cannot be written for want of room, the person is told where to
// make some.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	err := fmt.Errorf("the keys cannot be written: %w", &fs.PathError{Op: "write", Path: filepath.Join(dir, "keys.json"), Err: syscall.ENOSPC})
	kind, text, hint := cli.Explain(err)
	if kind != tool.Unavailable || text != err.Error() || hint != "make room in "+dir {
		t.Errorf("%s: %s\n%s", kind, text, hint)
	}
	if kind, _, hint = cli.Explain(syscall.ENOSPC); kind != tool.Unavailable || hint == "" {
		t.Errorf("%s: %s", kind, hint)
	}
}
