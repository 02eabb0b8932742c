package access_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/access"
	"github.com/tenon-mcp/tenon/tool"
)

// The approver's token is made when somebody needs it, however often it is lost.
func TestApproverTokenIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // nothing can be made there
			t.Fatal(err)
		}
		var log bytes.Buffer
		var learned []string
		a := open(t, access.Options{
			ApproverDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Learn: func(s tool.Secret) { learned = append(learned, s.Reveal()) },
		})
		for range 5 {
			_ = a.NeedsApprover(request())
			time.Sleep(2 * time.Second)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "stop") {
			t.Errorf("it is told %d times: %s", n, log.String())
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		token := func() string {
			t.Helper()
			_ = a.NeedsApprover(request()) // what who has none is answered
			s, err := access.ReadApprover(dir)
			if err != nil || status(t, a, request("Bearer "+s.Reveal())) != 200 {
				t.Errorf("%v", err)
			}
			return s.Reveal()
		}
		first := token()
		if err := os.Remove(filepath.Join(dir, "approver-token")); err != nil {
			t.Fatal(err)
		}
		if s, err := access.MakeApprover(dir); err != nil || status(t, a, request("Bearer "+s.Reveal())) != 200 {
			t.Errorf("made by somebody else: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "approver-token")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := status(t, a, request("Bearer "+first)); got != 401 {
			t.Errorf("the one that was lost: status %d", got)
		}
		if token() == first || len(learned) != 3 {
			t.Errorf("%d tokens", len(learned))
		}
	})
}
