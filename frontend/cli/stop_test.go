package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestStopOfWhatIsNotThere: a stop that would stop nothing is refused, with what may be
// meant, on this machine as at a gateway; a server and its tool are one word or two.
func TestStopOfWhatIsNotThere(t *testing.T) {
	state := t.TempDir()
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+state, "TENON_GATEWAY=", "TENON_APPROVER_TOKEN=not-a-real-token-000")
	config := configFile(t, "version: 1\nservers:\n  clock: {bundled: time}\n")
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: env}
	stdout, _ := c.start(t)
	var at struct{ REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	run := func(way []string, args ...string) (code int, out, log string) {
		t.Helper()
		var b bytes.Buffer
		c := command{args: append(args, way...), stdout: &b, env: env}
		code = c.run(t.Context(), t)
		return code, b.String(), c.log.String()
	}
	for name, way := range map[string][]string{"here": {"--config", config}, "gateway": {"--config", config, "--gateway", at.REST}} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				args []string
				code int
				want string
			}{
				{[]string{"clock/get_curent_time"}, 2, `did you mean "clock/get_current_time"?`},
				{[]string{"clock", "get_curent_time"}, 2, `did you mean "clock/get_current_time"?`},
				{[]string{"clok"}, 2, `Did you mean "clock"?`},
				{[]string{"toy/count"}, 2, "There is no server toy."},
				{[]string{"clock__get_current_time"}, 2, "There is no server clock__get_current_time."},
				{[]string{"clock/get_current_time"}, 0, "get_current_time"},
				{[]string{"clo*", "get_*"}, 0, "get_*"},
				{[]string{"clock"}, 0, "clock"},
				{[]string{"toy/count", "--force"}, 0, "count"},
				{[]string{"--all"}, 0, "*"},
			} {
				if name == "here" && slices.Contains([]string{"*", "clock", "get_*"}, c.want) {
					continue // each change waits until all gateways of this machine have taken it
				}
				code, out, log := run(way, append([]string{"stop"}, c.args...)...)
				if code != c.code || !strings.Contains(out+log, c.want) {
					t.Errorf("stop %q gives %d, want %d with %q:\n%s%s", c.args, code, c.code, c.want, out, log)
				}
				if code == 0 {
					if code, out, log := run(way, append([]string{"resume"}, slices.DeleteFunc(c.args, func(arg string) bool { return arg == "--force" })...)...); code != 0 {
						t.Errorf("resume %q gives %d: %s%s", c.args, code, out, log)
					}
				}
				if _, out, _ := run(way, "stop", "--list"); !strings.Contains(out, "Nothing is stopped.") {
					t.Fatalf("after stop %q: %s", c.args, out)
				}
			}
		})
	}
	post := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.REST+"/stops", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer not-a-real-token-000")
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(res.Body)
		return res.StatusCode, b.String()
	}
	for body, want := range map[string]string{
		`{"server":"toy"}`:                                 "400 There is no server toy.",
		`{"server":"clock/get"}`:                           "400 names no tool of clock",
		`{"server":"toy","force":1}`:                       "400 must be true or false",
		`{"server":"toy/x","force":true,"reason":"later"}`: `200 "server":"toy","tool":"x"`,
	} {
		status, text := post(body)
		if code, text2, _ := strings.Cut(want, " "); fmt.Sprint(status) != code || !strings.Contains(text, text2) {
			t.Errorf("%s gives %d %s, want %s", body, status, text, want)
		}
	}
}
