package tenon_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// browsers is a configuration with the Playwright server of testdata/npm, and the
// folder that it keeps its files below.
func browsers(t *testing.T) (config, tmp string) {
	t.Helper()
	testenv.Chromium(t)
	server := testenv.NPM(t, "playwright-mcp")
	sandbox := os.Geteuid() != 0
	tmp = t.TempDir()
	return write(t, fmt.Sprintf("version: 1\nservers:\n  playwright: {command: %q, browser: {sandbox: %v}, idle_timeout: 1h}\n", server, sandbox)), tmp
}

// A page counts clicks, and keeps a cookie for whoever opened it.
func page(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>Count</title><button onclick="localStorage.n=this.textContent=1+Number(localStorage.n||0)">go</button><script>document.title='had '+(localStorage.n||'nothing')</script>`))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A tab is one session of the gateway at the server.
type tab struct {
	t       *testing.T
	g       *tenon.Gateway
	session string
}

func (b tab) call(name string, arguments any) *tool.Result {
	b.t.Helper()
	args, err := json.Marshal(arguments)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), time.Minute)
	defer cancel()
	return b.g.Call(ctx, tool.Call{Server: "playwright", Tool: name, Arguments: args, Session: b.session})
}

func (b tab) must(name string, arguments any) *tool.Result {
	b.t.Helper()
	res := b.call(name, arguments)
	if res.Kind != "" {
		b.t.Fatalf("%s: %s: %s", name, res.Kind, res.Text())
	}
	return res
}

// open opens a page, clicks its button, and returns what the button says then.
func (b tab) open(url string, clicks int) string {
	b.t.Helper()
	b.must("browser_navigate", map[string]any{"url": url})
	return b.click(clicks)
}

var button = regexp.MustCompile(`button "(\w+)".* \[ref=(\w+)\]`)

func (b tab) click(clicks int) string {
	b.t.Helper()
	for i := 0; ; i++ {
		m := button.FindStringSubmatch(b.must("browser_snapshot", map[string]any{}).Text())
		if m == nil {
			b.t.Fatal("the page has no button")
		}
		if i == clicks {
			return m[1]
		}
		b.must("browser_click", map[string]any{"element": "the button", "target": m[2]})
	}
}

// processes returns the processes whose command line or environment names a folder.
func processes(dir string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if bytes.Contains(args, []byte(dir)) && bytes.Contains(args, []byte("chrom")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no browser is left.
func gone(t *testing.T, tmp string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for len(processes(tmp)) > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("browsers are left: %v", processes(tmp))
		}
	}
}

// TestBrowser does what people do with one: separate calls, two sessions at once, a
// browser that dies, and ends of all kinds.
func TestBrowser(t *testing.T) {
	config, tmp := browsers(t)
	g := open(t, tenon.Options{Config: config, Env: []string{"TMPDIR=" + tmp}})
	url := page(t)
	one, two := tab{t, g, "one"}, tab{t, g, "two"}

	if got := one.open(url, 2); got != "2" {
		t.Errorf("after two clicks the button says %s", got)
	}
	shot := one.must("browser_take_screenshot", map[string]any{"scale": "css"})
	if img := image(t, shot); img < 500 {
		t.Errorf("the screenshot is %d wide", img)
	}
	if got := two.open(url, 1); got != "1" {
		t.Errorf("the second session sees what the first did: the button says %s", got)
	}
	if text := two.must("browser_navigate", map[string]any{"url": url}).Text(); !strings.Contains(text, "had 1") {
		t.Errorf("the second session has not kept its own: %s", text)
	}
	if got := one.click(1); got != "3" {
		t.Errorf("the first session has lost its page: the button says %s", got)
	}
	if res := one.call("browser_run_code_unsafe", map[string]any{"code": "async () => process.pid"}); res.Kind == "" {
		t.Error("code ran outside of the browser: " + res.Text())
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(config), "*"))
	if len(files) != 1 {
		t.Errorf("the browser has left files beside the configuration: %v", files)
	}

	dieAndComeBack(t, one, two, tmp, url)

	for _, session := range []string{"one", "two"} {
		g.EndSession(tool.Caller{}, session)
	}
	gone(t, tmp)
	three := tab{t, g, "three"}
	three.open(url, 0)
	if left, _ := filepath.Glob(filepath.Join(tmp, "tenon-browser-*")); len(left) != 1 {
		t.Errorf("%d folders, want that of the one browser: %v", len(left), left)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	gone(t, tmp)
}

// dieAndComeBack kills the browser of the first session.
func dieAndComeBack(t *testing.T, one, two tab, tmp, url string) {
	t.Helper()
	before := firstOf(tmp)
	for _, pid := range processes(tmp) {
		args, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if bytes.Contains(args, []byte("--remote-debugging-pipe")) && bytes.Contains(append(args, env...), []byte(before)) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(before), "tenon-browser-"), "-")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(filepath.Join("/proc", pid)); err != nil {
			break // its server has ended too
		}
	}
	res := one.must("browser_navigate", map[string]any{"url": url})
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "what this session had before at server playwright is gone") || !strings.Contains(res.Text(), "had nothing") {
		t.Errorf("after the death of the browser: %s, notes %+v", res.Text(), res.Notes)
	}
	if res := one.must("browser_snapshot", map[string]any{}); len(res.Notes) != 0 {
		t.Errorf("the note came twice: %+v", res.Notes)
	}
	if got := two.click(1); got != "2" {
		t.Errorf("the other session was touched: the button says %s", got)
	}
}

// firstOf returns the folder of the server that was started first: the names have
// the ids of their processes.
func firstOf(tmp string) string {
	dirs, _ := filepath.Glob(filepath.Join(tmp, "tenon-browser-*"))
	first, least := "", 0
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "tenon-browser-"), "-")
		if n, err := strconv.Atoi(pid); err == nil && (first == "" || n < least) {
			first, least = dir, n
		}
	}
	return first
}

// image returns the width of the PNG in a result.
func image(t *testing.T, res *tool.Result) int {
	t.Helper()
	var result struct {
		Content []struct{ Type, Data, MimeType string }
	}
	raw, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Content {
		if c.Type != "image" || c.MimeType != "image/png" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(c.Data)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return img.Width
	}
	t.Fatalf("no image: %.300s", raw)
	return 0
}

// TestBrowserDiesWithTheGateway kills the gateway of another process.
func TestBrowserDiesWithTheGateway(t *testing.T) {
	if config := os.Getenv("TENON_TEST_BROWSER"); config != "" { // that process
		g := open(t, tenon.Options{Config: config})
		tab{t, g, "x"}.open(os.Getenv("TENON_TEST_PAGE"), 1)
		fmt.Println("it runs")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	config, tmp := browsers(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrowserDiesWithTheGateway$")
	cmd.Env = append(os.Environ(), "TENON_TEST_BROWSER="+config, "TENON_TEST_PAGE="+page(t), "TMPDIR="+tmp)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, _ := out.Read(line)
	if !strings.HasPrefix(string(line[:n]), "it runs") || len(processes(tmp)) == 0 {
		t.Errorf("no browser: %s %v", line[:n], processes(tmp))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, tmp)
}
