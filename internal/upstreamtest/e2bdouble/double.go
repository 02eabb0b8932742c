// Package e2bdouble stands in for E2B: its control plane, and in each machine envd and
// the code interpreter, so far as a back end for sandboxes asks them. Code really runs,
// in namespaces of this machine.
//
//	e2b := e2bdouble.New(t)                  // gone with the test
//	base := e2b.URL                          // of the control plane and of all machines
//	e2b.Fail(e2bdouble.Fault{Match: "/execute", Cut: 100, Times: 1})
//	…
//	for _, c := range e2b.Calls() { … }      // what it was asked
//
// It is made from what E2B publishes (testdata): requests and answers of the control plane
// are checked by its OpenAPI description, and the messages of envd are those of its
// protobuf files, in which a field that is not known is an error. What is not published,
// the code interpreter and the edge, follows the sources of its server and of its client
// for JavaScript; a test has the latter use the double.
//
// The namespaces keep the folder of a machine apart from the host. They are no
// protection: only code that a test trusts may run there.
package e2bdouble

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// Key is the one that the double takes: of the form that E2B's client wants.
const Key = "e2b_0000000000000000000000000000000000000000"

// A Fault is one thing that goes wrong.
type Fault struct {
	Match      string        // only requests whose method, path or body hold this
	Status     int           // answered in place of what was asked for
	Text       string        // in the words of that answer
	RetryAfter string        // a header of it
	Slow       time.Duration // before the answer begins
	Hang       bool          // no answer ever
	Cut        int           // the connection ends after so many bytes of the answer
	Vanish     bool          // with the cut, or before an answer, the machine is gone
	After      bool          // Status, Hang or Vanish come after the work was done
	Times      int           // how many requests it meets; 0: all
}

// A Call is a request that the double got.
type Call struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// A Double is one service with its machines. It is safe for concurrent use.
type Double struct {
	URL string

	tb       testing.TB
	spec     *spec
	handlers http.Handler // of envd
	ended    chan struct{}

	mu       sync.Mutex
	machines map[string]*machine
	faults   []Fault
	calls    []Call
}

// New starts a double for a test. The test is skipped where there are no namespaces for
// users.
func New(tb testing.TB) *Double {
	tb.Helper()
	unshare, python := testenv.Program(tb, "unshare"), "/usr/bin/python3"
	if out, err := exec.CommandContext(tb.Context(), unshare, append(namespaces, python, "-c", "")...).CombinedOutput(); err != nil {
		tb.Skipf("needs user namespaces and %s: %v: %s", python, err, out)
	}
	s, err := newSpec()
	if err != nil {
		tb.Fatal(err)
	}
	d := &Double{tb: tb, spec: s, machines: map[string]*machine{}, ended: make(chan struct{})}
	d.handlers = daemon{d}.envd()
	srv := httptest.NewServer(d)
	d.URL = srv.URL
	removeAll := func() {
		for _, m := range d.all() {
			d.remove(m)
		}
	}
	tb.Cleanup(func() {
		close(d.ended)
		removeAll() // which ends the requests that wait for one
		srv.CloseClientConnections()
		srv.Close()
		removeAll() // those that were being made meanwhile
	})
	return d
}

// Fail makes the next requests meet faults: the first that matches and is not used up.
func (d *Double) Fail(faults ...Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, faults...)
}

// Heal takes all faults back.
func (d *Double) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Calls returns what the double was asked, in order, so far as method and path, and the end
// of a line, hold a text.
func (d *Double) Calls(match string) []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Call
	for _, c := range d.calls {
		if strings.Contains(c.Method+" "+c.Path+"\n", match) {
			out = append(out, c)
		}
	}
	return out
}

// Machines returns the names of those that run.
func (d *Double) Machines() []string {
	var out []string
	for _, m := range d.all() {
		out = append(out, m.id)
	}
	return out
}

// Expire ends a machine as its time does.
func (d *Double) Expire(id string) {
	d.mu.Lock()
	m := d.machines[id]
	d.mu.Unlock()
	if m != nil {
		d.remove(m)
	}
}

func (d *Double) all() []*machine {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*machine
	for _, m := range d.machines {
		out = append(out, m)
	}
	return out
}

// remove ends a machine.
func (d *Double) remove(m *machine) {
	d.mu.Lock()
	delete(d.machines, m.id)
	d.mu.Unlock()
	m.close()
}

// note keeps a request, and returns the fault that it meets.
func (d *Double) note(c Call) Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
	for i, f := range d.faults {
		if f.Match != "" && !strings.Contains(c.Method+" "+c.Path+"\n"+string(c.Body), f.Match) {
			continue
		}
		if f.Times == 1 {
			d.faults = append(d.faults[:i:i], d.faults[i+1:]...)
		} else if f.Times > 1 {
			d.faults[i].Times--
		}
		return f
	}
	return Fault{}
}

// ServeHTTP tells control plane and machines apart as the edge does: by headers.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if r.URL.Path != "/files" { // which come as a stream
		body, _ = io.ReadAll(io.LimitReader(r.Body, 32<<20))
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	f := d.note(Call{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body})
	if f.Slow > 0 {
		t := time.NewTimer(f.Slow)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	if f.After && (f.Status != 0 || f.Hang || f.Vanish) {
		d.route(httptest.NewRecorder(), r, body)
	}
	id := r.Header.Get("E2b-Sandbox-Id")
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-d.ended:
		}
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		if id == "" {
			plane{d}.answer(w, r, f.Status, object{"code": f.Status, "message": orElse(f.Text, http.StatusText(f.Status))})
			return
		}
		reply(w, f.Status, object{"code": f.Status, "message": orElse(f.Text, http.StatusText(f.Status))})
	case f.Vanish && f.Cut == 0:
		d.Expire(id)
		panic(http.ErrAbortHandler)
	case f.Cut > 0:
		c := &cutter{ResponseWriter: w, left: f.Cut, cut: func() {
			if f.Vanish {
				d.Expire(id)
			}
		}}
		d.route(c, r, body)
	default:
		d.route(w, r, body)
	}
}

func (d *Double) route(w http.ResponseWriter, r *http.Request, body []byte) {
	id := r.Header.Get("E2b-Sandbox-Id")
	if id == "" {
		plane{d}.control(w, r, body)
		return
	}
	d.mu.Lock()
	m := d.machines[id]
	d.mu.Unlock()
	if m == nil {
		reply(w, http.StatusBadGateway, object{"sandboxId": id, "message": "The sandbox was not found", "code": http.StatusBadGateway})
		return
	}
	if r.Header.Get("X-Access-Token") != m.token {
		reply(w, http.StatusUnauthorized, object{"code": http.StatusUnauthorized, "message": "unauthorized access, please provide a valid access token"})
		return
	}
	switch r.Header.Get("E2b-Sandbox-Port") {
	case "49983":
		d.handlers.ServeHTTP(w, r)
	case "49999":
		m.interpret(w, r, body)
	default:
		reply(w, http.StatusBadGateway, object{"sandboxId": id, "message": "The sandbox is running but port is not open", "code": http.StatusBadGateway})
	}
}

// cutter breaks an answer off.
type cutter struct {
	http.ResponseWriter
	left int
	cut  func()
}

// Write implements [io.Writer].
func (c *cutter) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	_, err := c.ResponseWriter.Write(b[:n])
	c.left -= n
	c.Flush()
	if c.left <= 0 {
		c.cut()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// Flush implements [http.Flusher].
func (c *cutter) Flush() { flush(c.ResponseWriter) }

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

var idName = regexp.MustCompile(`^[a-z0-9]+$`)

// object is what JSON calls so.
type object = map[string]any
