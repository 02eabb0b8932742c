// Package tenon is the tool layer of an AI agent: a pool of tool servers that
// speak the Model Context Protocol, each isolated from the others, declared in
// configuration, listed to the model, and called so that whatever goes wrong
// comes back as something the model can read and act on.
//
//	gw, err := tenon.Open(ctx, tenon.Options{Config: "tenon.yaml", Env: os.Environ()})
//	if err != nil {
//		return err
//	}
//	defer gw.Close()
//	listing, err := gw.Tools(ctx, tenon.ListOptions{})
//	…
//	res := gw.Call(ctx, tool.Call{Server: "system", Tool: "get_local_cpu_memory"})
//	if res.Kind != "" {
//		… res.Text() says what to do next …
//	}
//
// This package is the Go API, and the only place where the parts meet:
//
//	config ─► upstream ×N ─events─► catalog ─snapshot─┐
//	                                                  ▼
//	frontend (mcp | rest | cli | Go) ─► call pipeline ─► upstream ─► tool server
//
// The parts know nothing of each other: config turns files into one value,
// upstream runs one server, catalog holds what all of them offer, call is the way
// of a call, record keeps what came of it. ARCHITECTURE.md walks through them.
package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/access"
	"github.com/tenon-mcp/tenon/internal/begun"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/ledger"
	"github.com/tenon-mcp/tenon/internal/login"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/rules"
	"github.com/tenon-mcp/tenon/internal/taint"
	"github.com/tenon-mcp/tenon/tool"
)

// Options configures a Gateway. The zero value is an empty pool.
type Options struct {
	// Config is the path of a tenon.yaml, of the mcpServers JSON of a desktop
	// client, or of a folder of one-tool files. Empty is the built-in pool: every
	// server of Bundled that needs no key.
	Config string
	// Bundled are the servers that `bundled:` entries may name.
	Bundled []Bundled
	// Executable is the command that runs a bundled server as a child process,
	// once its name is appended. Empty runs them in this process.
	Executable []string
	// Query is the command of a process that calls ServeQuery and nothing else. Each
	// query of jq on a long result runs in one, so that it can be ended. Empty runs
	// them in this process, where a function of the language that takes long cannot
	// be ended.
	Query []string
	// Env is the environment as os.Environ gives it. It feeds ${env:…} in the
	// configuration, and the few variables that child processes inherit.
	Env []string
	// StateDir is the folder for what must outlive the process: what the operator
	// stopped, for one. It belongs to the user alone. Empty keeps it in memory.
	StateDir string
	// Start starts all servers side by side at once and keeps trying those that
	// fail, as a gateway does. Without it a server starts on its first use.
	Start bool
	// BeforeStart is called with the gateway before the first server is started, and what it
	// returns fails Open: what may go wrong without them goes wrong first. Nil does nothing.
	BeforeStart func(*Gateway) error
	// Unattended says that nobody can decide approvals here, because the program is no
	// gateway, or listens to nobody: calls that need one are denied at once, unless they
	// bring a person.
	Unattended bool
	// Brief says that the pool is closed as soon as it has done what it was opened for, so
	// that callers cannot read on in what was cut: it gives no handles.
	Brief bool
	// Logger takes what operators want to know. Nil discards it.
	Logger *slog.Logger

	functions []function // by AddTool
	// readable are the addresses that pages are fetched from besides public ones.
	// Tests set it.
	readable []string
}

// A Bundled is a tool server that is linked into the program.
type Bundled struct {
	Name, Summary string
	// Keyless servers work without any option and are part of the built-in pool.
	Keyless bool
	// New makes the server; options are those of its entry as JSON, or nil. It is
	// called to list the tools, and again by the process that runs the server.
	New func(options json.RawMessage, at tool.Place) (*mcp.Server, error)
	// Probe asks the services that the server is configured for whether they can be
	// reached and take their keys; nil where it needs none. Check calls it.
	Probe func(ctx context.Context, options json.RawMessage, at tool.Place) []tool.Probe
	// Aliases are other names that a configuration may give it.
	Aliases []string
	// AliasOptions are options, as a JSON object, that it has under one of Aliases unless
	// its entry sets them.
	AliasOptions map[string]string
	// Also are names that calls may use for tools of it that are listed under another one.
	Also map[string]string
	// Meta is what is declared of its tools, by name; MetaFor is in its place where that
	// depends on the options, which New has taken.
	Meta    map[string]tool.Meta
	MetaFor func(options json.RawMessage) map[string]tool.Meta
}

// A ConfigError holds all that is wrong with a configuration, each with its place.
type ConfigError = config.Error

// A Problem is one mistake in a configuration.
type Problem = config.Problem

// A Gateway is an open pool. It is safe for concurrent use. Close it.
type Gateway struct {
	o        Options
	log      *slog.Logger
	secrets  *redact.Redactor
	spawner  *proc.Spawner
	record   records
	events   broadcast[Event]
	long     longResults
	memory   memory
	ledger   *ledger.Ledger // outlives a reload: what was done is done
	quota    *quota.Quota   // outlives it too: what was used is used
	taint    *taint.Tracker
	stops    *Stops
	access   *access.Access // so do callers
	relay    *relay.Relay
	sessions sessionNames // as bundled servers know them
	own      ownTools
	begun    begun.Tasks

	pool     atomic.Pointer[pool] // the current one
	offering sync.Mutex           // held while a list of tools is offered, and while pools change

	reloads
	background
	close func() error // once
}

// background is what runs beside calls.
type background struct {
	leaving context.Context // ends first: nothing new begins
	leave   context.CancelFunc
	closing context.Context // ends in-process servers
	cancel  context.CancelFunc
	tasks   sync.WaitGroup

	approvals *Approvals
	logins    *login.Logins // at servers that want one
}

// Open reads the configuration and opens the pool. With Options.Start the servers
// start in the background. The error is a *ConfigError where the configuration is
// wrong; where it says fail_silently: false, Open waits for the servers that are
// required, and fails with the reasons of those that failed.
func Open(ctx context.Context, o Options) (*Gateway, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	secrets, err := redact.New(redactOptions(cfg))
	if err != nil {
		return nil, err
	}
	o.Logger = slog.New(maskingHandler{o.Logger.Handler(), secrets})
	records, err := openRecords(ctx, cfg, o, secrets)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		o: o, log: o.Logger, secrets: secrets, record: records,
		spawner: proc.New(proc.Options{
			Logger: o.Logger, Rate: float64(cfg.Gateway.Spawning.Rate), MaxProcesses: cfg.Gateway.Spawning.MaxProcesses,
		}),
		ledger:  new(ledger.Ledger),
		quota:   new(quota.Quota),
		taint:   taint.New(),
		access:  openAccess(cfg, o, secrets),
		reloads: reloads{reloading: make(chan struct{}, 1)},
	}
	g.close = sync.OnceValue(func() error { return shutdown(g) })
	g.closing, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	g.leaving, g.leave = context.WithCancel(g.closing)
	g.relay = relay.New(g.closing)
	g.sessions.dir, g.sessions.warn = o.StateDir, g.log.Warn
	g.approvals = newApprovals(g)
	openStops(g, o)
	g.logins = openLogins(o, func(tokens []tool.Secret) { secrets.Learn(tokens) })
	g.memory.open(cfg, o, secrets)
	g.long = openResults(cfg, o, g.spawner)
	g.own = newOwnTools()
	p, err := newPool(g, cfg, nil)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	swap(g, p)
	g.take()
	g.approvals.configure(nil, cfg)
	if !o.Start {
		return g, nil
	}
	if o.BeforeStart != nil {
		if err := o.BeforeStart(g); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	p.start(g)
	events := g.Watch(g.leaving)
	g.tasks.Go(func() { g.prepareSearch(g.leaving, events) })
	g.tasks.Go(func() { _, _ = g.approvals.open(g.leaving) }) // what failed is logged, and tried again
	if err := p.requireStarted(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// load reads the configuration, or makes that of the built-in pool.
func (o *Options) load() (*config.Config, error) {
	names := make([]string, 0, len(o.Bundled))
	keyless := []string{}
	aliases, aliasOptions := map[string]string{}, map[string]string{}
	for _, b := range o.Bundled {
		names = append(names, b.Name)
		for _, alias := range b.Aliases {
			aliases[alias] = b.Name
		}
		maps.Copy(aliasOptions, b.AliasOptions)
		if b.Keyless {
			keyless = append(keyless, b.Name)
		}
	}
	if o.Config == "" {
		cfg := config.BuiltIn(keyless)
		cfg.Skills.Loaded = loadSkills(cfg.Skills).Loaded
		return cfg, nil
	}
	return config.Load(checks(config.Source{
		Path: o.Config, Env: o.Env, Bundled: names, Aliases: aliases, AliasOptions: aliasOptions, Rules: builtInRules(), CheckAddress: rules.CheckAddress,
	}))
}

// Close stops all servers and waits for them, side by side. Calls in flight fail.
func (g *Gateway) Close() error { return g.close() }

func shutdown(g *Gateway) error {
	g.leave()
	g.approvals.close()
	g.relay.Close()
	g.reloading <- struct{}{} // for good, after the reload that runs
	var err error
	if p := g.pool.Load(); p != nil {
		err = closeAll(p.members)
	}
	g.cancel()
	g.tasks.Wait()
	g.logins.Close()
	g.memory.tasks.Wait()
	g.events.close()
	return errors.Join(err, g.spawner.Close(), g.long.close(), g.access.Close(), g.record.close())
}

// Settings are what front ends need of the section `gateway` of the configuration.
type Settings struct {
	Listen       string // address of the gateway
	AllowedHosts []string
	Cert, Key    string // files of a certificate for TLS; empty is none
	MaxBodyBytes int64  // of one request
	// MaxConnections and MaxPerAddress bound the connections of the listener; 0 is no bound.
	MaxConnections, MaxPerAddress int
	// ListenAt and TLSAt are the places of the address and of the certificate in the
	// configuration, without a text.
	ListenAt, TLSAt Problem
	// MemoryLimit and GCPercent are the runtime's, for a program that is nothing
	// but a gateway to set; 0 leaves them alone.
	MemoryLimit int64
	GCPercent   int
}

// Settings returns the settings of the front ends.
func (g *Gateway) Settings() Settings {
	s := g.pool.Load().cfg.Gateway
	return Settings{
		Listen: s.Listen, AllowedHosts: s.AllowedHosts, Cert: s.TLS.Cert, Key: s.TLS.Key, MaxBodyBytes: s.MaxBodyBytes,
		MaxConnections: s.Connections.Max, MaxPerAddress: s.Connections.PerAddress,
		ListenAt: s.ListenAt, TLSAt: s.TLSAt, MemoryLimit: s.MemoryLimit, GCPercent: s.GCPercent,
	}
}
