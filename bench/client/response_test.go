package client_test

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenon-mcp/tenon/bench/client"
)

func TestReaderNext(t *testing.T) {
	t.Parallel()
	const match = `"id":7`
	for _, c := range []struct {
		name, in string
		want     client.Header
		body     string
	}{
		{"known length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nMCP-Session-ID: abc\r\n\r\nhello", client.Header{Status: 200, Length: 5, Session: "abc"}, "hello"},
		{"no reason, bare line feeds", "HTTP/1.1 404\nContent-Length:2 \n\nno", client.Header{Status: 404, Length: 2}, "no"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n00A \r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n", client.Header{Status: 200, Length: -1, Chunked: true}, "abc0123456789"},
		{"to the end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it", client.Header{Status: 200, Length: -1, Close: true}, "all of it"},
		{"old server", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", client.Header{Status: 200, Length: 1, Close: true}, "x"},
		{"accepted", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", client.Header{Status: 202, Length: 0}, ""},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", client.Header{Status: 204, Length: -1}, ""},
		{"interim first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", client.Header{Status: 200, Length: 1}, "x"},
		{"event", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 17\r\n\r\ndata: {\"id\":7}\n\n\n", client.Header{Status: 200, Length: 17, Events: true}, `{"id":7}`},
		{
			"event over lines and after others", "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream;charset=utf-8\r\nContent-Length: 92\r\n\r\n" +
				"retry: 5\ndata: {\"id\":6}\n\ndat: {\"id\":7,1}\n\ndata:{\ndata: \"id\":7\nid: x\ndata:}\n\ndata: {\"id\":7,2}\n\n",
			client.Header{Status: 200, Length: 92, Events: true},
			"{\n\"id\":7\n}",
		},
		{"event cut off", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 15\r\n\r\ndata: {\"id\":7}\n", client.Header{Status: 200, Length: 15, Events: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.in), "in bytes": iotest.OneByteReader(strings.NewReader(c.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				var a client.Answer
				h, err := client.NewReader(r).Next([]byte(match), math.MaxInt, &a)
				if err != nil || h != c.want || string(a.Head) != c.body || !a.Whole() {
					t.Errorf("%s: %+v %q, %v; want %+v %q", name, h, a.Head, err, c.want, c.body)
				}
			}
		})
	}
}

func TestReaderRejects(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":            "",
		"no HTTP":            "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"cut in the head":    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
		"cut in the body":    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
		"cut in a chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell",
		"cut between chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"cut in the trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"longer chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
		"size of a chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n",
		"negative length":    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"compressed":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"no field":           "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n",
		"endless line":       "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a client.Answer
			if h, err := client.NewReader(strings.NewReader(in)).Next(nil, 100, &a); err == nil {
				t.Errorf("%+v %q, want an error", h, a.Head)
			}
		})
	}
}

func TestAnswerKeepsBothEnds(t *testing.T) {
	t.Parallel()
	body := "<head>" + strings.Repeat("x", 300<<10) + "<tail>"
	in := "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(in), "in bytes": iotest.OneByteReader(strings.NewReader(in))} {
		var a client.Answer
		if _, err := client.NewReader(r).Next(nil, 20, &a); err != nil {
			t.Fatal(err)
		}
		if a.Size != int64(len(body)) || string(a.Head) != body[:20] || string(a.Tail) != body[len(body)-len(a.Tail):] {
			t.Errorf("%s: size %d of %d, head %q, tail %q", name, a.Size, len(body), a.Head, a.Tail)
		}
		if !a.Holds([]byte("<head>")) || !a.Holds([]byte("<tail>")) || a.Holds([]byte("head><")) {
			t.Errorf("%s: Holds does not look at the ends", name)
		}
	}
}

// FuzzReader holds the reader against net/http: what that reads as a response
// with a whole body, this must read alike.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.0 500 No\nX: y\n\nbody",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"id\":7}\n\nevent: x\r\ndata: 1\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var a client.Answer
		h, err := client.NewReader(bytes.NewReader(in)).Next([]byte(`"id":7`), math.MaxInt, &a) // must not panic or hang
		resp, netErr := http.ReadResponse(bufio.NewReader(bytes.NewReader(in)), nil)
		if netErr != nil || resp.StatusCode < 200 || h.Events {
			return
		}
		defer resp.Body.Close()
		body, netErr := io.ReadAll(resp.Body)
		if netErr != nil || strictHere(in, resp) {
			return
		}
		if err != nil || h.Status != resp.StatusCode || !bytes.Equal(a.Head, body) {
			t.Errorf("%q: status %d, body %q, %v; net/http: %d, %q", in, h.Status, a.Head, err, resp.StatusCode, body)
		}
	})
}

// strictHere tells of responses that net/http reads and this client need not.
func strictHere(in []byte, resp *http.Response) bool {
	head, _, _ := bytes.Cut(in, []byte("\n"))
	return len(head) < 13 || head[8] != ' ' || resp.ProtoMajor != 1 || // unusual status lines
		bytes.Contains(in, []byte("\n ")) || bytes.Contains(in, []byte("\n\t")) || // folded fields
		len(resp.Header.Values("Content-Length")) > 1 || len(resp.TransferEncoding) == 0 && bytes.Contains(bytes.ToLower(in), []byte("transfer-encoding"))
}
