package upstreamtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BadTools are two tools for Script.Extra, "bad" and "bad_read", that do the same:
// what the Fault in their arguments says. Without one they answer "fine".
var BadTools = []string{
	`{"name":"bad","description":"misbehaves as told","inputSchema":{"type":"object"}}`,
	`{"name":"bad_read","description":"misbehaves as told","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
}

// A Fault is what a call of one of BadTools does. Its kinds are the keys of
// faults, and over HTTP those of httpFaults too.
type Fault struct {
	Kind string `json:"fault,omitempty"`
	// Once is a file: the call misbehaves only where it can remove it, so that one
	// call does, whatever process it meets.
	Once string `json:"once,omitempty"`
	// Ran gets a line for each call that is carried out.
	Ran string `json:"ran,omitempty"`
	// ID is the line for Ran.
	ID string `json:"id,omitempty"`
	// Canceled gets the server's clock in nanoseconds when it hears that the call
	// was canceled.
	Canceled string          `json:"canceled,omitempty"`
	Size     int             `json:"size,omitempty"`   // in bytes, of what is large
	Result   json.RawMessage `json:"result,omitempty"` // in place of a CallToolResult
}

// Arguments returns f as the arguments of a call.
func (f Fault) Arguments() []byte {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return text
}

// faults are what a call can meet on every transport.
var faults = map[string]func(s *server, c badCall){
	"slow": func(s *server, c badCall) {
		s.tasks.Go(func() {
			<-time.After(200 * time.Millisecond)
			s.fine(c)
		})
	},
	"hang":               func(s *server, c badCall) { s.hear(c) },
	"crash":              func(*server, badCall) { crash() },
	"crash late":         func(*server, badCall) { _ = os.Stdout.Close(); <-time.After(150 * time.Millisecond); crash() },
	"crash in answer":    crashInAnswer,
	"crash after answer": func(s *server, c badCall) { s.fine(c); crash() },
	"result":             func(s *server, c badCall) { s.result(c.message, string(c.Result)) },
	"twice":              func(s *server, c badCall) { s.print(answer(c) + "\n" + answer(c)) },
	"out of order":       outOfOrder,
	"foreign id":         func(s *server, c badCall) { s.result(message{ID: []byte("999999")}, goodResult); s.hear(c) },
	"null id":            func(s *server, c badCall) { s.fail(message{ID: []byte("null")}, -32700, "what was that?"); s.hear(c) },
	"no envelope":        func(s *server, c badCall) { s.print(goodResult); s.hear(c) },
	"both": func(s *server, c badCall) {
		s.print(`{"jsonrpc":"2.0","id":` + string(c.message.ID) + `,"result":{},"error":{"code":1,"message":"both"}}`)
		s.hear(c)
	},
	"endless line": func(s *server, c badCall) { s.hear(c); endlessLine(s) },
	"large without id": func(s *server, c badCall) {
		s.hear(c)
		s.print(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"` + strings.Repeat("x", c.Size) + `"}]}}`)
	},
	"line": func(s *server, c badCall) { s.print(strings.Repeat("x", c.Size)); s.hear(c) },
	"large": func(s *server, c badCall) {
		s.result(c.message, `{"content":[{"type":"text","text":"`+strings.Repeat("x", c.Size)+`"}]}`)
	},
	"flood of garbage": func(s *server, c badCall) { s.flood(c, strings.Repeat("no message at all ", 100)) },
	"flood of notices": func(s *server, c badCall) {
		s.flood(c, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"again"}}`)
	},
	"flood of changes": func(s *server, c badCall) {
		s.flood(c, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	},
	"flood of progress":          func(s *server, c badCall) { s.flood(c, progress(c, 1)) },
	"flood of errors":            floodOfErrors,
	"closes output":              func(s *server, _ badCall) { s.Deaf = true; _ = os.Stdout.Close() },
	"closes input":               func(s *server, c badCall) { s.Deaf = true; _ = os.Stdin.Close(); s.fine(c) },
	"closes input, says nothing": func(s *server, _ badCall) { s.Deaf = true; _ = os.Stdin.Close() },
	"ignores cancelation":        func(s *server, c badCall) { s.tasks.Go(func() { <-time.After(1500 * time.Millisecond); s.fine(c) }) },
}

const goodResult = `{"content":[{"type":"text","text":"fine"}]}`

// A badCall is a call of one of BadTools.
type badCall struct {
	Fault
	message message
	token   json.RawMessage // of its progress
}

func answer(c badCall) string {
	return `{"jsonrpc":"2.0","id":` + string(c.message.ID) + `,"result":` + goodResult + `}`
}

func progress(c badCall, n int) string {
	token := c.token
	if token == nil {
		token = []byte("0")
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, n)
}

func (s *server) bad(m message, args, meta json.RawMessage) {
	c := badCall{message: m}
	var token struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if err := json.Unmarshal(args, &c.Fault); err != nil {
		s.fail(m, -32602, err.Error())
		return
	}
	if meta != nil && json.Unmarshal(meta, &token) == nil {
		c.token = token.Token
	}
	if c.Ran != "" {
		addLine(c.Ran, c.ID)
	}
	if c.Once != "" && os.Remove(c.Once) != nil {
		c.Kind = ""
	}
	misbehave, ok := faults[c.Kind]
	switch {
	case c.Kind == "":
		s.fine(c)
	case ok:
		misbehave(s, c)
	default:
		s.fail(m, -32602, "no such fault: "+c.Kind)
	}
}

func (s *server) fine(c badCall) { s.result(c.message, goodResult) }

func crash() {
	fmt.Fprintln(os.Stderr, "fatal: crashed as told")
	os.Exit(7)
}

// A partialWriter is an out that can write the first n bytes of a line.
type partialWriter interface{ partial(line string, n int) }

func crashInAnswer(s *server, c badCall) {
	line := answer(c)
	if p, ok := s.out.(partialWriter); ok {
		p.partial(line, len(line)/2)
	} else {
		_, _ = io.WriteString(s.out, line[:len(line)/2])
	}
	crash()
}

// outOfOrder holds a call back until another one has been answered.
func outOfOrder(s *server, c badCall) {
	s.mu.Lock()
	held := s.held
	if held == nil {
		s.held = func() { s.result(c.message, `{"content":[{"type":"text","text":"first"}]}`) }
	}
	s.mu.Unlock()
	if held == nil {
		return
	}
	s.result(c.message, `{"content":[{"type":"text","text":"second"}]}`)
	held()
}

// cancellation returns the channel that is closed when the request is canceled.
// Over HTTP that may be before this is called: its POST is another one.
func (s *server) cancellation(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.waiting[id]
	if ch == nil {
		ch = make(chan struct{})
		s.waiting[id] = ch
	}
	return ch
}

// cancel cancels a request, once.
func (s *server) cancel(id string) {
	ch := s.cancellation(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// hear waits for the cancellation of a call.
func (s *server) hear(c badCall) <-chan struct{} {
	ch := s.cancellation(string(c.message.ID))
	if c.token != nil {
		s.print(progress(c, 0))
	}
	if c.Canceled != "" {
		s.tasks.Go(func() {
			<-ch
			addLine(c.Canceled, strconv.FormatInt(time.Now().UnixNano(), 10))
		})
	}
	return ch
}

// flood prints a line without end, until the call is canceled.
func (s *server) flood(c badCall, line string) {
	lines := strings.Repeat(line+"\n", 1+(32<<10)/len(line))
	canceled := s.hear(c)
	s.tasks.Go(func() {
		for {
			select {
			case <-canceled:
				return
			case <-time.After(time.Millisecond): // as much as it takes, and no more of the machine
				s.print(strings.TrimSuffix(lines, "\n"))
			}
		}
	})
}

func floodOfErrors(s *server, c badCall) {
	line := strings.Repeat("an error, and another one\n", 1000)
	for n := 0; n < c.Size; n += len(line) {
		fmt.Fprint(os.Stderr, line)
	}
	s.fine(c)
}

// endlessLine begins a line that does not end.
func endlessLine(s *server) {
	piece := strings.Repeat("no line end ", 10_000)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if _, err := io.WriteString(s.out, piece); err != nil {
			return
		}
	}
}

// startFault lets initialize meet the fault that the file names, and reports
// whether there is one.
func (s *server) startFault() bool {
	kind, err := os.ReadFile(s.StartFault)
	if err != nil {
		return false
	}
	if string(kind) == "crash" {
		crash()
	}
	return slices.Contains([]string{"hang", "mute"}, string(kind))
}

// A fatalReader ends the process where something has come and the file exists.
type fatalReader struct {
	io.Reader
	file string
}

// Read reads one byte first.
func (r *fatalReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p[:1])
	if n > 0 && os.Remove(r.file) == nil {
		crash()
	}
	return n, err
}
