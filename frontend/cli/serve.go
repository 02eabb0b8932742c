package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/mcp"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/frontend/web"
	"github.com/tenon-mcp/tenon/tool"
)

// serveCommand runs the gateway.
func (a *app) serveCommand() *cobra.Command {
	var listen string
	var stdio bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway: MCP and REST for the whole pool",
		Long: "Run the gateway: MCP at /mcp, the REST API at /api/v1, /healthz and /readyz. It listens on this machine only.\n" +
			"All servers of the pool start side by side; one that fails is tried again, and keeps no other waiting.\n\n" +
			"With --stdio it speaks MCP on standard input and output, as a client that starts its servers wants it; with\n" +
			"--listen as well, it does both. It ends with the first interrupt once calls in progress are answered, and with\n" +
			"the second at once.",
		Example: "  tenon serve\n  tenon serve --listen 127.0.0.1:0 --output json\n  tenon serve --stdio --config tools.yaml",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), listen, stdio, !stdio || cmd.Flags().Changed("listen"))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "loopback address to listen on; port 0 is any (configured: gateway.listen, else 127.0.0.1:8400)")
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak MCP on standard input and output")
	return cmd
}

func (a *app) serve(ctx context.Context, listen string, stdio, listening bool) error {
	// A person at a terminal reads the lines of watchPool; a log wants more.
	level := slog.LevelInfo
	if _, ok := terminal(a.Stderr); ok {
		level = slog.LevelError
	}
	log := a.logger(level)
	gw, err := a.openGateway(ctx, log, true)
	if err != nil {
		return err
	}
	defer gw.Close()
	settings := gw.Settings()
	front := mcp.New(gw, mcp.Options{Version: thisBuild().Version, Logger: log, MaxBody: settings.MaxBodyBytes})
	defer front.Close()

	var srv *web.Server
	if listening {
		mux := http.NewServeMux()
		mux.Handle("/mcp", front)
		mux.Handle("/", rest.New(gw, rest.Options{Version: thisBuild().Version, Logger: log}))
		srv, err = web.Listen(ctx, web.Options{
			Addr: cmp.Or(listen, settings.Listen), Handler: mux, AllowedHosts: settings.AllowedHosts,
			MaxBodyBytes: settings.MaxBodyBytes, Logger: log,
		})
		if err != nil {
			return err
		}
		a.announce(srv.URL(), stdio)
	}
	return a.runAll(ctx, gw, front, srv, stdio)
}

// runAll runs the listener, if there is one, and stdio where it is wanted, until
// ctx ends or one of them does.
func (a *app) runAll(ctx context.Context, gw *tenon.Gateway, front *mcp.Server, srv *web.Server, stdio bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var listener, stream error
	if srv != nil {
		wg.Go(func() {
			defer cancel()
			listener = srv.Run(ctx)
		})
	}
	if stdio {
		wg.Go(func() {
			defer cancel()
			stream = front.ServeStdio(ctx, a.Stdin, a.Stdout)
		})
	} else {
		wg.Go(func() { a.watchPool(ctx, gw) })
	}
	wg.Wait()
	return errors.Join(listener, stream)
}

// announce tells how the gateway is reached.
func (a *app) announce(url string, stdio bool) {
	if a.json() && !stdio {
		a.printJSON(map[string]string{"mcp": url + "/mcp", "rest": url + rest.Prefix})
		return
	}
	entry, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"tenon": map[string]string{"type": "http", "url": url + "/mcp"}}})
	a.note("tenon %s", thisBuild().Version)
	a.note("  MCP     %s/mcp", url)
	a.note("  REST    %s%s (%s%s/openapi.json)", url, rest.Prefix, url, rest.Prefix)
	a.note("  client  %s", entry)
}

// watchPool tells what becomes of the servers, a line for each change.
func (a *app) watchPool(ctx context.Context, gw *tenon.Gateway) {
	shown := map[string]string{}
	show := func() {
		for _, s := range gw.Status() {
			line, ok := stateLine(s)
			if ok && shown[s.Name] != line {
				a.note("%s", line)
			}
			shown[s.Name] = line
		}
	}
	events := gw.Watch(ctx)
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
	case tool.StateStarting, tool.StateIdle, tool.StateStopped:
	}
	return line, false
}
