// Command tenon is the tool layer of an AI agent: see tenon --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/tenon-mcp/tenon/frontend/cli"
)

// interrupted is the exit code of a program that was not let finish.
const interrupted = 130

func main() { os.Exit(run()) }

// run runs one command. The first interrupt ends it gracefully; the second ends it at
// once, also where whoever started it lets programs ignore interrupts, as shells do with
// what runs in the background.
func run() int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		<-signals
		<-signals
		os.Exit(interrupted)
	})
	configDir, _ := os.UserConfigDir() // without a home there is none
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	return cli.Main(ctx, cli.Options{
		Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Width: width(os.Stdout), Watched: term.IsTerminal(int(os.Stderr.Fd())),
		ConfigDir: configDir, Executable: executable,
	})
}

// width returns the width of a terminal in characters, or 0 for another file.
func width(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
