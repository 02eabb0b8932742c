package main

import (
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// until runs a command again and again until it exits with a code: a running gateway
// takes within a second what has changed, and a busy machine takes its time.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for limit := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		got := 0
		err := ts.Exec(args[1], args[2:]...)
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			got = e.ExitCode()
		} else {
			ts.Check(err)
		}
		if got == want {
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("exit code %d still, want %d", got, want)
		}
	}
}

// status sends a request to $URL with the credential of a file, or none, and wants
// this status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: status CODE METHOD PATH [FILE]")
	}
	req, err := http.NewRequest(args[1], ts.Getenv("URL")+args[2], strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if len(args) > 3 {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[3])))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	ts.Check(err)
	res.Body.Close()
	if strconv.Itoa(res.StatusCode) != args[0] {
		ts.Fatalf("status %d, want %s", res.StatusCode, args[0])
	}
}
