package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/tool"
)

// serveCommand runs the gateway.
func serveCommand(a *app) *cobra.Command {
	var listen string
	var stdio bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway: MCP and REST for the whole pool",
		Long: "Run the gateway: MCP at /mcp, the REST API at /api/v1, /healthz and /readyz. It listens on this machine; on an\n" +
			"address that others can reach, only once somebody has a key (tenon keys create) or an identity provider is\n" +
			"trusted (auth.oidc), and then every request must bring one.\n" +
			"All servers of the pool start side by side; one that fails is tried again, and keeps no other waiting.\n\n" +
			"With --stdio it speaks MCP on standard input and output, as a client that starts its servers wants it; with\n" +
			"--listen as well, it does both. When a file of the configuration changes, or on SIGHUP, the configuration is\n" +
			"read again and taken as a whole, or not at all. The gateway ends with the first interrupt once calls in progress\n" +
			"are answered, which they have 10 s for, and with the second at once.",
		Example: "  tenon serve\n  tenon serve --listen 127.0.0.1:0 --output json\n  tenon serve --stdio --config tools.yaml",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), a, listen, stdio, !stdio || cmd.Flags().Changed("listen"))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address to listen on; port 0 is any (configured: gateway.listen, else 127.0.0.1:8400)")
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak MCP on standard input and output")
	return cmd
}

// A serving is a gateway on its way to its clients.
type serving struct {
	*app
	gw     *tenon.Gateway
	front  *mcp.Server
	listen *web.Server // nil where it does not listen

	stdio bool
	log   *slog.Logger
}

func runServe(ctx context.Context, a *app, listen string, stdio, listening bool) error {
	// The heap of a gateway is a few megabytes, and would be collected a hundred
	// times a second under load. This part of it is never touched, so it takes no
	// memory; it makes collections a fifth as frequent, and spares a start most of them.
	ballast := make([]byte, ballastSize)
	defer runtime.KeepAlive(ballast)
	// A person at a terminal reads the lines of watchPool, all others the log.
	level := slog.LevelInfo
	if a.watched {
		level = slog.LevelError
	}
	log := a.logger(level)
	o := a.options(log)
	o.Start, o.Unattended = true, !listening
	s := &serving{app: a, stdio: stdio, log: log}
	o.BeforeStart = func(gw *tenon.Gateway) error { return s.bind(ctx, gw, listen, listening) }
	gw, err := a.openWith(ctx, o)
	if err != nil {
		s.close() // what was bound before it failed
		return err
	}
	defer gw.Close()
	defer s.close() // before the pool
	if s.listen != nil {
		s.announce(s.listen.URL())
	}
	return s.run(ctx)
}

// bind makes the front ends of a gateway and takes their address.
func (s *serving) bind(ctx context.Context, gw *tenon.Gateway, listen string, listening bool) (err error) {
	settings := gw.Settings()
	tuneRuntime(settings)
	front := mcp.New(gw, mcp.Options{Version: thisBuild().Version, Logger: s.log, MaxBody: settings.MaxBodyBytes})
	s.gw, s.front = gw, front
	if !listening {
		return nil
	}
	api := rest.New(gw, rest.Options{Version: thisBuild().Version, Logger: s.log})
	fronts := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/mcp", strings.HasPrefix(r.URL.Path, mcp.ServerPath), strings.HasPrefix(r.URL.Path, mcp.SkillPath):
			front.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, mcp.MetadataPath):
			front.ServeMetadata(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
	s.listen, err = listenFor(ctx, gw.Access(), web.Options{
		Addr: cmp.Or(listen, settings.Listen), Handler: fronts, AllowedHosts: settings.AllowedHosts,
		Cert: settings.Cert, Key: settings.Key, MaxBodyBytes: settings.MaxBodyBytes, Logger: s.log,
		MaxConnections: settings.MaxConnections, MaxPerAddress: settings.MaxPerAddress,
		Grace: s.Grace, Cut: tenon.ErrEnding, OnCut: front.Cut,
		Unready: func() string {
			if gw.Record().Refuses() {
				return "calls are refused, for the record cannot be written"
			}
			return ""
		},
	})
	return err
}

// close ends what was bound, however far the gateway came.
func (s *serving) close() {
	if s.listen != nil {
		_ = s.listen.Close() // closed already where it ran
	}
	if s.front != nil {
		_ = s.front.Close()
	}
}

// listenFor listens where o says. Beyond this machine it does so only where who has
// a way to tell callers apart, and nobody is let in without a credential then.
func listenFor(ctx context.Context, who *tenon.Access, o web.Options) (*web.Server, error) {
	o.Authenticated = who.Configured()
	s, err := web.Listen(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.Loopback() {
		if o.Authenticated && who.Lax() && o.Logger != nil {
			o.Logger.Warn(laxKeys)
		}
		return s, nil
	}
	who.Expose()
	if o.Cert == "" && o.Logger != nil {
		o.Logger.Warn("keys and answers pass unencrypted: others on the way can read them; set gateway.tls, or put a proxy with TLS in front", "address", s.Addr())
	}
	return s, nil
}

const ballastSize = 12 << 20

// tuneRuntime sets what the configuration wants of the whole process.
func tuneRuntime(s tenon.Settings) {
	if s.MemoryLimit > 0 {
		debug.SetMemoryLimit(s.MemoryLimit)
	}
	if s.GCPercent > 0 {
		debug.SetGCPercent(s.GCPercent)
	}
}

// run runs the listener and stdio, as wanted, until ctx ends or one of them does.
func (s *serving) run(ctx context.Context) error {
	asked := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, s.gw.Approvals().Leave)()
	var wg sync.WaitGroup
	wg.Go(func() {
		<-ctx.Done()
		if asked.Err() != nil {
			s.note("ending: calls that run are waited for, %s at most; the next interrupt ends them at once", cmp.Or(s.Grace, web.DefaultGrace))
		}
	})
	var listener, stream, gone error
	wg.Go(func() {
		if gone = (reloader{s.app, s.gw, s.log}).run(ctx); gone != nil {
			cancel()
		}
	})
	if s.listen != nil {
		wg.Go(func() {
			defer cancel()
			listener = s.listen.Run(ctx)
		})
	}
	if s.stdio {
		wg.Go(func() {
			defer cancel()
			stream = s.front.ServeStdio(ctx, s.Stdin, s.Stdout)
		})
	}
	if s.watched {
		wg.Go(func() { s.watchPool(ctx) })
	}
	wg.Wait()
	return errors.Join(listener, stream, gone)
}

// announce tells how the gateway is reached.
func (s *serving) announce(url string) {
	if s.json() && !s.stdio {
		s.printJSON(map[string]string{"mcp": url + "/mcp", "rest": url + rest.Prefix})
		return
	}
	entry := func(how any) []byte {
		b, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"tenon": how}}) // texts always marshal
		return b
	}
	s.note("tenon %s", thisBuild().Version)
	s.note("  MCP     %s/mcp", url)
	s.note("  REST    %s%s (%s%s/openapi.json)", url, rest.Prefix, url, rest.Prefix)
	s.note("  client  %s", entry(map[string]string{"type": "http", "url": url + "/mcp"}))
	if program, err := s.lastingProgram(); err == nil { // clients that are started from a desktop have a short PATH
		s.note("  or      %s", entry(map[string]any{"command": program, "args": s.stdioArgs()}))
	}
	if !s.listen.Loopback() {
		s.note("  remote  listening on %s; elsewhere the URL has the name of this machine", s.listen.Addr())
	} else if s.gw.Access().Configured() && s.gw.Access().Lax() {
		s.note("  keys    %s", laxKeys)
	}
}

// watchPool tells what becomes of the servers, a line for each change.
func (s *serving) watchPool(ctx context.Context) {
	shown := map[string]string{}
	show := func() {
		for _, st := range s.gw.Status() {
			line, ok := stateLine(st)
			if ok && shown[st.Name] != line { // a failed server that fails again the same way is no news
				s.note("%s", line)
				shown[st.Name] = line
			}
		}
	}
	events := s.gw.Watch(ctx)
	show()
	for range events {
		show()
	}
}

// stateLine shows a state that a person waits for.
func stateLine(s tool.ServerStatus) (string, bool) {
	line := fmt.Sprintf("  %-10s %s", s.State, s.Name)
	switch s.State {
	case tool.StateReady:
		return fmt.Sprintf("%s (%s)", line, count(s.Tools, "tool")), true
	case tool.StateFailed:
		return line + ": " + s.Reason, true
	case tool.StateInstalling:
		return line, true
	case tool.StateIdle:
		return fmt.Sprintf("%s (%s, starts on its first use)", line, count(s.Tools, "tool")), true
	case tool.StateStarting, tool.StateStopped:
	}
	return line, false
}

// stdioArgs are the arguments with which a client that starts its servers starts
// this gateway.
func (s *serving) stdioArgs() []string {
	args := []string{"serve", "--stdio"}
	if path := s.configPath(); path != "" {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		args = append(args, "--config", path)
	}
	return args
}
