package proc_test

import (
	"os"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// A child that is busy takes several messages of 32 KiB without its sender
// having to wait for it.
func TestPipeHoldsSeveralMessages(t *testing.T) {
	s := newSpawner(t)
	p := start(t, s, proc.Command{Path: "sleep", Args: []string{"60"}, Env: proc.Environ(os.Environ(), nil), StdinGrace: time.Millisecond})
	if err := p.Stdin().SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Stdin().Write(make([]byte, 512<<10)); err != nil {
		t.Errorf("wrote %d bytes: %v", n, err)
	}
}

// TestDeaf: a child that closes its standard input and lives on is found out, and
// so is one that ends.
func TestDeaf(t *testing.T) {
	s := newSpawner(t)
	for _, script := range []string{"exec 0<&-; exec sleep 60", "exit 3"} {
		p := start(t, s, proc.Command{Path: "sh", Args: []string{"-c", script}, Env: proc.Environ(os.Environ(), nil), StdinGrace: time.Millisecond})
		select {
		case <-p.Deaf():
		case <-time.After(time.Minute):
			t.Errorf("%s: nobody noticed", script)
		}
	}
	p := start(t, s, proc.Command{Path: "sleep", Args: []string{"60"}, Env: proc.Environ(os.Environ(), nil), StdinGrace: time.Millisecond})
	select {
	case <-p.Deaf():
		t.Error("one that could read counts as deaf")
	case <-time.After(100 * time.Millisecond):
	}
}
