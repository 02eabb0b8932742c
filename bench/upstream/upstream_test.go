package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns the server's answer to one message.
func ask(s *upstream.Server, msg string) string {
	a := s.Answer(nil, []byte(msg))
	return string(a.Own) + string(a.Shared)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	s := upstream.New(upstream.Options{})
	for _, c := range []struct{ name, msg, want string }{
		{
			"initialize with a legacy version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`,
		},
		{
			"initialize with a later version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`,
		},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{"ping", `{"method":"ping","id":"a\"b","jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":"a\"b","result":{}}`},
		{
			"method of the modern era", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found"}}`,
		},
		{
			"echo keeps the escapes", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"text":"no"},"name":"echo","arguments":{"text":"a\\\"\u00e9"}}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a\\\"\u00e9"}]}}`,
		},
		{
			"payload", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"payload","arguments":{"size":5}}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"abcde"}]}}`,
		},
		{
			"payload out of range", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"payload","arguments":{"size":-5}}}`,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"size is out of range"}}`,
		},
		{
			"unknown tool", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rm"}}`,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such tool"}}`,
		},
		{"no object", `[1,2]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(s, c.msg); got != c.want {
				t.Errorf("answer to %s\n got %s\nwant %s", c.msg, got, c.want)
			}
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var answer struct {
		Result struct{ Tools []json.RawMessage }
	}
	const dummies = 20
	got := ask(upstream.New(upstream.Options{Tools: dummies}), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatal(err)
	}
	if n := len(answer.Result.Tools); n != dummies+2 {
		t.Fatalf("%d tools, want echo, payload and %d", n, dummies)
	}
	for _, tool := range answer.Result.Tools[2:] {
		if len(tool) != upstream.DummySize {
			t.Errorf("a dummy tool of %d bytes, want %d: %s", len(tool), upstream.DummySize, tool)
		}
	}
}

func TestServeStdio(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10) // longer than the reader's buffer
	var in, want bytes.Buffer
	for i, text := range []string{"a", long, "b", "c", long} {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`+"\n", i, text)
		fmt.Fprintf(&want, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", i, text)
		in.WriteString(`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n")
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"payload","arguments":{"size":70000}}}`+"\n", i)
		fmt.Fprintf(&want, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", i, upstream.Text(70000))
	}
	for name, r := range map[string]io.Reader{
		"all at once":         bytes.NewReader(in.Bytes()),
		"byte by byte":        iotest.OneByteReader(bytes.NewReader(in.Bytes())),
		"in pieces of a half": iotest.HalfReader(bytes.NewReader(in.Bytes())),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := upstream.New(upstream.Options{}).ServeStdio(r, &out); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want.Bytes()) {
				t.Errorf("got %d bytes of answers, want %d: %.200s", out.Len(), want.Len(), out.Bytes())
			}
		})
	}
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	s := upstream.New(upstream.Options{})
	for _, c := range []struct {
		name, method, body string
		status             int
		want               string
	}{
		{"ping", http.MethodPost, `{"id":1,"method":"ping"}`, http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"notification", http.MethodPost, `{"method":"notifications/initialized"}`, http.StatusAccepted, ""},
		{"stream", http.MethodGet, "", http.StatusMethodNotAllowed, ""},
		{"end of a session", http.MethodDelete, "", http.StatusMethodNotAllowed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, "/mcp", strings.NewReader(c.body)))
			if w.Code != c.status || w.Body.String() != c.want {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.want)
			}
		})
	}
}

// The process form: the URL is printed, served, and given up at the end of stdin.
func TestMainServesUntilEndOfInput(t *testing.T) {
	t.Parallel()
	stdin, hold := io.Pipe()
	stdout, printed := io.Pipe()
	var ended error
	var running sync.WaitGroup
	ctx := t.Context()
	running.Go(func() {
		ended = upstream.Main(ctx, []string{"-http", "127.0.0.1:0", "-tools", "3"}, stdin, printed)
	})
	var url string
	if _, err := fmt.Fscanln(stdout, &url); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), `"result":{}`) {
		t.Errorf("ping: %s, %v", body, err)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if running.Wait(); ended != nil {
		t.Errorf("Main = %v", ended)
	}
}

// FuzzScan holds the scanner against encoding/json: for every valid message
// whose members are named once, both must find the same values.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ` { "id" : "a\\\"" , "params" : {"a":[{"}":"]"}]} , "method":"x" } `,
		`{}`, `{"id":null}`, `{"id":[1,2,{"a":"\\"}],"z":-1e9}`, `{"id":1`, `{"id":}`, `{"a"1}`, `[]`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		m, ok := upstream.Scan(msg) // must not panic, whatever the bytes
		var want map[string]json.RawMessage
		if json.Unmarshal(msg, &want) != nil || want == nil {
			return
		}
		if !ok {
			t.Fatalf("Scan rejects %q", msg)
		}
		for _, c := range []struct {
			name string
			got  []byte
		}{{"id", m.ID}, {"params", m.Params}} {
			name, got := c.name, c.got
			// A name written with escapes, or twice, is beyond this scanner.
			if bytes.Count(msg, []byte(`"`+name+`"`)) != 1 || bytes.Contains(msg, []byte(`\u`)) {
				continue
			}
			// It may be the value of another member, or be nested.
			if raw, top := want[name]; top && !bytes.Equal(raw, got) {
				t.Errorf("%s of %q = %q, want %q", name, msg, got, raw)
			}
		}
	})
}
