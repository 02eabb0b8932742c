// Package sandboxtest holds what every back end of internal/sandbox is put through:
// Conformance says that it works, Escape that nothing comes out of it.
//
//	func TestConformance(t *testing.T) {
//		sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return mine.New(…) })
//	}
//
// Only tests import it.
package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Make returns a back end, which the test closes at its end.
type Make func(t testing.TB) sandbox.Backend

// planted is in the environment of the test, and must be in no sandbox.
const planted = "not-a-real-key-000"

var plant sync.Once

// plantSecret is for good, since tests run at once.
func plantSecret() { plant.Do(func() { _ = os.Setenv("TENON_PLANTED", planted) }) }

// Conformance checks that a back end does what its interface says.
func Conformance(t *testing.T, backend Make, o Options) {
	plantSecret()
	b := backend(t)
	status, err := b.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Level == "" || status.Level == sandbox.LevelNone || status.Python == "" {
		t.Errorf("status %+v", status)
	}
	x := Create(t, b, sandbox.Spec{})
	for _, part := range []struct {
		name string
		run  func(*testing.T, sandbox.Sandbox)
	}{
		{"commands", commands},
		{"output is bounded", bounded},
		{"commands end in time", commandTimeout},
		{"state", func(t *testing.T, x sandbox.Sandbox) { state(t, x, o) }},
		{"streams", streams},
		{"errors", exceptions},
		{"rich results", rich},
		{"figures", figures},
		{"cells end in time", cellTimeout},
		{"the interpreter comes back", comesBack},
		{"its end is told", endIsTold},
		{"children are reaped", reaped},
		{"too large", func(t *testing.T, x sandbox.Sandbox) { tooLarge(t, x, o) }},
		{"files", files},
		{"paths", paths},
		{"listing", listing},
		{"cancelled", canceled},
		{"at once", atOnce},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, x) })
	}
	t.Run("two are apart", func(t *testing.T) { apart(t, x, Create(t, b, sandbox.Spec{})) })
	t.Run("the end", func(t *testing.T) { theEnd(t, b, x) })
}

// Create makes a sandbox that ends with the test.
func Create(t testing.TB, b sandbox.Backend, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	x, err := b.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Kill(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return x
}

// Sh runs a command that must be answered.
func Sh(t testing.TB, x sandbox.Sandbox, line string) *sandbox.Output {
	t.Helper()
	o, err := x.Command(t.Context(), sandbox.Command{Line: line, Timeout: 60 * time.Second})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

// Py runs a cell that must be answered.
func Py(t testing.TB, x sandbox.Sandbox, source string) *sandbox.Outcome {
	t.Helper()
	o, err := x.Code(t.Context(), sandbox.Cell{Source: source, Timeout: 60 * time.Second})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return o
}

// value is the text of the last expression.
func value(t *testing.T, x sandbox.Sandbox, source string) string {
	t.Helper()
	o := Py(t, x, source)
	if o.Error != nil {
		t.Fatalf("%s: %+v", source, o.Error)
	}
	if n := len(o.Results); n > 0 && o.Results[n-1].Main {
		return o.Results[n-1].Text
	}
	return ""
}

func commands(t *testing.T, x sandbox.Sandbox) {
	o := Sh(t, x, `echo out; echo err >&2; exit 7`)
	if o.Stdout != "out\n" || o.Stderr != "err\n" || o.ExitCode != 7 || o.TimedOut {
		t.Errorf("got %+v", o)
	}
	Sh(t, x, `echo once >> times; exit 1`)
	if o := Sh(t, x, `cat times; rm times`); o.Stdout != "once\n" {
		t.Errorf("a failing command ran other than once: %q", o.Stdout)
	}
	if o := Sh(t, x, `kill -9 $$`); o.ExitCode != 137 {
		t.Errorf("killed by itself: %+v", o)
	}
	if o := Sh(t, x, `env`); strings.Contains(o.Stdout, planted) {
		t.Error("the environment of the host is there")
	}
	if o := Sh(t, x, `cd && pwd -P && test "$PWD" = "$(cd "$HOME" && pwd -P)" && cat /dev/stdin </dev/null && : > "$TMPDIR/tried" && echo fine`); !strings.HasSuffix(o.Stdout, "fine\n") {
		t.Errorf("home: %+v", o)
	}
	if o := Sh(t, x, `python3 -c 'import os
for fd in range(3, 1024):
    try: print(fd, os.fstat(fd))
    except OSError: pass'`); o.Stdout != "" || o.ExitCode != 0 {
		t.Errorf("files of somebody else are open: %+v", o)
	}
	for _, bad := range []string{"a\x00b", strings.Repeat("x", 10<<20)} {
		_, err := x.Command(t.Context(), sandbox.Command{Line: bad})
		wantKind(t, err, sandbox.Invalid)
	}
	if o := Sh(t, x, `sleep 600 & echo started`); o.Stdout != "started\n" || o.TimedOut {
		t.Errorf("in the background: %+v", o)
	}
}

// Until waits until something is so; what says what is wrong where it does not come to be.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func wantKind(t *testing.T, err error, kind sandbox.Kind) {
	t.Helper()
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != kind {
		t.Errorf("error %v, want one of kind %s", err, kind)
	}
}

func bounded(t *testing.T, x sandbox.Sandbox) {
	o, err := x.Command(t.Context(), sandbox.Command{Line: `echo first; head -c 5000000 /dev/zero | tr '\0' y; echo; echo last`, Keep: 1000, Timeout: time.Minute})
	if err != nil || len(o.Stdout) > 1200 || o.Left < 4_900_000 || !strings.HasPrefix(o.Stdout, "first\n") || !strings.HasSuffix(o.Stdout, "last\n") {
		t.Errorf("%v, %d characters, %d left out", err, len(o.Stdout), o.Left)
	}
	c, err := x.Code(t.Context(), sandbox.Cell{Source: "print('first'); print('y'*5_000_000); print('last')", Keep: 1000})
	if err != nil || len(c.Stdout) > 1200 || !strings.HasSuffix(c.Stdout, "last\n") {
		t.Errorf("%v, %d characters", err, len(c.Stdout))
	}
	c = Py(t, x, "'z' * 10_000_000")
	if len(c.Results) != 1 || len(c.Results[0].Text) > sandbox.DefaultKeep+10 || !c.Results[0].Cut {
		t.Error("a value was not cut")
	}
	_, err = x.Code(t.Context(), sandbox.Cell{Source: strings.Repeat("#", 10<<20)})
	wantKind(t, err, sandbox.Invalid)
}

// longer runs what a time ends until it got as far as it must before that, with more time
// each time: a busy machine may not even begin it in a short one.
func longer(first time.Duration, run func(limit time.Duration) (far bool)) {
	for limit := first; !run(limit) && limit < 20*time.Second; limit *= 3 {
	}
}

func commandTimeout(t *testing.T, x sandbox.Sandbox) {
	var o *sandbox.Output
	var err error
	var over time.Duration
	longer(300*time.Millisecond, func(limit time.Duration) bool {
		began := time.Now()
		o, err = x.Command(t.Context(), sandbox.Command{Line: `echo before; sleep 600 | cat`, Timeout: limit})
		over = time.Since(began) - limit
		return err != nil || o.Stdout != ""
	})
	if err != nil || !o.TimedOut || o.Stdout != "before\n" {
		t.Errorf("%v, %+v", err, o)
	}
	if over > 30*time.Second {
		t.Errorf("it took %v longer", over)
	}
}

func files(t *testing.T, x sandbox.Sandbox) {
	body := strings.Repeat("line\n", 100_000)
	f, err := x.Put(t.Context(), "deep/er/a b;$(touch x).txt", strings.NewReader(body), 10<<20)
	if err != nil || f.Size != int64(len(body)) || f.Path != sandbox.Home+"/deep/er/a b;$(touch x).txt" {
		t.Fatalf("%v, %+v", err, f)
	}
	if got := value(t, x, "len(open('deep/er/a b;$(touch x).txt').read())"); got != fmt.Sprint(len(body)) {
		t.Errorf("got %q", got)
	}
	f, r, err := x.Get(t.Context(), f.Path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(got) != body || f.Size != int64(len(body)) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	if f, err := x.Put(t.Context(), "deep/er/a b;$(touch x).txt", strings.NewReader("new"), 100); err != nil || f.Size != 3 {
		t.Errorf("%v, %+v", err, f)
	}
	if o := Sh(t, x, `cat deep/er/a*; ls x`); o.Stdout != "new" {
		t.Errorf("got %+v", o)
	}
	_, err = x.Put(t.Context(), "large", strings.NewReader(body), 1000)
	wantKind(t, err, sandbox.Limit)
	if o := Sh(t, x, "ls large"); o.ExitCode == 0 {
		t.Error("half a file stays")
	}
}

func paths(t *testing.T, x sandbox.Sandbox) {
	Sh(t, x, `mkfifo pipe; mkdir -p dir; echo in > inside; ln -s inside near; ln -s /etc/passwd out; ln -s / root; ln -s ../.. up; ln -s loop loop; ln -s /proc/self/fd fds`)
	for _, bad := range []string{"out", "root/etc/passwd", "up/etc/passwd", "loop", "pipe", "dir", "nothing", "", ".", "..", "../../etc/passwd", "/etc/passwd", "/proc/self/environ", "fds/0", "a\x00b", strings.Repeat("x/", 5000), "inside/below", strings.Repeat("n", 300)} {
		if _, r, err := x.Get(t.Context(), bad); err == nil {
			t.Errorf("got %q", bad)
			_ = r.Close() // read only
		} else {
			wantKind(t, err, sandbox.Invalid)
		}
	}
	for _, bad := range []string{"out", "root/tmp/x", "up/tmp/x", "pipe", "dir", ".", "/tmp/../etc/x", "../x", "inside/below"} {
		_, err := x.Put(t.Context(), bad, strings.NewReader("x"), 10)
		wantKind(t, err, sandbox.Invalid)
	}
	for _, good := range []string{"near", sandbox.Home + "/inside", "~/inside", "./dir/../inside"} {
		_, r, err := x.Get(t.Context(), good)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		_ = r.Close() // read only
	}
	Sh(t, x, `rm -f pipe inside near out root up loop fds; rmdir dir`)
}

func listing(t *testing.T, x sandbox.Sandbox) {
	Sh(t, x, `mkdir -p list/a/b && echo hello > list/a/b/c && ln -s / list/root && cd list && for i in $(seq 30); do : > f$i; done`)
	l, err := x.List(t.Context(), "list", 1000)
	if err != nil || l.More || len(l.Files) != 34 || l.Path != sandbox.Home+"/list" {
		t.Fatalf("%v, %+v", err, l)
	}
	kinds := map[string]string{}
	for _, f := range l.Files {
		kinds[f.Path] = fmt.Sprint(f.Kind, " ", f.Size)
	}
	if kinds[sandbox.Home+"/list/a/b/c"] != "file 6" || !strings.HasPrefix(kinds[sandbox.Home+"/list/root"], "symlink") {
		t.Errorf("got %v", kinds)
	}
	if l, err := x.List(t.Context(), "list", 10); err != nil || !l.More || len(l.Files) != 10 {
		t.Errorf("%v, %+v", err, l)
	}
	for _, bad := range []string{"list/root", "list/f1", "nothing", "/", "..", "/etc"} {
		_, err := x.List(t.Context(), bad, 10)
		wantKind(t, err, sandbox.Invalid)
	}
	Sh(t, x, `cd list && seq -f %0250g 3000 | xargs touch`)
	if l, err := x.List(t.Context(), "list", 10_000); err != nil || !l.More || len(l.Files) < 50 {
		t.Errorf("many long names: %v", err)
	}
	Sh(t, x, `rm -r list`)
}

func canceled(t *testing.T, x sandbox.Sandbox) {
	for name, run := range map[string]func(context.Context) error{
		"command": func(ctx context.Context) error {
			_, err := x.Command(ctx, sandbox.Command{Line: "sleep 600"})
			return err
		},
		"cell": func(ctx context.Context) error {
			_, err := x.Code(ctx, sandbox.Cell{Source: "import time\ntime.sleep(600)"})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		cancel()
	}
}

func atOnce(t *testing.T, x sandbox.Sandbox) {
	Py(t, x, "total = 0")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if o := Sh(t, x, fmt.Sprintf("echo %d", i)); o.Stdout != fmt.Sprintln(i) {
				t.Errorf("got %+v", o)
			}
			if o := Py(t, x, fmt.Sprintf("total += 1\nprint(%d)", i)); o.Stdout != fmt.Sprintln(i) {
				t.Errorf("got %+v", o)
			}
		})
	}
	all.Wait()
	if got := value(t, x, "total"); got != "8" {
		t.Errorf("got %q", got)
	}
}

func apart(t *testing.T, a, b sandbox.Sandbox) {
	Py(t, a, "secret = 'of a'\nopen('mine', 'w').write('of a')")
	if o := Py(t, b, "import os\nprint(os.listdir('.'))\nsecret"); o.Error == nil || strings.Contains(o.Stdout, "mine") {
		t.Errorf("got %+v", o)
	}
}

func theEnd(t *testing.T, b sandbox.Backend, x sandbox.Sandbox) {
	Sh(t, x, "sleep 600 &")
	if err := x.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-x.Done():
	default:
		t.Error("it is not done")
	}
	if x.Why() == "" {
		t.Error("it does not say why")
	}
	_, err := x.Command(t.Context(), sandbox.Command{Line: "true"})
	wantKind(t, err, sandbox.Gone)
	_, err = x.Code(t.Context(), sandbox.Cell{Source: "1"})
	wantKind(t, err, sandbox.Gone)
	_, err = x.List(t.Context(), ".", 1)
	wantKind(t, err, sandbox.Gone)
	y := Create(t, b, sandbox.Spec{})
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-y.Done():
	default:
		t.Error("it outlives its back end")
	}
	if _, err := b.Create(t.Context(), sandbox.Spec{}); err == nil {
		t.Error("a closed back end makes sandboxes")
	}
}
