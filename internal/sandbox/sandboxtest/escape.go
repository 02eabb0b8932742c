package sandboxtest

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

//go:embed escape.py
var escapes string

// traps are what the host has that a sandbox must not reach.
type traps struct {
	Word      string `json:"word"` // in the file, and in the environment of the victim
	File      string `json:"file"`
	Dir       string `json:"dir"`
	Home      string `json:"home"`
	Victim    int    `json:"victim"` // a process of the host
	TCP       int    `json:"tcp"`
	UDP       int    `json:"udp"`
	Unix      string `json:"unix"`
	Abstract  string `json:"abstract"`
	Core      string `json:"core"`
	Neighbour string `json:"neighbour"` // the private folder of another sandbox
	Shm       int    `json:"shm"`
	Shared    bool   `json:"shared"` // numbers of processes mean the same inside
	Inside    bool   `json:"inside"`

	reached atomic.Int32 // connections and datagrams
	victim  *exec.Cmd
}

// lay prepares the traps. They are open to all users of the machine. The process belongs to who runs the test, or to a stranger of his.
func lay(t *testing.T, stranger bool) *traps {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	h := &traps{Word: "word-" + rand.Text(), Dir: dir, File: filepath.Join(dir, "secret"), Unix: filepath.Join(dir, "socket"), Abstract: "tenon-" + rand.Text()}
	core, _ := os.ReadFile("/proc/sys/kernel/core_pattern") // not on every system
	h.Core = string(core)
	var err error
	if h.Home, err = os.UserHomeDir(); err != nil {
		h.Home = "/root"
	}
	if err := errors.Join(os.WriteFile(h.File, []byte(h.Word), 0o600), os.Chmod(dir, 0o777), os.Chmod(h.File, 0o666)); err != nil {
		t.Fatal(err)
	}
	h.listen(t)
	h.victim = exec.CommandContext(t.Context(), "sleep", "600")
	h.victim.Env = []string{"SECRET=" + h.Word}
	if stranger {
		harmless(h.victim)
	}
	if err := h.victim.Start(); err != nil {
		t.Fatal(err)
	}
	h.Victim = h.victim.Process.Pid
	t.Cleanup(func() {
		_ = h.victim.Process.Kill()
		_ = h.victim.Wait()
	})
	return h
}

// listen opens what somebody could be reached at.
func (h *traps) listen(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	var config net.ListenConfig
	accept := func(network, address string) net.Addr {
		l, err := config.Listen(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				h.reached.Add(1)
				_ = c.Close()
			}
		})
		return l.Addr()
	}
	h.TCP = accept("tcp4", "127.0.0.1:0").(*net.TCPAddr).Port
	accept("tcp4", (&net.TCPAddr{IP: net.IPv4(127, 254, 169, 254), Port: h.TCP}).String())
	accept("unix", h.Unix)
	accept("unix", "@"+h.Abstract)
	if err := os.Chmod(h.Unix, 0o777); err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	h.UDP = u.LocalAddr().(*net.UDPAddr).Port
	all.Go(func() {
		var buf [100]byte
		for {
			_, from, err := u.ReadFromUDP(buf[:])
			if err != nil {
				return
			}
			h.reached.Add(1)
			_, _ = u.WriteToUDP([]byte("heard"), from)
		}
	})
}

func (h *traps) arguments(t *testing.T) string {
	t.Helper()
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// intact fails where something has happened to the host.
func (h *traps) intact(t *testing.T) {
	t.Helper()
	if n := h.reached.Load(); n != 0 {
		t.Errorf("listeners of the host were reached %d times", n)
	}
	if err := h.victim.Process.Signal(os.Signal(nilSignal)); err != nil {
		t.Errorf("the process of the host: %v", err)
	}
	b, err := os.ReadFile(h.File)
	info, serr := os.Stat(h.File)
	if err := errors.Join(err, serr); err != nil || string(b) != h.Word || info.Mode().Perm() != 0o666 || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the file of the host is changed: %v %v", err, info)
	}
	if left, err := os.ReadDir(h.Dir); err != nil || len(left) != 2 {
		t.Errorf("the folder of the host is changed: %v %v", left, err)
	}
	if core, _ := os.ReadFile("/proc/sys/kernel/core_pattern"); string(core) != h.Core {
		t.Error("core_pattern is changed")
	}
	if _, err := os.Stat("/usr/tenon-was-here"); err == nil {
		t.Error("/usr was written")
	}
}

// Options say what is special of a back end.
type Options struct {
	// Emulated are attempts that its own kernel answers without harm.
	Emulated []string
	// Shared says that processes in a sandbox have the numbers of the host.
	Shared bool
	// HomeOf returns the private folder of a sandbox on the host, or nothing.
	HomeOf func(t testing.TB, x sandbox.Sandbox) string
	// Watched says that a watch bounds the memory, which sees what has happened already.
	Watched bool
	// Fixed says that the disk is bounded by the byte, and not by a watch.
	Fixed bool
	// Files is how many files are tried to be made; 0 is 200 000.
	Files int
	// Bare says that texts are shown without their quotes, as the code interpreter of
	// E2B does.
	Bare bool
}

// control are attempts that must work outside of a sandbox, as any user: else they
// would show nothing.
var control = []string{
	"file_of_host", "file_by_link", "environment_of_host", "write_on_host", "tcp", "metadata", "udp", "unix_socket", "abstract_socket", "kill_host",
	"ptrace_child", "read_memory", "namespace_by_clone3", "io_uring", "keys", "home_of_host", "raw_sockets", "namespace",
}

// Escape checks that nothing gets out of the sandboxes of a back end.
func Escape(t *testing.T, backend Make, o Options) {
	b := backend(t)
	spec := sandbox.Spec{Memory: 128 << 20, Disk: 16 << 20, Processes: 40}
	x, y := Create(t, b, spec), Create(t, b, spec)
	t.Run("attempts", func(t *testing.T) { attempts(t, x, y, o) })
	t.Run("links from outside", func(t *testing.T) { links(t, x) })
	t.Run("processes", func(t *testing.T) { forks(t, x) })
	t.Run("memory", func(t *testing.T) { memory(t, b, spec, o) })
	t.Run("disk", func(t *testing.T) { disk(t, b, spec, o) })
	t.Run("the neighbour", func(t *testing.T) {
		if got := value(t, y, "mine"); got != "'untouched'" {
			t.Errorf("got %s", got)
		}
		if o := Sh(t, y, "cat mine"); o.Stdout != "untouched" {
			t.Errorf("got %+v", o)
		}
	})
}

// Control runs the attempts without a sandbox, but never as root, who could do harm,
// and wants those to work that do so for any user of this machine.
func Control(t *testing.T, python string) {
	h := lay(t, true)
	h.Neighbour, h.Shared, h.Home = "/nowhere", true, "/usr"
	cmd := exec.CommandContext(t.Context(), python, "-c", escapes, h.arguments(t))
	cmd.Dir = h.Dir
	harmless(cmd)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var worked map[string]bool
	if err := json.Unmarshal(out, &worked); err != nil {
		t.Fatal(err)
	}
	for _, name := range control {
		if !worked[name] {
			t.Errorf("%s does not work without a sandbox either", name)
		}
	}
	t.Logf("without a sandbox: %v", worked)
	if h.reached.Load() == 0 {
		t.Error("nobody was reached")
	}
}

func attempts(t *testing.T, x, y sandbox.Sandbox, o Options) {
	h := lay(t, false)
	h.Inside, h.Shared, h.Neighbour = true, o.Shared, "/nowhere/neighbour"
	if o.HomeOf != nil {
		h.Neighbour = o.HomeOf(t, y)
	}
	Py(t, y, "mine = 'untouched'\nopen('mine', 'w').write(mine)\nNone")
	if _, err := x.Put(t.Context(), "escape.py", strings.NewReader(escapes), 1<<20); err != nil {
		t.Fatal(err)
	}
	ran, err := x.Command(t.Context(), sandbox.Command{Line: "exec python3 escape.py " + shell(h.arguments(t)), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var worked map[string]bool
	if err := json.Unmarshal([]byte(ran.Stdout), &worked); err != nil {
		t.Fatalf("%v: %+v", err, ran)
	}
	if len(worked) < 40 {
		t.Errorf("only %d attempts", len(worked))
	}
	for name, yes := range worked {
		if yes && !slices.Contains(o.Emulated, name) {
			t.Errorf("%s has worked", name)
		}
	}
	h.intact(t)
}

func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// links has the host read and write while the sandbox turns folders into links.
func links(t *testing.T, x sandbox.Sandbox) {
	h := lay(t, false)
	Sh(t, x, "mkdir -p turn/real && echo inside > turn/real/secret && cat > turn.py <<'END'\nimport os, shutil, sys, time\nend = time.time() + 2\nos.chdir('turn')\nwhile time.time() < end:\n"+
		"    os.rename('real', 'away')\n    try: os.symlink(sys.argv[1], 'real'); os.unlink('real')\n    except OSError: pass\n    while True:\n        try: os.rename('away', 'real'); break\n"+
		"        except OSError: shutil.rmtree('real', True)  # a file was put there meanwhile\nEND\npython3 turn.py "+shell(h.Dir)+" >/dev/null 2>&1 &")
	end := time.Now().Add(1500 * time.Millisecond)
	seen := 0
	for late := end.Add(time.Minute); time.Now().Before(end) || seen == 0 && time.Now().Before(late); { // a busy machine sees it when the turning has ended
		if _, r, err := x.Get(t.Context(), "turn/real/secret"); err == nil {
			var buf [100]byte
			n, _ := r.Read(buf[:])
			_ = r.Close() // read only
			if strings.Contains(string(buf[:n]), h.Word) {
				t.Fatal("the host read its own file for the sandbox")
			}
			seen++
		}
		_, _ = x.Put(t.Context(), "turn/real/made", strings.NewReader("x"), 10)
		if l, err := x.List(t.Context(), "turn/real", 10); err == nil && slices.ContainsFunc(l.Files, func(f sandbox.File) bool { return strings.HasSuffix(f.Path, "/socket") }) {
			t.Fatal("the host listed its own folder for the sandbox")
		}
	}
	if seen == 0 {
		t.Error("the file was never there")
	}
	h.intact(t)
}

// forks starts as many processes as it can, and no more than a bound of its own; where
// that was held down, without one.
func forks(t *testing.T, x sandbox.Sandbox) {
	got := value(t, x, "import os, time, signal\npids = []\ntry:\n    while len(pids) < 300:\n        p = os.fork()\n        if p == 0:\n            time.sleep(60); os._exit(0)\n        pids.append(p)\nexcept OSError: pass\n"+
		"n = len(pids)\nfor p in pids: os.kill(p, 9); os.waitpid(p, 0)\nn < 150 and n > 3")
	if got != "True" {
		t.Fatalf("processes are not bounded: %s", got)
	}
	// Who has started too many hears how to go on, and that works.
	value(t, x, "pids = []\ntry:\n    while len(pids) < 300:\n        p = os.fork()\n        if p == 0:\n            time.sleep(600); os._exit(0)\n        pids.append(p)\nexcept OSError: pass")
	if _, err := x.Command(t.Context(), sandbox.Command{Line: "true"}); err != nil && !strings.Contains(err.Error(), "end some") && !strings.Contains(err.Error(), "End some") {
		t.Errorf("of a full sandbox: %v", err)
	}
	value(t, x, "for p in pids: os.kill(p, 9); os.waitpid(p, 0)")
	Until(t, "there is no room after all were ended", func() bool {
		o, err := x.Command(t.Context(), sandbox.Command{Line: "echo room"})
		return err == nil && o.Stdout == "room\n"
	})
	// It must leave the machine and the other sandboxes as they are.
	o, err := x.Command(t.Context(), sandbox.Command{Line: `b() { b | b & }; b >/dev/null 2>&1; sleep 1; echo end`, Timeout: 5 * time.Second})
	t.Logf("%+v, %v", o, err)
	if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
		t.Errorf("the host cannot start a process: %v", err)
	}
	began := time.Now()
	if err := x.Kill(t.Context()); err != nil || time.Since(began) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// each runs programs side by side, each in a sandbox of its own.
func each(t *testing.T, b sandbox.Backend, spec sandbox.Spec, programs map[string]string, run func(name, source string, x sandbox.Sandbox)) {
	boxes := map[string]sandbox.Sandbox{}
	for name := range programs {
		boxes[name] = Create(t, b, spec)
	}
	var all sync.WaitGroup
	for name, source := range programs {
		all.Go(func() {
			run(name, source, boxes[name])
			_ = boxes[name].Kill(t.Context())
		})
	}
	all.Wait()
}

// memory takes more than it may: in one process, in many, and in files.
func memory(t *testing.T, b sandbox.Backend, spec sandbox.Spec, o Options) {
	// The kernel lets a process that it is killing have a few pages more than the bound
	// of its group, and counts each processor's pages in batches.
	const dying = 4 << 20
	bound := spec.Memory + spec.Disk + 64<<20 + dying
	if o.Watched {
		bound += 400 << 20
	}
	each(t, b, spec, map[string]string{
		"one":   "held = []\nfor _ in range(100): held.append(bytearray(b'x') * (10 << 20))",
		"many":  "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        held = bytearray(b'x') * (60 << 20)\n        time.sleep(1.5); os._exit(0)\ntime.sleep(1)\ntry:\n    while True: os.wait()\nexcept OSError: pass",
		"files": "import os\nfor where in ('/dev/shm', os.environ['TMPDIR'], '.'):\n    for i in range(40):\n        try: open(where + '/f%d' % i, 'wb').write(b'x' * (10 << 20))\n        except OSError: break",
	}, func(name, source string, x sandbox.Sandbox) {
		var most atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					most.Store(max(most.Load(), x.Memory()))
				}
			}
		})
		out, err := x.Code(t.Context(), sandbox.Cell{Source: source, Timeout: 20 * time.Second})
		cancel()
		watch.Wait()
		if used := most.Load(); used > bound {
			t.Errorf("%s: it has used %d KiB, which is %d more than it may", name, used>>10, (used-bound)>>10)
		}
		t.Logf("%s: at most %d MiB; %v, %+v", name, most.Load()>>20, err, out)
	})
}

// disk writes more than it may, into one file and into many.
func disk(t *testing.T, b sandbox.Backend, spec sandbox.Spec, o Options) {
	each(t, b, spec, map[string]string{
		"one":  "n = 0\ntry:\n    with open('big', 'wb', 0) as f:\n        while n < 1 << 30: n += f.write(b'x' * (1 << 20))\nexcept OSError: pass\nn",
		"many": fmt.Sprintf("import time\nn = 0\ntry:\n    while n < %d:\n        open('f' + str(n), 'w').write('x'); n += 1\nexcept OSError: pass\nn * 4096", cmp.Or(o.Files, 200_000)),
	}, func(name, source string, x sandbox.Sandbox) {
		out, err := x.Code(t.Context(), sandbox.Cell{Source: source, Timeout: 3 * time.Minute})
		if err != nil { // it was ended for that
			if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Gone {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if o.Fixed || out.Error == nil {
			var n int64
			if len(out.Results) == 0 {
				t.Errorf("%s: got %+v, %+v", name, out, out.Error)
			} else if err := json.Unmarshal([]byte(out.Results[len(out.Results)-1].Text), &n); err != nil || n > 300<<20 {
				t.Errorf("%s: %d bytes were written, %v", name, n, err)
			}
		}
	})
}
