package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// An Outcome is what became of one scenario.
type Outcome struct {
	Scenario string
	// Scored is whether the specification requires it.
	Scored bool
	// Passed and Failed count its checks.
	Passed, Failed int
	// OK is the suite's own verdict.
	OK bool
	// Why is the message of the first check that failed.
	Why string
}

// A Sheet is what the suite said of one URL, in its own order.
type Sheet []Outcome

// Score counts the scenarios that are required, and those of them that passed.
func (s Sheet) Score() (passed, required int) {
	for _, o := range s {
		if o.Scored {
			required++
			if o.OK {
				passed++
			}
		}
	}
	return passed, required
}

// RunServer runs the scenarios that revision requires of a server, and the unscored
// ones beside them, against url; with scenarios, those alone.
func (l *Lab) RunServer(ctx context.Context, url, revision string, scenarios ...string) (Sheet, error) {
	if len(scenarios) == 0 {
		return l.run(ctx, nil, "server", "--url", url, "--requirements", revision)
	}
	var all Sheet
	for _, s := range scenarios {
		sheet, err := l.run(ctx, nil, "server", "--url", url, "--scenario", s, "--spec-version", revision, "--force")
		if err != nil {
			return nil, err
		}
		all = append(all, sheet...)
	}
	return all, nil
}

// RunClient runs one scenario against a client: command is a program that gets
// the URL of the suite's server as its last argument.
func (l *Lab) RunClient(ctx context.Context, command string, env []string, revision, scenario string) (Outcome, error) {
	sheet, err := l.run(ctx, env, "client", "--command", command, "--scenario", scenario, "--spec-version", revision, "--force", "--timeout", "45000")
	if err != nil {
		return Outcome{}, err
	}
	return sheet[0], nil
}

// bound is how long one run of the suite may take; it takes 5 to 10 s.
const bound = 75 * time.Second

// run runs the suite once. Only one may run on a machine at a time, or the
// scenarios that measure time fail.
func (l *Lab) run(ctx context.Context, env []string, args ...string) (Sheet, error) {
	unlock, err := lockedfile.MutexAt(filepath.Join(l.NPM, ".running")).Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := l.Script(ctx, "@modelcontextprotocol/conformance", "dist/index.js", append(args, "--output-dir", dir)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Second // what the suite has started may hold its output open
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the suite did not end: %w; the last it said: %s", ctx.Err(), out[max(0, len(out)-400):])
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	sheet, err := collect(dir)
	if err != nil {
		return nil, err
	}
	sheet = judge(sheet, string(out))
	if len(sheet) == 0 {
		return nil, fmt.Errorf("the suite ran nothing: %s", out)
	}
	return sheet, nil
}

// folder is the name of a scenario's results: its side, the scenario (whose
// slashes make folders) and the time.
var folder = regexp.MustCompile(`^(?:server-)?(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// collect reads the checks of every scenario below dir.
func collect(dir string) (Sheet, error) {
	var sheet Sheet
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		m := folder.FindStringSubmatch(filepath.ToSlash(name))
		if m == nil {
			return fmt.Errorf("a folder of results has no known name: %s", name)
		}
		text, err := os.ReadFile(path) // #nosec G304 G122 -- written by the suite into a folder of the lab
		if err != nil {
			return err
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &checks); err != nil {
			return err
		}
		o := Outcome{Scenario: m[1], Scored: true}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				o.Passed++
			case "FAILURE":
				if o.Failed++; o.Failed == 1 {
					o.Why = c.ID + ": " + oneLine(c.ErrorMessage)
				}
			}
		}
		o.OK = o.Failed == 0
		sheet = append(sheet, o)
		return nil
	})
	return sheet, err
}

var (
	verdict  = regexp.MustCompile(`(?m)^([✓✗]) (\S+): (\d+) passed, (\d+) failed`)
	unscored = regexp.MustCompile(`(?m)^  [✓✗] (\S+) \((.*)\)`)
)

// judge gives sheet the order and the verdicts of the summary in out; of a run of a single
// scenario, which has none, the verdict beside its checks.
func judge(sheet Sheet, out string) Sheet {
	_, summary, ok := strings.Cut(out, "=== SUMMARY ===")
	if !ok {
		// Beyond its checks, the suite wants no warnings and a client that ends well.
		if strings.Contains(out, "OVERALL: FAILED") {
			for i := range sheet {
				sheet[i].OK = false
				sheet[i].Why = cmp.Or(sheet[i].Why, "the suite has warnings, or the client failed: "+oneLine(out[max(0, len(out)-400):]))
			}
		}
		return sheet
	}
	why := map[string]string{}
	for _, o := range sheet {
		why[o.Scenario] = o.Why
	}
	free := map[string]bool{}
	for _, m := range unscored.FindAllStringSubmatch(summary, -1) {
		free[m[1]] = true
	}
	var judged Sheet
	for _, m := range verdict.FindAllStringSubmatch(summary, -1) {
		passed, _ := strconv.Atoi(m[3]) // digits
		failed, _ := strconv.Atoi(m[4])
		judged = append(judged, Outcome{Scenario: m[2], Scored: !free[m[2]], Passed: passed, Failed: failed, OK: m[1] == "✓", Why: why[m[2]]})
	}
	return judged
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}
