// Command suite runs the official conformance suite through the gateway and prints one
// table: a row for each scenario, a column for each pair of what the client and
// the server speak.
//
//	go run ./internal/conformance/suite [-cells modern-both,client] [-v] [-direct]
//
// It fails where a cell scores less than its goal, where a required scenario fails
// that expected.txt does not name, and where one passes that it does name.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// The revisions of the specification, one of each era.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// A cell is one run of the suite.
type cell struct {
	name string
	// revision is what the suite speaks, server what the fixture does.
	revision string
	server   conformance.Era
	goal     int
}

var cells = []cell{
	{"legacy-legacy", legacy, conformance.Stateful, 30},
	{"legacy-both", legacy, conformance.Both, 30},
	{"legacy-modern", legacy, conformance.Stateless, 26},
	{"modern-modern", modern, conformance.Stateless, 37},
	{"modern-both", modern, conformance.Both, 37},
	{"modern-legacy", modern, conformance.Stateful, 35},
}

// The scenarios of the extension for tasks, which the suite does not score.
var (
	tasksCell = cell{"tasks", modern, conformance.Tasks, 10}
	tasksRuns = []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition",
	}
)

// The scenarios of the client's side that need no authorization server.
var (
	clientCell = cell{name: "client", goal: 12}
	clientRuns = [][2]string{
		{legacy, "initialize"},
		{legacy, "tools_call"},
		{legacy, "elicitation-sep1034-client-defaults"},
		{legacy, "sse-retry"},
		{legacy, "json-schema-2020-12-preservation"},
		{modern, "tools_call"},
		{modern, "request-metadata"},
		{modern, "sep-2322-client-request-state"},
		{modern, "http-standard-headers"},
		{modern, "http-custom-headers"},
		{modern, "http-invalid-tool-headers"},
		{modern, "json-schema-ref-no-deref"},
	}
)

//go:embed expected.txt
var expectedText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("cells", "", "cells to run, with commas between (all)")
	why := flag.Bool("v", false, "say why each scenario fails")
	direct := flag.Bool("direct", false, "leave the gateway out, to see what the fixtures themselves can do")
	wrap := flag.Bool("wrap", false, "be the client under test: start a gateway before the URL that follows, and run the SDK's client against it")
	operator := flag.Bool("operator", false, "be the client under test: call a tool of the server at the URL that follows, and log in there")
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	var err error
	switch {
	case os.Getenv(browserVariable) != "":
		err = conformance.Browse(ctx, flag.Arg(0))
	case *wrap:
		err = wrapped(ctx, flag.Arg(0))
	case *operator:
		err = operate(ctx, flag.Arg(0))
	default:
		err = measure(ctx, os.Stdout, *only, *why, *direct)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		if errors.Is(err, conformance.ErrMissing) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

// measure runs the cells and prints the table.
func measure(ctx context.Context, w io.Writer, only string, why, direct bool) error {
	expected, err := parse(expectedText)
	if err != nil {
		return err
	}
	lab, err := conformance.Open(ctx, ".")
	if err != nil {
		return err
	}
	t := &table{}
	for _, c := range append(slices.Clone(cells), tasksCell, clientCell, legacyAuth, modernAuth) {
		if only != "" && !slices.Contains(strings.Split(only, ","), c.name) {
			continue
		}
		sheet, err := run(ctx, lab, c, direct)
		if err != nil {
			sheet = nil // the cell fails, the others are still worth knowing
			fmt.Fprintf(w, "%s: %v\n", c.name, err)
		}
		t.add(c, sheet)
	}
	t.print(w)
	if why {
		t.reasons(w)
	}
	return t.compare(w, expected)
}

// run runs one cell with a fixture and a gateway of its own.
func run(ctx context.Context, lab *conformance.Lab, c cell, direct bool) (conformance.Sheet, error) {
	switch c.name {
	case clientCell.name:
		return runClient(ctx, lab)
	case legacyAuth.name, modernAuth.name:
		return runAuth(ctx, lab, c)
	}
	fixture, err := lab.Fixture(ctx, c.server)
	if err != nil {
		return nil, err
	}
	defer fixture.Close()
	url := fixture.URL
	if !direct {
		gateway, err := lab.Gateway(ctx, map[string]any{"fixture": map[string]any{"url": url}})
		if err != nil {
			return nil, err
		}
		defer gateway.Close()
		url = gateway.Server("fixture")
	}
	if c.name == tasksCell.name {
		return lab.RunServer(ctx, url, c.revision, tasksRuns...)
	}
	return lab.RunServer(ctx, url, c.revision)
}

// runClient has the suite judge what reaches its servers through the gateway.
func runClient(ctx context.Context, lab *conformance.Lab) (conformance.Sheet, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := []string{"WRAP_TENON=" + lab.Tenon, "WRAP_CLIENT=" + lab.Client}
	var sheet conformance.Sheet
	for _, r := range clientRuns {
		o, err := lab.RunClient(ctx, self+" -wrap", env, r[0], r[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r[1], err)
		}
		o.Scenario += "@" + r[0]
		sheet = append(sheet, o)
	}
	return sheet, nil
}

// wrapped starts a gateway before url and runs the SDK's client against it, with
// what the suite says to the client in its environment.
func wrapped(ctx context.Context, url string) error {
	lab := &conformance.Lab{Tenon: os.Getenv("WRAP_TENON"), Client: os.Getenv("WRAP_CLIENT")}
	gateway, err := lab.Gateway(ctx, map[string]any{"suite": map[string]any{"url": url}})
	if err != nil {
		return err
	}
	defer gateway.Close()
	err = lab.RunSDKClient(ctx, gateway.Server("suite"))
	if err != nil {
		fmt.Fprintln(os.Stderr, gateway.Log())
	}
	return err
}

// parse reads expected.txt: the cell, the scenario and the reason, a line each.
func parse(text string) (map[string]string, error) {
	expected := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 {
			return nil, fmt.Errorf("expected.txt: a line needs a cell, a scenario and a reason: %s", line)
		}
		expected[f[0]+" "+f[1]] = strings.Join(f[2:], " ")
	}
	return expected, nil
}

// A table is what all cells said.
type table struct {
	cells  []cell
	sheets []conformance.Sheet
	rows   []string
}

func (t *table) add(c cell, s conformance.Sheet) {
	t.cells, t.sheets = append(t.cells, c), append(t.sheets, s)
	for _, o := range s {
		if !slices.Contains(t.rows, o.Scenario) {
			t.rows = append(t.rows, o.Scenario)
		}
	}
}

// print prints the table: y and n, in brackets where the scenario is not required.
func (t *table) print(w io.Writer) {
	width := 0
	for _, r := range t.rows {
		width = max(width, len(r))
	}
	fmt.Fprintf(w, "%-*s", width, "scenario (client-server)")
	for _, c := range t.cells {
		fmt.Fprintf(w, "  %s", c.name)
	}
	fmt.Fprintln(w)
	for _, r := range t.rows {
		fmt.Fprintf(w, "%-*s", width, r)
		for i, c := range t.cells {
			fmt.Fprintf(w, "  %-*s", len(c.name), mark(t.sheets[i], r))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-*s", width, "passed of required (goal)")
	for i, c := range t.cells {
		passed, required := t.sheets[i].Score()
		fmt.Fprintf(w, "  %-*s", len(c.name), fmt.Sprintf("%d/%d (%d)", passed, required, c.goal))
	}
	fmt.Fprintln(w)
}

func mark(s conformance.Sheet, scenario string) string {
	i := slices.IndexFunc(s, func(o conformance.Outcome) bool { return o.Scenario == scenario })
	if i < 0 {
		return "·"
	}
	m := "n"
	if s[i].OK {
		m = "y"
	}
	if !s[i].Scored {
		m = "(" + m + ")"
	}
	return m
}

// reasons prints the first check that failed of each scenario.
func (t *table) reasons(w io.Writer) {
	for i, c := range t.cells {
		for _, o := range t.sheets[i] {
			if !o.OK {
				fmt.Fprintf(w, "%s %s: %s\n", c.name, o.Scenario, cmp.Or(o.Why, "no check failed"))
			}
		}
	}
}

// compare says what is other than expected, and is an error then.
func (t *table) compare(w io.Writer, expected map[string]string) error {
	wrong := 0
	for i, c := range t.cells {
		if passed, _ := t.sheets[i].Score(); passed < c.goal {
			wrong++
			fmt.Fprintf(w, "BELOW THE GOAL  %s: %d of %d\n", c.name, passed, c.goal)
		}
		for _, o := range t.sheets[i] {
			reason, known := expected[c.name+" "+o.Scenario]
			switch {
			case !o.OK && o.Scored && !known:
				wrong++
				fmt.Fprintf(w, "FAILS           %s %s: %s\n", c.name, o.Scenario, o.Why)
			case !o.OK && known:
				fmt.Fprintf(w, "fails, expected %s %s: %s\n", c.name, o.Scenario, reason)
			case o.OK && known:
				wrong++
				fmt.Fprintf(w, "PASSES NOW      %s %s: take it out of expected.txt\n", c.name, o.Scenario)
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d results are other than expected", wrong)
	}
	return nil
}
