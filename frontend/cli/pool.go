package cli

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

// A pool is what commands work on: one opened in this process, or a gateway.
type pool interface {
	lister
	caller
	io.Closer
}

type lister interface {
	Status(ctx context.Context) ([]tool.ServerStatus, error)
	Tools(ctx context.Context, o tenon.ListOptions) (tool.Listing, error)
	Rendered(ctx context.Context, o tenon.ListOptions, f rest.Format) ([]byte, error)
	Find(ctx context.Context, o tenon.FindOptions) ([]tenon.Match, error)
}

type caller interface {
	Call(ctx context.Context, c tool.Call) *tool.Result
	CallBatch(ctx context.Context, calls []tool.Call) []*tool.Result
}

var (
	_ pool = (*rest.Client)(nil)
	_ pool = inPlace{}
)

// inPlace is a pool in this process.
type inPlace struct {
	*tenon.Gateway
	a *app
}

// Close closes the pool, and tells of calls that no record will tell of: the log, which a
// gateway has, nobody sees here.
func (p inPlace) Close() error {
	err := p.Gateway.Close()
	if st, ok := p.Record().Status(); ok && st.Unrecorded > 0 {
		why := ""
		if st.Gone != "" {
			why = ": " + st.Gone
		}
		p.a.note("warning: %s went on without a record, for %s could not be written%s", count(int(st.Unrecorded), "call"), st.Where, why)
	}
	return err
}

// Status returns the state of each server.
func (p inPlace) Status(context.Context) ([]tool.ServerStatus, error) { return p.Gateway.Status(), nil }

// Rendered returns what the pool offers in a format.
func (p inPlace) Rendered(ctx context.Context, o tenon.ListOptions, f rest.Format) ([]byte, error) {
	l, err := p.Tools(ctx, o)
	if err != nil {
		return nil, err
	}
	offer, err := p.Offered(o.Viewer)
	if err != nil {
		return nil, err
	}
	if o.Server != "" {
		offer = offer.Direct()
	}
	return rest.Render(l, offer, f)
}

// open opens the pool of the command: that of the gateway that is named, else
// one in this process.
func (a *app) open(ctx context.Context) (pool, error) {
	if url := a.gateway(); url != "" {
		return a.client(url)
	}
	gw, err := a.openGateway(ctx, a.logger(quiet))
	if err != nil {
		return nil, err
	}
	return inPlace{gw, a}, nil
}

// gateway returns the URL of the gateway to use, or nothing.
func (a *app) gateway() string { return cmp.Or(a.common.gateway, a.env["TENON_GATEWAY"]) }

// client returns a client of the gateway at a URL, with the credential of the
// environment or of a file.
func (a *app) client(url string) (*rest.Client, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	return rest.NewClient(url, token)
}

// openGateway opens the pool in this process, where nobody decides approvals.
func (a *app) openGateway(ctx context.Context, log *slog.Logger) (*tenon.Gateway, error) {
	o := a.options(log)
	o.Unattended, o.Brief = true, true
	return a.openWith(ctx, o)
}

// openWith opens the pool in this process.
func (a *app) openWith(ctx context.Context, o tenon.Options) (*tenon.Gateway, error) {
	if a.Executable != "" {
		o.Executable = []string{a.Executable, "server"}
		o.Query = []string{a.Executable, queryName}
	}
	return tenon.Open(ctx, o)
}

// options are those of the pool that a command is about.
func (a *app) options(log *slog.Logger) tenon.Options {
	return tenon.Options{
		Config: a.configPath(), Bundled: bundled(), Env: a.Env, StateDir: tenon.StateDir(a.Env), Logger: log,
	}
}

func bundled() []tenon.Bundled {
	all := servers.All()
	out := make([]tenon.Bundled, len(all))
	for i, s := range all {
		out[i] = tenon.Bundled{Name: s.Name, Summary: s.Summary, Keyless: s.Keyless, New: s.New, Probe: s.Probe, Aliases: servers.Aliases(s.Name), AliasOptions: servers.AliasOptions(s.Name), Also: s.Also, Meta: s.Meta, MetaFor: s.MetaFor}
	}
	return out
}

// configPath returns the path of the configuration, or nothing for the built-in
// pool. What is named is used even if it does not exist: that is an error.
func (a *app) configPath() string {
	if named := cmp.Or(a.common.config, a.env["TENON_CONFIG"]); named != "" {
		return named
	}
	places := []string{"tenon.yaml"}
	if a.ConfigDir != "" {
		places = append(places, filepath.Join(a.ConfigDir, "tenon", "tenon.yaml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// scope returns who looks: the caller of this command line.
func (a *app) scope() tenon.Viewer {
	return tenon.Viewer{
		Caller: tool.Caller{Via: "cli"}, Session: cmp.Or(a.common.session, a.common.task), Skill: a.common.skill,
	}
}

// complete adds the common flags to a call.
func (a *app) complete(c tool.Call) tool.Call {
	c.Caller = tool.Caller{Via: "cli"}
	c.Session = cmp.Or(c.Session, a.common.session)
	c.Skill = cmp.Or(c.Skill, a.common.skill)
	c.Task = cmp.Or(c.Task, a.common.task)
	c.Timeout = cmp.Or(c.Timeout, a.common.timeout)
	return c
}
