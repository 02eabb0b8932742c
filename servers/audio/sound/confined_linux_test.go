package sound_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/servers/audio/sound"
)

// TestConfined runs a program on a file of its folder, and on one outside of it.
func TestConfined(t *testing.T) {
	spawner := proc.New(proc.Options{})
	p, err := spawner.Start(t.Context(), proc.Command{Path: "/bin/true", Confine: &proc.Confinement{Read: []string{t.TempDir()}}, StdinGrace: -1, TermGrace: -1})
	if err == nil {
		<-p.Done()
	}
	if closing := spawner.Close(); closing != nil {
		t.Error(closing)
	}
	if err != nil {
		t.Skip("this kernel confines nothing: " + err.Error())
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	bench, err := sound.Programs{Env: proc.Environ(os.Environ(), nil)}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bench.Close(); err != nil {
			t.Error(err)
		}
	})
	if out, err := bench.Run(t.Context(), "/bin/cat", "inside"); err != nil || out != "inside" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := bench.Run(t.Context(), "/bin/cat", "inside", secret); err == nil || strings.Contains(out, "secret") || !strings.Contains(err.Error(), "cannot read the file") {
		t.Errorf("%q, %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if out, err := bench.Run(ctx, "/usr/bin/tail", "", "-f"); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%q, %v after %v", out, err, time.Since(start))
	}
}
