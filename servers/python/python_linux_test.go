package python_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/sandbox/local"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/python"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == local.Command {
		if err := local.Launch(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8") // most of the time they wait
	}
	os.Exit(m.Run())
}

// A client talks to a server.
type client struct {
	t *testing.T
	*mcp.ClientSession
}

func start(t *testing.T, o python.Options) client {
	t.Helper()
	return connect(t, newServer(t, o, nil))
}

func newServer(t *testing.T, o python.Options, env map[string]string) *mcp.Server {
	t.Helper()
	if o.Python == "" {
		o.Python = "/usr/bin/python3"
	}
	srv, err := python.NewAt(o, tool.Place{
		Getenv: func(name string) string { return env[name] },
		AtEnd: func(end func() error) {
			t.Cleanup(func() {
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func connect(t *testing.T, srv *mcp.Server) client {
	t.Helper()
	return client{t, testenv.Client(t, srv)}
}

// call calls a tool and returns its text, or with failed its error.
func (c client) call(name string, arguments any) (text string, res *mcp.CallToolResult) {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		c.t.Fatal(err)
	}
	if t, ok := res.Content[0].(*mcp.TextContent); ok {
		text = t.Text
	}
	return text, res
}

func (c client) good(name string, arguments map[string]any) map[string]any {
	c.t.Helper()
	text, res := c.call(name, arguments)
	if res.IsError {
		c.t.Fatalf("%s: %s", name, text)
	}
	b, err := json.Marshal(res.StructuredContent)
	var out map[string]any
	if err := errors.Join(err, json.Unmarshal(b, &out)); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c client) bad(name string, arguments map[string]any, want string) {
	c.t.Helper()
	text, res := c.call(name, arguments)
	if !res.IsError || !strings.Contains(text, want) || len(text) > 1000 {
		c.t.Errorf("%s %.200v: got %.500q (error %v), want %q", name, arguments, text, res.IsError, want)
	}
}

// create makes a sandbox that ends with the test.
func (c client) create() string {
	c.t.Helper()
	id, _ := c.good("create_sandbox", map[string]any{})["sandbox_id"].(string)
	c.t.Cleanup(func() {
		ctx := context.WithoutCancel(c.t.Context())
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "kill_sandbox", Arguments: map[string]any{"sandbox_id": id}}); err != nil {
			c.t.Error(err)
		}
	})
	return id
}

func TestWork(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	text, res := c.call("create_sandbox", map[string]any{"timeout": 100000})
	if res.IsError || !strings.HasPrefix(text, "Sandbox created with sandbox_id: sbx_") || utf8.RuneCountInString(text) > 500 || !strings.Contains(text, "after 600 s") {
		t.Fatal(text)
	}
	id := c.create()
	c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "import math\nx = 40"})
	out := c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "print('hello')\nx + 2"})
	if out["stdout"] != "hello\n" || out["result"] != "42" {
		t.Errorf("got %v", out)
	}
	text, res = c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "def f():\n    raise ValueError('no')\nf()"})
	if res.IsError || !strings.Contains(text, "ValueError: no") || !strings.Contains(text, "line 3, in <module>") {
		t.Errorf("got %s", text)
	}
	out = c.good("run_command", map[string]any{"sandbox_id": id, "command": "echo a > f; echo out; echo err >&2; exit 3"})
	if out["stdout"] != "out\n" || out["stderr"] != "err\n" || out["exit_code"] != 3.0 {
		t.Errorf("got %v", out)
	}
	if text, _ := c.call("run_command", map[string]any{"sandbox_id": id, "command": "pip install nothing"}); !strings.Contains(text, "no network") {
		t.Errorf("got %s", text)
	}
	if text, _ := c.call("list_files", map[string]any{"sandbox_id": id}); !strings.Contains(text, `"/home/user/f"  file  2 bytes`) {
		t.Errorf("got %s", text)
	}
	out = c.good("python", map[string]any{"code": "import os\nos.listdir('.')"})
	if out["result"] != "[]" {
		t.Errorf("a sandbox of its own holds something: %v", out)
	}
	c.good("kill_sandbox", map[string]any{"sandbox_id": id})
	c.bad("run_command", map[string]any{"sandbox_id": id, "command": "true"}, "this sandbox has ended: it was killed")
}

func TestImages(t *testing.T) {
	t.Parallel()
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	c := start(t, python.Options{})
	_, res := c.call("python", map[string]any{"code": "import base64\nclass I:\n    def _repr_png_(self): return base64.b64decode('" + dot + "')\nI()"})
	if len(res.Content) != 2 {
		t.Fatalf("got %+v", res.Content)
	}
	image, ok := res.Content[1].(*mcp.ImageContent)
	if !ok || image.MIMEType != "image/png" || base64.StdEncoding.EncodeToString(image.Data) != dot {
		t.Errorf("got %+v", res.Content[1])
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	id := c.create()
	for name, arguments := range map[string]map[string]any{
		"run_python_code": {"sandbox_id": id, "code_block": "print('ä' * 10**6)\n'ö' * 10**6"},
		"run_command":     {"sandbox_id": id, "command": "seq 100000; seq 100000 >&2"},
	} {
		text, res := c.call(name, arguments)
		b, _ := json.Marshal(res.StructuredContent)
		end := " [Result truncated due to length limit]"
		if name == "run_command" { // both streams have their end
			end = "99999\n100000\n"
		}
		if n := utf8.RuneCountInString(text); n > 20_000 || !strings.HasSuffix(text, end) || utf8.RuneCount(b) > 20_000 || utf8.RuneCount(b) < 15_000 {
			t.Errorf("%s: %d characters, %d of data", name, n, utf8.RuneCount(b))
		}
	}
	c = start(t, python.Options{RunSec: 2})
	id = c.create()
	if text, _ := c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "y = 1\nwhile True: pass"}); !strings.Contains(text, "longer than 2 s") {
		t.Errorf("got %s", text)
	}
	if out := c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "y"}); out["result"] != "1" {
		t.Errorf("the state is lost: %v", out)
	}
	if text, _ := c.call("run_command", map[string]any{"sandbox_id": id, "command": "sleep 60"}); !strings.Contains(text, "was killed") {
		t.Errorf("got %s", text)
	}
	if text, _ := c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "import os\nos._exit(1)"}); !strings.Contains(text, "variables and imports are lost") {
		t.Errorf("got %s", text)
	}
	huge, large := strings.Repeat("x", 10<<20), strings.Repeat("x", 3<<20)
	for name, arguments := range map[string]map[string]any{
		"run_python_code": {"sandbox_id": id, "code_block": huge}, "run_command": {"sandbox_id": id, "command": large},
		"list_files": {"sandbox_id": large}, "python": {"code": large}, "download_file_from_internet_to_sandbox": {"sandbox_id": id, "url": large},
	} {
		c.bad(name, arguments, "at most")
	}
	c.bad("create_sandbox", map[string]any{"timeout": 0}, "at least 1")
	c.bad("create_sandbox", map[string]any{"timeout": -1}, "at least 1")
	c.bad("create_sandbox", map[string]any{"timeout": "long"}, "timeout")
	c.bad("run_command", map[string]any{"sandbox_id": id, "command": "  "}, "empty")
	c.bad("run_command", map[string]any{"sandbox_id": id, "command": "a\x00b"}, "zero byte")
	c.bad("python", map[string]any{"code": ""}, "empty")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	for _, id := range []string{
		"default", "sandbox1", "sandbox", "some_id", "new_sandbox", "python", "create_sandbox", "sandbox123", "temp", "sandbox-0", "sandbox-1",
		"sandbox_0", "sandbox_1", "new", "0", "auto", "default_sandbox", "none", "sandbox_12345", "dummy", "sandbox_01", "Default", " ", "",
	} {
		c.bad("run_command", map[string]any{"sandbox_id": id, "command": "true"}, "is not a valid sandbox_id")
	}
	for _, id := range []string{"sbx_unknown", "../x", "1", "\x1b[31m"} {
		c.bad("run_command", map[string]any{"sandbox_id": id, "command": "true"}, "no sandbox with this sandbox_id")
	}
	for _, id := range []string{"sbx_zz1zz_abcdefghijklmnopqrstuvwxyz"} {
		c.bad("run_command", map[string]any{"sandbox_id": id, "command": "true"}, "was made by another process of this server, which was replaced")
	}
	a, b := c.create(), c.create()
	if a == b || len(a) < 25 {
		t.Errorf("ids %s and %s", a, b)
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{MaxSandboxes: 1})
	id := c.create()
	c.bad("create_sandbox", map[string]any{}, "there are 1 sandboxes already")
	c.bad("python", map[string]any{"code": "1"}, "there are 1 sandboxes already")
	c.good("kill_sandbox", map[string]any{"sandbox_id": id})
	c.create()
	// What a sandbox takes by itself is not always the same: two fit, and not seven,
	// for each is counted with 12 MiB at least and wants 48 to begin.
	c = start(t, python.Options{MaxMemoryMB: 112})
	c.create()
	c.create()
	for n := 2; ; n++ {
		text, res := c.call("create_sandbox", map[string]any{})
		if res.IsError {
			if !strings.Contains(text, "of their 112 MiB") {
				t.Error(text)
			}
			break
		}
		if n == 7 {
			t.Fatalf("%d sandboxes in 112 MiB", n)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	id, _ := c.good("create_sandbox", map[string]any{"timeout": 2})["sandbox_id"].(string)
	// One that works is not idle.
	if out := c.good("run_command", map[string]any{"sandbox_id": id, "command": "sleep 2.5; echo there"}); out["stdout"] != "there\n" {
		t.Errorf("got %v", out)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for ended := false; !ended; <-tick.C {
		if time.Since(begin) > time.Minute {
			t.Fatal("it does not end")
		}
		// A look keeps it alive.
		text, res := c.call("list_files", map[string]any{"sandbox_id": id, "path": "/home/user"})
		if ended = res.IsError; ended && !strings.Contains(text, "not used for 2 s") {
			t.Errorf("got %s", text)
		}
		if !ended {
			wait := time.NewTimer(2300 * time.Millisecond)
			<-wait.C
		}
	}
}

// TestSessions makes a sandbox in one session over HTTP; another one does not find it,
// and it ends with its session.
func TestSessions(t *testing.T) {
	t.Parallel()
	srv := newServer(t, python.Options{MaxSandboxes: 1}, nil)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
	t.Cleanup(web.Close)
	dial := func() client {
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return client{t, cs}
	}
	mine, other := dial(), dial()
	t.Cleanup(func() { _ = other.Close() })
	id, _ := mine.good("create_sandbox", map[string]any{})["sandbox_id"].(string)
	mine.good("run_command", map[string]any{"sandbox_id": id, "command": "true"})
	other.bad("run_command", map[string]any{"sandbox_id": id, "command": "true"}, "no sandbox with this sandbox_id")
	other.bad("kill_sandbox", map[string]any{"sandbox_id": id}, "no sandbox with this sandbox_id")
	other.bad("create_sandbox", map[string]any{}, "already")
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		if _, res := other.call("create_sandbox", map[string]any{}); !res.IsError {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not end with its session")
		}
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(dir, "data.csv"): "1,2", filepath.Join(dir, "my data (1).csv"): "3", filepath.Join(outside, "secret"): "s"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "folder")),
		os.Symlink("data.csv", filepath.Join(dir, "near")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := start(t, python.Options{})
	id := c.create()
	c.bad("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": filepath.Join(dir, "data.csv")}, "upload_roots")
	c = start(t, python.Options{UploadRoots: []string{dir}})
	id = c.create()
	for target, want := range map[string]string{"": "/home/user/data.csv", "/home/user/in/": "/home/user/in/data.csv", "in": "/home/user/in/data.csv", "/home/user/x.csv": "/home/user/x.csv"} {
		arguments := map[string]any{"sandbox_id": id, "local_file_path": filepath.Join(dir, "data.csv"), "sandbox_file_path": target}
		if target == "" {
			delete(arguments, "sandbox_file_path")
		}
		if out := c.good("upload_file_from_local_to_sandbox", arguments); out["path"] != want {
			t.Errorf("%q: got %v", target, out)
		}
	}
	if out := c.good("run_command", map[string]any{"sandbox_id": id, "command": "cat in/data.csv"}); out["stdout"] != "1,2" {
		t.Errorf("got %v", out)
	}
	if text, _ := c.call("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": filepath.Join(dir, "my data (1).csv")}); !strings.Contains(text, "/home/user/my_data__1_.csv") ||
		!strings.Contains(text, `another name than "my data (1).csv"`) {
		t.Errorf("of a file that got another name: %s", text)
	}
	c.good("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": filepath.Join(dir, "near")})
	c.good("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": "data.csv"}) // as the server reading takes it
	for path, want := range map[string]string{
		filepath.Join(dir, "link"): "not in a folder", filepath.Join(dir, "folder", "secret"): "not in a folder", filepath.Join(outside, "secret"): "not in a folder",
		dir + "/../" + filepath.Base(outside) + "/secret": "not in a folder", "/etc/passwd": "not in a folder", filepath.Join(dir, "nothing"): "not there",
		dir: "folder", ".": "folder", filepath.Join(dir, "pipe"): "no ordinary file", "/dev/zero": "not in a folder", "": "no path", dir + "\x00": "no path",
		"../" + filepath.Base(outside) + "/secret": "not in a folder", "folder/secret": "not in a folder", "--help": "not there", "nothing.csv": "not there",
	} {
		c.bad("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": path}, want)
	}
	c.bad("upload_file_from_local_to_sandbox", map[string]any{"sandbox_id": id, "local_file_path": filepath.Join(dir, "data.csv"), "sandbox_file_path": "/etc/x.csv"}, "/home/user only")
}

func TestSave(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	id := c.create()
	c.good("run_command", map[string]any{"sandbox_id": id, "command": "echo x > f"})
	c.bad("download_file_from_sandbox_to_local", map[string]any{"sandbox_id": id, "sandbox_file_path": "f"}, "download_dir")
	dir := filepath.Join(t.TempDir(), "logs")
	c = connect(t, newServer(t, python.Options{}, map[string]string{"LOGS_DIR": dir}))
	id = c.create()
	c.good("run_command", map[string]any{"sandbox_id": id, "command": "echo x > f.txt; ln -s /etc/passwd link; mkdir d; mkfifo p"})
	for name, want := range map[string]string{"": "f.txt", "report.md": "report.md", "../../../etc/cron.d/x": "x", `..\..\evil.exe`: "evil.exe", "-rf": "rf", ".bashrc": "bashrc", "a;b$(c)": "a_b__c_", "/": "_", strings.Repeat("n", 1000) + ".csv": strings.Repeat("n", 116) + ".csv"} {
		arguments := map[string]any{"sandbox_id": id, "sandbox_file_path": "/home/user/f.txt", "local_filename": name}
		if name == "" {
			delete(arguments, "local_filename")
		}
		out := c.good("download_file_from_sandbox_to_local", arguments)
		if want := filepath.Join(dir, "tmpfiles", "sandbox_"+id+"_"+want); out["path"] != want {
			t.Errorf("%.100q: got %v, want %s", name, out["path"], want)
		}
		path, _ := out["path"].(string)
		if b, err := os.ReadFile(path); err != nil || string(b) != "x\n" {
			t.Errorf("%v, %q", err, b)
		}
	}
	if out := c.good("download_file_from_sandbox_to_local", map[string]any{"sandbox_id": id, "sandbox_file_path": "f.txt"}); !strings.HasSuffix(fmt.Sprint(out["path"]), "_f-1.txt") {
		t.Errorf("a file is overwritten: %v", out)
	}
	for path, want := range map[string]string{"link": "leads out", "d": "folder", "nothing": "no such file", "p": "no ordinary", "/etc/passwd": "/home/user only", "../../etc/passwd": "/home/user only"} {
		c.bad("download_file_from_sandbox_to_local", map[string]any{"sandbox_id": id, "sandbox_file_path": path}, want)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	site := http.NewServeMux()
	site.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/big.bin":
			for range 3 << 10 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		default:
			_, _ = w.Write([]byte("fetched"))
		}
	})
	web := httptest.NewServer(site)
	t.Cleanup(web.Close)
	c := start(t, python.Options{})
	id := c.create()
	fetch := func(c client, id, url string) map[string]any { return map[string]any{"sandbox_id": id, "url": url} }
	c.bad("download_file_from_internet_to_sandbox", fetch(c, id, web.URL+"/x"), "127.0.0.1")
	c = start(t, python.Options{Allow: []string{strings.TrimPrefix(web.URL, "http://")}, DiskMB: 2})
	id = c.create()
	for url, want := range map[string]string{"/a/data.csv?x=1": "data.csv", "/": "downloaded_file", "/%3Btouch%20x;$(id)": "_touch_x___id_", "/..%2f..%2fetc%2fpasswd": "passwd"} {
		if out := c.good("download_file_from_internet_to_sandbox", fetch(c, id, web.URL+url)); out["path"] != "/home/user/"+want {
			t.Errorf("%s: got %v", url, out)
		}
	}
	if out := c.good("run_command", map[string]any{"sandbox_id": id, "command": "cat data.csv; ls | wc -l"}); out["stdout"] != "fetched4\n" {
		t.Errorf("got %v", out)
	}
	for url, want := range map[string]string{web.URL + "/missing": "status 404", web.URL + "/away": "169.254.169.254", web.URL + "/big.bin": "is full", "file:///etc/passwd": "http", "-O /etc/x": "scheme", "": "scheme"} {
		c.bad("download_file_from_internet_to_sandbox", fetch(c, id, url), want)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]python.Options{
		"option backend": {Backend: "magic"}, "option memory_mb": {MemoryMB: 1}, "option disk_mb": {DiskMB: -1}, "option processes": {Processes: 5000},
		"option timeout_sec": {TimeoutSec: 1}, "option run_timeout_sec": {RunSec: 9999}, "option max_sandboxes": {MaxSandboxes: 2000}, "option max_memory_mb": {MaxMemoryMB: 1},
		"option network": {Network: []string{"http://x"}}, "option network_mb": {NetworkMB: -1},
		"option upload_roots": {UploadRoots: []string{"/"}}, "option proxy": {Proxy: "::"}, "option allow": {Allow: []string{"*"}},
	} {
		if _, err := python.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
	if _, err := python.NewIn(python.Options{}, func(string) string { return "x" }); err == nil || !strings.Contains(err.Error(), "DEFAULT_TIMEOUT") {
		t.Errorf("got %v", err)
	}
	c := start(t, python.Options{Python: "/nowhere/python3"})
	c.bad("create_sandbox", map[string]any{}, "option python")
	c.bad("python", map[string]any{"code": "1"}, "option python")
}
