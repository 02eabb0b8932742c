package lane

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

const get = "GET /mcp HTTP/1.1\r\nHost: localhost:8400\r\n"

// oddHeads are heads that the lane must leave to net/http, whatever that makes of them.
var oddHeads = map[string]string{
	"no host":                        "GET / HTTP/1.1\r\n\r\n",
	"empty host":                     "GET / HTTP/1.1\r\nHost:\r\n\r\n",
	"two hosts":                      get + "Host: localhost:8400\r\n\r\n",
	"two hosts, one in small":        get + "host: evil\r\n\r\n",
	"odd host":                       "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
	"host with a user":               "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
	"old version":                    "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
	"no version":                     "GET /\r\nHost: a\r\n\r\n",
	"newer version":                  "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
	"version in small":               "GET / http/1.1\r\nHost: a\r\n\r\n",
	"blank after the version":        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
	"two blanks":                     "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
	"tab for a blank":                "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
	"method in small":                "get / HTTP/1.1\r\nHost: a\r\n\r\n",
	"HEAD":                           "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
	"PUT":                            "PUT / HTTP/1.1\r\nHost: a\r\n\r\n",
	"CONNECT":                        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
	"PRI":                            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"leading line":                   "\r\n" + get + "\r\n",
	"TLS":                            "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
	"star":                           "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
	"absolute target":                "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
	"two slashes":                    "GET //a/b HTTP/1.1\r\nHost: b\r\n\r\n",
	"fragment":                       "GET /a#b HTTP/1.1\r\nHost: b\r\n\r\n",
	"escaped path":                   "GET /%6dcp HTTP/1.1\r\nHost: b\r\n\r\n",
	"bad escape":                     "GET /%zz HTTP/1.1\r\nHost: b\r\n\r\n",
	"empty query":                    "GET /a? HTTP/1.1\r\nHost: b\r\n\r\n",
	"byte of another alphabet":       "GET /\xc3\xa4 HTTP/1.1\r\nHost: b\r\n\r\n",
	"control in the target":          "GET /a\x00 HTTP/1.1\r\nHost: b\r\n\r\n",
	"folded field":                   get + "X-A: b\r\n c\r\n\r\n",
	"folded first field":             "GET / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n",
	"line feed alone":                get + "X-A: b\nX-B: c\r\n\r\n",
	"carriage return alone":          get + "X-A: b\rX-B: c\r\n\r\n",
	"end of line feeds, then ours":   get + "\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
	"zero byte":                      get + "X-A: b\x00\r\n\r\n",
	"vertical tab":                   get + "X-A: \x0bb\r\n\r\n",
	"delete":                         get + "X-A: \x7f\r\n\r\n",
	"high byte":                      get + "X-A: \xff\r\n\r\n",
	"blank before the colon":         get + "X-A : b\r\n\r\n",
	"tab before the colon":           get + "X-A\t: b\r\n\r\n",
	"no colon":                       get + "X-A\r\n\r\n",
	"no name":                        get + ": b\r\n\r\n",
	"blank in the name":              get + "X A: b\r\n\r\n",
	"high byte in the name":          get + "X-\xff: b\r\n\r\n",
	"twice":                          get + "X-A: b\r\nX-A: c\r\n\r\n",
	"twice, one in small":            get + "X-A: b\r\nx-a: c\r\n\r\n",
	"two lengths":                    get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	"two equal lengths":              get + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nab",
	"list of lengths":                get + "Content-Length: 1, 1\r\n\r\na",
	"length with a sign":             get + "Content-Length: +1\r\n\r\na",
	"negative length":                get + "Content-Length: -1\r\n\r\na",
	"length with zeros":              get + "Content-Length: 01\r\n\r\na",
	"empty length":                   get + "Content-Length:\r\n\r\n",
	"length in sixteens":             get + "Content-Length: 0x1\r\n\r\na",
	"length with a line":             get + "Content-Length: 1_0\r\n\r\naaaaaaaaaa",
	"length with a blank":            get + "Content-Length: 1 0\r\n\r\na",
	"large length":                   get + "Content-Length: 65537\r\n\r\n",
	"huge length":                    get + "Content-Length: 99999999999999999999\r\n\r\n",
	"length and chunks":              get + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"chunks":                         get + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"chunks in small":                get + "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
	"chunks, hidden":                 get + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"close":                          get + "Connection: close\r\n\r\n",
	"list of options":                get + "Connection: keep-alive, close\r\n\r\n",
	"upgrade":                        get + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	"upgrade alone":                  get + "Upgrade: h2c\r\n\r\n",
	"expectation":                    get + "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n",
	"trailer":                        get + "Trailer: X-A\r\n\r\n",
	"TE":                             get + "TE: trailers\r\n\r\n",
	"pragma":                         get + "Pragma: no-cache\r\n\r\n",
	"proxy":                          get + "Proxy-Connection: close\r\n\r\n",
	"many fields":                    get + manyFields(maxFields+1) + "\r\n",
	"long head":                      get + "X-A: " + strings.Repeat("a", maxHead) + "\r\n\r\n",
	"long head that has no end yet":  get + "X-A: " + strings.Repeat("a", maxHead),
	"long head that ends at the end": strings.Repeat("A", maxHead-3) + headEnd,
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("X-" + strings.Repeat("a", i+1) + ": b\r\n")
	}
	return b.String()
}

// plainHeads are heads that clients send, which the lane must take.
var plainHeads = map[string]string{
	"least":            get + "\r\n",
	"query":            "GET /api/v1/tools?server=a%20b&q=1 HTTP/1.1\r\nHost: 127.0.0.1:8400\r\n\r\n",
	"no space":         "DELETE /mcp HTTP/1.1\r\nhost:[::1]:8400\r\nx-a:b\r\nX-B:\t c d \t\r\nx-c:\r\n\r\n",
	"body":             "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
	"no body":          "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	"body of a get":    get + "Content-Length: 2\r\n\r\n{}",
	"most":             "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n",
	"many fields":      get + manyFields(maxFields) + "\r\n",
	"Go's client":      "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8400\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: ABC\r\nAccept-Encoding: gzip\r\n\r\n{}",
	"Node's client":    "POST /mcp HTTP/1.1\r\nhost: localhost:8400\r\nconnection: keep-alive\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\naccept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\ncontent-length: 2\r\n\r\n{}",
	"Python's client":  "POST /mcp HTTP/1.1\r\nHost: localhost:8400\r\nAccept: application/json, text/event-stream\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nUser-Agent: python-httpx/0.28.1\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	"every path char":  "GET /AZaz09-_.~$&+,:;=@/x HTTP/1.1\r\nHost: a\r\n\r\n",
	"every query char": "GET /a?AZaz09-_.~!$&'()*+,;=:@/?[]% HTTP/1.1\r\nHost: a\r\n\r\n",
	"quotes":           get + "If-None-Match: \"a\", W/\"b\"\r\nCookie: a=b; c=\"d\"\r\nAuthorization: Bearer not-a-real-key-000\r\n\r\n",
}

func TestHeads(t *testing.T) {
	for name, text := range oddHeads {
		if _, v := parse([]byte(text), nil); v != odd {
			t.Errorf("%s: %d, want it odd", name, v)
		}
	}
	for name, text := range plainHeads {
		if _, v := parse([]byte(text), nil); v != plain {
			t.Errorf("%s: %d, want it plain", name, v)
			continue
		}
		sameHead(t, []byte(text))
		end := strings.Index(text, headEnd)
		for i := range end + len(headEnd) {
			if _, v := parse([]byte(text[:i]), nil); v != partial {
				t.Errorf("%s: %d bytes are %d, want partial", name, i, v)
			}
		}
	}
}

// FuzzHead: what the lane takes, net/http takes too, reads the same of it, and
// sees its end in the same place.
func FuzzHead(f *testing.F) {
	for _, text := range oddHeads {
		f.Add([]byte(text))
	}
	for _, text := range plainHeads {
		f.Add([]byte(text))
	}
	f.Fuzz(sameHead)
}

func sameHead(t *testing.T, b []byte) {
	h, v := parse(b, make([]field, inlineSize))
	if v != plain {
		return
	}
	src := bytes.NewReader(b)
	br := bufio.NewReaderSize(src, maxHead+maxBody)
	r, err := http.ReadRequest(br)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", b, err)
	}
	rest := len(b) - src.Len() - br.Buffered()
	if rest != h.size {
		t.Fatalf("the head of %q ends at %d, for net/http at %d", b, h.size, rest)
	}
	body, err := io.ReadAll(r.Body)
	if left := len(b) - h.size; h.length > left {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: body %v, want its early end", b, err)
		}
	} else if err != nil || len(body) != h.length {
		t.Errorf("%q: a body of %d, for net/http of %d, %v", b, h.length, len(body), err)
	}
	var x exchange
	got := x.request(new(http.Request), &h)
	got.Proto, got.ProtoMajor, got.ProtoMinor = r.Proto, r.ProtoMajor, r.ProtoMinor
	if r.Proto != "HTTP/1.1" || r.Close || len(r.TransferEncoding) > 0 || len(r.Trailer) > 0 {
		t.Errorf("%q is more than plain: %+v", b, r)
	}
	if (got.Body == http.NoBody) != (r.Body == http.NoBody) {
		t.Errorf("%q: body %v, for net/http %v", b, got.Body, r.Body)
	}
	got.Body, r.Body = nil, nil
	if want := r.WithContext(t.Context()); !reflect.DeepEqual(got.WithContext(t.Context()), want) {
		t.Errorf("%q is\n%+v\nfor net/http\n%+v", b, got, want)
	}
}
