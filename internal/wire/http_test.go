package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// parseBody reads the message in the body of a request; an empty one where there is
// none.
func parseBody(t testing.TB, r *http.Request) *jsonrpc.Message {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil || len(b) == 0 {
		return &jsonrpc.Message{}
	}
	m, err := jsonrpc.Parse(tool.OneOf(b))
	if err != nil {
		t.Errorf("message %q: %v", b, err)
		return &jsonrpc.Message{}
	}
	return m
}

// serveHTTP starts a server that ends with the test.
func serveHTTP(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// dialHTTP returns a client that is closed before the servers of the test.
func dialHTTP(t testing.TB, o wire.HTTPOptions) *wire.HTTP {
	t.Helper()
	c := wire.NewHTTP(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answerText returns the text of an answer.
func answerText(id []byte, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`
}

// replyWith returns a server's function that answers with a status, a type and a
// body in which ID stands for the id of the request.
func replyWith(status int, contentType, body string) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, id []byte) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(id)))
	}
}

// eventChunks sends an event stream in the given pieces.
func eventChunks(pieces ...string) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, id []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			_, _ = io.WriteString(w, strings.ReplaceAll(p, "ID", string(id)))
			w.(http.Flusher).Flush()
		}
	}
}

const okAnswer = `{"jsonrpc":"2.0","id":ID,"result":{"ok":1}}`

// TestHTTPAnswers calls servers that answer well, if oddly.
func TestHTTPAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply func(http.ResponseWriter, []byte)
	}{
		{"json", replyWith(200, "application/json", okAnswer)},
		{"json with charset", replyWith(200, "application/json; charset=utf-8", okAnswer)},
		{"json in capitals", replyWith(200, "Application/JSON", okAnswer)},
		{"json as text", replyWith(200, "text/plain", okAnswer)},
		{"json of no type", replyWith(200, "", okAnswer)},
		{"json with spaces", replyWith(200, "application/json", "\r\n "+okAnswer+"\n")},
		{"id as a string", replyWith(200, "application/json", `{"jsonrpc":"2.0","id":"ID","result":{"ok":1}}`)},
		{"json in chunks", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`)
			w.(http.Flusher).Flush()
			_, _ = fmt.Fprintf(w, `%s,"result":{"ok":1}}`, id)
		}},
		{"created", replyWith(201, "application/json", okAnswer)},
		{"events", eventChunks("event: message\ndata: " + okAnswer + "\n\n")},
		{"events with charset", replyWith(200, "Text/Event-Stream;charset=UTF-8", "data: "+okAnswer+"\n\n")},
		{"CR LF", eventChunks("event: message\r\ndata: " + okAnswer + "\r\n\r\n")},
		{"CR", eventChunks("event: message\rdata: " + okAnswer + "\r\r")},
		{"CR and LF apart", eventChunks("event: message\r", "\ndata: "+okAnswer+"\r", "\n\r", "\n")},
		{"no space", eventChunks("data:" + okAnswer + "\n\n")},
		{"byte order mark", eventChunks("\xef", "\xbb\xbfdata: "+okAnswer+"\n\n")},
		{"comments", eventChunks(": ping\n\n:\n: data: {}\ndata: " + okAnswer + "\n: more\n\n")},
		{"unknown fields", eventChunks("color: red\nnothing\ndata: " + okAnswer + "\nretry: x\n\n")},
		{"ids", eventChunks("id: 1\nretry: 5\ndata: \n\nid: 2\ndata: " + okAnswer + "\n\n")},
		{"lines of data", eventChunks("data: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":ID,\ndata\ndata: \"result\":{\"ok\":1}}\n\n")},
		{"other events", eventChunks("event: ping\ndata: {}\n\nevent: error\ndata: oh\n\ndata: " + okAnswer + "\n\n")},
		{"two in a chunk", eventChunks("data: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\ndata: " + okAnswer + "\n\n")},
		{"in pieces", eventChunks("da", "ta: {\"jsonrpc\":\"2.0\",", "\"id\":ID,\"resu", "lt\":{\"ok\":1}}", "\n", "\n")},
		{"no line end", eventChunks("data: " + okAnswer)},
		{"garbage before", eventChunks("data: oh\n\ndata: [1]\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n\ndata: " + okAnswer + "\n\n")},
		{"long comment", eventChunks(":"+strings.Repeat("x", 100_000)+"\n", "id: "+strings.Repeat("y", 100_000), "\ndata: "+okAnswer+"\n\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) { c.reply(w, parseBody(t, r).ID) })
			client := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
			for range 2 { // the second on a connection that was used
				got, err := client.Call(t.Context(), &wire.Request{Method: "echo"})
				if err != nil || string(got.Join()) != `{"ok":1}` {
					t.Fatalf("got %s, %v", got.Join(), err)
				}
			}
		})
	}
}

// TestHTTPRefusals calls servers that answer badly. No error may show what the
// client's headers and URL hold.
func TestHTTPRefusals(t *testing.T) {
	const header, query = "header-s3cret", "query-s3cret"
	echo := `you sent Bearer ` + header + ` and ` + query
	for _, c := range []struct {
		name  string
		reply func(http.ResponseWriter, []byte)
		want  string
		check func(error) bool
	}{
		{"empty", replyWith(200, "application/json", ""), "200 without an answer", nil},
		{"accepted", replyWith(202, "", ""), "202 without an answer", nil},
		{"page", replyWith(200, "text/html", "<html><title>Log in</title>"+echo), `"text/html" is no message`, nil},
		{"text", replyWith(200, "application/json", echo), "you sent *** and ***", nil},
		{"other id", replyWith(200, "application/json", `{"jsonrpc":"2.0","id":"zzz","result":{}}`), "answered another request", nil},
		{"notification", replyWith(200, "application/json", `{"jsonrpc":"2.0","method":"x"}`), "answered another request", nil},
		{"error page", replyWith(500, "text/html", "<!doctype html><title>Oh &amp; no</title><p>"+echo), "server answered 500 Internal Server Error: Oh & no", isStatus(500)},
		{"error text", replyWith(502, "text/plain", echo), "502 Bad Gateway: you sent *** and ***", isStatus(502)},
		{"json-rpc error", replyWith(200, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-7,"message":"no"}}`), "no (code -7)", isCode(-7)},
		{"json-rpc error in 400", replyWith(400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"version","data":{"supported":["2025-11-25"]}}}`), "version", isCode(-32022)},
		{"json-rpc error in 500", replyWith(500, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"inside"}}`), "inside", isCode(-32603)},
		{"json-rpc error without id", replyWith(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`), "parse", isCode(-32700)},
		{"json-rpc error as event", eventChunks(`data: {"jsonrpc":"2.0","id":ID,"error":{"code":-8,"message":"no"}}` + "\n\n"), "no", isCode(-8)},
		{"unauthorized", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
			replyWith(401, "", `{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"token"}}`)(w, id)
		}, "401 Unauthorized", func(err error) bool {
			e, ok := errors.AsType[*wire.HTTPError](err)
			return ok && len(e.Authenticate) == 1
		}},
		{"forbidden", replyWith(403, "", "no scope"), "403 Forbidden: no scope", isStatus(403)},
		{"not there", replyWith(404, "", "404 page not found"), "404 Not Found", isStatus(404)},
		{"too many", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Retry-After", "7")
			replyWith(429, "", "slow down")(w, id)
		}, "429", func(err error) bool {
			e, ok := errors.AsType[*wire.HTTPError](err)
			return ok && e.RetryAfter == 7*time.Second
		}},
		{"endless error", replyWith(503, "", strings.Repeat("é", 1<<20)), "503", func(err error) bool {
			e, ok := errors.AsType[*wire.HTTPError](err)
			return ok && len(e.Body) <= 4096 && len(e.Error()) < 500
		}},
		{"compressed", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, answerText(id, `{}`))
			_ = z.Close()
		}, "compressed its answer (gzip)", nil},
		{"stream without answer", eventChunks("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"), "request was sent, but its answer is lost", nil},
		{"broken stream", func(w http.ResponseWriter, id []byte) {
			eventChunks("data: {\"jsonrpc\":")(w, id)
			panic(http.ErrAbortHandler)
		}, "request was sent, but its answer is lost", nil},
		{"broken json", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Content-Length", "100")
			replyWith(200, "application/json", `{"jsonrpc":"2.0",`)(w, id)
		}, "request was sent, but its answer is lost", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) { c.reply(w, parseBody(t, r).ID) })
			client := dialHTTP(t, wire.HTTPOptions{
				URL: s.URL + "/mcp?key=" + query, Header: http.Header{"Authorization": {"Bearer " + header}},
			})
			_, err := client.Call(t.Context(), &wire.Request{Method: "echo"})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if c.check != nil && !c.check(err) {
				t.Errorf("got %#v", err)
			}
			if _, ok := errors.AsType[*wire.SendError](err); ok {
				t.Error("a SendError, but the server has seen the request")
			}
			select {
			case <-client.Done():
				t.Error("the client has ended")
			default:
			}
		})
	}
}

func isStatus(want int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*wire.HTTPError](err)
		return ok && e.Status == want
	}
}

func isCode(want int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*jsonrpc.Error](err)
		return ok && e.Code == want && e.Raw != nil
	}
}

// TestHTTPLarge reads answers of 20 MiB in each form, and holds them once.
func TestHTTPLarge(t *testing.T) {
	const size = 20 << 20
	big := bytes.Repeat([]byte("x"), size)
	write := func(head, tail string, length bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			id := string(parseBody(t, r).ID)
			head := strings.ReplaceAll(head, "ID", id)
			if strings.HasPrefix(head, "{") {
				w.Header().Set("Content-Type", "application/json")
			} else {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			if length {
				w.Header().Set("Content-Length", fmt.Sprint(len(head)+size+len(tail)))
			}
			_, _ = io.WriteString(w, head)
			_, _ = w.Write(big)
			_, _ = io.WriteString(w, tail)
		}
	}
	const head = `{"jsonrpc":"2.0","id":ID,"result":"`
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"length known", write(head, `"}`, true)},
		{"length unknown", write(head, `"}`, false)},
		{"event", write("data: "+head, "\"}\n\n", false)},
		{"event, id last", write(`data: {"jsonrpc":"2.0","result":"`, "\",\"id\":1}\r\n\r\n", false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveHTTP(t, c.handler)
			small := dialHTTP(t, wire.HTTPOptions{URL: s.URL, MaxMessage: size})
			_, err := small.Call(t.Context(), &wire.Request{Method: "echo"})
			if e, ok := errors.AsType[*jsonrpc.TooLargeError](err); !ok || e.Limit != size {
				t.Fatalf("got %v", err)
			}
			client := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := client.Call(t.Context(), &wire.Request{Method: "echo"})
			runtime.ReadMemStats(&after)
			if err != nil || got.Len() != size+2 {
				t.Fatalf("got %d bytes, %v", got.Len(), err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > size+size/8 {
				t.Errorf("%d bytes allocated for an answer of %d", n, size)
			}
			if !bytes.Equal(got.Join()[1:size+1], big) {
				t.Error("not what was sent")
			}
		})
	}
}

// TestHTTPLongRequest sends what is too long to be copied.
func TestHTTPLongRequest(t *testing.T) {
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		m := parseBody(t, r)
		replyWith(200, "application/json", answerText(m.ID, fmt.Sprint(m.Params.Len())))(w, m.ID)
	})
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	params := []byte(`{"t":"` + strings.Repeat("x", 5<<20) + `"}`)
	got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: params})
	if err != nil || string(got.Join()) != fmt.Sprint(len(params)) {
		t.Fatalf("got %s, %v", got.Join(), err)
	}
}

func TestHTTPManyAtOnce(t *testing.T) {
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		m := parseBody(t, r)
		if len(m.ID)%2 == 0 {
			replyWith(200, "application/json", answerText(m.ID, string(m.Params.Join())))(w, m.ID)
			return
		}
		eventChunks("data: "+answerText(m.ID, string(m.Params.Join()))+"\n\n")(w, m.ID)
	})
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 20 {
				want := fmt.Sprintf(`{"i":%d,"j":%d,"pad":%q}`, i, j, strings.Repeat("p", (i*j)%40_000))
				got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(want)})
				if err != nil || string(got.Join()) != want {
					t.Errorf("call %d/%d: %v", i, j, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestHTTPModern checks the headers that 2026-07-28 wants.
func TestHTTPModern(t *testing.T) {
	for _, c := range []struct{ method, params, name string }{
		{"server/discover", "", ""},
		{"tools/call", `{"arguments":{"name":"inner"},"name":"plain"}`, "plain"},
		{"tools/call", `{"name":"wörk"}`, "=?base64?d8O2cms=?="},
		{"tools/call", `{"name":"w\u00f6rk"}`, "=?base64?d8O2cms=?="},
		{"tools/call", `{"name":" x"}`, "=?base64?IHg=?="},
		{"tools/call", `{"name":"=?base64?eA==?="}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		{"prompts/get", `{"name":"p"}`, "p"},
		{"resources/read", `{"uri":"file:///a b"}`, "file:///a b"},
		{"tasks/get", `{"taskId":"t1"}`, "t1"},
	} {
		var got http.Header
		s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			w.Header().Set("Mcp-Session-Id", "must-not-come-back")
			replyWith(200, "application/json", okAnswer)(w, parseBody(t, r).ID)
		})
		client := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
		client.SetVersion("2026-07-28")
		for range 2 {
			_, err := client.Call(t.Context(), &wire.Request{
				Method: c.method, Params: []byte(c.params),
				Header: http.Header{"mcp-param-Region": {"eu"}, "Mcp-Session-Id": {"forged"}, "Accept": {"forged"}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for k, want := range map[string]string{
			"Mcp-Method": c.method, "Mcp-Name": c.name, "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Session-Id": "", "Mcp-Param-Region": "eu", "Accept": "application/json, text/event-stream",
			"Content-Type": "application/json",
		} {
			if got.Get(k) != want {
				t.Errorf("%s %s: %s is %q, want %q", c.method, c.params, k, got.Get(k), want)
			}
		}
		if back, ok := wire.DecodeHeader(c.name); !ok || wire.EncodeHeader(back) != c.name {
			t.Errorf("%q does not come back from %q", c.name, back)
		}
	}
}

func TestHTTPClosed(t *testing.T) {
	reached := make(chan struct{})
	s := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		_ = parseBody(t, r)
		close(reached)
		<-r.Context().Done()
	})
	c := wire.NewHTTP(wire.HTTPOptions{URL: s.URL})
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := c.Call(context.Background(), &wire.Request{Method: "wait"})
		errs <- err
	})
	<-reached
	if c.Err() != nil {
		t.Errorf("ended before: %v", c.Err())
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, wire.ErrClosed) || errors.As(err, new(*wire.SendError)) {
		t.Errorf("call in flight: %#v", err)
	}
	<-c.Done()
	_, err := c.Call(t.Context(), &wire.Request{Method: "x"})
	if !errors.As(err, new(*wire.SendError)) || !errors.Is(err, wire.ErrClosed) {
		t.Errorf("later call: %#v", err)
	}
	if err := c.Notify(t.Context(), "x", nil); !errors.As(err, new(*wire.SendError)) {
		t.Errorf("later notification: %#v", err)
	}
}
