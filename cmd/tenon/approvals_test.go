package main

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// crash kills what serve started, as a fault of the machine does.
func crash(ts *testscript.TestScript, _ bool, _ []string) {
	g := ts.Value(gateway{}).(*gateway)
	ts.Check(g.cmd.Process.Kill())
	_ = g.cmd.Wait() // it was killed
	g.cmd = nil
}

// asked waits until N calls wait for a person (1 if left out), and sets $ID to the
// approval of the newest.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	n := 1
	if len(args) > 0 {
		var err error
		n, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var out []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		cmd := exec.Command("tenon", "approvals", "--output", "json", "--gateway", ts.Getenv("URL"))
		cmd.Dir, cmd.Env = ts.Getenv("WORK"), environment(ts)
		out, _ = cmd.CombinedOutput() // what it says tells what is wrong
		var list struct{ Items []struct{ ID string } }
		if json.Unmarshal(out, &list) == nil && len(list.Items) == n {
			if n > 0 {
				ts.Setenv("ID", list.Items[0].ID)
			}
			return
		}
	}
	ts.Fatalf("there are not %d calls that wait: %s", n, strings.TrimSpace(string(out)))
}
