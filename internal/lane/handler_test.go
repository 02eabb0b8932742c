package lane_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// handler answers in all the ways that handlers have, by the path.
func (l *events) handler() http.Handler {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices nothing before
		select {
		case <-r.Context().Done():
			l.add("/wait: the client is gone")
		case <-time.After(500 * time.Millisecond):
		}
		fmt.Fprint(w, "waited")
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		ctl := http.NewResponseController(w)
		for i := range 100 {
			_ = ctl.SetWriteDeadline(time.Now().Add(10 * time.Second))
			_, err := fmt.Fprintf(w, "data: %d\n\n", i)
			if err == nil {
				err = ctl.Flush()
			}
			select {
			case <-r.Context().Done():
				l.add("/events: the client is gone")
				return
			case <-time.After(500 * time.Millisecond):
			}
			if err != nil {
				l.add("/events: %v", err != nil)
				return
			}
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		defer func() {
			err := recover()
			l.add("%s %s by %s: %v, panic %v", r.Method, r.RequestURI, r.RemoteAddr, ctx.Err(), err)
			if err != nil {
				panic(err)
			}
		}()
		mux.ServeHTTP(w, r)
	})
}

var handlers = map[string]http.HandlerFunc{
	"/echo": func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		ctx := r.Context()
		fmt.Fprintf(w, "%v %v %v\n", ctx.Value(http.ServerContextKey) != nil, ctx.Value(http.LocalAddrContextKey), r.TLS)
		fmt.Fprintf(w, "%s %s %s host %q length %d coding %v body %q %v\n", r.Method, r.URL, r.Proto, r.Host, r.ContentLength, r.TransferEncoding, body, err)
		for _, k := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(w, "%s: %q\n", k, r.Header[k])
		}
	},
	"/json": func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
		_, _ = w.Write(body)
	},
	"/nothing": func(http.ResponseWriter, *http.Request) {},
	"/unread":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "unread") },
	"/closed": func(w http.ResponseWriter, r *http.Request) {
		_ = r.Body.Close()
		_, err := r.Body.Read(make([]byte, 1))
		fmt.Fprint(w, err != nil)
	},
	"/part": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1))
		fmt.Fprint(w, "part")
	},
	"/status": func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("X-A", "b")
		w.WriteHeader(code)
		w.WriteHeader(500)
		_, err := io.WriteString(w, "body")
		_ = err // as a handler has it
	},
	"/sized": func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Length", "4")
		w.Header().Set("Content-Type", "text/x")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "body")
	},
	"/late-header": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "before")
		w.WriteHeader(201)
		w.Header().Set("X-A", "after")
		w.Header().Set("X-B", "after")
		fmt.Fprint(w, "x")
	},
	"/2048": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("a", 2048)) },
	"/2049": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("a", 2049)) },
	"/pieces": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 300 {
			fmt.Fprint(w, strings.Repeat(strconv.Itoa(i%10), i))
		}
	},
	"/large": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+strings.Repeat("a", 300_000)) },
	"/large-sized": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "300001")
		fmt.Fprint(w, "a")
		fmt.Fprint(w, strings.Repeat("b", 300_000))
	},
	"/short": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "abc")
	},
	"/short-typed": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/x")
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "abc")
	},
	"/long": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		_, err := fmt.Fprint(w, "abcdef")
		_, err2 := fmt.Fprint(w, "abc")
		_, _ = err, err2
	},
	"/bad-length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3x")
		fmt.Fprint(w, "abc")
	},
	"/flush": func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, "one")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		fmt.Fprint(w, "two")
	},
	"/sized-flush": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "6")
		fmt.Fprint(w, "one")
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, "two")
	},
	"/close": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "bye")
	},
	"/connection": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "X-A")
		fmt.Fprint(w, "stays")
	},
	"/identity": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "identity")
		fmt.Fprint(w, "to the end")
	},
	"/chunked": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "chunked")
		fmt.Fprint(w, "chunked")
	},
	"/both": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "chunked")
		w.Header().Set("Content-Length", "4")
		fmt.Fprint(w, "both")
	},
	"/trailer": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-T, Content-Length, x-u")
		fmt.Fprint(w, "body")
		w.Header().Set("X-T", "1")
		w.Header().Set("X-U", "2")
		w.Header().Set(http.TrailerPrefix+"X-V", "3")
	},
	"/trailer-prefix": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(http.TrailerPrefix+"X-V", "3")
		fmt.Fprint(w, "body")
	},
	"/split": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "b\r\nX-Evil: c")
		w.Header()["X-B: d\r\nX-Evil"] = []string{"e"}
		w.Header()["Connection"] = []string{"f\r\nX-Evil: g"}
		w.Header().Set("Content-Type", "text/plain\nX-Evil: h")
		fmt.Fprint(w, "split")
	},
	"/undated": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header()["Content-Type"] = nil
		fmt.Fprint(w, "undated")
	},
	"/encoded": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, "encoded")
	},
	"/hints": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-A", "b")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "after the hints")
	},
	"/panic": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "lost")
		panic("oh")
	},
	"/panic-typed": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/x")
		w.Header().Set("Content-Length", "4")
		fmt.Fprint(w, "lost")
		panic("oh")
	},
	"/panic-late": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "sent")
		_ = http.NewResponseController(w).Flush()
		panic("oh")
	},
	"/abort":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"/bad-status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(42) },
	"/redirect":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) },
	"/deadlines":   deadlines,
	"/limit":       limited,
	"/string":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>string") },
	"/sniff-late":  sniffLate,
	"/not-existed": http.NotFound,
}

func deadlines(w http.ResponseWriter, r *http.Request) {
	ctl := http.NewResponseController(w)
	_ = ctl.EnableFullDuplex()
	err := ctl.SetReadDeadline(time.Now().Add(time.Minute))
	body, err2 := io.ReadAll(r.Body)
	fmt.Fprint(w, err, err2, string(body), ctl.SetReadDeadline(time.Time{}), ctl.SetWriteDeadline(time.Now().Add(time.Hour)))
}

func limited(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	fmt.Fprint(w, len(body), err)
}

func sniffLate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "3006")
	fmt.Fprint(w, "<html>")
	fmt.Fprint(w, strings.Repeat("a", 3000))
}

// same fails where a script shows a difference to net/http.
func same(t *testing.T, script ...string) {
	t.Helper()
	want, got := play(t, plain, script), play(t, fast, script)
	if got != want {
		t.Errorf("%.300q:\n%s\nwith net/http:\n%s", script, brief(got), brief(want))
	}
}

func brief(s string) string { return s[:min(len(s), 3000)] }

func request(method, target, body string, fields ...string) string {
	b := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n"
	for _, f := range fields {
		b += f + "\r\n"
	}
	if body != "" {
		b += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return b + "\r\n" + body
}

// TestSameAnswers: each way to answer, to each kind of request, and to two at once.
func TestSameAnswers(t *testing.T) {
	targets := []string{"/status?204", "/status?304", "/status?202", "/status?599", "/status?404", "/sized?200", "/sized?204", "/sized?304", "/echo?a=b%20c", "/wait", "/none"}
	for path := range handlers {
		targets = append(targets, path)
	}
	slices.Sort(targets)
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			next := request("GET", "/json", "")
			same(t, request("GET", target, ""), next)
			same(t, request("POST", target, "a body")+next)
			same(t, request("POST", target, "a body")[:60], pause, request("POST", target, "a body")[60:], next)
			same(t, request("HEAD", target, ""))
			same(t, request("DELETE", target, ""), gone)
			same(t, request("POST", target, strings.Repeat("x", 40_000)), next)
			same(t, request("POST", target, strings.Repeat("x", 100_000)), next)
			same(t, request("GET", target, "", "Connection: close"), next)
		})
	}
}
