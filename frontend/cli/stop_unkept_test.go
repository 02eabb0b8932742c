package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unwritable returns a folder of state in which no stop can be kept, by whoever writes,
// and no approver's token.
func unwritable(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"stops.json.lock", "approver-token"} {
		if err := os.MkdirAll(filepath.Join(home, "tenon", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestStopThatCannotBeKept: a command that could write no stop has stopped nothing and
// says so, for it ends; a gateway that could not write one has stopped its tools, and
// writes it once it can. Without a token nobody is sent to the file that is not there.
func TestStopThatCannotBeKept(t *testing.T) {
	state := unwritable(t)
	config := configFile(t, "version: 1\nservers:\n  clock: {bundled: time}\n")
	env := func(state, token string) []string {
		return append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+state, "TENON_GATEWAY=", "TENON_TOKEN=", "TENON_APPROVER_TOKEN="+token)
	}
	serve := func(token string) (url string, log *shown) {
		t.Helper()
		log = &shown{more: make(chan struct{}, 1)}
		c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: env(state, token), stderr: log}
		stdout, _ := c.start(t)
		var at struct{ REST string }
		if err := json.NewDecoder(stdout).Decode(&at); err != nil {
			t.Fatal(err)
		}
		return at.REST, log
	}
	const token = "not-a-real-token-000"
	url, log := serve(token)
	other, _ := serve("")
	for name, c := range map[string]struct {
		args  []string
		state string
		code  int
		want  []string
	}{
		"stop here":      {[]string{"stop", "clock"}, state, 1, []string{"error: NOTHING was stopped: ", "stops.json.lock", "--gateway", "$TENON_APPROVER_TOKEN"}},
		"resume here":    {[]string{"resume", "clock"}, state, 3, []string{"error: clock/* is not stopped"}},
		"no place":       {[]string{"stop", "clock"}, "", 2, []string{"error: NOTHING is stopped", "--gateway"}},
		"at gateway":     {[]string{"stop", "clock", "--gateway", url}, t.TempDir(), 1, []string{"error: stopped in the gateway at " + url + " alone: ", "until that ends, unless it can be kept", "stops.json.lock"}},
		"without token":  {[]string{"stop", "clock", "--gateway", other}, t.TempDir(), 4, []string{"this gateway has no token", "its log says why"}},
		"unusable token": {[]string{"stop", "clock", "--gateway", other}, state, 2, []string{"the approver's token of this user cannot be read", "$TENON_APPROVER_TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			own := env(c.state, token)
			if strings.HasSuffix(name, "token") {
				own = env(c.state, "")
			}
			if c.state == "" {
				own = slices.DeleteFunc(own, func(s string) bool { return strings.HasPrefix(s, "HOME=") })
			}
			cmd := command{args: append(c.args, "--config", config), env: own}
			if code := cmd.run(t.Context(), t); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(cmd.log.String(), want) {
					t.Errorf("it does not say %q: %s", want, cmd.log.String())
				}
			}
		})
	}
	list := func(state string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		c := command{args: append([]string{"stop", "--list"}, args...), env: env(state, token), stdout: &out}
		if code := c.run(t.Context(), t); code != 0 {
			t.Errorf("exit code %d: %s", code, c.log.String())
		}
		return out.String()
	}
	if out := list(t.TempDir(), "--gateway", url); !strings.Contains(out, "clock") {
		t.Errorf("at the gateway it is not in force: %s", out)
	}
	if err := os.Remove(filepath.Join(state, "tenon", "stops.json.lock")); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "is kept now", 1)
	if text, err := os.ReadFile(filepath.Join(state, "tenon", "stops.json")); err != nil || !strings.Contains(string(text), "clock") {
		t.Errorf("it is not written: %v %s", err, text)
	}
	if out := list(state, "--gateway", url); !strings.Contains(out, "clock") {
		t.Errorf("once it can be written it is not in force: %s", out)
	}
}

// TestStopsThatCannotBeRead: the list says why everything is stopped, and since when.
func TestStopsThatCannotBeRead(t *testing.T) {
	state := t.TempDir()
	path := filepath.Join(state, "tenon", "stops.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`[{"server":`), 0o600); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 2, 3, 12, 0, 0, 0, time.Local)
	if err := os.Chtimes(path, since, since); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := command{args: []string{"stop", "--list"}, env: append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+state, "TENON_GATEWAY="), stdout: &out}
	if code := c.run(t.Context(), t); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
	for _, want := range []string{"the file of stops cannot be read: ", path, "unexpected end of JSON input", "2026-02-03 12:00:00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %s", want, out.String())
		}
	}
}
