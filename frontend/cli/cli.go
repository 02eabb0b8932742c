// Package cli is the command line: tenon serve, tools, servers, call, calls, batch,
// search, handle, server, check, lock, verify, version and completion.
//
//	os.Exit(cli.Main(ctx, cli.Options{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, …}))
//
// It holds no logic of its own: a command opens the pool in place, or speaks to a
// running gateway (--gateway, $TENON_GATEWAY), and does not know which. It keeps
// these rules:
//
//   - Standard output is the answer and nothing else. Errors, hints, notes and
//     progress go to standard error.
//   - With --output json the answer is one JSON object of a stable shape, also
//     where it is an error: {"error", "error_kind"}, or for call the result object.
//   - The exit code follows from the kind of the error; see exitCode.
//   - A person gets "error:" with what is wrong, and "hint:" with what to do.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/tool"
)

// Options are the world as main finds it.
type Options struct {
	Args           []string // without the name of the program
	Env            []string // as os.Environ gives it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Width          int           // of the terminal that Stdout is, in characters; 0 where it is none
	Watched        bool          // Stderr is a terminal
	ConfigDir      string        // the user's configuration folder, or empty
	Grace          time.Duration // how long serve waits at its end for answers in progress; 0 is the usual time
	Executable     string        // path of this program, which runs bundled servers as children; empty runs them in process
}

// Main runs one command and returns its exit code. When ctx ends, what runs is
// canceled; a server stops gracefully.
func Main(ctx context.Context, o Options) int {
	out := &answer{w: o.Stdout}
	o.Stdout, o.Stderr = out, &aside{w: o.Stderr}
	a := &app{Options: o, screen: screen{o.Stdout, o.Stderr, o.Width, o.Watched}, env: environ(o.Env)}
	root := rootCommand(a)
	root.SetArgs(append([]string{}, o.Args...)) // not nil: cobra would take those of the process
	root.SetIn(o.Stdin)
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	code := a.exit(root.ExecuteContext(ctx))
	if err := out.lost(); err != nil && code == 0 {
		a.note("error: the answer could not be written: %v", err)
		return 1
	}
	return code
}

// An app is one run of the program.
type app struct {
	Options
	screen
	env    map[string]string
	common commonFlags
}

// commonFlags are the flags of all commands.
type commonFlags struct {
	config, gateway, output string
	tokenFile               string
	session, skill, task    string
	timeout                 time.Duration
	verbose                 bool
}

func environ(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, e := range env {
		key, value, _ := strings.Cut(e, "=")
		m[key] = value
	}
	return m
}

// rootCommand makes the tree of commands.
func rootCommand(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "tenon",
		Short: "The tool layer of an AI agent: a pool of tool servers behind one door",
		Long: "Tenon keeps a pool of tool servers (Model Context Protocol), shows a model what they offer, and carries out\n" +
			"the calls that the model asks for.\n\n" +
			"The pool is that of --config, $TENON_CONFIG, ./tenon.yaml or the user's configuration folder, whichever is\n" +
			"found first; without one, it is the bundled servers that need no key.\n\n" +
			exitCodes,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				a.printVersion()
				return nil
			}
			if cmd.Flags().NFlag() > 0 { // such as the value of one that was left out
				return usage(cmd, "the command is missing")
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.checkCommon(cmd)
		},
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.Flags().BoolVar(&version, "version", false, "show the version of this program")
	f := root.PersistentFlags()
	f.StringVar(&a.common.config, "config", "", "configuration: tenon.yaml, a client's mcpServers JSON, or a folder of tools ($TENON_CONFIG)")
	f.StringVar(&a.common.gateway, "gateway", "", "URL of a running gateway to use instead of opening the pool here ($TENON_GATEWAY)")
	f.StringVar(&a.common.tokenFile, "token-file", "", "file with the key or token that the gateway wants ($TENON_TOKEN holds it itself)")
	f.StringVarP(&a.common.output, "output", "o", "text", "form of the answer: text or json")
	f.StringVar(&a.common.session, "session", "", "session of the calls: holds the state of servers, such as a browser")
	f.StringVar(&a.common.skill, "skill", "", "skill of the calls")
	f.StringVar(&a.common.task, "task", "", "task of the calls")
	f.DurationVar(&a.common.timeout, "timeout", 0, "bound on the whole, such as 30s or 5m")
	f.BoolVarP(&a.common.verbose, "verbose", "v", false, "log what happens to standard error")
	root.AddCommand(
		serveCommand(a), toolsCommand(a), serversCommand(a), callCommand(a), batchCommand(a),
		searchCommand(a), handleCommand(a), stopCommand(a), resumeCommand(a), queryCommand(a), documentCommand(a), sandboxCommand(), serverCommand(a), checkCommand(a), lockCommand(a), verifyCommand(a), versionCommand(a),
	)
	root.AddCommand(keysCommand(a), approvalsCommand(a), callsCommand(a), recordCommand(a))
	root.AddCommand(policyCommand(a), skillsCommand(a), secretsCommand(a), importCommand(a), connectCommand(a), loginCommand(a), logoutCommand(a))
	strict(root)
	return root
}

// strict has the commands that the library adds refuse what they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err != nil || found == root && len(rest) > 0 {
					return knownCommand(root, args)
				}
				return nil
			}
		case "completion":
			c.Args, c.RunE = knownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// knownCommand is asked when the first argument names no command.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return unknown(cmd, "command", args[0], names)
}

// checkCommon checks the flags that all commands have.
func (a *app) checkCommon(cmd *cobra.Command) error {
	switch cmd.Name() {
	case "serve", "server", "check", "lock", "verify", "import", "connect", "login", "logout": // what is ignored is not what was meant
		if a.common.gateway != "" && cmd.Parent() == cmd.Root() {
			return usage(cmd, "tenon %s is about the pool here: it takes no --gateway", cmd.Name())
		}
	}
	for _, name := range []string{"gateway", "config", "token-file", "listen"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" { // a variable that is not set, most likely
			return &problem{kind: tool.Invalid, text: "--" + name + " is empty", hint: "give it a value, or leave it out"}
		}
	}
	if a.common.output != "text" && a.common.output != "json" {
		return &problem{kind: tool.Invalid, text: fmt.Sprintf("--output is text or json, not %q", a.common.output)}
	}
	if a.common.timeout < 0 {
		return &problem{kind: tool.Invalid, text: "--timeout must not be below zero"}
	}
	return nil
}

// json reports whether the answer is to be JSON. It looks at the arguments
// themselves where flags could not be read.
func (a *app) json() bool {
	if a.common.output == "json" {
		return true
	}
	for i, arg := range a.Args {
		switch {
		case arg == "--":
			return false
		case arg == "--output=json" || arg == "-ojson" || arg == "-o=json":
			return true
		case (arg == "--output" || arg == "-o") && i+1 < len(a.Args) && a.Args[i+1] == "json":
			return true
		}
	}
	return false
}

// bounded returns ctx bounded by --timeout.
func (a *app) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.common.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.common.timeout)
}

// logger returns a logger to standard error from that level on; --verbose logs
// all.
func (a *app) logger(level slog.Level) *slog.Logger {
	if a.common.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: bound}))
}

// bound cuts a value that somebody has made long, a caller or a server: the log is kept on
// a disk.
func bound(_ []string, a slog.Attr) slog.Attr {
	const most = 8 << 10
	if s := a.Value.String(); len(s) > most {
		a.Value = slog.StringValue(fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s)))
	}
	return a
}

// quiet is the level at which commands log that tell the person all there is to
// know themselves.
const quiet = slog.LevelError + 1
