package reading_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/reading"
)

// A web is a server that stands for all public hosts.
type web struct {
	*http.ServeMux
	knobs reading.Knobs
}

func newWeb(t testing.TB) *web {
	w := &web{ServeMux: http.NewServeMux()}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.knobs = reading.Knobs{Web: srv.Listener.Addr().String(), Waits: []time.Duration{1, 1, 1}, Temp: t.TempDir()}
	return w
}

// serve answers with a body of a type.
func (w *web) serve(path, kind string, body []byte) {
	w.HandleFunc(path, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", kind)
		_, _ = rw.Write(body)
	})
}

// clean fails where a download is left.
func (w *web) clean(t testing.TB) {
	t.Helper()
	if left, err := os.ReadDir(w.knobs.Temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// sample returns a file that another program wrote.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDownloads reads documents from the web: what they are, their content says.
func TestDownloads(t *testing.T) {
	w := newWeb(t)
	w.serve("/right.docx", "application/octet-stream", sample(t, "report.docx"))
	w.serve("/wrong", "text/html", sample(t, "minutes.pdf"))
	w.serve("/page.pdf", "application/pdf", []byte("<html><head><title>No PDF</title></head><body><p>A page that says it is a PDF.</p></body></html>"))
	w.serve("/table.csv", "text/csv; charset=iso-8859-1", []byte("name,town\nJ\xf6rg,K\xf6ln\n"))
	w.HandleFunc("/moved", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/table.csv?x=.pdf", http.StatusFound)
	})
	w.HandleFunc("/named", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename*=UTF-8''..%2Fa%0A%23b.csv`)
		_, _ = rw.Write([]byte("a,b\n1,2\n"))
	})
	cs := connect(t, reading.Options{}, w.knobs)
	for uri, want := range map[string][2]string{
		"/right.docx": {"docx", "# Harbour report 2025"}, "/wrong": {"pdf", "quokka-001"}, "/page.pdf": {"html", "A page that says"},
		"/table.csv": {"csv", "Jörg"}, "/moved": {"csv", "Köln"}, "/named": {"csv", "| 1 | 2 |"}, "/table.csv?a=b.docx#frag": {"csv", "Jörg"},
	} {
		got := good(t, cs, args{"uri": "http://site.example" + uri})
		if got.data.Format != want[0] || !strings.Contains(got.body, want[1]) {
			t.Errorf("%s: %s\n%.300s", uri, got.data.Format, got.body)
		}
	}
	if got := good(t, cs, args{"uri": "http://site.example/moved"}); got.data.Final != "http://site.example/table.csv?x=.pdf" {
		t.Errorf("the address is %q", got.data.Final)
	}
	w.clean(t)
}

// TestAttempts tries a download four times, also where it breaks off, and no more.
func TestAttempts(t *testing.T) {
	w := newWeb(t)
	var failing, broken, always, never, missing atomic.Int32
	w.HandleFunc("/always.txt", func(rw http.ResponseWriter, _ *http.Request) {
		always.Add(1)
		rw.Header().Set("Content-Length", "1000")
		fmt.Fprint(rw, "begin")
	})
	w.HandleFunc("/failing.txt", func(rw http.ResponseWriter, _ *http.Request) {
		if failing.Add(1) < 4 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(rw, "at last")
	})
	w.HandleFunc("/broken.txt", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "1000")
		if broken.Add(1) == 4 {
			fmt.Fprintf(rw, "%-1000s", "whole")
			return
		}
		fmt.Fprint(rw, "begin of what is longer than the end")
	})
	w.HandleFunc("/never.txt", func(rw http.ResponseWriter, _ *http.Request) {
		never.Add(1)
		rw.WriteHeader(http.StatusBadGateway)
	})
	w.HandleFunc("/missing.txt", func(rw http.ResponseWriter, _ *http.Request) {
		missing.Add(1)
		rw.WriteHeader(http.StatusNotFound)
	})
	cs := connect(t, reading.Options{}, w.knobs)
	holds(t, good(t, cs, args{"uri": "http://site.example/failing.txt"}).body, "at last")
	got := good(t, cs, args{"uri": "http://site.example/broken.txt"})
	holds(t, got.body, "whole")
	holdsNot(t, got.body, "begin")
	refused(t, cs, args{"uri": "http://site.example/never.txt"}, "502", "jina_api_key")
	refused(t, cs, args{"uri": "http://site.example/missing.txt"}, "nothing at that address", "search_archived_webpage")
	refused(t, cs, args{"uri": "http://gone.example/x"}, "gone.example")
	refused(t, cs, args{"uri": "http://site.example/always.txt"}, "ended its answer too early")
	if always.Load() != 4 || failing.Load() != 4 || broken.Load() != 4 || never.Load() != 4 || missing.Load() != 1 {
		t.Errorf("attempts: %d, %d, %d, %d, %d", always.Load(), failing.Load(), broken.Load(), never.Load(), missing.Load())
	}
	w.clean(t)
}

// TestReaders asks a reader where a download fails, and where a page is empty without
// its scripts; but not for what another way would not find either.
func TestReaders(t *testing.T) {
	w, pages := newWeb(t), doubles.NewWeb()
	text := []string{strings.Repeat("The guide tells how the pump is taken apart, cleaned and put together again in one afternoon. ", 8), strings.Repeat("Each bolt has its own torque, and the table names them all. ", 8)}
	for _, at := range []string{"/guide", "/app", "/gone"} {
		pages.Add(doubles.Page{URL: "http://site.example" + at, Title: "Guide to the pump", Text: text})
	}
	w.HandleFunc("/guide", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) })
	w.serve("/app", "text/html", []byte(`<html><body><div id="app">Loading…</div><script src="app.js"></script></body></html>`))
	w.HandleFunc("/gone", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotFound) })
	jina := doubles.Jina(pages)
	cs := connect(t, reading.Options{Readers: reading.Readers{JinaBaseURL: doubles.Start(t, jina), JinaAPIKey: doubles.Key}, Roots: []string{t.TempDir()}}, w.knobs)
	got := good(t, cs, args{"uri": "http://site.example/guide"})
	holds(t, got.text, "how the pump is taken apart", "by way of jina", "status 403")
	if got.data.Format != "page" || got.data.Title != "Guide to the pump" {
		t.Errorf("got %+v", got.data)
	}
	holds(t, good(t, cs, args{"uri": "http://site.example/app"}).text, "Each bolt has its own torque", "next to no text")
	asked := len(jina.Calls())
	refused(t, cs, args{"uri": "http://site.example/gone"}, "nothing at that address")
	refused(t, cs, args{"uri": "http://127.0.0.1:1/x"}, "refused")
	if n := len(jina.Calls()); n != asked {
		t.Errorf("the reader was asked %d times for what it cannot help with", n-asked)
	}
	jina.Fail(doubles.Fault{Status: 402})
	pages.Add(doubles.Page{URL: "http://site.example/guide", Status: 500})
	out := call(t, cs, args{"uri": "http://site.example/guide"})
	if !out.isErr || strings.Contains(out.text, doubles.Key) || !strings.Contains(out.text, "status 403") || !strings.Contains(out.text, "jina") {
		t.Errorf("got %s", out.text)
	}
	out = call(t, cs, args{"uri": "folder/" + doubles.Key})
	if out.isErr && strings.Contains(out.text, doubles.Key) {
		t.Errorf("an error holds the key: %s", out.text)
	}
	w.clean(t)
}

// TestReach refuses what leads inside, and what is on the list.
func TestReach(t *testing.T) {
	w := newWeb(t)
	inside := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "secret of the inside") }))
	t.Cleanup(inside.Close)
	for path, to := range map[string]string{"/in": inside.URL, "/meta": "http://169.254.169.254/latest/", "/file": "file:///etc/passwd", "/hf": "http://huggingface.co/datasets/x"} {
		w.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) })
	}
	w.HandleFunc("/loop", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/loop", http.StatusFound) })
	w.serve("/robots.txt", "text/plain", []byte("User-agent: *\nDisallow: /private\n"))
	w.serve("/private", "text/plain", []byte("not for programs"))
	cs := connect(t, reading.Options{}, w.knobs)
	for uri, want := range map[string]string{
		"http://site.example/in": "refused", "http://site.example/meta": "refused", "http://site.example/file": "scheme", "http://site.example/loop": "redirects",
		inside.URL: "refused", "http://[::1]/": "refused", "http://2130706433/": "no host", "http://user:pw@site.example/": "user name", "http://": "no host",
		"http://site.example/hf": "Hugging Face", "https://huggingface.co/datasets/x": "Hugging Face", "http://site.example/private": "robots.txt", "http://site example/": "valid URL",
	} {
		refused(t, cs, args{"uri": uri}, want)
	}
	open := connect(t, reading.Options{Allow: []string{strings.TrimPrefix(inside.URL, "http://")}}, w.knobs)
	holds(t, good(t, open, args{"uri": "http://site.example/in"}).body, "secret of the inside")
	w.clean(t)
}

// TestSizes bounds what is downloaded, packed or not.
func TestSizes(t *testing.T) {
	w := newWeb(t)
	w.HandleFunc("/huge", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", strconv.Itoa(1<<40))
		fmt.Fprint(rw, "x")
	})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 8 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	w.HandleFunc("/bomb", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(bomb.Bytes())
	})
	w.HandleFunc("/endless", func(rw http.ResponseWriter, r *http.Request) {
		for chunk := bytes.Repeat([]byte("endless "), 8192); r.Context().Err() == nil; {
			if _, err := rw.Write(chunk); err != nil {
				return
			}
		}
	})
	cs := connect(t, reading.Options{MaxDownload: 2}, w.knobs)
	for _, uri := range []string{"/huge", "/bomb", "/endless"} {
		refused(t, cs, args{"uri": "http://site.example" + uri}, "larger than 2 MiB")
	}
	w.clean(t)
}

// TestSlow ends with the time of the call, and at once when the call is cancelled.
func TestSlow(t *testing.T) {
	w := newWeb(t)
	began := make(chan struct{}, 8)
	w.HandleFunc("/slow", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "a little, and then nothing")
		rw.(http.Flusher).Flush()
		began <- struct{}{}
		<-r.Context().Done()
	})
	k := w.knobs
	for k.Timeout = 300 * time.Millisecond; len(began) == 0; k.Timeout *= 4 { // on a busy machine the request may not have come yet
		start := time.Now()
		refused(t, connect(t, reading.Options{}, k), args{"uri": "http://site.example/slow"}, "time for one call is over")
		if took := time.Since(start); took > k.Timeout+30*time.Second {
			t.Fatalf("it took %s", took)
		}
	}
	<-began
	cs := connect(t, reading.Options{}, w.knobs)
	ctx, cancel := context.WithCancel(t.Context())
	var cancelling sync.WaitGroup
	cancelling.Go(func() { <-began; cancel() })
	defer cancelling.Wait()
	start := time.Now()
	if res, err := cs.CallTool(ctx, params(args{"uri": "http://site.example/slow"})); err == nil {
		t.Errorf("got %+v", res)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s after it was cancelled", took)
	}
	w.clean(t)
}

// TestDataURIs reads what stands in the URI itself.
func TestDataURIs(t *testing.T) {
	cs := connect(t, reading.Options{}, reading.Knobs{})
	docx := base64.StdEncoding.EncodeToString(sample(t, "report.docx"))
	for uri, want := range map[string]string{
		"data:,hello%20there": "hello there", "data:text/csv;base64,YSxiCjEsMgo=": "| a | b |", "DATA:text/plain;charset=utf-8;BASE64,aGVsbG8": "hello",
		"data:;base64,w7zDtsOk": "üöä", "data:;base64,Pz8-Pz8_": "??>???", "data:text/html,<h1>Title</h1><p>x": "# Title", "data:text/plain;base64,aGVs\nbG8%3D": "hello", "data:application/octet-stream;base64," + docx: "# Harbour report 2025",
	} {
		if got := good(t, cs, args{"uri": uri}); !strings.Contains(got.body, want) || len(got.data.URI) > 200 {
			t.Errorf("%.80s: %.200s (%s)", uri, got.body, got.data.URI)
		}
	}
	for uri, want := range map[string]string{
		"data:text/plain": "comma", "data:;base64,****": "no base64", "data:,100%": "%25", "data:,": "is empty", "data:" + strings.Repeat("x", 2000) + ",y": "comma",
		"data:application/zip;base64,UEsDBA==": "", "data:;base64," + base64.StdEncoding.EncodeToString([]byte("\x00\x01\x02\x03\xff\xfe\x00\x00")): "no format",
	} {
		refused(t, cs, args{"uri": uri}, want)
	}
	start := time.Now()
	got := good(t, cs, args{"uri": "data:text/plain;base64," + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("ten million bytes "), 580_000))})
	if took := time.Since(start); got.data.Next == 0 || took > time.Minute { // a few seconds, where nothing else runs
		t.Errorf("next %d after %s", got.data.Next, took)
	}
	refused(t, cs, args{"uri": "http://site.example/" + strings.Repeat("x", 100<<10)}, "longer than 8192")
}

// TestLongURIs refuses what is longer than a document may be here.
func TestLongURIs(t *testing.T) {
	testenv.Long(t)
	cs := connect(t, reading.Options{}, reading.Knobs{})
	refused(t, cs, args{"uri": "data:," + strings.Repeat("x", 15<<20)}, "longer than 15 MiB")
	refused(t, cs, args{"uri": "http://site.example/" + strings.Repeat("x", 10<<20)}, "longer than 8192")
}
