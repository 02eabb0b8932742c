package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/frontend/cli"
)

// TestNamesOfTheOtherForm: a name in the form of another front end reaches the tool, with
// a note; where nothing can be meant, near names are those that this caller can use.
func TestNamesOfTheOtherForm(t *testing.T) {
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	config := configFile(t, "version: 1\nservers:\n  time: {bundled: time}\n  a_b: {bundled: time}\nblacklist: [[a_b, get_current_time]]\n")
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: env}
	stdout, _ := c.start(t)
	var at struct{ MCP, REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	s := connect(t, at.MCP, "2025-11-25")
	overMCP := func(name string) string {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
		if err != nil {
			return err.Error()
		}
		said, _ := json.Marshal(res)
		return string(said)
	}
	overREST := func(body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.REST+"/calls", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}
	for _, name := range []string{"time/get_current_time", "time_get_current_time", "time.get_current_time", "time__get_current_time"} {
		if got := overMCP(name); strings.Contains(got, `"isError":true`) || strings.Contains(name, "__") == strings.Contains(got, "taken for tool get_current_time of server time") {
			t.Errorf("%s over MCP: %s", name, got)
		}
		for i, body := range []string{`{"server_name":"time","tool_name":"` + name + `"}`, `{"server_name":"","tool_name":"` + name + `"}`} {
			noted := i == 0 || !strings.Contains(name, "__") // else it is a name that the gateway gives
			if got := overREST(body); strings.Contains(got, "taken for tool get_current_time of server time") != noted || strings.Contains(got, "error_kind") {
				t.Errorf("%s over REST: %s", body, got)
			}
		}
	}
	if got := overMCP("time/get_curent_time"); !strings.Contains(got, "The nearest tools are: time__get_current_time") || strings.Contains(got, "time/get_current_time") {
		t.Errorf("over MCP: %s", got)
	}
	if got := overREST(`{"server_name":"time","tool_name":"get_curent_time"}`); !strings.Contains(got, "The nearest tools are: time/get_current_time") {
		t.Errorf("over REST: %s", got)
	}
	if got := overMCP("a_b/get_current_time"); !strings.Contains(got, `"tenon/error_kind":"denied"`) {
		t.Errorf("what is denied, in another form: %s", got)
	}
}

// TestWhatIsMissing: one thing is missing, two are.
func TestWhatIsMissing(t *testing.T) {
	for want, args := range map[string][]string{"SERVER and TOOL are missing": {"call"}, "TOOL is missing": {"call", "time"}} {
		c := command{args: args}
		if code := c.run(t.Context(), t); code != 2 || !strings.Contains(c.log.String(), want) {
			t.Errorf("%q gives %d: %s, want %s", args, code, c.log.String(), want)
		}
	}
}

// TestWrongWords: who gives a word that is none is told those that there are, and how a
// duration is written.
func TestWrongWords(t *testing.T) {
	for want, args := range map[string][]string{
		"there are: table, prompt, mcp, openai, anthropic, gemini": {"tools", "--format", "pretty"},
		`did you mean "openai"?`:                                   {"tools", "--format", "opnai"},
		`invalid argument "5" for "--timeout": no duration` + "\nhint: durations are written 500ms, 30s, 5m": {"tools", "--timeout", "5"},
	} {
		c := command{args: args}
		if code := c.run(t.Context(), t); code != 2 || !strings.Contains(c.log.String(), want) {
			t.Errorf("%q gives %d: %s, want %s", args, code, c.log.String(), want)
		}
	}
}

// TestAnnouncedProgram: the settings that serve shows for a client that starts its servers
// name this program where it is, for a client need not have it on its PATH; and none where
// it will be gone.
func TestAnnouncedProgram(t *testing.T) {
	config := configFile(t, "version: 1\n")
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	for program, want := range map[string]bool{filepath.FromSlash("/opt/some place/tenon"): true, filepath.FromSlash("/tmp/go-build1/b001/exe/tenon"): false} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			cli.Main(ctx, cli.Options{Args: []string{"serve", "--listen", "127.0.0.1:0", "--config", config}, Env: env, Executable: program, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: w})
			_ = w.Close()
		})
		said := ""
		for lines := bufio.NewScanner(r); lines.Scan(); {
			said += lines.Text() + "\n"
			if strings.Contains(lines.Text(), `"type":"http"`) {
				cancel() // one line may follow
			}
		}
		cancel()
		wg.Wait()
		if got := strings.Contains(said, `"command":`+strconv.Quote(program)); got != want || strings.Contains(said, `"command":`) != want {
			t.Errorf("%s: %s", program, said)
		}
	}
}
