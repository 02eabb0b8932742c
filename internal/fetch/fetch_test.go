package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<html><head><title> The
			title </title><script>var x = "script"</script><style>p{}</style></head><body><nav>menu</nav><h1>Heading</h1>
			<p>Some <b>bold</b> text &amp; a <a href="/other">link</a>. %s %s</p><img src="data:image/png;base64,AAAA"><table><tr><th>a</th><th>b</th></tr><tr><td>1</td> <td>2</td></tr></table>
			<ul><li>one<li> two <i> three</i> </ul><a href="/x"><img src=y></a><pre>x  y
  z
</pre><p hidden>no</p>end</body></html>`,
			r.UserAgent(), r.Header.Get("Cookie"))
	})
	mux.HandleFunc("/to/{n}", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "cookie", Path: "/"})
		next := "/page"
		if n := r.PathValue("n"); len(n) > 1 {
			next = "/to/" + n[1:]
		}
		http.Redirect(w, r, next, http.StatusFound)
	})
	mux.HandleFunc("/scheme", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"a": 1}`)
	})
	mux.HandleFunc("/unseen", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>t\U000e0041</title><p>se\u200ben\U000e0041\U000e0042\u202e \U000e0101\ufe01x</p>")
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("0123456789", 1<<20))
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestPage(t *testing.T) {
	srv, f := site(t), fetch.New(fetch.Options{Allow: []string{"127.0.0.1"}})
	p, err := f.Page(t.Context(), srv.URL+"/to/123#part", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "Title: The title\n\n# Heading\n\nSome bold text & a [link](" + srv.URL + "/other). " + egress.UserAgent() + "\n\na | b\n1 | 2\n\n- one\n- two three\n\n```\nx  y\n  z\n```\n\nend"
	if p.Text != want || p.URL != srv.URL+"/page" {
		t.Errorf("%s:\n%s\nwant\n%s", p.URL, p.Text, want)
	}
	if p, err := f.Page(t.Context(), srv.URL+"/json", nil); err != nil || p.Text != `{"a": 1}` {
		t.Errorf("%q, %v", p.Text, err)
	}
	if p, err := f.Page(t.Context(), srv.URL+"/unseen", nil); err != nil || p.Text != "Title: t\n\nseen x\n\n[left out: 7 characters that nobody sees]" {
		t.Errorf("%q, %v", p.Text, err)
	}
	if p, err := f.Page(t.Context(), srv.URL+"/large", nil); err != nil || len(p.Text) > 5<<20+100 || !strings.HasSuffix(p.Text, "[cut: only the first 5 MiB of the page were read]") {
		t.Errorf("%d bytes, %v", len(p.Text), err)
	}
}

func TestPageErrors(t *testing.T) {
	srv, f := site(t), fetch.New(fetch.Options{Allow: []string{"127.0.0.1"}})
	for address, want := range map[string]string{
		srv.URL + "/none":                     "404 Not Found",
		srv.URL + "/to/123456789012":          "redirects more than 10 times",
		srv.URL + "/scheme":                   `scheme "file"`,
		"file:///etc/passwd":                  `scheme "file"`,
		"ftp://example.com":                   `scheme "ftp"`,
		"http://":                             "no host",
		"http://user@example.com/":            "user name",
		"http://%zz/":                         "no valid URL",
		"http://" + strings.Repeat("x", 9000): "longer than",
		"http://127.0.0.1:1/":                 "refused",
	} {
		if _, err := f.Page(t.Context(), address, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", address, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Page(ctx, srv.URL+"/hang", nil); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("hang: %v", err)
	}
}

// TestOnlyPublicAddresses are reached, however they are written.
func TestOnlyPublicAddresses(t *testing.T) {
	srv, f := site(t), fetch.New(fetch.Options{})
	port := srv.URL[strings.LastIndex(srv.URL, ":"):]
	for _, address := range []string{
		"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/",
		"http://10.0.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://168.63.129.16/",
		"http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1]/",
	} {
		_, err := f.Page(t.Context(), address, nil)
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := f.Page(t.Context(), "http://127.0.0.1"+port+"/page", nil); err == nil {
		t.Error("the site of the test was reached")
	}
}

// TestRefuse: the caller is asked about each address before it is requested.
func TestRefuse(t *testing.T) {
	srv, f := site(t), fetch.New(fetch.Options{Allow: []string{"127.0.0.1"}})
	no := errors.New("not this one")
	var asked []string
	_, err := f.Page(t.Context(), srv.URL+"/to/12", func(u string) error {
		asked = append(asked, strings.TrimPrefix(u, srv.URL))
		if strings.HasSuffix(u, "/page") {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) || strings.Join(asked, " ") != "/to/12 /to/2 /page" {
		t.Errorf("%v after %v", err, asked)
	}
	asked = nil
	if _, err := f.Page(t.Context(), srv.URL+"/page", func(string) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	bold := ""
	for i := range 400 {
		bold += fmt.Sprintf("<b id=%d>", i)
	}
	at := &url.URL{Scheme: "https", Host: "example.com"}
	for _, c := range []struct{ name, kind, body, want, err string }{
		{"Latin-1 by its header", "text/html; charset=iso-8859-1", "<p>caf\xe9</p>", "café", ""},
		{"Shift-JIS by its meta", "text/html", "<meta charset=shift_jis><p>\x93\xfa\x96\x7b</p>", "日本", ""},
		{"plain UTF-16", "text/plain; charset=utf-16le", "h\x00i\x00", "hi", ""},
		{"plain without a charset", "text/plain", "日本", "日本", ""},
		{"no type", "", "<html><body><p>x</p></body></html>", "x", ""},
		{"a wrong type", "application/octet-stream", "just text", "just text", ""},
		{"a feed", "application/rss+xml", "<rss/>", "<rss/>", ""},
		{"a picture", "image/png", "\x89PNG", "", "image/png"},
		{"an archive without a type", "", "PK\x03\x04\x00", "", "application/zip"},
		{"scripts alone", "text/html", "<body><script>render()</script></body>", "", "no text"},
		{"empty", "text/plain", " \n", "", "no text"},
		{"broken bytes", "application/json", "{\xff}", "{\uFFFD}", ""},
		{"opened anew and anew", "text/html", "<p>" + bold + strings.Repeat("<p>x", 8000), "", "built to be too large"},
		{"title of a drawing", "text/html", "<svg><title>no</title></svg><p>x</p>", "x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := fetch.Text(t.Context(), []byte(c.body), c.kind, at)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestTimeIsLinear: what a page holds much of costs no more than its share. These
// take converters of others minutes.
func TestTimeIsLinear(t *testing.T) {
	at := &url.URL{Scheme: "https", Host: "example.com"}
	for _, s := range []string{
		"<p>a", "*", "[", "_", "`", "\\", "<b>a</b>", "<table><tr><td>a", "<td colspan=1000 rowspan=1000>x</td>", "<a href=x>y</a>", "<li>x", "<br>", "<td>",
		"<h1>", "<pre>x\n\n", "<div>", "<a href=x>", "<select>", "<svg>", "&amp;", " \n",
	} {
		took := time.Hour
		for try := 0; try < 3 && took > 20*time.Second; try++ { // others work on this machine
			began := time.Now()
			_, _ = fetch.Text(t.Context(), []byte("<table><tr>"+strings.Repeat(s, 1<<20/len(s))), "text/html", at)
			took = time.Since(began)
		}
		if took > 20*time.Second {
			t.Errorf("1 MiB of %q took %s", s, took)
		} else if took > 300*time.Millisecond {
			t.Logf("1 MiB of %q took %s", s, took)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, kind := range []string{"text/html", "text/html; charset=utf-16", "text/plain", "application/json", ""} {
		f.Add(kind, []byte("<table><tr><td><p>a<img src=data:x><a href='//x'>b</table><title>t"))
	}
	at := &url.URL{Scheme: "https", Host: "example.com"}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if got, err := fetch.Text(t.Context(), body, kind, at); err == nil && (got == "" || !utf8.ValidString(got)) {
			t.Errorf("%q of %q", got, body)
		}
	})
}
