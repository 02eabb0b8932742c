// Command servers starts every server of a catalog of real MCP servers, first by itself
// and then through the gateway, and compares what both offer byte by byte: names
// and URIs apart where the gateway has to change them.
//
//	go run ./internal/conformance/servers -corpus FOLDER [-only memory,time] [-again] [-for 20m]
//
// Each result is kept in .cache/servers/results.json as soon as it is there, so
// that a run that was interrupted goes on where it stopped; -again does the
// servers anew. The servers run without a network where the system allows that.
//
// The scripts of installations are not run. A native module that a server cannot do without
// is built from its source, which wants a C++ compiler and Python, and takes minutes once.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// How long a server may take to be installed, and how long for each way to see it.
const (
	installing = 8 * time.Minute // some are compiled
	starting   = 60 * time.Second
)

// A row is what became of one server.
type row struct {
	Server, Version string
	// Counts are the entries of each list, in the order of kinds.
	Counts []int
	// Verdict is "same", or what is other.
	Verdict string
	// Reason says more of a failure.
	Reason string `json:",omitempty"`
	// Direct and Gateway are milliseconds from the start to the first list.
	Direct, Gateway int64
	Offline         bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	corpus := flag.String("corpus", os.Getenv("TENON_TEST_CORPUS"), "folder that holds catalog/*.json ($TENON_TEST_CORPUS)")
	only := flag.String("only", "", "servers to try, with commas between (all)")
	again := flag.Bool("again", false, "try servers that have a result")
	budget := flag.Duration("for", time.Hour, "begin no server after this time")
	flag.Parse()
	if err := run(ctx, *corpus, *only, *again, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		if errors.Is(err, conformance.ErrMissing) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, corpus, only string, again bool, budget time.Duration) error {
	entries, err := catalog(corpus)
	if err != nil {
		return err
	}
	lab, err := conformance.Open(ctx, ".")
	if err != nil {
		return err
	}
	dir := filepath.Join(lab.Root, ".cache", "servers")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	rows, err := load(filepath.Join(dir, "results.json"))
	if err != nil {
		return err
	}
	offline, end := canIsolate(ctx), time.Now().Add(budget)
	for _, e := range entries {
		known, done := rows[e.Server]
		switch {
		case only != "" && !slices.Contains(strings.Split(only, ","), e.Server),
			done && known.Version == e.Version && !again,
			time.Now().After(end) || ctx.Err() != nil:
			continue
		}
		r := try(ctx, lab, e, filepath.Join(dir, e.Server), offline)
		if ctx.Err() != nil {
			break // the result is of the interruption
		}
		fmt.Fprintf(os.Stderr, "%s: %s %s\n", e.Server, r.Verdict, r.Reason)
		rows[e.Server] = r
		if err := save(filepath.Join(dir, "results.json"), rows); err != nil {
			return err
		}
	}
	return table(os.Stdout, entries, rows)
}

// try compares one server with and without the gateway.
func try(ctx context.Context, lab *conformance.Lab, e entry, dir string, offline bool) row {
	r := row{Server: e.Server, Version: e.Version, Offline: offline}
	failed := func(verdict string, err error) row {
		r.Verdict, r.Reason = verdict, short(err.Error())
		return r
	}
	installCtx, cancel := context.WithTimeout(ctx, installing)
	defer cancel()
	if _, err := install(installCtx, e, dir); err != nil {
		return failed("not installed", err)
	}
	home, err := os.MkdirTemp("", "servers")
	if err != nil {
		return failed("not tried", err)
	}
	defer func() { _ = os.RemoveAll(home) }() // a temporary folder
	p, err := prepare(e, dir, home, lab.Node, offline)
	if err != nil {
		return failed("not tried", err)
	}
	see := func() (offers, error) {
		ctx, cancel := context.WithTimeout(ctx, starting)
		defer cancel()
		all, took, err := direct(ctx, p)
		r.Direct = cmp.Or(r.Direct, took.Milliseconds())
		return all, err
	}
	want, err := see()
	if lacksNative(err) {
		if err = native(installCtx, lab, dir, offline); err == nil {
			want, err = see()
		}
	}
	if err != nil {
		return failed("does not start by itself", err)
	}
	for _, k := range kinds {
		r.Counts = append(r.Counts, len(want[k.member]))
	}
	got, pool, took, err := gatewayed(ctx, lab, e, p)
	if err != nil {
		return failed("fails through the gateway", err)
	}
	r.Gateway = took.Milliseconds()
	r.Verdict, r.Reason = "same", ""
	if diff := cmp.Or(difference(want, got, false), difference(want, pool, true)); diff != "" {
		r.Verdict, r.Reason = "other", diff
		if second, err := see(); err == nil && difference(want, second, false) != "" {
			r.Verdict, r.Reason = "differs by itself", difference(want, second, false)
		}
	}
	return r
}

// gatewayed returns what the gateway offers of p on its URL and on that of the
// pool, and how long after its start.
func gatewayed(ctx context.Context, lab *conformance.Lab, e entry, p program) (one, pool offers, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	start := time.Now()
	gateway, err := lab.Gateway(context.WithoutCancel(ctx), map[string]any{e.Server: map[string]any{
		"command": p.path, "args": p.args, "env": p.env, "cwd": p.dir, "start_timeout": starting.String(),
	}})
	if err != nil {
		return nil, nil, 0, err
	}
	defer gateway.Close()
	for {
		one, err = through(ctx, gateway.Server(e.Server))
		if err == nil && len(one["tools"]) > 0 {
			took = time.Since(start)
			pool, err = through(ctx, gateway.MCP)
			return one, pool, took, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, 0, fmt.Errorf("%w; the gateway says: %s", cmp.Or(err, ctx.Err()), short(gateway.Log()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// difference says where two servers differ first. Names may differ where they
// carry the server's.
func difference(want, got offers, renamed bool) string {
	for _, k := range kinds {
		if len(want[k.member]) != len(got[k.member]) {
			return fmt.Sprintf("%d %s in place of %d", len(got[k.member]), k.member, len(want[k.member]))
		}
		for i, w := range want[k.member] {
			g := got[k.member][i]
			if renamed && k.member != "resources" && k.member != "resourceTemplates" {
				w, g = nameless(w), nameless(g)
			}
			if string(w) != string(g) {
				at := 0
				for at < min(len(w), len(g)) && w[at] == g[at] {
					at++
				}
				return fmt.Sprintf("%s[%d] from byte %d: %.60q in place of %.60q", k.member, i, at, g[at:], w[at:])
			}
		}
	}
	return ""
}

// nameless returns an object without the value of its member "name".
func nameless(object json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members["name"] == nil {
		return object
	}
	return json.RawMessage(strings.Replace(string(object), `"name":`+string(members["name"]), `"name":""`, 1))
}

func load(path string) (map[string]row, error) {
	rows := map[string]row{}
	text, err := os.ReadFile(path) // #nosec G304 -- our own
	if errors.Is(err, os.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(text, &rows)
}

func save(path string, rows map[string]row) error {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// table prints all rows, and fails where the gateway is not transparent.
func table(w io.Writer, entries []entry, rows map[string]row) error {
	fmt.Fprintf(w, "%-28s %-12s %5s %7s %9s %9s %8s %8s  %s\n", "server", "version", "tools", "prompts", "resources", "templates", "direct", "gateway", "result")
	sums, wrong := map[string]int{}, 0
	for _, e := range entries {
		r, ok := rows[e.Server]
		if !ok {
			r = row{Version: e.Version, Verdict: "not tried yet"}
		}
		counts := append(slices.Clone(r.Counts), 0, 0, 0, 0)
		fmt.Fprintf(w, "%-28s %-12s %5d %7d %9d %9d %5d ms %5d ms  %s", e.Server, r.Version, counts[0], counts[1], counts[2], counts[3], r.Direct, r.Gateway, r.Verdict)
		if r.Reason != "" {
			fmt.Fprintf(w, ": %s", r.Reason)
		}
		fmt.Fprintln(w)
		sums[r.Verdict]++
		if r.Verdict == "other" || r.Verdict == "fails through the gateway" {
			wrong++
		}
	}
	for verdict, n := range sums {
		fmt.Fprintf(w, "%4d %s\n", n, verdict)
	}
	if wrong > 0 {
		return fmt.Errorf("%d servers are not the same through the gateway", wrong)
	}
	return nil
}
