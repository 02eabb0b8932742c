package sandboxtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

func state(t *testing.T, x sandbox.Sandbox, o Options) {
	Py(t, x, "import math\nx = 40\ndef f(n):\n    return n + x\nclass C: pass")
	if got := value(t, x, "x += 1\nf(1)"); got != "42" {
		t.Errorf("got %q", got)
	}
	if got := value(t, x, "_ + 1"); got != "43" {
		t.Errorf("got %q", got)
	}
	if got := value(t, x, "y = 5"); got != "" {
		t.Errorf("a statement has the value %q", got)
	}
	if got := value(t, x, "import pickle\npickle.loads(pickle.dumps(C())).__class__ is C, __name__"); got != "(True, '__main__')" {
		t.Errorf("got %q", got)
	}
	// Half a character is shown as Python does; without its quotes, nobody can say how.
	if got := value(t, x, "'ä' + chr(0x4e2d) + chr(0xd800)"); got != `'ä中\ud800'` && (!o.Bare || !strings.HasPrefix(got, "ä中")) {
		t.Errorf("got %q", got)
	}
}

// literal is a text as the interpreter shows it.
func (o Options) literal(s string) string {
	if o.Bare {
		return s
	}
	return "'" + s + "'"
}

func streams(t *testing.T, x sandbox.Sandbox) {
	o := Py(t, x, "import sys, subprocess, os\nprint('a')\nprint('b', file=sys.stderr)\nsubprocess.run(['echo', 'c'])\nos.write(1, b'\\0d\\0')\nsys.stdout.write('e')\nNone")
	if o.Stdout != "a\nc\n\x00d\x00e" || o.Stderr != "b\n" || len(o.Results) != 0 {
		t.Errorf("got %q and %q, %+v", o.Stdout, o.Stderr, o.Results)
	}
	if o := Py(t, x, "print('next')"); o.Stdout != "next\n" || o.Stderr != "" {
		t.Errorf("got %q and %q", o.Stdout, o.Stderr)
	}
	if o := Py(t, x, "import threading\nt = threading.Thread(target=lambda: print('thread'))\nt.start(); t.join()\ninput()"); o.Stdout != "thread\n" || o.Error == nil || o.Error.Name != "EOFError" {
		t.Errorf("got %+v", o)
	}
}

func exceptions(t *testing.T, x sandbox.Sandbox) {
	o := Py(t, x, "def deep():\n    return 1/0\nprint('so far')\ndeep()")
	if o.Stdout != "so far\n" || o.Error == nil || o.Error.Name != "ZeroDivisionError" || o.Error.Value != "division by zero" {
		t.Fatalf("got %+v, %+v", o, o.Error)
	}
	if tb := o.Error.Traceback; !strings.Contains(tb, "return 1/0") || !strings.Contains(tb, "line 4, in <module>") || strings.Contains(tb, "<string>") {
		t.Errorf("got %s", tb)
	}
	for source, name := range map[string]string{
		"def":                                   "SyntaxError",
		"raise SystemExit(3)":                   "SystemExit",
		"raise KeyboardInterrupt":               "KeyboardInterrupt",
		"import nothing_like_this":              "ModuleNotFoundError",
		"deep = lambda n: deep(n + 1)\ndeep(0)": "RecursionError",
		"class E(Exception):\n    def __str__(self): return 1/0\nraise E": "E",
	} {
		if o := Py(t, x, source); o.Error == nil || o.Error.Name != name || len(o.Error.Traceback) > 9000 {
			t.Errorf("%s: got %+v", source, o.Error)
		}
	}
	if got := value(t, x, "1+1"); got != "2" {
		t.Errorf("after them: %q", got)
	}
}

// dot is a PNG of one point.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func rich(t *testing.T, x sandbox.Sandbox) {
	o := Py(t, x, `import base64
class R:
    def _repr_png_(self): return base64.b64decode("`+dot+`")
    def _repr_html_(self): return "<b>r</b>"
    def _repr_markdown_(self): raise ValueError
    def __repr__(self): return "R()"
display(R(), 7)
R()`)
	want, _ := base64.StdEncoding.DecodeString(dot)
	if o.Error != nil || len(o.Results) != 3 {
		t.Fatalf("got %+v %+v", o, o.Error)
	}
	if r := o.Results[2]; !r.Main || r.Text != "R()" || r.HTML != "<b>r</b>" || r.Markdown != "" || !bytes.Equal(r.PNG, want) {
		t.Errorf("got %+v", r)
	}
	if r := o.Results[1]; r.Main || r.Text != "7" {
		t.Errorf("got %+v", r)
	}
	o = Py(t, x, "class Big:\n    def _repr_png_(self): return b'x' * 10_000_000\n    def _repr_html_(self): return 'y' * 10_000_000\nfor _ in range(1000): display(Big())")
	if len(o.Results) == 0 || len(o.Results) > 100 || len(o.Results[0].PNG) != 0 || !o.Results[0].Cut {
		t.Errorf("%d results", len(o.Results))
	}
}

// figures uses a stand-in for matplotlib, which asks of it what the real one offers.
func figures(t *testing.T, x sandbox.Sandbox) {
	Sh(t, x, `mkdir -p matplotlib && : > matplotlib/__init__.py && cat > matplotlib/pyplot.py <<'END'
import base64
held = {}
class Figure:
    def savefig(self, to, format, bbox_inches): to.write(base64.b64decode("`+dot+`"))
def figure(n=None):
    n = n or len(held) + 1
    return held.setdefault(n, Figure())
def get_fignums(): return list(held)
def close(n): del held[n]
END`)
	o := Py(t, x, "import matplotlib.pyplot as plt\nplt.figure(); plt.figure()\nNone")
	if o.Error != nil || len(o.Results) != 2 || len(o.Results[0].PNG) < 50 {
		t.Errorf("got %+v %+v", o, o.Error)
	}
	if o := Py(t, x, "1"); len(o.Results) != 1 {
		t.Errorf("a figure was shown twice: %+v", o)
	}
	Sh(t, x, `rm -r matplotlib`)
	Py(t, x, "import sys\nfor m in ('matplotlib', 'matplotlib.pyplot'): del sys.modules[m]")
}

func cellTimeout(t *testing.T, x sandbox.Sandbox) {
	var o *sandbox.Outcome
	var err error
	longer(300*time.Millisecond, func(limit time.Duration) bool {
		Py(t, x, "kept = 1")
		o, err = x.Code(t.Context(), sandbox.Cell{Source: "print('before')\nwhile True: pass", Timeout: limit})
		return err != nil || o.Stdout != ""
	})
	if err != nil || !o.TimedOut || o.Restarted || o.Stdout != "before\n" || o.Error == nil || o.Error.Name != "KeyboardInterrupt" {
		t.Errorf("%v, %+v", err, o)
	}
	if got := value(t, x, "kept"); got != "1" {
		t.Errorf("the state is lost: %q", got)
	}
	var over time.Duration
	longer(200*time.Millisecond, func(limit time.Duration) bool {
		began := time.Now()
		o, err = x.Code(t.Context(), sandbox.Cell{Source: "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(600)", Timeout: limit})
		over = time.Since(began) - limit
		return err != nil || o.Stdout != ""
	})
	if err != nil || !o.TimedOut || !o.Restarted || o.Stdout != "deaf\n" || over > 20*time.Second {
		t.Errorf("%v, %+v, %v later", err, o, over)
	}
	if o := Py(t, x, "kept"); o.Error == nil || o.Error.Name != "NameError" {
		t.Errorf("got %+v", o)
	}
}

func comesBack(t *testing.T, x sandbox.Sandbox) {
	for _, end := range []string{"import os\nprint('last', flush=True)\nos._exit(3)", "import os\nos.kill(os.getpid(), 9)", "import os\nos.close(4)\nos.write(4, b'xxxxxxxx')"} {
		o := Py(t, x, end)
		if !o.Restarted && !strings.Contains(end, "close") {
			t.Errorf("%s: got %+v", end, o)
		}
		if got := value(t, x, "1+1"); got != "2" {
			t.Errorf("after %s: %q", end, got)
		}
	}
	if o := Py(t, x, "import os\nif os.fork() == 0: pass\nelse: os.wait()\nprint('me')"); strings.Count(o.Stdout, "me") == 0 || o.Restarted {
		t.Errorf("a fork: %+v", o)
	}
	if got := value(t, x, "3"); got != "3" {
		t.Errorf("after a fork: %q", got)
	}
}

// endIsTold ends the interpreter where no answer can tell it, and wants the next one to,
// once.
func endIsTold(t *testing.T, x sandbox.Sandbox) {
	const gone = "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done; rm pid; "
	for name, end := range map[string]func(){
		"cancelled": func() {
			longer(100*time.Millisecond, func(limit time.Duration) bool {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				_, err := x.Code(ctx, sandbox.Cell{Source: "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen('deaf', 'w').close()\ntime.sleep(600)"})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				return strings.HasPrefix(Sh(t, x, "rm deaf 2>&1 && echo was").Stdout, "was")
			})
		},
		"between two": func() {
			Py(t, x, "import os, threading, time\ndef end():\n    while not os.path.exists('go'): time.sleep(0.01)\n    os._exit(3)\nthreading.Thread(target=end).start()\nopen('pid', 'w').write(str(os.getpid()))")
			Sh(t, x, "touch go; "+gone+"rm go; sleep 0.3")
		},
		"killed": func() {
			Py(t, x, "import os\nopen('pid', 'w').write(str(os.getpid()))")
			Sh(t, x, "kill -9 $(cat pid); "+gone+"sleep 0.3")
		},
	} {
		Py(t, x, "kept = 1")
		end()
		o := Py(t, x, "'kept' in globals()")
		if o.Lost == "" || len(o.Results) != 1 || o.Results[0].Text != "False" {
			t.Errorf("%s: got %+v", name, o)
		}
		if o := Py(t, x, "1"); o.Lost != "" || o.Restarted {
			t.Errorf("%s: told twice: %+v", name, o)
		}
	}
}

// reaped forks many children, of which nobody hears, and wants their places back.
func reaped(t *testing.T, x sandbox.Sandbox) {
	for range 3 {
		got := value(t, x, "import os, subprocess, time\nheld = [subprocess.Popen(['true']) for _ in range(4)]\nn = 0\nfor _ in range(40):\n    p = os.fork()\n    if p == 0: os._exit(7)\n    n += 1\n    os.waitid(os.P_PID, p, os.WEXITED | os.WNOWAIT)\nn")
		if got != "40" {
			t.Errorf("got %q", got)
		}
	}
	// On a busy machine it takes a while until somebody has looked after them.
	if o := Sh(t, x, `(setsid sh -c 'true & sleep 0.05 & true' &)
		for i in $(seq 100); do sleep 0.2; all=$(cat /proc/[0-9]*/stat 2>/dev/null); case "$all" in *") Z "*) ;; *) break;; esac; done; echo "$all"`); strings.Contains(o.Stdout, ") Z ") {
		t.Errorf("dead processes stay: %s", o.Stdout)
	}
	if got := value(t, x, "[h.wait() for h in held], os.waitstatus_to_exitcode(os.waitpid(p, 0)[1])"); got != "([0, 0, 0, 0], 7)" {
		t.Errorf("those that wait get %q", got)
	}
	if got := value(t, x, "import multiprocessing\nm = multiprocessing.get_context('fork').Process(target=os._exit, args=(5,))\nm.start(); time.sleep(0.1)"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := value(t, x, "m.join(60); m.exitcode"); got != "5" {
		t.Errorf("got %q", got)
	}
}

// tooLarge wants to hear what was left out of what was shown.
func tooLarge(t *testing.T, x sandbox.Sandbox, with Options) {
	o := Py(t, x, "class Image:\n    def _repr_png_(self): return b'x' * 3_000_000\nclass Page:\n    def _repr_html_(self): return 'x' * 30_000\nclass Dot:\n    def _repr_png_(self): return b'x'\n"+
		"display(Image(), Page(), *[Dot()] * 5)\nfor i in range(60): display(i)\n'last'")
	var all []string
	for _, r := range o.Results {
		all = append(all, r.Left...)
	}
	said := strings.Join(all, "\n")
	for _, want := range []string{"image of 2.9 MiB", "HTML of 30000 characters", "at most 4"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in %q", want, said)
		}
	}
	if last := o.Results[len(o.Results)-1]; !last.Main || last.Text != with.literal("last") || o.Missed != 18 {
		t.Errorf("got %+v, %d missed", last, o.Missed)
	}
}
