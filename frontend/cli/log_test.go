package cli_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/frontend/cli"
)

// TestLogValues: whatever a caller or a server has made long is cut in the log, and the
// rest stays as it is.
func TestLogValues(t *testing.T) {
	var b strings.Builder
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: cli.Bound}))
	log.Info("said", "text", strings.Repeat("é", 1<<20), "error", errors.New(strings.Repeat("e", 1<<20)), "took", 3*time.Second, "n", 7)
	got := b.String()
	for _, want := range []string{"é… (2097152 bytes)", "e… (1048576 bytes)", " took=3s n=7\n", "level=INFO msg=said"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if len(got) > 17_000 {
		t.Errorf("%d bytes", len(got))
	}
}
