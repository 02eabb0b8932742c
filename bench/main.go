// Command bench measures what Tenon costs: what a call through the gateway
// takes beyond the same call without it, and what the gateway needs to list
// many tools, to start and to hold sessions. Run it from the module's root:
//
//	go run ./bench          # less than six minutes
//	go run ./bench -quick   # less than one
//	go run ./bench -quick -json -parts load,list
//
// It builds the tenon command, starts it, and is both the client before it and
// the server behind it. docs/performance.md tells what is measured and how.
// Goals stand beside the figures; a goal that is missed is an error with
// -check alone, since most of them hold on a quiet machine only.
//
// The exit code is 0, or 1 where -check finds a goal missed or nothing could be
// measured, or 2 for arguments that are of no use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/tenon-mcp/tenon/bench/suite"
	"github.com/tenon-mcp/tenon/bench/upstream"
)

// roleUpstream as the first argument makes this program the server behind the gateway.
const roleUpstream = "upstream"

func main() {
	ctx := context.Background()
	var err error
	if len(os.Args) > 1 && os.Args[1] == roleUpstream {
		err = upstream.Main(ctx, os.Args[2:], os.Stdin, os.Stdout) // a signal simply ends it
	} else {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

var (
	// errUsage is returned for arguments that are of no use, once that was said.
	errUsage = errors.New("usage")
	errCheck = errors.New("not all goals are met")
)

// run measures as the arguments say.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "take less than a minute, with fewer and shorter rounds")
	asJSON := flags.Bool("json", false, "write the report as JSON")
	check := flags.Bool("check", false, "fail where a goal is not met or not measured")
	binary := flags.String("gateway", "", "measure this tenon binary instead of building one")
	parts := flags.String("parts", "", "measure these parts alone: "+strings.Join(suite.Parts(), ","))
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "unexpected argument %q\n", flags.Arg(0))
		return errUsage
	}
	dir, err := os.MkdirTemp("", "tenon-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if *binary == "" {
		if *binary, err = build(ctx, dir, stderr); err != nil {
			return err
		}
	} else if *binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := suite.Options{
		Gateway: []string{*binary}, Upstream: []string{self, roleUpstream},
		Env: os.Environ(), Dir: dir, Plan: suite.Full(), Progress: stderr,
	}
	if *quick {
		o.Plan = suite.Quick()
	}
	if *parts != "" {
		o.Parts = strings.Split(*parts, ",")
	}
	report, err := suite.Run(ctx, o)
	if err != nil {
		return err
	}
	write := report.WriteTable
	if *asJSON {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		return err
	}
	if *check && !report.Met() {
		return errCheck
	}
	return nil
}

// build builds the tenon command as a release is built, and returns its path.
func build(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	binary := filepath.Join(dir, "tenon")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	fmt.Fprintln(stderr, "building tenon")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "github.com/tenon-mcp/tenon/cmd/tenon")
	cmd.Stdout, cmd.Stderr = stderr, stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build tenon: %w", err)
	}
	return binary, nil
}
