package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenon-mcp/tenon/internal/logintest"
)

// docsHTTP starts a tool server that wants a login, at $DOCS_URL.
func docsHTTP(ts *testscript.TestScript, _ bool, _ []string) {
	d := logintest.New(logintest.Script{Rotate: true, Iss: "right"})
	ts.Defer(d.Close)
	ts.Setenv("DOCS_URL", d.URL()+"/mcp")
	ts.Value(doubles{}).(*doubles).docs = d
}

// doubles are the servers of a script.
type doubles struct{ docs *logintest.Double }

// pastes runs a command as a person with a browser on another machine does: it opens
// the address that the command prints, and pastes where the browser ended. What the
// command prints becomes the file pasted.log.
func pastes(ts *testscript.TestScript, neg bool, args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), environment(ts)
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	var log bytes.Buffer
	address := regexp.MustCompile(`^\s*(http://\S+/authorize\S*)$`)
	for lines := bufio.NewScanner(io.TeeReader(out, &log)); lines.Scan(); {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			_, err := io.WriteString(stdin, ended(ts, m[1])+"\n")
			ts.Check(err)
		}
	}
	err = cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("pasted.log"), log.Bytes(), 0o600))
	if (err != nil) != neg {
		ts.Fatalf("%v: %v\n%s", args, err, log.String())
	}
}

// ended returns the address that a browser ends at, on a machine where nothing listens.
func ended(ts *testscript.TestScript, address string) string {
	c := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
	resp, err := c.Get(address)
	ts.Check(err)
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	if resp.StatusCode != http.StatusFound {
		ts.Fatalf("%s: %s %s", address, resp.Status, text)
	}
	return resp.Header.Get("Location")
}

// tokenless wants that the tool server got tokens and no other credential, and that no
// token is in any of these files.
func tokenless(ts *testscript.TestScript, _ bool, args []string) {
	sent := ts.Value(doubles{}).(*doubles).docs.Sent()
	tokens := 0
	for _, s := range sent {
		token, ok := strings.CutPrefix(s, "Bearer ")
		if !ok {
			continue
		}
		tokens++
		if !strings.HasPrefix(token, "access-") {
			ts.Fatalf("the tool server got a credential of somebody else")
		}
		for _, name := range args {
			if strings.Contains(ts.ReadFile(name), token) {
				ts.Fatalf("%s holds a token", name)
			}
		}
	}
	if tokens == 0 {
		ts.Fatalf("the tool server got no token at all")
	}
}
