// Package upstreamtest is a tool server that misbehaves as told, for tests. It is
// the test binary itself, started again:
//
//	func TestMain(m *testing.M) { upstreamtest.Main(m) }
//
//	cmd := upstreamtest.Command(t, upstreamtest.Script{Tools: 3, ExitOn: "tools/call"})
//
// It speaks JSON-RPC with encoding/json and shares no code with what it tests.
package upstreamtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/proc"
)

const variable = "TENON_TEST_SCRIPT"

// A Script says how a server behaves. The zero value is a good legacy server.
type Script struct {
	Modern       bool     // answers server/discover, and knows no initialize
	Both         bool     // answers both, but no initialize after server/discover
	Version      string   // answered to initialize; empty is 2025-11-25
	Tools        int      // dummy tools beside the built-in ones
	Extra        []string // more tools, as raw JSON
	Long         int      // bytes of one more tool's description
	Page         int      // tools a page; 0 is all
	EndlessPages bool     // the same cursor for ever
	First        []string // lines printed before anything is read
	Greeted      []string // lines printed after notifications/initialized
	Mute         []string // methods that get no answer
	ExitOn       string   // a method that ends the process with status 3
	Late         string   // a method whose answer comes half a second late
	Deaf         bool     // ignores the end of standard input
	Stderr       string   // printed at the start
	ExitAtOnce   bool     // with status 3
	DiscoverKill bool     // dies of server/discover
	CountFile    string   // gets a line for each start
	Over         string   // a transport over HTTP to serve, in place of stdio; see Listen
	Address      string   // to listen on; empty is any port
	StartFault   string   // a file: while it exists, initialize meets the fault that it names
	ReadFault    string   // a file: while it exists, what comes next ends the process before it is read

	Answers map[string]string // results of other methods, as raw JSON
}

// Main runs the tests, or the server where the process was started as one.
func Main(m *testing.M) {
	if text := os.Getenv(variable); text != "" {
		var s Script
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		if s.Over != "" {
			s.listen(os.Stdin, os.Stdout)
			return
		}
		s.serve(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// Env returns the environment variable that makes the test binary a server.
func (s Script) Env() (name, value string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return variable, string(text)
}

// Command returns the command of a server that follows s.
func Command(t testing.TB, s Script) *proc.Command {
	t.Helper()
	name, value := s.Env()
	return &proc.Command{
		Path: Executable(t), Env: proc.Environ(os.Environ(), map[string]string{name: value, "GORACE": "atexit_sleep_ms=0"}),
	}
}

// Executable returns the path of the test binary.
func Executable(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// Starts returns how often a server with this CountFile has been started.
func Starts(t testing.TB, file string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return 0
	}
	return strings.Count(string(b), "\n")
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type server struct {
	Script
	*state
	out io.Writer // takes whole lines
}

// state is what one session of a server has.
type state struct {
	tasks      sync.WaitGroup // nobody waits: the process ends with its input
	mu         sync.Mutex
	discovered bool
	calls      int
	waiting    map[string]chan struct{} // by request id
	held       func()                   // answers a call after the next one
}

func newState() *state { return &state{waiting: map[string]chan struct{}{}} }

func (s Script) serve(in io.Reader, out io.Writer) {
	s.began()
	srv := &server{Script: s, state: newState(), out: out}
	for _, l := range s.First {
		srv.print(l)
	}
	r := bufio.NewReader(in)
	if s.ReadFault != "" {
		r = bufio.NewReader(&fatalReader{in, s.ReadFault})
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal([]byte(line), &m) == nil && m.Method != "" {
			srv.take(m)
		}
	}
	if srv.Deaf {
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		<-term
	}
}

// began does what a script does first.
func (s Script) began() {
	if s.CountFile != "" {
		addLine(s.CountFile, strconv.Itoa(os.Getpid()))
	}
	fmt.Fprint(os.Stderr, s.Stderr)
	if s.ExitAtOnce {
		os.Exit(3)
	}
}

// addLine adds a line to a file, whole whoever else does.
func addLine(file, line string) {
	f, err := os.OpenFile(filepath.Clean(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(f, line)
	_ = f.Close()
}

func (s *server) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, line)
}

func (s *server) take(m message) {
	if m.Method == s.ExitOn {
		fmt.Fprintln(os.Stderr, "fatal: told to exit on "+m.Method)
		os.Exit(3)
	}
	if slices.Contains(s.Mute, m.Method) {
		return
	}
	if m.Method == s.Late {
		s.tasks.Go(func() {
			<-time.After(500 * time.Millisecond)
			s.answer(m)
		})
		return
	}
	s.answer(m)
}

func (s *server) answer(m message) {
	switch m.Method {
	case "server/discover":
		s.discover(m)
	case "initialize":
		s.initialize(m)
	case "notifications/initialized":
		for _, l := range s.Greeted {
			s.print(l)
		}
	case "notifications/cancelled":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		s.cancel(string(p.ID))
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "ping":
		s.result(m, `{}`)
	default:
		if raw, ok := s.Answers[m.Method]; ok {
			s.result(m, raw)
			return
		}
		if m.ID != nil {
			s.fail(m, -32601, "method not found: "+m.Method)
		}
	}
}

func (s *server) discover(m message) {
	if s.DiscoverKill {
		os.Exit(4)
	}
	s.discovered = true
	switch {
	case s.Modern:
		s.result(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"modern"}`)
	case s.Both:
		s.result(m, `{"resultType":"complete","supportedVersions":["2027-01-01"],"capabilities":{"tools":{}}}`)
	default:
		s.fail(m, -32601, "method not found")
	}
}

func (s *server) initialize(m message) {
	switch {
	case s.StartFault != "" && s.startFault():
	case s.Modern:
		s.fail(m, -32601, "method not found")
	case s.Both && s.discovered:
		s.fail(m, 0, `duplicate "initialize" received`)
	default:
		version := s.Version
		if version == "" {
			version = "2025-11-25"
		}
		s.result(m, `{"protocolVersion":"`+version+`","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}`)
	}
}

func (s *server) result(m message, result string) {
	s.print(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

func (s *server) fail(m message, code int, text string) {
	s.print(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text))
}

// builtIn are the tools that every script has; see call.
var builtIn = []string{"echo", "env", "exit", "wait", "progress", "pid", "count", "fail", "meta", "change", "big", "forget", "garbage"}

func (s *server) tools() []string {
	var out []string
	for _, name := range builtIn {
		out = append(out, fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}}`, name, name))
	}
	for i := range s.Tools {
		out = append(out, fmt.Sprintf(`{"name":"tool_%04d","description":"dummy %d","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`, i, i))
	}
	if s.Long > 0 {
		out = append(out, `{"name":"long","description":"`+strings.Repeat("d", s.Long)+`","inputSchema":{"type":"object"}}`)
	}
	return append(out, s.Extra...)
}

func (s *server) list(m message) {
	tools := s.tools()
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &p)
	from, _ := strconv.Atoi(p.Cursor)
	to, next := len(tools), ""
	if s.Page > 0 && from+s.Page < len(tools) {
		to = from + s.Page
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	if s.EndlessPages {
		next = `,"nextCursor":"0"`
	}
	s.result(m, `{"tools":[`+strings.Join(tools[from:to], ",")+`]`+next+`}`)
}

// CrashTool is a tool for Script.Extra. Each call of it adds a line to a file and,
// the first so many times, ends the process with status 7; the next ones answer
// with the number of lines. Its arguments are {"file": …, "times": …}.
const CrashTool = `{"name":"crash","description":"writes, then dies","inputSchema":{"type":"object","properties":{"file":{"type":"string"},"times":{"type":"integer"}}}}`

func (s *server) crash(args json.RawMessage, text func(string)) {
	var a struct {
		File  string
		Times int
	}
	_ = json.Unmarshal(args, &a)
	f, err := os.OpenFile(a.File, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		text(err.Error())
		return
	}
	fmt.Fprintln(f, os.Getpid())
	_ = f.Close()
	b, _ := os.ReadFile(a.File)
	n := strings.Count(string(b), "\n")
	if n <= a.Times {
		fmt.Fprintln(os.Stderr, "crash: as told")
		os.Exit(7)
	}
	text(strconv.Itoa(n))
}

func (s *server) call(m message) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m, -32602, err.Error())
		return
	}
	text := func(t string) {
		b, _ := json.Marshal(t)
		s.result(m, `{"content":[{"type":"text","text":`+string(b)+`}]}`)
	}
	switch p.Name {
	case "echo":
		text(string(p.Args))
	case "env":
		var a struct{ Name string }
		_ = json.Unmarshal(p.Args, &a)
		text(a.Name + "=" + os.Getenv(a.Name))
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: the exit tool was called")
		os.Exit(7)
	case "wait":
		ch := s.cancellation(string(m.ID))
		s.begun(p.Meta)
		s.tasks.Go(func() { <-ch; fmt.Fprintln(os.Stderr, "canceled "+string(m.ID)) })
	case "progress":
		var meta struct {
			Token json.RawMessage `json:"progressToken"`
		}
		_ = json.Unmarshal(p.Meta, &meta)
		a := struct{ Times, Size int }{Times: 3}
		_ = json.Unmarshal(p.Args, &a)
		for i := range a.Times {
			s.print(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d,"unknown":{"z":1,"a":2}%s}}`,
				meta.Token, i+1, a.Times, strings.Repeat(" ", a.Size)))
		}
		text("done")
	case "pid":
		text(strconv.Itoa(os.Getpid()))
	case "count":
		s.calls++
		text(strconv.Itoa(s.calls))
	case "fail":
		s.result(m, `{"content":[{"type":"text","text":"it did not work"}],"isError":true}`)
	case "meta":
		text(string(p.Meta))
	case "change":
		s.Tools++
		s.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		text("changed")
	case "big":
		var a struct{ Size int }
		_ = json.Unmarshal(p.Args, &a)
		text(strings.Repeat("0123456789abcde\n", a.Size/16))
	case "forget":
		s.fail(m, -32602, "Unknown tool: forget")
	case "append": // not listed: a line for a file
		appendLine(p.Args)
		text("written")
	case "mute": // not listed: from now on it answers nothing
		text("not a word more")
		s.Mute = []string{"ping", "tools/list", "tools/call"}
	case "crash": // not listed: see CrashTool
		s.crash(p.Args, text)
	case "until": // not listed: see UntilTool
		var a struct{ File string }
		_ = json.Unmarshal(p.Args, &a)
		s.tasks.Go(func() { text(waitFor(a.File)) })
	case "bad", "bad_read", "bad_liar": // not listed: see BadTools
		s.bad(m, p.Args, p.Meta)
	case "garbage":
		s.print(`no protocol at all`)
		text("clean")
	default:
		s.say(m, p.Name, p.Args)
	}
}

// SayTool is a tool for Script.Extra. It answers with the very text of its argument
// "result", or with the error "error".
const SayTool = `{"name":"say","inputSchema":{"type":"object","properties":{"result":{"type":"string"},"error":{"type":"string"}}}}`

func (s *server) say(m message, name string, args json.RawMessage) {
	var a struct{ Result, Error string }
	_ = json.Unmarshal(args, &a)
	if name != "say" {
		s.fail(m, -32602, "Unknown tool: "+name)
		return
	}
	if a.Error != "" {
		s.print(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":` + a.Error + `}`)
		return
	}
	s.result(m, a.Result)
}

// UntilTool is the definition, for Script.Extra, of a tool that answers with the
// process id of its server once a file exists.
const UntilTool = `{"name":"until","inputSchema":{"type":"object","properties":{"file":{"type":"string"}}}}`

func waitFor(file string) string {
	for range time.Tick(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
	}
	return strconv.Itoa(os.Getpid())
}

// begun says that a call has come, to who wants to hear of its progress.
func (s *server) begun(meta []byte) {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(meta, &p) == nil && p.Token != nil {
		s.print(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0}}`, p.Token))
	}
}

// appendLine adds a line to a file.
func appendLine(args []byte) {
	var a struct{ File, Text string }
	_ = json.Unmarshal(args, &a)
	if f, err := os.OpenFile(a.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, a.Text)
		_ = f.Close()
	}
}
