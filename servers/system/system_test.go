package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/system"
)

func TestMain(m *testing.M) {
	if os.Getenv("SYSTEM_TEST_CHILD") != "" { // see TestProcessDetail: a process that uses the processor
		end := time.Now().Add(30 * time.Second)
		for time.Now().Before(end) {
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// connect returns a client of a new server.
func connect(t *testing.T, o system.Options) *mcp.ClientSession {
	t.Helper()
	srv, err := system.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return connectTo(t, srv)
}

func connectTo(t *testing.T, srv *mcp.Server) *mcp.ClientSession {
	t.Helper()
	return testenv.Client(t, srv)
}

// call calls a tool and returns the text of its answer. It fails where the
// answer breaks the bound that is declared for the tool.
func call(t *testing.T, cs *mcp.ClientSession, name string, arguments any) (text string, isError bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	text = res.Content[0].(*mcp.TextContent).Text
	if n, most := utf8.RuneCountInString(text), system.Meta()[name].MaxResultChars; n > most || n == 0 {
		t.Errorf("%s: answer of %d characters; 1 to %d are declared", name, n, most)
	}
	if testing.Verbose() {
		t.Logf("%s\n%s", name, text)
	}
	return text, res.IsError
}

func mustMatch(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
			t.Errorf("no match for %s in\n%s", p, text)
		}
	}
}

func TestOverview(t *testing.T) {
	text, isError := call(t, connect(t, system.Options{}), "get_local_system_overview", nil)
	if isError {
		t.Fatal(text)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	mustMatch(t, text, `^## System overview$`, regexp.QuoteMeta(host), `^- System: \S*`+runtime.GOOS, `\d+ logical cores`,
		`^- CPU: \d+\.\d %`, `^- Memory: \d+\.\d % \(\d+\.\d\d GB of \d+\.\d\d GB used`, `^- Swap: `, `^\| mount \| fs \| used \| free \| total \| % \| inodes % \|$`)
}

func TestCPUMemory(t *testing.T) {
	text, isError := call(t, connect(t, system.Options{}), "get_local_cpu_memory", nil)
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^- CPU: \d+\.\d %`, `^- Memory: \d+\.\d %, used \d+\.\d\d GB, available \d+\.\d\d GB, total \d+\.\d\d GB$`,
		fmt.Sprintf(`^- 0 to %d:( \d+\.\d){%d}$`, min(8, runtime.NumCPU())-1, min(8, runtime.NumCPU())))
}

func TestDiskUsage(t *testing.T) {
	text, isError := call(t, connect(t, system.Options{}), "get_local_disk_usage", nil)
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^\| device \| mount \| fs \| used \| free \| total \| % \| inodes % \|$`, `GB \| \d+\.\d \| (\d+\.\d|-) \|$`)
	if m := regexp.MustCompile(`\| (proc|sysfs|tmpfs|devtmpfs|cgroup2?|squashfs) \|`).FindString(text); m != "" {
		t.Errorf("a file system without a disk is listed: %s", m)
	}
}

func TestLoadAverage(t *testing.T) {
	text, isError := call(t, connect(t, system.Options{}), "get_load_average", nil)
	if isError {
		t.Fatal(text)
	}
	if runtime.GOOS == "windows" {
		mustMatch(t, text, `keeps no load average`)
		return
	}
	mustMatch(t, text, `^\| 1 min \| \d+\.\d\d \| \d+\.\d\d \|$`, `^\| 15 min `)
	if _, err := os.Stat("/proc/pressure/cpu"); err == nil {
		mustMatch(t, text, `^\| cpu \| some \| \d+\.\d\d \| \d+\.\d\d \| \d+\.\d\d \|$`)
	}
}

type row struct {
	PID           int     `json:"pid"`
	Name          string  `json:"name"`
	CPUPercent    float64 `json:"cpu_percent"`
	MemoryPercent float64 `json:"memory_percent"`
	RSSMB         float64 `json:"rss_mb"`
}

func top(t *testing.T, arguments any) []row {
	t.Helper()
	text, isError := call(t, connect(t, system.Options{}), "list_top_processes", arguments)
	var rows []row
	if err := json.Unmarshal([]byte(text), &rows); err != nil || isError {
		t.Fatalf("no JSON list: %v\n%s", err, text)
	}
	return rows
}

func TestTopProcessesByMemory(t *testing.T) {
	rows := top(t, map[string]any{"limit": 5, "sort_by": "anything else"})
	if len(rows) == 0 || len(rows) > 5 {
		t.Fatalf("%d rows", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b row) int { return int(b.RSSMB*10) - int(a.RSSMB*10) }) {
		t.Error("not sorted by memory")
	}
	if rows[0].RSSMB <= 0 || rows[0].MemoryPercent <= 0 || rows[0].Name == "" {
		t.Errorf("the largest process has nothing: %+v", rows[0])
	}
}

// busy starts a process that uses one core, and ends it with the test.
func busy(t *testing.T, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "SYSTEM_TEST_CHILD=environment-is-never-shown")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process.Pid
}

// TestTopProcessesByCPU holds processor shares to be measured: a process that
// does nothing but compute has one, and it is not the average since its start.
func TestTopProcessesByCPU(t *testing.T) {
	pid := busy(t)
	rows := top(t, map[string]any{"limit": 30, "sort_by": "CPU"})
	if !slices.IsSortedFunc(rows, func(a, b row) int { return int(b.CPUPercent*10) - int(a.CPUPercent*10) }) {
		t.Error("not sorted by processor")
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.PID == pid })
	if i < 0 || rows[i].CPUPercent < 3 { // on a very busy machine its share is small
		t.Errorf("the busy process %d is missing or idle: %+v", pid, rows)
	}
}

func TestTopProcessesLimitIsClamped(t *testing.T) {
	if n := len(top(t, map[string]any{"limit": -4})); n != 1 {
		t.Errorf("limit -4 gave %d rows", n)
	}
	if n := len(top(t, map[string]any{"limit": 1000})); n > 30 {
		t.Errorf("limit 1000 gave %d rows", n)
	}
}

func TestProcessDetail(t *testing.T) {
	pid := busy(t, "-test.run=NothingAtAll", "--password=hunter2", "--api-token", "hunter2", "https://me:hunter2@example.com/")
	cs := connect(t, system.Options{})
	text, isError := call(t, cs, "get_process_detail", map[string]any{"pid": pid})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, fmt.Sprintf(`^## Process %d$`, pid), `^- Started: \d{4}-`, `^- CPU: \d+\.\d % of one core`,
		`^- Memory: \S+ MB resident`, `^- Threads: \d+$`, fmt.Sprintf(`^- Parent: %d `, os.Getpid()),
		`-test.run=NothingAtAll --password=••• --api-token ••• https://me:•••@example.com/`)
	for _, secret := range []string{"hunter2", "environment-is-never-shown"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown:\n%s", secret, text)
		}
	}
	text, _ = call(t, cs, "get_process_detail", map[string]any{"pid": os.Getpid()})
	mustMatch(t, text, fmt.Sprintf(`^- Children: (.*, )?%d `, pid))
}

func TestProcessDetailOfNone(t *testing.T) {
	cs := connect(t, system.Options{})
	for _, pid := range []int{-1, 0, 1 << 30} {
		text, isError := call(t, cs, "get_process_detail", map[string]any{"pid": pid})
		if !isError || !strings.Contains(text, "list_top_processes") {
			t.Errorf("%d: %q", pid, text)
		}
	}
}

func TestNetworkStatus(t *testing.T) {
	text, isError := call(t, connect(t, system.Options{}), "get_local_network_status", nil)
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^TCP connections: `, `\| up \| .*127\.0\.0\.1`)
}

func TestListeningPorts(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text, isError := call(t, connect(t, system.Options{}), "list_listening_ports", nil)
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, fmt.Sprintf(`^\| tcp \| %s \| this machine \| %d `, regexp.QuoteMeta(l.Addr().String()), os.Getpid()))
}

func TestCanceledWhileMeasuring(t *testing.T) {
	var d time.Duration
	for range 5 { // a busy machine may be late once
		if d = canceledWhileMeasuring(t); d <= 900*time.Millisecond {
			return
		}
	}
	t.Errorf("the tool went on for %v after it was canceled", d)
}

func canceledWhileMeasuring(t *testing.T) time.Duration {
	t.Helper()
	srv, err := system.New(system.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cs, stop, err := testenv.Dial(t.Context(), srv, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "get_local_cpu_memory"}); err == nil {
		t.Error("an answer came before the sample was over")
	}
	if err := stop(); err != nil { // ends only when the tool did
		t.Error(err)
	}
	return time.Since(start)
}

// tree makes files of the given sizes and returns the directory that holds them,
// free of symbolic links.
func tree(t *testing.T, files map[string]int) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const mb = 1 << 20

func TestScanDirUsage(t *testing.T) {
	root := tree(t, map[string]int{
		"a/one": 3 * mb, "a/deep/er/two": 2 * mb, "b/three": mb, "b/x/y/z/q/four": mb, "five": mb,
	})
	link(t, filepath.Join(root, "a"), filepath.Join(root, "b", "loop"))
	cs := connect(t, system.Options{})
	text, isError := call(t, cs, "scan_dir_usage", map[string]any{"root": root, "max_depth": 2})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^8\.0 MB in 5 files`,
		`^\| 5\.0 MB \| 2 \| \S*a \|\n\| 2\.0 MB \| 1 \| \S*deep \|\n\| 2\.0 MB \| 2 \| \S*b \|\n\| 1\.0 MB \| 1 \| \S*x \|\n`)
	if strings.Contains(text, "loop") || strings.Contains(text, string(filepath.Separator)+"er |") {
		t.Errorf("a symbolic link was followed, or a level too many listed:\n%s", text)
	}
	text, _ = call(t, cs, "scan_dir_usage", map[string]any{"root": root, "top_n": 1})
	if n := strings.Count(text, " MB | "); n != 2 {
		t.Errorf("top_n 1 gave %d rows and not one, and one for the files here:\n%s", n, text)
	}
	mustMatch(t, text, `^\| 1\.0 MB \| 1 \| \(files directly here\) \|$`)
	root = tree(t, map[string]int{"one": mb, "two": mb, "small/x": 100})
	text, _ = call(t, cs, "scan_dir_usage", map[string]any{"root": root})
	mustMatch(t, text, `--- \|\n\| 2\.0 MB \| 2 \| \(files directly here\) \|\n`)
}

// TestScanOfShutDirectory asks for a directory that this user may not read. Root may
// read everything.
func TestScanOfShutDirectory(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root, or a system without users of that kind")
	}
	root := tree(t, map[string]int{"shut/x": mb})
	shut := filepath.Join(root, "shut")
	if err := os.Chmod(shut, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	for _, tool := range []string{"scan_dir_usage", "find_large_files"} {
		if text, isError := call(t, connect(t, system.Options{}), tool, map[string]any{"root": shut}); !isError || !strings.Contains(text, "permission denied") {
			t.Error(text)
		}
	}
}

// TestNumbersBeyond says which arguments were taken as others.
func TestNumbersBeyond(t *testing.T) {
	cs := connect(t, system.Options{})
	for tool, test := range map[string]struct {
		args map[string]any
		want string
	}{
		"find_large_files":   {map[string]any{"root": t.TempDir(), "min_size_mb": -5}, "min_size_mb was brought from -5 to 1."},
		"list_top_processes": {map[string]any{"sort_by": "x"}, "sort_by was x, which is neither memory nor cpu"},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: test.args})
		if err != nil || len(res.Content) != 2 || !strings.Contains(res.Content[1].(*mcp.TextContent).Text, test.want) {
			t.Errorf("%s: %v %+v", tool, err, res)
		}
	}
}

// TestMissingRoots has a directory to scan that comes later, alone and beside one that
// is there.
func TestMissingRoots(t *testing.T) {
	root := tree(t, map[string]int{"in/file": mb})
	in, later := filepath.Join(root, "in"), filepath.Join(root, "later")
	cs := connect(t, system.Options{ScanRoots: []string{later}})
	if text, isError := call(t, cs, "scan_dir_usage", nil); !isError || !strings.Contains(text, "not there now: "+later) {
		t.Error(text)
	}
	both := connect(t, system.Options{ScanRoots: []string{later, in}})
	if text, isError := call(t, both, "scan_dir_usage", nil); isError || !strings.Contains(text, "## "+in) || !strings.Contains(text, "not there now: "+later) {
		t.Error(text)
	}
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	if text, isError := call(t, cs, "scan_dir_usage", nil); isError || strings.Contains(text, "not there") {
		t.Error(text)
	}
}

// TestHeld holds when deleted files that are open are told.
func TestHeld(t *testing.T) {
	if text := system.Held(100*mb, mb/2); text != "" {
		t.Error(text)
	}
	mustMatch(t, system.Held(100*mb, mb, 3*mb), `^On /, 4\.0 MB is taken by deleted files that are still open: 3\.0 MB by process 2 p \(/x\); 1\.0 MB by process 1 p`)
}

func TestFilesDirectly(t *testing.T) {
	_, isError := call(t, connect(t, system.Options{}), "scan_dir_usage", map[string]any{"root": t.TempDir()})
	if isError {
		t.Error("an empty directory is no error")
	}
}

func TestFindLargeFiles(t *testing.T) {
	root := tree(t, map[string]int{
		"a/big": 3 * mb, "b/bigger|x\n": 4 * mb, "small": mb / 2,
		"1/2/3/4/5/6/just": 2 * mb, "1/2/3/4/5/6/7/toodeep": 2 * mb,
	})
	cs := connect(t, system.Options{})
	text, isError := call(t, cs, "find_large_files", map[string]any{"root": root, "min_size_mb": 1})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^\| 4\.0 MB \| \d{4}-\d\d-\d\d .*bigger\\\|x\? \|\n\| 3\.0 MB .*big \|\n\| 2\.0 MB .*just \|\n`)
	if strings.Contains(text, "small") || strings.Contains(text, "toodeep") {
		t.Errorf("too small or too deep:\n%s", text)
	}
	mustMatch(t, text, `^1 directories more than 6 levels down were not looked into`)
	text, _ = call(t, cs, "find_large_files", map[string]any{"root": root})
	mustMatch(t, text, `smaller min_size_mb`)
}

// TestPathsOfContainersAreWhole has the path of a container's log below the usual folder
// of an engine: cut in its middle it is of no use.
func TestPathsOfContainersAreWhole(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	log := "lib/docker/containers/" + id + "/" + id + "-json.log"
	root := tree(t, map[string]int{log: 2 * mb})
	cs := connect(t, system.Options{})
	text, _ := call(t, cs, "find_large_files", map[string]any{"root": root, "min_size_mb": 1})
	if !strings.Contains(text, filepath.FromSlash(log)) {
		t.Error(text)
	}
	text, _ = call(t, cs, "scan_dir_usage", map[string]any{"root": root, "max_depth": 4})
	if !strings.Contains(text, filepath.FromSlash(path.Dir(log))) {
		t.Error(text)
	}
}

func TestFindLargeFilesIsBounded(t *testing.T) {
	files := map[string]int{}
	for i := range 900 {
		files[fmt.Sprintf("%s%d", strings.Repeat("long name ", 15), i)] = 0
	}
	root := tree(t, files)
	for name := range files {
		if err := os.Truncate(filepath.Join(root, name), mb); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), make([]byte, mb+1), 0o600); err != nil {
			t.Fatal(err)
		}
		delete(files, name)
		if len(files) <= 840 {
			break
		}
	}
	text, _ := call(t, connect(t, system.Options{}), "find_large_files", map[string]any{"root": root, "min_size_mb": 1, "top_n": 99})
	mustMatch(t, text, `^60 found, the largest 50:$`)
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

func TestScanRoots(t *testing.T) {
	root := tree(t, map[string]int{"in/file": 2 * mb, "out/secret-name": 2 * mb})
	in, out := filepath.Join(root, "in"), filepath.Join(root, "out")
	cs := connect(t, system.Options{ScanRoots: []string{in}})
	text, isError := call(t, cs, "find_large_files", map[string]any{"min_size_mb": 1})
	if isError || !strings.Contains(text, filepath.Join(in, "file")) {
		t.Errorf("the first root is not the default: %s", text)
	}
	link(t, out, filepath.Join(in, "link"))
	for _, dir := range []string{
		out, root, in + "x", filepath.Join(in, "..", "out"), in + string(filepath.Separator) + ".." + string(filepath.Separator) + "out",
		filepath.Join(in, "link"), filepath.Join(root, "not-there"), filepath.VolumeName(root) + string(filepath.Separator),
	} {
		text, isError := call(t, cs, "find_large_files", map[string]any{"root": dir, "min_size_mb": 1})
		if !isError || !strings.Contains(text, "scan_roots") || strings.Contains(text, "secret-name") {
			t.Errorf("%s was not refused: %s", dir, text)
		}
	}
	text, isError = call(t, cs, "find_large_files", map[string]any{"root": in, "min_size_mb": 1})
	if isError || strings.Contains(text, "secret-name") {
		t.Errorf("a link led out: %s", text)
	}
}

func TestScanSaysWhatIsWrong(t *testing.T) {
	root := tree(t, map[string]int{"file": 10})
	cs := connect(t, system.Options{})
	for dir, want := range map[string]string{
		filepath.Join(root, "none"): "no such directory",
		filepath.Join(root, "file"): "no directory but a file of 10 B",
		"relative/path":             "no absolute path",
		root + "\x00":               "",
	} {
		text, isError := call(t, cs, "scan_dir_usage", map[string]any{"root": dir})
		if !isError || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", dir, text, want)
		}
	}
	if runtime.GOOS == "linux" {
		if text, isError := call(t, cs, "scan_dir_usage", map[string]any{"root": "/proc/self"}); !isError || !strings.Contains(text, "view of the kernel") {
			t.Errorf("/proc: %q", text)
		}
	}
	if _, err := system.New(system.Options{ScanRoots: []string{filepath.Join(root, "file")}}); err == nil || !strings.Contains(err.Error(), "scan_roots") {
		t.Errorf("a root that is a file: %v", err)
	}
}
