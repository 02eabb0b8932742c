package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tenon": main,
		"leaky": leaky,
		"words": words, "listed": listed,
	})
}

// The scripts say what the command line does. Beside the commands of testscript
// they have:
//
//	exits CODE COMMAND ARGS…  runs a command and wants just this exit code
//	serve ARGS…               starts tenon serve on a free port, and sets $URL; with
//	                          $BACKGROUND as shells start what runs in the background
//	quit                      interrupts it, and wants it to exit with 0 and to
//	                          have answered everything; serve.log is its stderr
//	                          (stop is testscript's own, and ends the script)
//	hurry CODE                interrupts it until it ends, and wants this exit code
//	logged TEXT N             waits until serve.log has TEXT, N times (1 if left out)
//	hup                       sends SIGHUP to what serve started
//	request METHOD PATH BODY  sends a request to $URL; the answer is "stdout"
//	talk FILE COMMAND ARGS…   sends the lines of a file to a command, each once the
//	                          request before it is answered; its output is "stdout"
//	json PATH WANT            compares a value of the JSON in "stdout", such as a.0.b
//	crash                     kills what serve started
//	asked N                   waits until N calls wait for a person; $ID is the newest
//	leaky-http                starts the server of leaky over HTTP, at $LEAKY_URL
//	until CODE COMMAND ARGS…  runs a command until it exits with this code, for a minute
//	status CODE METHOD PATH FILE  sends a request to $URL with the credential of a
//	                          file, or none, and wants this status
//	hides WHERE…              wants no planted secret there: see leaky_test.go
//	docs-http                 starts a tool server that wants a login, at $DOCS_URL
//	pastes COMMAND ARGS…      runs a command, opens the address that it prints, and
//	                          pastes where that ended: see login_test.go
//	tokenless FILES…          wants that server to have got tokens, none in the files
//
// The commands words and listed are tool servers: see words_test.go and
// listed_test.go. TENON_UPDATE=1 rewrites
// what the scripts compare with.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("TENON_UPDATE") != "",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "serve": serve, "quit": quit, "hurry": hurry, "logged": logged, "hup": hup, "request": request, "talk": talk, "json": jsonValue,
			"crash": crash, "asked": asked,
			"until": until, "status": status,
			"leaky-http": leakyHTTP, "hides": hides,
			"docs-http": docsHTTP, "pastes": pastes, "tokenless": tokenless,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[gateway{}], env.Values[doubles{}] = &gateway{}, &doubles{}
			env.Setenv("TENON_KEYRING", "off")
			env.Setenv("GORACE", withoutPause)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "user"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("AppData", filepath.Join(env.WorkDir, "user"))
			return nil
		},
	})
}

// TestScriptsRunToTheirEnd: testscript's stop passes a script without what comes
// behind it.
func TestScriptsRunToTheirEnd(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(err, "no scripts")
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		for i, line := range strings.Split(commands, "\n") {
			if line == "stop" {
				t.Errorf("%s:%d: stop ends the script here; the gateway is stopped by quit", path, i+1)
			}
		}
	}
}

// withoutPause keeps the race detector from waiting a second at the end of every
// process.
const withoutPause = "atexit_sleep_ms=0"

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// A gateway is the one that a script runs.
type gateway struct{ cmd *exec.Cmd }

func serve(ts *testscript.TestScript, _ bool, args []string) {
	g := ts.Value(gateway{}).(*gateway)
	command := append([]string{"tenon", "serve", "--listen", "127.0.0.1:0", "--output", "json"}, args...)
	if ts.Getenv("BACKGROUND") != "" {
		command = append([]string{"sh", "-c", `trap "" INT; exec "$@"`, "sh"}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = environment(ts)
	stderr, err := os.Create(ts.MkAbs("serve.log"))
	ts.Check(err)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	g.cmd = cmd
	ts.Defer(func() {
		if g.cmd != nil {
			_ = g.cmd.Process.Kill()
			_ = g.cmd.Wait()
		}
		stderr.Close()
	})
	var where struct{ MCP, REST string }
	if err := json.NewDecoder(stdout).Decode(&where); err != nil {
		ts.Fatalf("tenon serve did not say where it listens: %v\n%s", err, ts.ReadFile("serve.log"))
	}
	ts.Setenv("URL", strings.TrimSuffix(where.MCP, "/mcp"))
	ts.Setenv("ADDR", strings.TrimPrefix(ts.Getenv("URL"), "http://"))
}

func quit(ts *testscript.TestScript, _ bool, _ []string) {
	g := ts.Value(gateway{}).(*gateway)
	ts.Check(g.cmd.Process.Signal(os.Interrupt))
	err := g.cmd.Wait()
	g.cmd = nil
	if err != nil {
		ts.Fatalf("tenon serve: %v\n%s", err, ts.ReadFile("serve.log"))
	}
}

func hurry(ts *testscript.TestScript, _ bool, args []string) {
	g := ts.Value(gateway{}).(*gateway)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ended)
		_ = g.cmd.Wait()
	})
	defer wg.Wait()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waits := true; waits; {
		_ = g.cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-tick.C:
		case <-ended:
			waits = false
		}
	}
	if got := strconv.Itoa(g.cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s\n%s", got, args[0], ts.ReadFile("serve.log"))
	}
	g.cmd = nil
}

func hup(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Value(gateway{}).(*gateway).cmd.Process.Signal(syscall.SIGHUP))
}

func logged(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: logged TEXT [N]")
	}
	n := 1
	if len(args) > 1 {
		var err error
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if strings.Count(ts.ReadFile("serve.log"), args[0]) >= n {
			return
		}
	}
	ts.Fatalf("serve.log does not have %q %d times:\n%s", args[0], n, ts.ReadFile("serve.log"))
}

func request(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: request METHOD PATH [BODY]")
	}
	req, err := http.NewRequest(args[0], ts.Getenv("URL")+args[1], strings.NewReader(strings.Join(args[2:], " ")))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token := ts.Getenv("BEARER"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s\n", body)
}

func talk(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: talk FILE COMMAND ARGS…")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = environment(ts)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	said := bufio.NewReader(stdout)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		_, err := io.WriteString(stdin, line)
		ts.Check(err)
		for answered := !strings.Contains(line, `"id"`); !answered; {
			answer, err := said.ReadString('\n')
			ts.Check(err)
			fmt.Fprint(ts.Stdout(), answer)
			answered = strings.Contains(answer, `"id"`)
		}
	}
	ts.Check(stdin.Close())
	_, err = io.Copy(ts.Stdout(), said)
	ts.Check(err)
	err = cmd.Wait()
	fmt.Fprint(ts.Stderr(), stderr.String())
	if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// environment is what a script gives to a command that it does not run itself.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, key := range []string{"PATH", "LEAKY_URL", "DOCS_URL", "TENON_KEYRING", "PLANTED", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "AppData", "SystemRoot", "TENON_CONFIG", "TENON_SERVER_OPTIONS", "TENON_APPROVER_TOKEN", "GORACE"} {
		env = append(env, key+"="+ts.Getenv(key))
	}
	return env
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH WANT")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	if d.More() {
		ts.Fatalf("stdout holds more than one JSON value")
	}
	for step := range strings.SplitSeq(args[0], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if v = nil; err == nil && i < len(at) {
				v = at[i]
			}
		default:
			v = nil
		}
	}
	got := fmt.Sprint(v)
	if v == nil {
		got = "-"
	} else if _, ok := v.(string); !ok {
		raw, err := json.Marshal(v)
		ts.Check(err)
		got = string(raw)
	}
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}
