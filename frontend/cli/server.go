package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/internal/ends"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

// optionsVariable holds the options of a bundled server as a JSON object. The
// gateway uses it, so that no secret is in a process list; flags go over it.
const optionsVariable = "TENON_SERVER_OPTIONS"

// serverCommand runs a bundled server by itself. Each server is a command below
// it, with its options as flags.
func serverCommand(a *app) *cobra.Command {
	all := servers.All()
	cmd := &cobra.Command{
		Use:   "server NAME",
		Short: "Run one bundled server as an MCP server of its own",
		Long: "Run one bundled server as an MCP server of its own: on standard input and output, or with --http over\n" +
			"streamable HTTP. Without a name, list the bundled servers. On an address that others can reach it wants a key\n" +
			"of every request, and starts only once there is one (tenon keys create).\n\n" +
			"The options of a server are its flags (tenon server NAME --help), and the JSON object in $" + optionsVariable + ".",
		Example: "  tenon server time\n  tenon server system --http",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, s := range all {
				names = append(append(names, s.Name), servers.Aliases(s.Name)...)
			}
			err := unknown(cmd, "bundled server", args[0], names)
			if p, ok := errors.AsType[*problem](err); ok && nearest(args[0], names) == "" {
				p.hint = "tenon server lists them"
			}
			return err
		},
		RunE: func(*cobra.Command, []string) error {
			printServers(a, all)
			return nil
		},
	}
	for _, s := range all {
		// The flags of a server come from the schema of its options, which takes
		// time to make: only the one that is meant gets them.
		cmd.AddCommand(oneServer(a, s, slices.ContainsFunc(append(servers.Aliases(s.Name), s.Name), func(name string) bool { return slices.Contains(a.Args, name) })))
	}
	return cmd
}

func printServers(a *app, all []servers.Server) {
	if a.json() {
		type entry struct {
			Name    string `json:"name"`
			Summary string `json:"summary"`
			Port    int    `json:"port"`
			Keyless bool   `json:"keyless"`
		}
		list := []entry{}
		for _, s := range all {
			list = append(list, entry{s.Name, s.Summary, s.Port, s.Keyless})
		}
		a.printJSON(map[string]any{"servers": list})
		return
	}
	rows := [][]string{{"SERVER", "PORT", "SUMMARY"}}
	for _, s := range all {
		rows = append(rows, []string{s.Name, strconv.Itoa(s.Port), s.Summary})
	}
	a.printTable(rows)
}

func oneServer(a *app, s servers.Server, meant bool) *cobra.Command {
	var addr string
	var flags []serverFlag
	usual := "127.0.0.1:" + strconv.Itoa(s.Port)
	cmd := &cobra.Command{
		Use:     s.Name,
		Aliases: servers.Aliases(s.Name),
		Short:   s.Summary,
		Args: func(cmd *cobra.Command, args []string) error {
			// --http takes its address after a space too, which a flag with a usual
			// value does not by itself.
			if cmd.Flags().Changed("http") && addr == usual && len(args) == 1 {
				addr = args[0]
				return nil
			}
			return exactly()(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := serverOptions(a, flags, servers.AliasOptions(s.Name)[cmd.CalledAs()])
			if err != nil {
				return err
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			var last ends.Ends
			srv, err := s.New(options, tool.Place{Getenv: func(name string) string { return a.env[name] }, AtEnd: last.Add})
			if err != nil {
				return &problem{kind: tool.Invalid, text: "server " + s.Name + ": " + err.Error(), hint: "tenon server " + s.Name + " --help lists its options", err: err}
			}
			if addr != "" {
				err = serveHTTP(ctx, a, srv, addr)
			} else {
				err = serveStdio(ctx, srv, a.Stdin, a.Stdout)
			}
			return errors.Join(err, last.Run())
		},
	}
	cmd.Flags().StringVar(&addr, "http", "", "serve streamable HTTP on this address")
	cmd.Flags().Lookup("http").NoOptDefVal = usual
	if meant {
		flags = addServerFlags(cmd.Flags(), s)
	}
	return cmd
}

// untilHangup returns a context that ends also when the terminal is closed. Where nobody
// reads any more, writing fails from now on, in place of ending the process at once: what
// a server holds is given back then too.
func untilHangup(ctx context.Context) (context.Context, func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	return ctx, func() { stop(); signal.Stop(unread) }
}

// A serverFlag is one option of a bundled server as a flag.
type serverFlag struct {
	option servers.Option
	flag   *pflag.Flag
	values *[]string
}

// addServerFlags adds a flag for each option of a server.
func addServerFlags(fs *pflag.FlagSet, s servers.Server) []serverFlag {
	options, err := s.Options()
	if err != nil {
		return nil // a fault of the server: New tells it
	}
	flags := make([]serverFlag, len(options))
	for i, o := range options {
		// All are read as texts and typed together with the others, so that a
		// mistake is told the same way wherever an option comes from.
		values := fs.StringArray(o.Flag(), nil, o.Description)
		f := fs.Lookup(o.Flag())
		f.DefValue = ""
		f.Value = namedType{f.Value, o.Type}
		if o.Type == "boolean" {
			f.NoOptDefVal = "true"
		}
		flags[i] = serverFlag{o, f, values}
	}
	return flags
}

// A namedType is a flag's value that help calls by the type of the option.
type namedType struct {
	pflag.Value
	name string
}

// Type returns the name of the type.
func (t namedType) Type() string { return t.name }

// serverOptions returns the options of the environment, over those that the server has by
// the name it was called by, with those of the flags over them, or nil where there are none.
func serverOptions(a *app, flags []serverFlag, usual string) (json.RawMessage, error) {
	o := object{}
	if usual != "" {
		if err := json.Unmarshal([]byte(usual), &o); err != nil {
			return nil, err
		}
	}
	if env := a.env[optionsVariable]; env != "" {
		if err := json.Unmarshal([]byte(env), &o); err != nil {
			return nil, &problem{kind: tool.Invalid, text: "$" + optionsVariable + " is no JSON object"} // not its text: it may hold secrets
		}
	}
	for _, f := range flags {
		if !f.flag.Changed {
			continue
		}
		value, err := optionValue(f.option, *f.values)
		if err != nil {
			return nil, &problem{kind: tool.Invalid, text: "--" + f.flag.Name + ": " + err.Error(), hint: "its --help says what the flag takes"}
		}
		o[f.option.Name] = value
	}
	if len(o) == 0 {
		return nil, nil
	}
	return o.bytes(), nil
}

func optionValue(o servers.Option, values []string) (json.RawMessage, error) {
	if o.Type == "array" {
		return json.Marshal(values)
	}
	if len(values) > 1 {
		return nil, errors.New("given more than once")
	}
	return typed(values[0], []string{cmp.Or(o.Type, "string")})
}

// maxLine is the longest message that a bundled server takes on standard input. A
// gateway may hand on long results: the 16 MiB of the SDK are too few.
const maxLine = 128 << 20

// serveStdio speaks MCP until in ends, and what was asked is answered, or ctx does.
func serveStdio(ctx context.Context, srv *sdk.Server, in io.Reader, out io.Writer) error {
	err := srv.Run(ctx, lingering{&sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}, MaxLineLength: maxLine}})
	if ctx.Err() != nil {
		return nil // it was told to stop
	}
	return err
}

type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// sessionTimeout ends sessions of clients that went away without a word.
const sessionTimeout = 30 * time.Minute

// serveHTTP speaks MCP at /mcp of an address.
func serveHTTP(ctx context.Context, a *app, srv *sdk.Server, addr string) error {
	log := a.logger(slog.LevelWarn)
	who, err := tenon.OpenAccess(tenon.Options{Config: authConfig(a), Bundled: bundled(), Env: a.Env, StateDir: tenon.StateDir(a.Env), Logger: log})
	if err != nil {
		return err
	}
	defer who.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", admitted(who, bothEras(srv)))
	s, err := listenFor(ctx, who, web.Options{Addr: addr, Handler: mux, Logger: log})
	if err != nil {
		return err
	}
	a.note("MCP at %s/mcp", s.URL())
	err = s.Run(ctx)
	for session := range srv.Sessions() { // those that their clients did not end
		err = errors.Join(err, session.Close())
	}
	return err
}

// authConfig returns the configuration that says who may call: the one that is
// named. A server of its own has nothing to do with one that only lies about.
func authConfig(a *app) string { return cmp.Or(a.common.config, a.env["TENON_CONFIG"]) }

// admitted returns a handler for those who may call tools.
func admitted(who *tenon.Access, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := who.Caller(r)
		if err == nil && caller.Grant != nil && !caller.Grant.Caller {
			err = who.Forbidden(r, "this credential decides on calls and makes none: use that of a caller")
		}
		switch {
		case err != nil:
			refuse(w, err)
		case caller.Grant == nil:
			next.ServeHTTP(w, r)
		default:
			boundTo(caller, next).ServeHTTP(w, r)
		}
	})
}

// boundTo returns a handler whose sessions belong to a caller: to others, who may
// know the id of one, it is not there.
func boundTo(caller tool.Caller, next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		// Checked already; the SDK wants to know how long, and asks at each request.
		return &auth.TokenInfo{UserID: caller.Name, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(next)
}

// refuse answers a request that nobody may make, or not with this credential.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if refusal, ok := errors.AsType[*tenon.Refusal](err); ok {
		refusal.Tell(w.Header())
		status = refusal.Status
	}
	http.Error(w, err.Error(), status)
}

// firstStateless is the first version of MCP without sessions.
const firstStateless = "2026-07-28"

// bothEras speaks MCP with sessions and without on one URL. A handler of the SDK
// does one or the other.
func bothEras(srv *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return srv }
	// Cancellation by closing the connection is how a modern client gives up.
	stateless := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	sessions := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{SessionTimeout: sessionTimeout})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimSpace(r.Header.Get("MCP-Protocol-Version")) >= firstStateless {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}
