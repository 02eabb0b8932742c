package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/frontend/cli"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A command is one run of the program in this process.
type command struct {
	args   []string
	env    []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer // nil is log
	log    bytes.Buffer

	grace   time.Duration
	program string // path of this program; empty is unknown
	width   int
	watched bool
}

// run runs the command until it ends, and returns its exit code. Bundled servers
// run in this process.
func (c *command) run(ctx context.Context, t *testing.T) int {
	t.Helper()
	if c.stdin == nil {
		c.stdin = strings.NewReader("")
	}
	if c.stdout == nil {
		c.stdout = io.Discard
	}
	if c.stderr == nil {
		c.stderr = &c.log
	}
	return cli.Main(ctx, cli.Options{Args: c.args, Env: c.env, Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Grace: c.grace, Executable: c.program, Width: c.width, Watched: c.watched})
}

// start runs the command in the background, and returns its standard output and a
// function that interrupts it and returns its exit code.
func (c *command) start(t *testing.T) (stdout *bufio.Reader, interrupt func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r, w := io.Pipe()
	c.stdout = w
	var wg sync.WaitGroup
	code := -1
	wg.Go(func() {
		code = c.run(ctx, t)
		w.Close()
	})
	interrupt = func() int {
		cancel()
		r.Close()
		wg.Wait()
		return code
	}
	t.Cleanup(func() { interrupt() })
	return bufio.NewReader(r), interrupt
}

// configFile writes a configuration and returns its path.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInterruptedCall(t *testing.T) {
	asked := make(chan struct{}, 100)
	mute := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	})
	url := listen(t, mute)
	config := configFile(t, "version: 1\nservers: {mute: {url: \""+url+"\"}}\n")
	for _, args := range [][]string{
		{"call", "mute", "x", "--config", config},
		{"tools", "--config", config},
		{"search", "x", "--config", config},
		{"check", "--connect", "--config", config},
		{"call", "mute", "x", "--gateway", url},
		{"tools", "--gateway", url},
		{"batch", "-", "--gateway", url},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var canceling sync.WaitGroup
		canceling.Go(func() {
			select {
			case <-asked: // it waits for the answer now
				cancel()
			case <-ctx.Done():
			}
		})
		c := command{args: append(args, "--output", "json"), stdin: strings.NewReader(`{"server":"mute","tool":"x"}`)}
		var out bytes.Buffer
		c.stdout = &out
		if code := c.run(ctx, t); code != 130 || !strings.Contains(out.String(), `"canceled"`) {
			t.Errorf("%v: exit code %d: %s %s", args, code, out.String(), c.log.String())
		}
		cancel()
		canceling.Wait()
		for len(asked) > 0 {
			<-asked
		}
	}
}

// listen serves h on loopback until the test ends.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(ln) })
	t.Cleanup(func() {
		_ = srv.Close()
		wg.Wait()
	})
	return "http://" + ln.Addr().String()
}

// speaker is a tool server over HTTP with the tools say, which says its text, and
// slow, which does so after most of a second. It returns the path of a
// configuration with it, and a channel that gets a value for each slow call.
func speaker(t *testing.T) (config string, begun <-chan struct{}) {
	t.Helper()
	return speakerUntil(t, nil)
}

// speakerUntil is [speaker] whose tool slow takes until over is closed, if there is such.
func speakerUntil(t *testing.T, over <-chan struct{}) (config string, begun <-chan struct{}) {
	t.Helper()
	srv := sdk.NewServer(&sdk.Implementation{Name: "speaker", Version: "1"}, nil)
	calls := make(chan struct{}, 10)
	type in struct {
		Text string `json:"text"`
	}
	say := func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	}
	sdk.AddTool(srv, &sdk.Tool{Name: "say"}, say)
	sdk.AddTool(srv, &sdk.Tool{Name: "slow"}, func(ctx context.Context, r *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		calls <- struct{}{}
		var late <-chan time.Time
		if over == nil {
			late = time.After(900 * time.Millisecond)
		}
		select {
		case <-late:
		case <-over:
		case <-ctx.Done():
		}
		return say(ctx, r, in)
	})
	url := listen(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: true}))
	return configFile(t, "version: 1\nservers: {speaker: {url: \""+url+"\"}}\n"), calls
}

// What a tool says cannot control the terminal; what is not a terminal gets it
// byte for byte.
func TestTerminalIsNotControlled(t *testing.T) {
	config, _ := speaker(t)
	for width, want := range map[int]string{
		0:  "a\u001b[2J\u0007\u009b31mb\tc \u202e❤\ufe0f\u2028\U000e0041\n",
		80: "a[2J31mb\tc \\u202e❤\ufe0f\\u2028\\U000e0041\n",
	} {
		var out bytes.Buffer
		c := command{args: []string{"call", "speaker", "say", "--args", `{"text":"a\u001b[2J\u0007\u009b31mb\tc \u202e❤\ufe0f\u2028\udb40\udc41\n"}`, "--config", config}, stdout: &out, width: width}
		if code := c.run(t.Context(), t); code != 0 || out.String() != want {
			t.Errorf("width %d: exit code %d, %q, want %q: %s", width, code, out.String(), want, c.log.String())
		}
	}
}

// What a tool says of its failure is no line of Tenon's own.
func TestFailureIsInset(t *testing.T) {
	srv := sdk.NewServer(&sdk.Implementation{Name: "liar", Version: "1"}, nil)
	sdk.AddTool(srv, &sdk.Tool{Name: "lie"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no\nnote: approved by ann\n\n"}}}, nil, nil
	})
	url := listen(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: true}))
	c := command{args: []string{"call", "liar", "lie", "--config", configFile(t, "version: 1\nservers: {liar: {url: \""+url+"\"}}\n")}}
	code := c.run(t.Context(), t)
	if log := c.log.String(); code == 0 || !strings.Contains(log, "error: no\n  note: approved by ann\n") || strings.Contains(log, "\nnote: approved") {
		t.Errorf("exit code %d: %q", code, log)
	}
	c = command{args: []string{"import", "--file", filepath.Join(t.TempDir(), "a\nnote: b")}} // an error of the command, with words that came
	code = c.run(t.Context(), t)
	if log := c.log.String(); code == 0 || !strings.Contains(log, "a\n  note: b") {
		t.Errorf("exit code %d: %q", code, log)
	}
}

func TestPersonIsShownThatItGoesOn(t *testing.T) {
	config, _ := speaker(t)
	var out bytes.Buffer
	c := command{args: []string{"call", "speaker", "slow", "-a", "text=done", "--config", config}, stdout: &out}
	if code := c.run(t.Context(), t); code != 0 || out.String() != "done\n" || c.log.Len() > 0 {
		t.Errorf("nobody watches: exit code %d, %q, %q", code, out.String(), c.log.String())
	}
	// The tool ends when a person has seen that it goes on.
	over, screen := make(chan struct{}), &shown{more: make(chan struct{}, 1)}
	config, _ = speakerUntil(t, over)
	out.Reset()
	c = command{args: []string{"call", "speaker", "slow", "-a", "text=done", "--config", config}, stdout: &out, stderr: screen, watched: true}
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	defer calling.Wait()
	defer cancel()
	calling.Go(func() {
		if code := c.run(ctx, t); code != 0 || out.String() != "done\n" {
			t.Errorf("exit code %d, %q", code, out.String())
		}
	})
	screen.wait(t, "s\r", 1) // the end of the first time, and the begin of the second
	close(over)
	calling.Wait()
	if !regexp.MustCompile(`^(\r\x1b\[K[|/\\-] speaker/slow [0-9][0-9a-z.]*s){2,}\r\x1b\[K$`).MatchString(screen.text.String()) {
		t.Errorf("shown: %q", screen.text.String())
	}
}

// An interrupt does not take away the answer of a call in progress.
func TestServeAnswersCallsInProgress(t *testing.T) {
	config, begun := speaker(t)
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}}
	stdout, interrupt := c.start(t)
	var at struct{ REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer := make(chan string, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := client.Post(at.REST+"/calls", "application/json", strings.NewReader(`{"server":"speaker","tool":"slow","arguments":{"text":"done"}}`))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	})
	<-begun
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
	if got := <-answer; !strings.Contains(got, `"result":"done"`) {
		t.Errorf("got %s", got)
	}
	wg.Wait()
}

// Reasons are never cut, and what a failed server said last is told.
func TestServersTellsWhatIsWrong(t *testing.T) {
	now := time.Now().UTC()
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"servers": []tool.ServerStatus{
			{Name: "a", State: tool.StateReady, Tools: 3, Since: now.Add(-time.Hour), Transport: "stdio", Era: "modern", Stderr: "all is well"},
			{Name: "b", State: tool.StateFailed, Reason: strings.Repeat("long ", 40), Since: now.Add(-time.Minute), Transport: "stdio", Stderr: "one\n\x1b[31mtwo\n"},
		}})
	}))
	var out bytes.Buffer
	c := command{args: []string{"servers", "--gateway", url}, stdout: &out, width: 60}
	want := "SERVER  STATE   TOOLS  RESTARTS  TRANSPORT  ERA     SINCE   REASON\n" +
		"a       ready   3      0         stdio      modern  1h0m0s\n" +
		"b       failed  0      0         stdio      -       1m0s    " + strings.TrimSpace(strings.Repeat("long ", 40)) + "\n" +
		"b said last:\n  one\n  [31mtwo\n"
	if code := c.run(t.Context(), t); code != 0 || out.String() != want {
		t.Errorf("code %d:\n%s\nwant\n%s", code, out.String(), want)
	}
}

func TestServeTellsAPersonOfThePool(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	config := configFile(t, "version: 1\nservers:\n  time: {bundled: time}\n  broken: {command: ./no-such-program, retries: 0}\n")
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--config", config}, stderr: w, watched: true, program: "/opt/not-there/tenon"}
	_, interrupt := c.start(t)
	lines := bufio.NewReader(r)
	var got []string
	for len(got) < 7 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err, got)
		}
		got = append(got, strings.TrimSpace(line))
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"MCP     http://127.0.0.1:", `{"mcpServers":{"tenon":{"type":"http","url":"http://127.0.0.1:`, `"args":["serve","--stdio","--config","`, "failed     broken: ", "idle       time (2 tools, starts on its first use)"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nlacks %s", all, want)
		}
	}
	r.Close()
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServeStopsGracefully(t *testing.T) {
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json"}}
	stdout, interrupt := c.start(t)
	var at struct{ MCP, REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(at.REST+"/calls", "application/json", strings.NewReader(`{"server":"time","tool":"get_current_time","arguments":{"timezone":"Asia/Shanghai"}}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(body), "+08:00") {
		t.Errorf("got %s", body)
	}
	s := connect(t, at.MCP)
	if _, err := s.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	if code := interrupt(); code != 0 || time.Since(begun) >= 10*time.Second { // which is what it gives answers
		t.Errorf("exit code %d after %s: %s", code, time.Since(begun), c.log.String())
	}
	_ = s.Close()
}

// connect makes a client of the newest era that the server speaks, or of the
// version that is wanted.
func connect(t *testing.T, url string, version ...string) *sdk.ClientSession {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	o := &sdk.ClientSessionOptions{}
	if len(version) > 0 {
		o.ProtocolVersion = version[0]
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: tr}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestServerOverHTTPSpeaksBothEras(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	c := command{args: []string{"server", "time", "--http", "127.0.0.1:0"}, stderr: w}
	_, interrupt := c.start(t)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "MCP at ")
	if !ok {
		t.Fatalf("got %q", line)
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		s := connect(t, url, version)
		if got := s.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("speaks %s, want %s", got, version)
		}
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_current_time", Arguments: map[string]any{"timezone": "Asia/Shanghai"}})
		if err != nil || res.IsError {
			t.Errorf("%s: %v %v", version, res, err)
		}
	}
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServerEndsWithItsInput(t *testing.T) {
	r, w := io.Pipe()
	c := command{args: []string{"server", "time"}, stdin: r}
	stdout, interrupt := c.start(t)
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := stdout.ReadString('\n'); err != nil || !strings.Contains(line, "tenon-time") {
		t.Fatalf("got %q, %v", line, err)
	}
	w.Close()
	if _, err := stdout.ReadString('\n'); err != io.EOF {
		t.Errorf("standard output: %v, want its end", err)
	}
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}

// TestServerThatIsListenedToEndsWithItsInput: who listens to changes is owed no answer
// once the input has ended.
func TestServerThatIsListenedToEndsWithItsInput(t *testing.T) {
	r, w := io.Pipe()
	c := command{args: []string{"server", "time"}, stdin: r}
	stdout, interrupt := c.start(t)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+meta+`}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := stdout.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"id":1,`) {
			t.Fatalf("listening was refused: %s", line)
		}
		if strings.Contains(line, `"id":2,`) {
			break
		}
	}
	began := time.Now()
	w.Close()
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it ended after %s", took)
	}
	if code := interrupt(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}

func TestOptionsOfAServerAreFlags(t *testing.T) {
	var out bytes.Buffer
	c := command{args: []string{"server", "network", "--help"}, stdout: &out}
	if code := c.run(t.Context(), t); code != 0 || !strings.Contains(out.String(), "--allow") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

func TestAssign(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"text":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},
		"list":{"type":"array","items":{"type":"integer"}},"any":{"type":"array"},"o":{"type":"object"},
		"maybe":{"type":["string","null"]},"num":{"type":["number","null"]},"either":{"oneOf":[{"type":"boolean"},{"$ref":"#/$defs/n"}]},
		"many":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
		"self":{"$ref":"#/$defs/self"},"loop":{"anyOf":[{"$ref":"#/$defs/loop"},{"type":"integer"}]},"remote":{"$ref":"https://example.com/x"},"free":true,"const":{"const":3}},
		"$defs":{"n":{"type":"integer"},"self":{"$ref":"#/$defs/self"},"loop":{"anyOf":[{"$ref":"#/$defs/loop"}]}}}`
	for _, c := range []struct{ flags, want, err string }{
		{"text=5", `{"text":"5"}`, ""},
		{"text=true", `{"text":"true"}`, ""},
		{`text="q"`, `{"text":"\"q\""}`, ""},
		{"text=", `{"text":""}`, ""},
		{"n=12345678901234567890", `{"n":12345678901234567890}`, ""},
		{"n=1.5", "", "not a whole number"},
		{"n=0x10", "", "not a whole number"},
		{"n=", "", "not a whole number"},
		{"x=1", `{"x":1}`, ""},
		{"x=1e3", `{"x":1e3}`, ""},
		{"x=NaN", "", "not a number"},
		{"b=true", `{"b":true}`, ""},
		{"b=F", `{"b":false}`, ""},
		{"b=yes", "", "not true or false"},
		{"list=1", `{"list":[1]}`, ""},
		{"list=[1,2]", `{"list":[1,2]}`, ""},
		{"list=1 list=2", `{"list":[1,2]}`, ""},
		{"list=1 list=b", "", "not a whole number"},
		{"list=1 list:=[2]", `{"list":[1,[2]]}`, ""},
		{"any=1 any=b", `{"any":[1,"b"]}`, ""},
		{`o={"a":1}`, `{"o":{"a":1}}`, ""},
		{"o=1", "", "not a JSON object"},
		{"maybe=null", `{"maybe":"null"}`, ""},
		{"maybe:=null", `{"maybe":null}`, ""},
		{"num=null", `{"num":null}`, ""},
		{"either=3", `{"either":3}`, ""},
		{"either=true", `{"either":true}`, ""},
		{"either=x", "", "not true or false or a whole number"},
		{"many=a", `{"many":"a"}`, ""},
		{"many=a many=b", `{"many":["a","b"]}`, ""},
		{"self=3", `{"self":3}`, ""},
		{"loop=3", `{"loop":3}`, ""},
		{"remote=3", `{"remote":3}`, ""},
		{"remote=x", `{"remote":"x"}`, ""},
		{"free=3", `{"free":3}`, ""},
		{"const=3", `{"const":3}`, ""},
		{"n=1 n=2", "", "given 2 times"},
		{"txet=1", "", `did you mean "text"?`},
		{"zzzzzzzz=1", "", `the tool has no argument "zzzzzzzz". It takes: any, b,`},
	} {
		got, err := cli.Assign(strings.Fields(c.flags), schema)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %s, %v; want an error with %q", c.flags, got, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.flags, got, err, c.want)
		}
	}
}

func TestAssignWithoutProperties(t *testing.T) {
	for _, c := range []struct{ schema, flags, want string }{
		{``, "a=1 b=x c=true", `{"a":1,"b":"x","c":true}`},
		{`{"type":"object"}`, "a=1", `{"a":1}`},
		{`{"properties":{"b":{}},"additionalProperties":{"type":"integer"}}`, "a=1", `{"a":1}`},
		{`{"properties":{"b":{}},"additionalProperties":true}`, "a=x", `{"a":"x"}`},
		{`{"properties":{"b":{}},"additionalProperties":false}`, "a=x", ``},
		{`[]`, "a=x", `{"a":"x"}`},
	} {
		got, err := cli.Assign(strings.Fields(c.flags), c.schema)
		if (err == nil) != (c.want != "") || got != c.want {
			t.Errorf("%s %s: got %s, %v; want %s", c.schema, c.flags, got, err, c.want)
		}
	}
}

// Whatever a schema says, the arguments are JSON or there is an error.
func FuzzAssign(f *testing.F) {
	f.Add("n=1", `{"properties":{"n":{"type":"integer"}}}`)
	f.Add("n:=[1]", `{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"$ref":"#/$defs/n"},{"items":{"$ref":"#/$defs/n"}}]}}}`)
	f.Fuzz(func(t *testing.T, flag, schema string) {
		if got, err := cli.Assign([]string{flag, flag}, schema); err == nil && !json.Valid([]byte(got)) {
			t.Errorf("%s", got)
		}
	})
}

func TestNearest(t *testing.T) {
	names := []string{"serve", "server", "servers", "tools", "call", "check"}
	for word, want := range map[string]string{
		"tols": "tools", "tool": "tools", "cal": "call", "clal": "call", "chekc": "check", "TOOLS": "tools", "sevre": "serve", "x": "", "completely": "",
	} {
		if got := cli.Nearest(word, names...); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func TestSpinnerAppearsLateAndLeavesNoTrace(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		400 * time.Millisecond: "",
		650 * time.Millisecond: "\r\x1b[K| working 500ms\r\x1b[K/ still 600ms\r\x1b[K",
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			say, stop := cli.Spin(&b, "working")
			time.Sleep(min(wait, 550*time.Millisecond))
			say("still")
			time.Sleep(wait - min(wait, 550*time.Millisecond))
			stop()
			stop()
			if b.String() != want {
				t.Errorf("after %s: got %q, want %q", wait, b.String(), want)
			}
		})
	}
}

// TestInputIsBounded: a file without an end is an error, not the end of memory.
func TestInputIsBounded(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no /dev/zero")
	}
	for _, args := range [][]string{{"call", "time", "get_current_time", "--args", "@/dev/zero"}, {"batch", "/dev/zero"}} {
		c := command{args: args}
		if code := c.run(t.Context(), t); code != 2 || !strings.Contains(c.log.String(), "larger than 64 MiB") {
			t.Errorf("%v: code %d, %s", args, code, c.log.String())
		}
	}
}

// TestFullDisk: an answer that could not be written is no success.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{{"tools"}, {"tools", "--output", "json"}, {"call", "time", "get_current_time"}, {"version"}} {
		c := command{args: args, stdout: full}
		if code := c.run(t.Context(), t); code != 1 || !strings.Contains(c.log.String(), "could not be written") {
			t.Errorf("%v: code %d, %s", args, code, c.log.String())
		}
	}
}
