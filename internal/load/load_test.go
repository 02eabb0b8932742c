// Package load_test holds the gateway to what it says of many clients at once: what
// an idle session costs, and that a client which does not read delays nobody else.
package load_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

func TestMain(m *testing.M) { upstreamtest.Main(m) }

// serve starts a gateway before one server on stdio, behind the listener of the
// product, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	key, value := upstreamtest.Script{Extra: upstreamtest.BadTools}.Env()
	env, err := json.Marshal(map[string]string{key: value, "GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	cfg := fmt.Sprintf("version: 1\nstore: {url: memory}\npolicy: {mode: bypass}\nservers:\n  s: {command: %q, env: %s, retries: 0}\n", upstreamtest.Executable(t), env) +
		"tools: {\"*/*\": {max_result_chars: 0}}\n"
	if err := os.WriteFile(path, []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	gw, err := tenon.Open(t.Context(), tenon.Options{Config: path, Env: append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	front := mcp.New(gw, mcp.Options{Version: "1"})
	l, err := web.Listen(t.Context(), web.Options{Addr: "127.0.0.1:0", Handler: front, Grace: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // the server outlives the test's context
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		_ = front.Close()
		running.Wait()
		if err := gw.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l.Addr()
}

// A client is one connection, written to and read from by hand: what it costs in this
// process is a socket.
type client struct {
	net.Conn
	addr, session string
}

// dial opens a connection and a legacy session on it.
func dial(t testing.TB, addr string) *client {
	t.Helper()
	c := &client{addr: addr}
	c.connect(t)
	head, answer := c.ask(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)
	c.session = head.Get("Mcp-Session-Id")
	if c.session == "" {
		t.Fatalf("no session: %s", answer)
	}
	c.ask(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *client) connect(t testing.TB) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	clients.add(t, conn)
	c.Conn = conn
}

// clients are the connections of the clients of a test. A cleanup for each would cost
// more than what is measured.
var clients = &connections{}

type connections struct {
	mu  sync.Mutex
	all []net.Conn
}

// add has a connection closed when the test ends.
func (c *connections) add(t testing.TB, conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		t.Cleanup(c.close)
	}
	c.all = append(c.all, conn)
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		_ = conn.Close()
	}
	c.all = nil
}

// send sends a request and reads nothing.
func (c *client) send(t testing.TB, method, body string) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\n", method, c.addr)
	if c.session != "" {
		fmt.Fprintf(&b, "Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n", c.session)
	}
	if method == "POST" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&b, "\r\n%s", body)
	if _, err := c.Write(b.Bytes()); err != nil {
		t.Error(err)
	}
}

// ask sends a request and reads the whole answer.
func (c *client) ask(t testing.TB, method, body string) (http.Header, string) {
	t.Helper()
	c.send(t, method, body)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	res, err := http.ReadResponse(bufio.NewReader(c.Conn), nil)
	if err != nil {
		t.Error(err)
		return http.Header{}, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.Header, string(text)
}

func call(tool, args, token string) string {
	meta := ""
	if token != "" {
		meta = `,"_meta":{"progressToken":"` + token + `"}`
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"s__` + tool + `","arguments":` + args + meta + `}}`
}

// listen opens the stream of the session and reads its head, no further.
func (c *client) listen(t testing.TB) {
	t.Helper()
	c.send(t, "GET", "")
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := io.ReadFull(c, one); err != nil {
			t.Fatalf("stream: %v after %q", err, head)
		}
		head = append(head, one...)
	}
	if !strings.Contains(string(head), "text/event-stream") {
		t.Fatalf("no stream: %s", head)
	}
}

// inUse returns the bytes of heap and stacks that are alive.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second
	m := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: stacks}}
	metrics.Read(m)
	return int64(m[0].Value.Uint64() + m[1].Value.Uint64())
}

const stacks = "/memory/classes/heap/stacks:bytes"

func onStacks() int64 {
	m := []metrics.Sample{{Name: stacks}}
	metrics.Read(m)
	return int64(m[0].Value.Uint64())
}

// settled returns what is in use once it grows less no more: connections that nobody
// uses give their memory back after a while.
func settled() int64 {
	least, same := inUse(), 0
	for range time.Tick(50 * time.Millisecond) {
		now := inUse()
		if same++; now < least-least/200 {
			same = 0
		}
		if least = min(least, now); same == 6 {
			break
		}
	}
	return least
}

// TestIdleSessions measures what a session costs that does nothing: without a
// connection, with one that is kept, and with a stream on which it listens. The
// clients' sockets are in it, and what the test keeps of them. The least of three
// counts: what others of the process take meanwhile is no cost of a session.
func TestIdleSessions(t *testing.T) {
	addr := serve(t)
	dial(t, addr).ask(t, "POST", call("echo", "{}", ""))
	const n = 200
	for _, c := range []struct {
		name  string
		limit int64
		open  func() *client
	}{
		{"no connection", 10_000, func() *client {
			c := dial(t, addr)
			_ = c.Close()
			return &client{session: c.session}
		}},
		{"a connection", 10_000, func() *client { return dial(t, addr) }},
		{"a connection with a stream", 8_400, func() *client {
			c := dial(t, addr)
			c.listen(t)
			return c
		}},
	} {
		all := make([]*client, 0, 3*n)
		each := int64(math.MaxInt64)
		for try := 0; try < 3 && each > c.limit; try++ {
			before, stacks := settled(), onStacks()
			for range n {
				all = append(all, c.open())
			}
			got := (settled() - before) / n
			t.Logf("%d idle sessions, each with %s: %d bytes each, %d of them stacks", n, c.name, got, (onStacks()-stacks)/n)
			if each = min(each, got); race {
				break
			}
		}
		if each > c.limit && !race {
			t.Errorf("an idle session with %s takes %d bytes, more than %d", c.name, each, c.limit)
		}
		runtime.KeepAlive(all)
	}
}

// delay is how long a call may take beside slow clients, on a machine with much else to
// do. Whoever waits for a client that does not read waits for a minute.
const delay = 30 * time.Second

// TestSlowClients has clients that do not read, in each way there is, beside others
// that call tools and are answered as if there were none.
func TestSlowClients(t *testing.T) {
	t.Run("60", func(t *testing.T) { slow(t, 35, 20, 1, 10) })
	t.Run("500", func(t *testing.T) {
		testenv.Long(t)
		slow(t, 280, 200, 5, 100)
	})
}

// slow runs busy clients with so many calls each, idle ones, and slow ones of each kind.
func slow(t *testing.T, busy, idle, each, calls int) {
	addr := serve(t)
	var all []*client
	for range busy + idle {
		all = append(all, dial(t, addr))
	}
	for _, c := range all[busy:] {
		c.listen(t)
	}
	sipping, stop := sync.WaitGroup{}, make(chan struct{})
	defer sipping.Wait()
	defer close(stop)
	for range each {
		deaf := dial(t, addr) // to the stream that it has opened
		deaf.send(t, "GET", "")
		dial(t, addr).send(t, "POST", call("big", `{"size":8000000}`, ""))                 // to a long answer
		dial(t, addr).send(t, "POST", call("progress", `{"times":2000,"size":4000}`, "a")) // to progress
		for _, body := range []string{call("big", `{"size":8000000}`, ""), call("progress", `{"times":2000,"size":4000}`, "a")} {
			c := dial(t, addr)
			c.send(t, "POST", body)
			sipping.Go(func() { c.sip(stop) })
		}
	}
	// The server answers in order: what it has for slow clients is out then.
	all[0].ask(t, "POST", call("echo", "{}", ""))
	var mu sync.Mutex
	var took []time.Duration
	var working sync.WaitGroup
	for i, c := range all[:busy] {
		working.Go(func() {
			for j := range calls {
				began := time.Now()
				want := fmt.Sprintf("%d of %d", j, i)
				tool, args := "echo", `{"n":"`+want+`"}`
				if i == 0 && j%5 == 0 { // tells all that listen
					tool, want = "change", "changed"
				}
				if _, answer := c.ask(t, "POST", call(tool, args, "")); !strings.Contains(answer, want) {
					t.Errorf("call %s: %.200s", want, answer)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	working.Wait()
	slices.Sort(took)
	t.Logf("%d sessions, %d of them idle and %d slow, %d calls: median %v, p99 %v, longest %v", busy+idle+5*each, idle, 5*each,
		len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if longest := took[len(took)-1]; longest > delay {
		t.Errorf("a call took %v beside slow clients", longest)
	}
	for i, c := range all[busy:] {
		if !c.hears("notifications/tools/list_changed") {
			t.Errorf("idle client %d never heard that the list has changed", i)
		}
	}
}

// sip reads a byte each second.
func (c *client) sip(stop <-chan struct{}) {
	one := make([]byte, 1)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, _ = c.Read(one) // there may be none yet
	}
}

// hears reads the stream until it has the text.
func (c *client) hears(text string) bool {
	_ = c.SetReadDeadline(time.Now().Add(delay))
	var got []byte
	b := make([]byte, 4096)
	for !bytes.Contains(got, []byte(text)) {
		n, err := c.Read(b)
		if err != nil {
			return false
		}
		got = append(got, b[:n]...)
	}
	return true
}
