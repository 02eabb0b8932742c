package faults_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// child is a server entry of the configuration for a script over stdio.
func child(name string, s upstreamtest.Script, more string) string {
	key, value := s.Env()
	env, err := json.Marshal(map[string]string{key: strings.ReplaceAll(value, "$", "$$"), "GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		panic(err)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("  %s: {command: %q, env: %s%s}\n", name, exe, env, more)
}

// openGateway opens a pool as a gateway does, with its files in dir.
func openGateway(t testing.TB, config, dir string) *tenon.Gateway {
	t.Helper()
	path := filepath.Join(dir, "tenon.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := tenon.Open(t.Context(), tenon.Options{
		Config: path, Start: true, Bundled: []tenon.Bundled{},
		Env: append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() }) // also where the test ends early
	return g
}

// ownStart is how long a child takes by itself from its start to its answer to
// initialize: the best of some.
func ownStart(t *testing.T) time.Duration {
	t.Helper()
	key, value := upstreamtest.Script{}.Env()
	best := time.Hour
	for range 5 {
		cmd := exec.CommandContext(t.Context(), upstreamtest.Executable(t))
		cmd.Env = append(os.Environ(), key+"="+value, "GORACE=atexit_sleep_ms=0")
		stdin, ierr := cmd.StdinPipe()
		stdout, oerr := cmd.StdoutPipe()
		began := time.Now()
		if err := errors.Join(ierr, oerr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
	}
	return best
}

// nothingLeft fails where a process whose id is in a file, or a goroutine, lives.
func nothingLeft(t testing.TB, pids string) {
	t.Helper()
	noProcessLeft(t, pids)
	if err := goleak.Find(); err != nil {
		t.Error(err)
	}
}

// noProcessLeft fails where a process whose id is in a file lives.
func noProcessLeft(t testing.TB, pids string) {
	t.Helper()
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Error(err)
	}
	for line := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(patience)
		for isAlive(pid) {
			if time.Now().After(until) {
				t.Errorf("process %d is left", pid)
				break
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}
