package tenon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/tool"
)

// A Reloaded says what a reload changed.
type Reloaded struct {
	// Added, Removed and Replaced are names of servers.
	Added, Removed, Replaced []string
	// Later are the settings that changed and take effect at the next start only.
	Later []string
	// Changed is false where the configuration is as it was.
	Changed bool
}

// Reload reads the configuration again and takes it, all or nothing. Servers
// whose entries are as they were go on, with their sessions. New ones are started
// first, and only when they work, or none that worked is lost by them, is the
// pool replaced; calls in flight end on the servers that they began on, which are
// stopped afterwards.
//
// The error is a *ConfigError where the configuration, or an entry of it, is
// wrong, a *tool.Error of kind Unavailable where a server that worked would be
// lost, or the cause of ctx; the pool then is as it was. Reloads happen one after
// the other. What was not taken is kept for [Gateway.Rejected] until one is.
func (g *Gateway) Reload(ctx context.Context) (Reloaded, error) {
	done, err := g.reload(ctx)
	switch {
	case err == nil:
		g.rejected.Store(nil)
	case ctx.Err() == nil && !errors.Is(err, errClosed):
		r := &Rejected{Since: time.Now().UTC().Truncate(time.Second), Text: g.secrets.Text(err.Error())}
		if taken := g.taken.Load(); taken != nil {
			r.Taken = *taken
		}
		if before := g.rejected.Load(); before != nil {
			r.Since = before.Since
		}
		g.rejected.Store(r)
	}
	return done, err
}

// A Rejected is a configuration that was not taken.
type Rejected struct {
	Since time.Time `json:"since"`           // of the first one, where several were not in a row
	Taken time.Time `json:"taken,omitzero"`  // when the one that goes on was taken
	Text  string    `json:"error,omitempty"` // what is wrong with it
}

// reloads are the configurations that were taken, or not.
type reloads struct {
	reloading chan struct{} // has room for the one reload that may run
	rejected  atomic.Pointer[Rejected]
	taken     atomic.Pointer[time.Time] // when the one of the current pool was
}

func (r *reloads) take() { r.taken.Store(new(time.Now().UTC().Truncate(time.Second))) }

// Rejected returns the configuration that the gateway was last told to take and did not;
// nil where it runs what its files say.
func (g *Gateway) Rejected() *Rejected { return g.rejected.Load() }

func (g *Gateway) reload(ctx context.Context) (Reloaded, error) {
	select {
	case g.reloading <- struct{}{}:
	case <-ctx.Done():
		return Reloaded{}, context.Cause(ctx)
	case <-g.leaving.Done():
		return Reloaded{}, errClosed
	}
	defer func() { <-g.reloading }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.leaving, func() { cancel(errClosed) })()

	cfg, err := g.o.load()
	if err != nil {
		return Reloaded{}, err
	}
	if len(cfg.Broken) > 0 {
		return Reloaded{}, &ConfigError{Problems: cfg.Broken}
	}
	old := g.pool.Load()
	if sameConfig(old.cfg, cfg) && old.trust.same() {
		return Reloaded{}, nil
	}
	g.secrets.Learn(cfg.Secrets)
	p, err := newPool(g, cfg, old)
	if err != nil {
		return Reloaded{}, err
	}
	if err := bring(ctx, p, old, g.o.Start); err != nil {
		return Reloaded{}, errors.Join(err, closeAll(p.without(old)))
	}
	if err := g.secrets.Configure(redactOptions(cfg)); err != nil {
		return Reloaded{}, errors.Join(err, closeAll(p.without(old)))
	}
	g.take()
	if swap(g, p) {
		g.events.send(Event{Kind: ToolsChanged})
	}
	g.approvals.configure(old.cfg, cfg)
	retire(g, old, p)
	return difference(old, p), nil
}

var errClosed = &tool.Error{Kind: tool.Unavailable, Text: "the gateway is closed"}

// sameConfig reports whether two configurations are the same but for their files'
// warnings.
func sameConfig(a, b *config.Config) bool {
	x, y := *a, *b
	x.Warnings, y.Warnings, x.Named, y.Named = nil, nil, nil, nil
	x.Gateway.ListenAt, x.Gateway.TLSAt = y.Gateway.ListenAt, y.Gateway.TLSAt
	return reflect.DeepEqual(x, y)
}

// bring starts the members that are new in p, as a gateway starts them, and those
// that take the place of one that runs. It fails where one of the latter does
// not start.
func bring(ctx context.Context, p, old *pool, start bool) error {
	var wg sync.WaitGroup
	fresh := p.without(old)
	errs := make([]error, len(fresh))
	for i, m := range fresh {
		before := old.byName[m.name]
		runs := before != nil && before.server != nil && before.server.Status().State == tool.StateReady
		if m.server == nil || !runs && (m.lazy || !start) {
			continue
		}
		m.server.Ensure()
		wg.Go(func() {
			err := m.server.Connect(ctx)
			if err == nil {
				err = m.server.Await(ctx) // until its tools are known as well
			}
			if err != nil && runs {
				errs[i] = &tool.Error{
					Kind: tool.Unavailable, Err: err,
					Text: fmt.Sprintf("server %s does not start with its new entry, so the configuration is left as it was: %s", m.name, tool.Flatten(err)),
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// retire stops what only the old pool has, after the last call on it has ended.
func retire(g *Gateway, old, p *pool) {
	old.retire()
	gone := old.without(p)
	g.tasks.Go(func() {
		select {
		case <-old.idle:
		case <-g.closing.Done():
		}
		if err := closeAll(gone); err != nil {
			g.log.Warn("server of the configuration before did not stop", "error", err)
		}
	})
	for _, m := range gone {
		g.events.send(Event{Kind: ServerChanged, Server: m.name})
	}
}

// difference says what p changes of old.
func difference(old, p *pool) Reloaded {
	r := Reloaded{Changed: true}
	for _, m := range p.members {
		switch before := old.byName[m.name]; before {
		case nil:
			r.Added = append(r.Added, m.name)
		case m:
		default:
			r.Replaced = append(r.Replaced, m.name)
		}
	}
	for _, m := range old.members {
		if p.byName[m.name] == nil {
			r.Removed = append(r.Removed, m.name)
		}
	}
	a, b := old.cfg.Gateway, p.cfg.Gateway
	for _, s := range []struct {
		name string
		same bool
	}{
		{"gateway.listen", a.Listen == b.Listen},
		{"gateway.allowed_hosts", slices.Equal(a.AllowedHosts, b.AllowedHosts)},
		{"gateway.tls", a.TLS == b.TLS},
		{"gateway.max_body", a.MaxBodyBytes == b.MaxBodyBytes},
		{"gateway.max_connections", a.Connections == b.Connections},
		{"gateway.max_message", a.MaxMessageBytes == b.MaxMessageBytes},
		{"gateway.memory_limit", a.MemoryLimit == b.MemoryLimit},
		{"gateway.gc_percent", a.GCPercent == b.GCPercent},
		{"gateway.remember_tools", a.RememberTools == b.RememberTools},
		{"store", old.cfg.Store == p.cfg.Store},
	} {
		if !s.same {
			r.Later = append(r.Later, s.name)
		}
	}
	return r
}

// Files returns the absolute paths of the files that the configuration was read
// from, and of the folders that were looked through for some: a change in them is
// a reason to reload. The file with the accepted definitions is among them, whether
// or not there is one.
func (g *Gateway) Files() []string {
	p := g.pool.Load()
	if p.trust.file == "" {
		return p.cfg.Files
	}
	return append(slices.Clone(p.cfg.Files), p.trust.file)
}
