package upstreamtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// Transports of Script.Over.
const (
	OverJSON   = "json"   // streamable HTTP; answers are JSON
	OverEvents = "events" // streamable HTTP; answers are streams of events
	OverSSE    = "sse"    // HTTP+SSE of 2024-11-05
)

// A Remote is a server over HTTP, in a process of its own.
type Remote struct {
	URL string

	script Script
	cmd    *exec.Cmd
	stdin  io.Closer // its end ends the process
}

// Listen starts a server that follows s on 127.0.0.1. It ends with the test.
func Listen(t testing.TB, s Script) *Remote {
	t.Helper()
	r := &Remote{script: s}
	r.start(t)
	t.Cleanup(r.Kill)
	return r
}

func (r *Remote) start(t testing.TB) {
	t.Helper()
	name, value := r.script.Env()
	cmd := exec.Command(Executable(t))
	// It ends with Kill, or with its standard input.
	cmd.Env = append(os.Environ(), name+"="+value, "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.cmd, r.stdin = cmd, stdin
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal("the server says nothing: ", err)
	}
	r.URL = strings.TrimSpace(line)
	r.script.Address = strings.TrimPrefix(r.URL, "http://")
	r.script.Address, _, _ = strings.Cut(r.script.Address, "/")
}

// Kill ends the process, and waits for its end.
func (r *Remote) Kill() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()         // the signal is what it ends with
	_ = r.stdin.Close()
}

// Restart starts the server anew on its address, once it has ended.
func (r *Remote) Restart(t testing.TB) {
	t.Helper()
	_ = r.cmd.Wait() // it ends with whatever was asked of it
	r.start(t)
}

// httpFaults are what a call can meet over HTTP alone.
var httpFaults = map[string]func(w http.ResponseWriter, req *http.Request, h *host, c badCall){
	"headers only": func(w http.ResponseWriter, req *http.Request, h *host, _ badCall) {
		h.heads(w)
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	},
	"reset in body": func(w http.ResponseWriter, _ *http.Request, h *host, c badCall) {
		h.half(w, c)
		reset(w)
	},
	"long length": func(w http.ResponseWriter, _ *http.Request, h *host, c badCall) {
		h.half(w, c)
		panic(http.ErrAbortHandler)
	},
	"no answer": func(w http.ResponseWriter, _ *http.Request, h *host, _ badCall) {
		h.heads(w)
		w.WriteHeader(http.StatusOK)
	},
	"lost session": func(w http.ResponseWriter, req *http.Request, h *host, _ badCall) {
		h.forget(req)
		w.WriteHeader(http.StatusNotFound)
	},
	"503": func(w http.ResponseWriter, _ *http.Request, _ *host, _ badCall) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "down for a moment", http.StatusServiceUnavailable)
	},
	"429": func(w http.ResponseWriter, _ *http.Request, _ *host, _ badCall) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "slower, please", http.StatusTooManyRequests)
	},
	"401": func(w http.ResponseWriter, _ *http.Request, _ *host, _ badCall) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="the token has expired"`)
		http.Error(w, "the token has expired", http.StatusUnauthorized)
	},
	"500": func(w http.ResponseWriter, _ *http.Request, _ *host, _ badCall) {
		http.Error(w, "a stack trace", http.StatusInternalServerError)
	},
	"redirect loop": func(w http.ResponseWriter, req *http.Request, _ *host, _ badCall) {
		http.Redirect(w, req, req.URL.String(), http.StatusTemporaryRedirect)
	},
	"open post": openPost,
	"page": func(w http.ResponseWriter, _ *http.Request, _ *host, _ badCall) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><title>Please log in</title></html>")
	},
}

// openPost answers, and never ends the response to the POST.
func openPost(w http.ResponseWriter, req *http.Request, h *host, c badCall) {
	if h.Over == OverSSE {
		h.session(req).fine(c)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "Acc")
	} else {
		h.heads(w)
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer(c))
	}
	_ = http.NewResponseController(w).Flush()
	<-req.Context().Done()
}

// A host is a server over HTTP, with its sessions.
type host struct {
	Script
	mu       sync.Mutex
	last     int
	sessions map[string]*server
}

// listen serves until the end of in. The URL is printed to out.
func (s Script) listen(in io.Reader, out io.Writer) {
	s.began()
	var listener net.Listener
	var err error
	if s.Address == "" {
		listener, err = testenv.Listen(context.Background())
	} else {
		listener, err = net.Listen("tcp", s.Address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	h := &host{Script: s, sessions: map[string]*server{}}
	path := "/mcp"
	if s.Over == OverSSE {
		path = "/sse"
	}
	fmt.Fprintf(out, "http://%s%s\n", listener.Addr(), path)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	})
	if s.ReadFault != "" {
		listener = fatalListener{listener, s.ReadFault}
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, srv.Serve(listener))
	os.Exit(1)
}

// A fatalListener ends the process where a request has come and the file exists.
type fatalListener struct {
	net.Listener
	file string
}

// Accept returns a connection that reads one byte first.
func (l fatalListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fatalConn{c, &fatalReader{c, l.file}}, nil
}

type fatalConn struct {
	net.Conn
	r io.Reader
}

// Read reads one byte first.
func (c fatalConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// session returns the session of a request, or nil.
func (h *host) session(req *http.Request) *server {
	id := req.Header.Get("Mcp-Session-Id")
	if h.Over == OverSSE {
		id = req.URL.Query().Get("session")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

func (h *host) begin(out io.Writer) (id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	id = strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(h.last)
	h.sessions[id] = &server{Script: h.Script, state: newState(), out: out}
	return id
}

func (h *host) forget(req *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, req.Header.Get("Mcp-Session-Id"))
	delete(h.sessions, req.URL.Query().Get("session"))
}

// ServeHTTP answers one request.
func (h *host) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method == http.MethodGet && h.Over == OverSSE:
		h.stream(w, req)
	case req.Method == http.MethodDelete:
		h.forget(req)
	case req.Method == http.MethodPost:
		h.post(w, req)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (h *host) post(w http.ResponseWriter, req *http.Request) {
	var m message
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ses := h.session(req)
	switch {
	case m.Method == "server/discover" && ses == nil && h.Over != OverSSE:
		ses = &server{Script: h.Script, state: newState()}
	case m.Method == "initialize" && h.Over != OverSSE:
		id := h.begin(nil)
		w.Header().Set("Mcp-Session-Id", id)
		h.mu.Lock()
		ses = h.sessions[id]
		h.mu.Unlock()
	case ses == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if h.met(w, req, m) {
		return
	}
	if h.Over == OverSSE || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		ses.take(m)
		return
	}
	out := &reply{w: w, req: req, id: string(m.ID), events: h.Over == OverEvents, done: make(chan struct{})}
	(&server{Script: h.Script, state: ses.state, out: out}).take(m)
	select {
	case <-out.done:
	case <-req.Context().Done():
	}
	out.end()
	// Of a request whose client has gone the server hears as of one that is canceled.
	if req.Context().Err() != nil {
		ses.take(message{Method: "notifications/cancelled", Params: []byte(`{"requestId":` + string(m.ID) + `}`)})
	}
}

// met lets a call meet a fault of HTTP, and reports whether it has one.
func (h *host) met(w http.ResponseWriter, req *http.Request, m message) bool {
	var p struct {
		Args Fault `json:"arguments"`
	}
	if m.Method != "tools/call" || json.Unmarshal(m.Params, &p) != nil {
		return false
	}
	misbehave, ok := httpFaults[p.Args.Kind]
	if !ok || p.Args.Once != "" && os.Remove(p.Args.Once) != nil {
		return false
	}
	misbehave(w, req, h, badCall{Fault: p.Args, message: m})
	return true
}

// stream is the one stream of a session of 2024-11-05.
func (h *host) stream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := &reply{w: w, req: req, events: true, began: true, done: make(chan struct{})}
	id := h.begin(out)
	out.mu.Lock() // the client may be heard before this has returned
	fmt.Fprintf(w, "event: endpoint\ndata: /message?session=%s\n\n", id)
	_ = http.NewResponseController(w).Flush()
	out.mu.Unlock()
	<-req.Context().Done()
	out.end()
}

func (h *host) heads(w http.ResponseWriter) {
	kind := "application/json"
	if h.Over == OverEvents {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
}

// half sends the half of an answer, of which all was announced.
func (h *host) half(w http.ResponseWriter, c badCall) {
	text := answer(c)
	if h.Over == OverEvents {
		text = "data: " + text + "\n\n"
	}
	h.heads(w)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	fmt.Fprint(w, text[:len(text)/2])
	_ = http.NewResponseController(w).Flush()
}

// reset resets the connection of a response.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if c, ok := conn.(fatalConn); ok {
		conn = c.Conn
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // what is closed then is reset
	}
	_ = conn.Close()
}

// A reply takes the lines of a server and makes them a response.
type reply struct {
	w      http.ResponseWriter
	req    *http.Request
	id     string // of the request; empty on the stream of a session
	events bool

	mu    sync.Mutex
	began bool
	ended bool
	done  chan struct{} // closed with the answer
}

// Write takes lines, each a message.
func (r *reply) Write(lines []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(string(lines)) {
		r.line(strings.TrimSuffix(line, "\n"))
	}
	return len(lines), nil
}

func (r *reply) line(line string) {
	if r.ended || r.req.Context().Err() != nil {
		return
	}
	var m message
	isMessage := json.Unmarshal([]byte(line), &m) == nil
	if r.events {
		r.begin("text/event-stream")
		fmt.Fprintf(r.w, "data: %s\n\n", line)
		_ = http.NewResponseController(r.w).Flush()
	} else if !r.began && (m.Method == "" || !isMessage) { // JSON has room for the answer alone
		r.w.Header().Set("Content-Length", strconv.Itoa(len(line)))
		r.begin("application/json")
		fmt.Fprint(r.w, line)
		_ = http.NewResponseController(r.w).Flush()
	}
	if r.id != "" && m.Method == "" && (!r.events || string(m.ID) == r.id) && r.began {
		select {
		case <-r.done:
		default:
			close(r.done)
		}
	}
}

func (r *reply) begin(kind string) {
	if !r.began {
		r.began = true
		r.w.Header().Set("Content-Type", kind)
	}
}

// partial implements partialWriter.
func (r *reply) partial(line string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := "application/json"
	if r.events {
		line, n = "data: "+line+"\n\n", n+len("data: ")
		kind = "text/event-stream"
	} else {
		r.w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	}
	r.begin(kind)
	fmt.Fprint(r.w, line[:n])
	_ = http.NewResponseController(r.w).Flush()
}

// end lets nothing be written any more.
func (r *reply) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
