package e2b_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/alive"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/e2b"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/e2bdouble"
	"github.com/tenon-mcp/tenon/tool"
)

func wantError(t *testing.T, name string, err error, kind sandbox.Kind, text string) {
	t.Helper()
	e, ok := errors.AsType[*sandbox.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Text, text) {
		t.Errorf("%s: got %q, want one of kind %s with %q", name, err, kind, text)
		return
	}
	if strings.Contains(e.Text, e2bdouble.Key) || strings.Contains(e.Text, "not-a-real-token") {
		t.Errorf("%s: a secret is told: %s", name, e.Text)
	}
}

// TestMade holds what machines are asked for, and who gets which secret.
func TestMade(t *testing.T) {
	d := e2bdouble.New(t)
	b := newBackend(t, d, nil)
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	sandboxtest.Sh(t, x, "true")
	var made map[string]any
	if err := json.Unmarshal(d.Calls("POST /sandboxes\n")[0].Body, &made); err != nil {
		t.Fatal(err)
	}
	if made["templateID"] != "code-interpreter-v1" || made["allow_internet_access"] != false || made["secure"] != true || made["timeout"] != 180.0 {
		t.Errorf("got %v", made)
	}
	if n := len(d.Calls("POST /sandboxes\n")); n != 1 {
		t.Errorf("the machine of the check was not used: %d were made", n)
	}
	for _, c := range d.Calls("") {
		key, token := c.Header.Get("X-Api-Key"), c.Header.Get("X-Access-Token")
		if machine := c.Header.Get("E2b-Sandbox-Id") != ""; machine == (key != "") || machine != (token != "") || strings.Contains(c.Path+c.Query+string(c.Body), e2bdouble.Key) {
			t.Errorf("%s %s has the wrong secrets", c.Method, c.Path)
		}
	}
	if _, err := b.Create(t.Context(), sandbox.Spec{Network: func(context.Context, io.ReadWriteCloser) {}}); err == nil {
		t.Error("it takes a network")
	}
	envd, code, err := newBackend(t, d, func(o *e2b.Options) { o.Machines = "" }).PlaceOf("iAbc", "")
	if err != nil || envd != "https://49983-iabc.e2b.app" || code != "https://49999-iabc.e2b.app" {
		t.Errorf("%s, %s, %v", envd, code, err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]e2b.Options{
		"e2b_template":    {Template: "a b"},
		"e2b_domain":      {Domain: "a/b", BaseURL: "https://api.example.com"},
		"e2b_base_url":    {BaseURL: "nowhere"},
		"e2b_sandbox_url": {Machines: "ftp://x"},
		"proxy":           {Proxy: "nonsense"},
	} {
		if _, err := e2b.New(o); err == nil || !strings.HasPrefix(err.Error(), "option "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := e2b.New(e2b.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Create(t.Context(), sandbox.Spec{})
	wantError(t, "no key", err, sandbox.Unavailable, "E2B_API_KEY")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestCreateFaults holds that one machine is made, or none is left.
func TestCreateFaults(t *testing.T) {
	d := e2bdouble.New(t)
	const create = "POST /sandboxes\n"
	for name, c := range map[string]struct {
		fault e2bdouble.Fault
		key   string
		kind  sandbox.Kind
		text  string
		asked int
	}{
		"wrong key":          {key: "e2b_1111111111111111111111111111111111111111", kind: sandbox.Unavailable, text: "E2B_API_KEY", asked: 1},
		"forbidden":          {fault: e2bdouble.Fault{Status: 403}, kind: sandbox.Unavailable, text: "E2B_API_KEY", asked: 1},
		"no template":        {fault: e2bdouble.Fault{Status: 404, Text: "template not found"}, kind: sandbox.Unavailable, text: "e2b_template", asked: 1},
		"too many":           {fault: e2bdouble.Fault{Status: 429, Text: "the key " + e2bdouble.Key + " has too many"}, kind: sandbox.Limit, text: "[hidden]", asked: 3},
		"too many, far":      {fault: e2bdouble.Fault{Status: 429, RetryAfter: "3600"}, kind: sandbox.Limit, text: "too many", asked: 1},
		"full":               {fault: e2bdouble.Fault{Status: 503}, kind: sandbox.Unavailable, text: "try again", asked: 3},
		"broken":             {fault: e2bdouble.Fault{Status: 500}, kind: sandbox.Unavailable, text: "out of order", asked: 1},
		"broken, yet made":   {fault: e2bdouble.Fault{Status: 504, After: true}, kind: sandbox.Unavailable, text: "out of order", asked: 1},
		"cut off, yet made":  {fault: e2bdouble.Fault{Cut: 20}, kind: sandbox.Unavailable, text: "could not be asked", asked: 1},
		"no word, yet made":  {fault: e2bdouble.Fault{Hang: true, After: true}, asked: 1},
		"once too many":      {fault: e2bdouble.Fault{Status: 429, RetryAfter: "0", Times: 1}, asked: 2},
		"slow, but it comes": {fault: e2bdouble.Fault{Slow: 50 * time.Millisecond}, asked: 1},
	} {
		d.Heal()
		before := len(d.Calls(create))
		if c.fault != (e2bdouble.Fault{}) {
			c.fault.Match = create
			d.Fail(c.fault)
		}
		b := newBackend(t, d, func(o *e2b.Options) {
			if c.key != "" {
				o.Key = tool.NewSecret(c.key)
			}
		})
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		var asking sync.WaitGroup
		if c.fault.Hang {
			ctx, cancel = context.WithCancel(ctx)
			asking.Go(func() {
				defer cancel()
				sandboxtest.Until(t, "it is not made", func() bool { return len(d.Machines()) > 0 })
			})
		}
		began := time.Now()
		x, err := b.Create(ctx, sandbox.Spec{})
		asking.Wait()
		cancel()
		switch {
		case c.fault.Hang:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case c.kind != "":
			wantError(t, name, err, c.kind, c.text)
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if err := x.Kill(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := len(d.Calls(create)) - before; n != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, n, c.asked)
		}
		if left := d.Machines(); len(left) != 0 {
			t.Errorf("%s: %v are left", name, left)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// TestRunFaults breaks commands and cells, and holds that each ran once at most.
func TestRunFaults(t *testing.T) {
	d := e2bdouble.New(t)
	b := newBackend(t, d, nil)
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	const start, execute = "/process.Process/Start", "/execute"
	command := func(ctx context.Context, n string) error {
		_, err := x.Command(ctx, sandbox.Command{Line: "echo " + n + " >> ran; echo said; sleep 600", Timeout: 2 * time.Minute})
		return err
	}
	cell := func(ctx context.Context, n string) error {
		_, err := x.Code(ctx, sandbox.Cell{Source: "import time\nopen('ran', 'a').write('" + n + "\\n')\nprint('said')\ntime.sleep(0.2)", Timeout: 2 * time.Minute})
		return err
	}
	for i, c := range []struct {
		name  string
		fault e2bdouble.Fault
		run   func(context.Context, string) error
		kind  sandbox.Kind
		text  string
		ran   int
	}{
		{"cut off", e2bdouble.Fault{Cut: 60}, command, sandbox.Unavailable, "not run again", 1},
		{"too often", e2bdouble.Fault{Status: 429}, command, sandbox.Limit, "too often", 0},
		{"no token", e2bdouble.Fault{Status: 401}, command, sandbox.Unavailable, "token", 0},
		{"broken", e2bdouble.Fault{Status: 500, Text: "oops"}, command, sandbox.Unavailable, "still there", 0},
		{"an edge that errs", e2bdouble.Fault{Status: 502, Text: "The sandbox was not found"}, command, sandbox.Unavailable, "still there", 0},
		{"cut off", e2bdouble.Fault{Cut: 60}, cell, sandbox.Unavailable, "not run again", 1},
		{"cut off after all", e2bdouble.Fault{Cut: 150}, cell, sandbox.Unavailable, "not run again", 1},
		{"too often", e2bdouble.Fault{Status: 429}, cell, sandbox.Limit, "too often", 0},
		{"broken", e2bdouble.Fault{Status: 500}, cell, sandbox.Unavailable, "not run again", 0},
		{"no port", e2bdouble.Fault{Status: 502, Text: "The sandbox is running but port is not open"}, cell, sandbox.Unavailable, "e2b_template", 0},
		{"silent", e2bdouble.Fault{Hang: true}, cell, "", "", 0},
		{"silent", e2bdouble.Fault{Hang: true}, command, "", "", 0},
	} {
		n := fmt.Sprintf("n%d", i)
		c.fault.Match, c.fault.Times = n, 1
		d.Fail(c.fault)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if c.fault.Hang {
			ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		}
		began := time.Now()
		err := c.run(ctx, n)
		cancel()
		if c.fault.Hang {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", c.name, err)
			}
		} else {
			wantError(t, c.name, err, c.kind, c.text)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %v", c.name, took)
		}
		if o := sandboxtest.Sh(t, x, "grep -c "+n+"'$' ran; true"); strings.TrimSpace("0"+o.Stdout) != fmt.Sprintf("0%d", c.ran) {
			t.Errorf("%s: ran %q times, want %d", c.name, o.Stdout, c.ran)
		}
	}
	if o := sandboxtest.Sh(t, x, "ps ax 2>/dev/null | grep -c '[s]leep 600'; true"); strings.TrimSpace(o.Stdout) != "0" {
		t.Errorf("what was broken off still runs: %s", o.Stdout)
	}
	if o := sandboxtest.Py(t, x, "6*7"); len(o.Results) != 1 || o.Results[0].Text != "42" {
		t.Errorf("after all: %+v", o)
	}
	if len(d.Calls(start)) == 0 || len(d.Calls(execute)) == 0 {
		t.Error("the faults met nothing")
	}
}

// TestFileFaults breaks files off.
func TestFileFaults(t *testing.T) {
	d := e2bdouble.New(t)
	x := sandboxtest.Create(t, newBackend(t, d, nil), sandbox.Spec{})
	body := strings.Repeat("0123456789", 100_000)
	if _, err := x.Put(t.Context(), "kept", strings.NewReader("kept"), 1<<20); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]e2bdouble.Fault{
		"full disk": {Match: "POST /files\n", Status: 507},
		"broken":    {Match: "POST /files\n", Status: 500},
		"gone":      {Match: "filesystem.Filesystem/Move", Status: 500},
	} {
		f.Times = 1
		d.Fail(f)
		_, err := x.Put(t.Context(), "kept", strings.NewReader(body), 10<<20)
		if e, ok := errors.AsType[*sandbox.Error](err); !ok || name == "full disk" && e.Kind != sandbox.Limit {
			t.Errorf("%s: %v", name, err)
		}
		if o := sandboxtest.Sh(t, x, "cat kept; ls -A | wc -l"); o.Stdout != "kept1\n" {
			t.Errorf("%s: it is %q then", name, o.Stdout)
		}
	}
	failing := io.MultiReader(strings.NewReader(body), iotestErr{})
	if _, err := x.Put(t.Context(), "kept", failing, 10<<20); !errors.Is(err, errSource) {
		t.Errorf("a source that fails: %v", err)
	}
	if _, err := x.Put(t.Context(), "big", strings.NewReader(body), 10<<20); err != nil {
		t.Fatal(err)
	}
	d.Fail(e2bdouble.Fault{Match: "GET /files", Cut: 5000, Times: 1})
	_, r, err := x.Get(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	_ = r.Close() // read only
	wantError(t, "half a file", err, sandbox.Unavailable, "whole file")
	if n >= int64(len(body)) {
		t.Errorf("%d bytes came", n)
	}
}

var errSource = errors.New("the source has failed")

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errSource }

// TestVanishes ends machines while they are used and while they are not.
func TestVanishes(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *e2bdouble.Double, sandbox.Sandbox) error{
		"command": func(t *testing.T, d *e2bdouble.Double, x sandbox.Sandbox) error {
			d.Fail(e2bdouble.Fault{Match: "marked", Cut: 60, Vanish: true, Times: 1})
			_, err := x.Command(t.Context(), sandbox.Command{Line: "echo marked; sleep 60"})
			if n := marked(d, "Process/Start"); n != 1 {
				t.Errorf("it was started %d times", n)
			}
			return err
		},
		"cell": func(t *testing.T, d *e2bdouble.Double, x sandbox.Sandbox) error {
			d.Fail(e2bdouble.Fault{Match: "marked", Cut: 60, Vanish: true, Times: 1})
			_, err := x.Code(t.Context(), sandbox.Cell{Source: "print('marked')"})
			if n := marked(d, "/execute"); n != 1 {
				t.Errorf("it was run %d times", n)
			}
			return err
		},
		"list": func(t *testing.T, d *e2bdouble.Double, x sandbox.Sandbox) error {
			d.Expire(d.Machines()[0])
			_, err := x.List(t.Context(), ".", 10)
			return err
		},
		"keeping": func(t *testing.T, d *e2bdouble.Double, x sandbox.Sandbox) error {
			sandboxtest.Until(t, "it is not kept alive", func() bool { return len(d.Calls("/timeout")) > 5 })
			if len(d.Machines()) != 1 {
				t.Error("it has ended by its time")
			}
			d.Expire(d.Machines()[0])
			sandboxtest.Until(t, "it is not done", func() bool { return x.Why() != "" })
			_, err := x.Code(t.Context(), sandbox.Cell{Source: "1"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := e2bdouble.New(t)
			x := sandboxtest.Create(t, newBackend(t, d, func(o *e2b.Options) { o.TTL = time.Second }), sandbox.Spec{})
			wantError(t, name, run(t, d, x), sandbox.Gone, "does not know it any more")
			select {
			case <-x.Done():
			case <-time.After(time.Minute):
				t.Error("it is not done")
			}
		})
	}
}

func marked(d *e2bdouble.Double, path string) int {
	n := 0
	for _, c := range d.Calls(path) {
		if strings.Contains(string(c.Body), "marked") {
			n++
		}
	}
	return n
}

// TestInterpreterGone has the service forget the interpreter, which has then run nothing.
func TestInterpreterGone(t *testing.T) {
	d := e2bdouble.New(t)
	x := sandboxtest.Create(t, newBackend(t, d, nil), sandbox.Spec{})
	d.Fail(e2bdouble.Fault{Match: "POST /execute", Status: 404, Text: "Context not found", Times: 1})
	o := sandboxtest.Py(t, x, "open('ran', 'a').write('x')")
	if o.Lost == "" || o.Error != nil {
		t.Errorf("got %+v", o)
	}
	if o := sandboxtest.Sh(t, x, "cat ran"); o.Stdout != "x" {
		t.Errorf("it has run as %q", o.Stdout)
	}
	b := newBackend(t, d, func(o *e2b.Options) { o.Template = "base" })
	_, err := b.Create(t.Context(), sandbox.Spec{})
	wantError(t, "a template without", err, sandbox.Unavailable, "e2b_template")
}

// TestOrphans has a start end the machines of the dead, and of nobody else.
func TestOrphans(t *testing.T) {
	d, dir := e2bdouble.New(t), t.TempDir()
	share := func(o *e2b.Options) { o.Dir = dir }
	lives := newBackend(t, d, share)
	sandboxtest.Create(t, lives, sandbox.Spec{})
	var made struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(d.Calls("POST /sandboxes\n")[0].Body, &made); err != nil {
		t.Fatal(err)
	}
	keep := d.Machines()
	dead, err := alive.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	made.Metadata["tenon_owner"] = dead.ID
	if err := dead.Leave(); err != nil {
		t.Fatal(err)
	}
	orphan := order(t, d, made.Metadata)
	made.Metadata["tenon_home"] = "elsewhere"
	keep = append(keep, order(t, d, made.Metadata))
	sandboxtest.Create(t, newBackend(t, d, share), sandbox.Spec{})
	if now := d.Machines(); slices.Contains(now, orphan) || !slices.Contains(now, keep[0]) || !slices.Contains(now, keep[1]) || len(now) != 3 {
		t.Errorf("%v run; %s is an orphan, %v are not", now, orphan, keep)
	}
	if left := alive.Others(dir, nil); len(left) != 2 {
		t.Errorf("%v are noted", left)
	}
}

// order has a machine made that no back end holds.
func order(t *testing.T, d *e2bdouble.Double, metadata map[string]string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"templateID": "base", "timeout": 300, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+"/sandboxes", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", e2bdouble.Key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var m struct {
		ID string `json:"sandboxID"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || m.ID == "" {
		t.Fatalf("%v, status %d", err, resp.StatusCode)
	}
	return m.ID
}

// TestSpare has the machine of the check end before anybody wants it: nobody keeps it.
func TestSpare(t *testing.T) {
	d := e2bdouble.New(t)
	b := newBackend(t, d, func(o *e2b.Options) { o.TTL = time.Second })
	if s, err := b.Check(t.Context()); err != nil || s.Level != sandbox.LevelKernel || !strings.HasPrefix(s.Python, "3.") || len(s.Notes) < 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	sandboxtest.Until(t, "it does not end by its time", func() bool { return len(d.Machines()) == 0 })
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	if o := sandboxtest.Sh(t, x, "echo fine"); o.Stdout != "fine\n" || len(d.Machines()) != 1 {
		t.Errorf("got %+v, %v", o, d.Machines())
	}
}

// TestKillFails says that it may run on, and for how long.
func TestKillFails(t *testing.T) {
	d := e2bdouble.New(t)
	b := newBackend(t, d, nil)
	x, err := b.Create(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	d.Fail(e2bdouble.Fault{Match: "DELETE", Status: 500})
	if err := x.Kill(t.Context()); err == nil || !strings.Contains(err.Error(), "ends by itself in 3m0s") {
		t.Errorf("got %v", err)
	}
	_, err = x.Command(t.Context(), sandbox.Command{Line: "true"})
	wantError(t, "after it", err, sandbox.Gone, "killed")
	d.Heal()
}
