package egress_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

func TestRobotsRules(t *testing.T) {
	const file = "\ufeff# comment\nUser-agent: OtherBot\nUSER-AGENT: tenon/2.0\r\nDisallow: /private # not this\nallow: /private/open\nDisallow: /*.gif$\nDisallow: /a*z\nDisallow: /caf%c3%a9\nDisallow: /%7Ejoe\nDisallow: /q?x=\n\nUser-agent: *\nDisallow: /\nCrawl-delay: 3\nSitemap: http://x/\n\nuser-agent: Tenon\nDisallow: /second\n"
	for path, want := range map[string]bool{
		"/": true, "/private": false, "/private/x": false, "/privately": false, "/private/open/x": true, "/x.gif": false, "/x.gif?y": true, "/a/b/z/c": false, "/ab": true,
		"/café": false, "/caf%C3%A9": false, "/~joe": false, "/%7ejoe": false, "/q?x=1": false, "/q": true, "/second": false,
	} {
		if got := egress.Allowed(file, "tenon", path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, tt := range []struct {
		file, path string
		want       bool
	}{
		{"", "/", true},
		{"User-agent: *\nDisallow:", "/", true},
		{"User-agent: *\nDisallow: /", "/x", false},
		{"User-agent: tenonbot\nDisallow: /", "/", true},
		{"Disallow: /", "/", true},
		{"User-agent: *\nDisallow: /x\nAllow: /x", "/x", true},
		{"User-agent: *\nUser-agent: x\nDisallow: /", "/", false},
		{"User-agent: tenon\nAllow: /\nUser-agent: *\nDisallow: /", "/", true},
		{"<html>not found</html>", "/", true},
		{"User-agent: *\nDisallow: /*/*/*$", "/a/b/c", false},
		{"user-agent:*\ndisallow:/a$\n", "/a", false},
		{"user-agent:*\ndisallow:/a$\n", "/ab", true},
	} {
		if got := egress.Allowed(tt.file, "tenon", tt.path); got != tt.want {
			t.Errorf("%q %s: %v", tt.file, tt.path, got)
		}
	}
	start := time.Now()
	egress.Allowed("User-agent: *\n"+strings.Repeat("Disallow: /"+strings.Repeat("*a", 1000)+"$\n", 250), "tenon", "/"+strings.Repeat("a", 8000))
	if d := time.Since(start); d > 30*time.Second { // it is hours where each star is tried for each letter
		t.Errorf("hostile patterns took %v", d)
	}
}

func TestRobots(t *testing.T) {
	var asked, pages atomic.Int32
	status := http.StatusOK
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			asked.Add(1)
			w.WriteHeader(status)
			fmt.Fprint(w, "User-agent: *\nDisallow: /no")
		case "/to":
			http.Redirect(w, r, "/no", http.StatusFound)
		default:
			pages.Add(1)
		}
	})
	get := func(c *egress.Client, path string) error {
		_, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + path, Robots: true})
		return err
	}
	c := client(t, egress.Options{Allow: []string{web}, Polite: egress.Polite{AtOnce: 1}})
	var no *egress.RobotsError
	if err := get(c, "/yes"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/no", "/to"} {
		if err := get(c, path); !errors.As(err, &no) || !strings.Contains(err.Error(), "robots.txt") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if asked.Load() != 1 || pages.Load() != 1 {
		t.Errorf("asked %d times, %d pages read", asked.Load(), pages.Load())
	}
	for code, open := range map[int]bool{http.StatusNotFound: true, http.StatusForbidden: true, http.StatusInternalServerError: false, http.StatusTooManyRequests: false} {
		status = code
		if err := get(client(t, egress.Options{Allow: []string{web}}), "/no"); (err == nil) != open {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// TestRobotsUnread: a site that cannot be asked has asked nobody to stay away, and where
// the page would fail as well, that is what is said.
func TestRobotsUnread(t *testing.T) {
	status := http.StatusServiceUnavailable
	web := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	get := func(url string) string {
		_, err := client(t, egress.Options{Allow: []string{web, "127.0.0.1:1"}}).Do(t.Context(), egress.Request{URL: url, Robots: true})
		if err == nil {
			t.Fatalf("%s is read", url)
		}
		return err.Error()
	}
	for url, want := range map[string]string{
		"http://" + web + "/a":  "cannot be read now (status 503)",
		"https://" + web + "/a": "does not speak TLS on that port; try http://",
		"http://127.0.0.1:1/a":  "nothing listens on that port",
	} {
		if got := get(url); !strings.Contains(got, want) || strings.Contains(got, "stay away") {
			t.Errorf("%s: %s", url, got)
		}
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$", "/axb")
	f.Fuzz(func(_ *testing.T, file, path string) { egress.Allowed(file, "tenon", path) })
}
