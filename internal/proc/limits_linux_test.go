package proc_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// said runs a child to its end and returns what it printed and how it ended.
func said(t *testing.T, c proc.Command) (out, exit string) {
	t.Helper()
	p := start(t, newSpawner(t), c)
	text, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	out, exit = strings.TrimSpace(string(text)), p.Exit()
	stop(t, p)
	return out, exit
}

// grouped skips a test where no cgroup can be made.
func grouped(t *testing.T) {
	t.Helper()
	p, err := newSpawner(t).Start(t.Context(), proc.Command{Path: "true", Env: os.Environ(), Limits: proc.Limits{Processes: 10, Memory: 1 << 30, CPU: 1}})
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	stop(t, p)
}

func TestMemoryLimit(t *testing.T) {
	grouped(t)
	c := command("eat", "200")
	c.Limits.Memory = 100 << 20
	if out, exit := said(t, c); out != "" || !strings.Contains(exit, "signal 9") || !strings.Contains(exit, "it reached its memory limit of 100 MiB") {
		t.Errorf("said %q, ended with %q", out, exit)
	}
	c = command("eat", "10")
	c.Limits.Memory = 1 << 30
	if out, exit := said(t, c); out != "ate 10" || exit != "exit status 0" {
		t.Errorf("said %q, ended with %q", out, exit)
	}
	noGroups(t)
}

// TestMemoryLimitOfEach is the limit where no cgroup can be made: it fails what
// asks for too much.
func TestMemoryLimitOfEach(t *testing.T) {
	limits := proc.Limits{Memory: 200 << 20, CPU: 1}
	if p, err := newSpawner(t).Start(t.Context(), proc.Command{Path: "true", Env: os.Environ(), Limits: limits}); err == nil {
		stop(t, p)
		t.Skip("a cgroup can be made here")
	}
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	for ask, want := range map[string]string{"50": "ok", "400": ""} {
		out, exit := said(t, proc.Command{
			Path: "/usr/bin/python3", Args: []string{"-c", "bytearray(" + ask + "<<20); print('ok')"}, Env: os.Environ(),
			Limits: proc.Limits{Memory: 200 << 20},
		})
		if out != want {
			t.Errorf("asked for %s MiB, it said %q and ended with %s", ask, out, exit)
		}
	}
}

// TestGroupsOfTheDead: what a killed process has left is removed, what is of a
// living one stays.
func TestGroupsOfTheDead(t *testing.T) {
	base := t.TempDir()
	dead := start(t, newSpawner(t), command("exit", "0"))
	<-dead.Done()
	stop(t, dead)
	gone, ours := fmt.Sprintf("tenon-%d-X-1", dead.Pid()), fmt.Sprintf("tenon-%d-X-1", os.Getpid())
	for _, name := range []string{gone, ours, "tenon-x", "other"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	proc.Sweep(base)
	left, err := os.ReadDir(base)
	if err != nil || len(left) != 3 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(base, gone)); err == nil {
		t.Error("what a dead process left is still there")
	}
}

func TestProcessLimit(t *testing.T) {
	grouped(t)
	c := command("breed", "100")
	c.Limits.Processes = 30
	out, exit := said(t, c)
	if n, err := strconv.Atoi(out); err != nil || n < 5 || n >= 30 || !strings.Contains(exit, "it reached its limit of 30 processes") {
		t.Errorf("it has %s children, ended with %q", out, exit)
	}
	noGroups(t)
}

func TestCPULimit(t *testing.T) {
	grouped(t)
	c := command("spin", "")
	c.Limits.CPU = 0.25
	out, _ := said(t, c)
	if used, err := strconv.Atoi(out); err != nil || used > 60 {
		t.Errorf("it got %s %% of a core, and a quarter of one was allowed", out)
	}
	noGroups(t)
}

func TestFileLimit(t *testing.T) {
	c := command("open", "500")
	c.Limits.Files = 50
	out, _ := said(t, c)
	if n, err := strconv.Atoi(out); err != nil || n < 20 || n >= 50 {
		t.Errorf("it opened %s files", out)
	}
}

// noGroups wants no cgroup of ours left.
func noGroups(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/*/tenon-%d-*", "/sys/fs/cgroup/*/*/*/tenon-%d-*", "/sys/fs/cgroup/tenon-%d-*"} {
		left, err := filepath.Glob(fmt.Sprintf(pattern, os.Getpid()))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
	}
}

// TestGroups makes cgroups in folders that look like those of version 2.
func TestGroups(t *testing.T) {
	root := t.TempDir()
	service := filepath.Join(root, "user.slice", "app.slice")
	own := filepath.Join(service, "tenon.service")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, mounts := filepath.Join(root, "self"), filepath.Join(root, "mounts")
	file(self, "0::/user.slice/app.slice/tenon.service\n")
	file(mounts, "30 23 0:26 / "+root+" rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n")
	if dir, err := proc.GroupBase(self, mounts, "memory"); err == nil {
		t.Errorf("made one below %s, where no controller is handed on", dir)
	}
	file(filepath.Join(service, "cgroup.subtree_control"), "cpu memory pids\n")
	if dir, err := proc.GroupBase(self, mounts, "memory"); err != nil || dir != service {
		t.Errorf("below %q (%v), want %s", dir, err, service)
	}
	// Where the container shows a part of the tree as the whole.
	file(mounts, "30 23 0:26 /user.slice "+root+"/user.slice rw - cgroup2 cgroup2 rw\n")
	if dir, err := proc.GroupBase(self, mounts, "pids"); err != nil || dir != service {
		t.Errorf("below %q (%v), want %s", dir, err, service)
	}
}

// wall is a child that may read one folder and write another.
type wall struct{ dir, read, write, secret string }

func newWall(t *testing.T) wall {
	t.Helper()
	dir := t.TempDir()
	w := wall{dir: dir, read: filepath.Join(dir, "read"), write: filepath.Join(dir, "write"), secret: filepath.Join(dir, "secret")}
	for _, path := range []string{w.read, w.write} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{w.secret, filepath.Join(w.read, "file"), filepath.Join(w.write, "file")} {
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newSpawner(t).Start(t.Context(), proc.Command{Path: "true", Env: os.Environ(), Confine: &proc.Confinement{}}); err != nil {
		t.Skip("no confinement here: ", err)
	}
	return w
}

// tries runs the verbs in a confined child and returns which of them it could do.
func (w wall) tries(t *testing.T, c *proc.Confinement, what ...string) map[string]bool {
	t.Helper()
	cmd := command("try", strings.Join(what, ";"))
	cmd.Confine = c
	out, exit := said(t, cmd)
	could := make(map[string]bool)
	for line := range strings.SplitSeq(out, "\n") {
		did, outcome, _ := strings.Cut(line, ": ")
		could[did] = outcome == "ok"
	}
	if len(could) != len(what) {
		t.Fatalf("said %q, ended with %s", out, exit)
	}
	return could
}

func TestConfinedFiles(t *testing.T) {
	w := newWall(t)
	c := &proc.Confinement{Read: []string{w.read}, Write: []string{w.write}}
	could := w.tries(t, c,
		"read "+w.read+"/file", "list "+w.read, "read "+w.write+"/file", "write "+w.write+"/new", "remove "+w.write+"/new", "truncate "+w.write+"/file",
		"run true", "write /dev/null", "read /etc/hosts",
		"read "+w.secret, "write "+w.secret, "truncate "+w.secret, "remove "+w.secret, "list "+w.dir, "write "+w.dir+"/new", "write "+w.read+"/file",
		"truncate "+w.read+"/file", "read /etc/shadow", "list /", "list /root", "read /proc/1/environ", fmt.Sprintf("read /proc/%d/environ", os.Getpid()), "list /proc", "open /etc/hosts",
	)
	for _, what := range []string{
		"read " + w.read + "/file", "list " + w.read, "read " + w.write + "/file", "write " + w.write + "/new",
		"remove " + w.write + "/new", "truncate " + w.write + "/file", "run true", "write /dev/null", "read /etc/hosts",
	} {
		if !could[what] {
			t.Errorf("it could not %s", what)
		}
		delete(could, what)
	}
	for what, ok := range could {
		if ok {
			t.Errorf("it could %s", what)
		}
	}
	// We ourselves are as free as before.
	if _, err := os.ReadFile(w.secret); err != nil {
		t.Error(err)
	}
}

func TestConfinedNetwork(t *testing.T) {
	w := newWall(t)
	open, closed := server(t, "tcp", "127.0.0.1:0"), server(t, "tcp", "127.0.0.1:0")
	path := server(t, "unix", filepath.Join(w.write, "sock"))
	_, text, _ := net.SplitHostPort(open)
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"tcp " + open, "tcp " + closed, "udp " + open, "unix " + path, "listen 127.0.0.1:0"}
	for _, tt := range []struct {
		name string
		c    proc.Confinement
		want []bool
	}{
		{"none", proc.Confinement{}, []bool{false, false, false, false, false}},
		{"all", proc.Confinement{Network: true}, []bool{true, true, true, true, true}},
		{"one port", proc.Confinement{Ports: []uint16{uint16(port)}}, []bool{true, false, false, false, false}},
		{"names too", proc.Confinement{Ports: []uint16{uint16(port), 53}}, []bool{true, false, true, false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Write = []string{w.write}
			could := w.tries(t, &tt.c, all...)
			for i, what := range all {
				if could[what] != tt.want[i] {
					t.Errorf("it could %s: %v, want %v", what, could[what], tt.want[i])
				}
			}
		})
	}
}

func server(t *testing.T, network, addr string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// TestConfinedAndLimited: both at once, and the tree still dies with Stop.
func TestConfinedAndLimited(t *testing.T) {
	w := newWall(t)
	grouped(t)
	c := command("tree", "deaf")
	c.Limits = proc.Limits{Memory: 1 << 30, Processes: 200, CPU: 1, Files: 200}
	c.Confine = &proc.Confinement{Write: []string{w.write}}
	p := start(t, newSpawner(t), c)
	all := pids(t, p.Stdout(), treeSize)
	stop(t, p)
	for name, pid := range all {
		if running(t, pid) {
			t.Errorf("%s is still there", name)
		}
	}
	noGroups(t)
}

// TestConfinesNobodyElse: of our own threads only the one that forked a confined
// child is confined, and it goes with the child.
func TestConfinesNobodyElse(t *testing.T) {
	newWall(t)
	confined := func() int {
		n := 0
		all, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			text, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(text), "NoNewPrivs:\t1") {
				n++
			}
		}
		return n
	}
	eventually(t, time.Minute, "nobody is confined at first", func() bool { return confined() == 0 })
	s := newSpawner(t)
	c := command("cat", "")
	c.Confine = &proc.Confinement{}
	one, two := start(t, s, c), start(t, s, c)
	for range 20 {
		stop(t, start(t, s, command("exit", "0"))) // of which new threads come
	}
	if n := confined(); n != 2 {
		t.Errorf("%d threads are confined, want that of each child", n)
	}
	stop(t, one)
	stop(t, two)
	short := command("exit", "0")
	short.Confine = c.Confine
	for range 60 { // sooner or later from the main thread, which cannot end
		stop(t, start(t, s, short))
	}
	eventually(t, time.Minute, "nobody is confined at the end", func() bool { return confined() == 0 })
}

// TestConfinedRuntimes: what people write servers in starts with nothing granted
// but its own files.
func TestConfinedRuntimes(t *testing.T) {
	newWall(t)
	for _, tt := range []struct{ path, flag, code string }{
		{"/usr/bin/node", "-e", "console.log(6*7)"},
		{"/usr/bin/python3", "-c", "import json,ssl,socket; print(6*7)"},
	} {
		if _, err := exec.LookPath(tt.path); err != nil {
			t.Log("not here: ", tt.path)
			continue
		}
		began := time.Now()
		out, exit := said(t, proc.Command{
			Path: tt.path, Args: []string{tt.flag, tt.code}, Env: proc.Environ(os.Environ(), nil), Confine: &proc.Confinement{},
		})
		if out != "42" {
			t.Errorf("%s said %q, ended with %s", tt.path, out, exit)
		}
		t.Logf("%s took %s", tt.path, time.Since(began))
	}
}

func TestConfinementNamesWhatIsMissing(t *testing.T) {
	newWall(t)
	_, err := newSpawner(t).Start(t.Context(), proc.Command{Path: "true", Env: os.Environ(), Confine: &proc.Confinement{Read: []string{"/no/such/folder"}}})
	if err == nil || !strings.Contains(err.Error(), `confine: "/no/such/folder" cannot be granted`) {
		t.Errorf("got %v", err)
	}
}
