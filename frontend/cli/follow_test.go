package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/frontend/cli"
)

// TestFollowedCalls: calls that are followed stand under the heads that the list has, the
// later ones too; as JSON there is nothing but one call a line.
func TestFollowedCalls(t *testing.T) {
	config, _ := speaker(t)
	env := []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir()}
	call := func(session string) {
		t.Helper()
		c := command{args: []string{"call", "speaker", "say", "-a", "text=x", "--config", config, "--session", session}, env: env}
		if code := c.run(t.Context(), t); code != 0 {
			t.Fatalf("exit code %d: %s", code, &c.log)
		}
	}
	call("one")
	for _, form := range []string{"text", "json"} {
		screen := &shown{more: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() {
			if code := cli.Main(ctx, cli.Options{
				Args: []string{"calls", "--follow", "--config", config, "-o", form}, Env: env,
				Stdin: strings.NewReader(""), Stdout: screen, Stderr: screen,
			}); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
		screen.wait(t, "one", 1)
		call("t-" + form)
		screen.wait(t, "t-"+form, 1)
		cancel()
		following.Wait()
		lines := strings.Split(strings.TrimSpace(screen.text.String()), "\n")
		if form == "json" {
			for _, line := range lines {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
			continue
		}
		at := strings.Index(lines[0], "SERVER")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "TIME ") || strings.Index(lines[1], "speaker") != at || strings.Index(lines[2], "speaker") != at ||
			strings.Index(lines[2], "c_") != strings.Index(lines[0], "ID") {
			t.Errorf("%s", screen.text.String())
		}
	}
}
