package intake_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/intake"
)

func pages(t *testing.T, allow ...string) *egress.Client {
	t.Helper()
	c, err := egress.New(egress.Options{Server: "test", Allow: allow, Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPaths(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "sub", "a b.png"), "inside")
	secret := write(t, filepath.Join(outside, "secret.png"), "secret")
	write(t, filepath.Join(dir, "empty.png"), "")
	write(t, filepath.Join(dir, "large.png"), strings.Repeat("x", 2000))
	links := runtime.GOOS != "windows"
	if links {
		out, err := filepath.Rel(dir, secret)
		if err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"out.png": secret, "relative.png": out, "dir": outside, "in.png": filepath.Join("sub", "a b.png"), "link-to-dir": dir} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	in, err := intake.New(intake.Options{Roots: []string{dir}, Pages: pages(t), MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	good := []string{"sub/a b.png", filepath.Join(dir, "sub", "a b.png"), "./sub/../sub/a b.png"}
	if links {
		good = append(good, "in.png", "file://"+(&url.URL{Path: filepath.ToSlash(filepath.Join(dir, "sub", "a b.png"))}).EscapedPath())
	}
	for _, name := range good {
		if f, err := in.Load(t.Context(), name); err != nil || string(f.Data) != "inside" {
			t.Errorf("%s: %q, %v", name, f.Data, err)
		}
	}
	for name, want := range map[string]string{
		secret: "no file", "../" + filepath.Base(outside) + "/secret.png": "no file", "sub/../../" + filepath.Base(outside) + "/secret.png": "no file",
		"out.png": "no", "relative.png": "no file", "dir/secret.png": "no", "/etc/passwd": "no file", "file:///etc/passwd": "no file", "file://host/etc/passwd": "not valid",
		"sub": "no file", "empty.png": "empty", "large.png": "larger than", "nothing.png": "no file", "": "no file is named", "a\x00b": "zero byte",
		"ftp://x/y": "cannot be read here", "gopher://x": "cannot be read here", strings.Repeat("a", 10<<20): "has 10485760 bytes",
		"/home/user/plot.png": "download_file_from_sandbox_to_local", "-o/etc/passwd": "no file", "$(id)": "no file", "`id`;|&": "no file",
	} {
		f, err := in.Load(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret.png is") || f.Data != nil {
			t.Errorf("%.80q: %q, %v", name, f.Data, err)
		}
	}
	closed, err := intake.New(intake.Options{Pages: pages(t), MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Load(t.Context(), "a.png"); err == nil || !strings.Contains(err.Error(), "option roots") {
		t.Error(err)
	}
	for _, root := range []string{filepath.Join(dir, "nothing"), secret} {
		if _, err := intake.New(intake.Options{Roots: []string{root}}); err == nil || !strings.Contains(err.Error(), "option roots") {
			t.Errorf("%s: %v", root, err)
		}
	}
}

func TestData(t *testing.T) {
	in, err := intake.New(intake.Options{Pages: pages(t), MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"data:image/png;base64,aGVsbG8/", "DATA:image/png;base64,aGVs\nbG8/", "data:image/png;base64,aGVsbG8_", "data:image/png;base64,aGVsbG8%2F"} {
		if f, err := in.Load(t.Context(), s); err != nil || string(f.Data) != "hello?" || f.MIME != "image/png" {
			t.Errorf("%s: %+v, %v", s, f, err)
		}
	}
	for s, want := range map[string]string{
		"data:": "not valid", "data:,": "not in base64", "data:;base64,": "empty", "data:image/png;base64,!!": "no valid base64",
		"data:image/png;base64," + strings.Repeat("A", 10<<20): "larger than",
	} {
		if _, err := in.Load(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", s, err)
		}
	}
}

func TestFetch(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/dir/a.png":
			w.Header().Set("Content-Type", "Image/PNG; x=y")
			_, _ = w.Write([]byte("picture"))
		case "/large":
			_, _ = w.Write(make([]byte, 5000))
		case "/inside":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	in, err := intake.New(intake.Options{Pages: pages(t, host), MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	f, err := in.Load(t.Context(), srv.URL+"/dir/a.png?x=1")
	if err != nil || f.Name != "a.png" || f.MIME != "image/png" || string(f.Data) != "picture" {
		t.Errorf("%+v, %v", f, err)
	}
	for path, want := range map[string]string{"/large": "larger than", "/nothing": "404 Not Found", "/inside": "refused"} {
		if _, err := in.Load(t.Context(), srv.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	closed, err := intake.New(intake.Options{Pages: pages(t), MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Load(t.Context(), srv.URL+"/dir/a.png"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
