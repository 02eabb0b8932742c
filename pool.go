package tenon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/offer"
	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

// A pool is what one configuration makes: its servers, what they offer, and the
// way of a call through them. A reload makes another one and takes it whole; a
// call ends on the pool that it began on. Servers whose entries are the same are
// members of both.
type pool struct {
	cfg        *config.Config
	catalog    *catalog.Catalog
	members    []*member // in the order of the configuration
	byName     map[string]*member
	policy     *policy.Policy
	trust      *trust
	headers    sync.Map // *tool.Tool → []era.ParamHeader
	primitives *offer.Lists
	sampler    *sampler // nil: no model answers servers
	looks
	pipeline
	inUse
	named *named.Watch // guarded by Gateway.offering
}

// newPool makes the pool of a configuration, beside the one before. Nothing of it
// is started. What it has made is closed again where it fails.
func newPool(g *Gateway, cfg *config.Config, old *pool) (*pool, error) {
	content, err := contentRules(cfg.ContentRules)
	if err != nil {
		return nil, err
	}
	standIns, err := fallbacks(cfg.Fallbacks)
	if err != nil {
		return nil, err
	}
	rules, err := policyOf(cfg)
	if err != nil {
		return nil, err
	}
	p := &pool{cfg: cfg, byName: map[string]*member{}, policy: rules, trust: newTrust(cfg, g.log), inUse: newInUse()}
	if p.sampler, err = newSampler(cfg); err != nil {
		return nil, err
	}
	p.primitives = listsOf(p, catalog.FlatName)
	if err := (maker{g, p}).fill(old); err != nil {
		return nil, errors.Join(err, closeAll(p.without(old)))
	}
	p.named = p.watchNames()
	p.warnMisdirected(g.log)
	v := view{g, p}
	p.pipeline = newPipeline(cfg.Gateway.Admission, v, v.enduring(call.Options{
		Admission: admissionOf(cfg, old), Authority: authority{v}, Quota: g.quota, Usage: p.usageOf,
		Send: v.send, Record: v.keep, Reserve: g.record.reserve(), Begin: v.begin, NewID: record.NewID,
		Check: newSchemas(g.log).check, Flat: v.flat,
		Timeout: cfg.Gateway.CallTimeout, MaxTimeout: cfg.Gateway.MaxCallTimeout, Logger: g.log,
		Secrets: g.secrets, Redact: cfg.Policy.Redact.Results, Rules: content, Keeper: keeper{g}, Untrusted: func(t *tool.Tool) call.Marking { return marking(v, t) }, Believed: func(t *tool.Tool, name string) bool { return p.believed(t.Server, name) }, Ledger: g.ledger, Fallbacks: standIns,
	}))
	p.content = content
	return p, nil
}

// swap makes p the current pool, with all that is known of its servers' tools. It
// reports whether what is offered is now another list.
func swap(g *Gateway, p *pool) (changed bool) {
	g.offering.Lock()
	defer g.offering.Unlock()
	for _, m := range p.members {
		if m.tools != nil {
			maker{g, p}.offer(m, m.tools)
		}
	}
	old := g.pool.Swap(p)
	p.admission.Configure(limits(p.cfg))
	g.quota.Configure(quotas(p.cfg))
	g.memory.nameRecalled(p.members)
	if old != nil {
		follow(g.access, old.cfg, p.cfg, g.o)
	}
	return old != nil && (!sameOffer(old.catalog.Snapshot(), p.catalog.Snapshot()) || !samePolicy(old.cfg, p.cfg))
}

// sameOffer reports whether two snapshots offer the same list, byte for byte.
func sameOffer(a, b *catalog.Snapshot) bool {
	x, y := a.Tools(), b.Tools()
	if len(x) != len(y) || canCut(a) != canCut(b) {
		return false
	}
	for i := range x {
		if a.AliasOf(x[i]) != b.AliasOf(y[i]) || string(x[i].Raw) != string(y[i].Raw) || !sameSafety(x[i], y[i]) {
			return false
		}
	}
	return true
}

// sameSafety reports whether two tools are as safe: that decides who sees them.
func sameSafety(a, b *tool.Tool) bool {
	x, y := a.Meta, b.Meta
	return a.Held == b.Held && x.Registered == y.Registered && x.ReadOnly == y.ReadOnly && x.ReadOnlyFor == y.ReadOnlyFor &&
		x.Destructive == y.Destructive && x.RiskLevel == y.RiskLevel && x.Notification == y.Notification
}

// samePolicy reports whether two configurations show the same tools alike.
func samePolicy(a, b *config.Config) bool {
	return reflect.DeepEqual(a.Policy, b.Policy) && reflect.DeepEqual(a.Skills, b.Skills) && reflect.DeepEqual(a.Lazy, b.Lazy)
}

// quotas returns the limits of what is used.
func quotas(cfg *config.Config) []quota.Limit {
	out := make([]quota.Limit, len(cfg.Policy.Limits))
	for i, l := range cfg.Policy.Limits {
		out[i] = quota.Limit{
			Name: l.Name, Per: quota.Per(l.Per), Tools: l.Tools, CallsPerMinute: l.CallsPerMinute,
			Calls: int64(l.Calls), Bytes: l.Bytes, Time: l.Time, Spend: l.Spend,
			Tokens: l.Tokens, Cost: l.Cost, Every: l.Every,
		}
	}
	return out
}

// same returns the member whose entry is the same as s, or nil.
func (p *pool) same(s *config.Server) *member {
	if p == nil {
		return nil
	}
	m := p.byName[s.Name]
	if m == nil || m.entry == nil || m.err != nil {
		return nil
	}
	was := *m.entry
	was.MaxConcurrent, was.MaxQueue = s.MaxConcurrent, s.MaxQueue // they are the gateway's, not the server's
	if !reflect.DeepEqual(&was, s) {
		return nil
	}
	return m
}

// without returns the members that are not in other, which may be nil.
func (p *pool) without(other *pool) []*member {
	var out []*member
	for _, m := range p.members {
		if other == nil || !slices.Contains(other.members, m) {
			out = append(out, m)
		}
	}
	return out
}

// start starts all that do not wait for their first use. A server whose tools are
// known from its code waits for it, unless its entry says otherwise.
func (p *pool) start(g *Gateway) {
	for _, m := range p.members {
		switch {
		case m.server == nil || m.lazy:
		case m.entry != nil && m.entry.Start == config.StartEager:
			g.tasks.Go(func() { _ = m.server.Connect(g.closing) }) // its state says what came of it
		default:
			m.server.Ensure()
		}
	}
}

// requireStarted waits for the required servers where the configuration wants
// their failure to count.
func (p *pool) requireStarted(ctx context.Context) error {
	if p.cfg.FailSilently {
		return nil
	}
	var errs []error
	for _, m := range p.members {
		if !m.required {
			continue
		}
		if err := m.await(ctx); err != nil {
			errs = append(errs, fmt.Errorf("required server %s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}

// closeAll stops members side by side.
func closeAll(members []*member) error {
	var wg sync.WaitGroup
	errs := make([]error, len(members))
	for i, m := range members {
		if m.server != nil {
			wg.Go(func() { errs[i] = errors.Join(m.server.Close(), m.ends.Run()) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// enter returns the current pool, for a call that must leave it again.
func (g *Gateway) enter() *pool {
	for {
		if p := g.pool.Load(); p.inUse.enter() {
			return p
		}
	}
}

// inUse counts the calls on a pool, so that it can be found out when the last one
// has ended after the pool was replaced.
type inUse struct {
	n    *atomic.Int64 // below 0 once the pool is retired
	idle chan struct{} // closed when it is retired and nobody uses it
}

func newInUse() inUse { return inUse{new(atomic.Int64), make(chan struct{})} }

// enter reports false for a pool that is retired.
func (u inUse) enter() bool {
	for {
		n := u.n.Load()
		if n < 0 {
			return false
		}
		if u.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (u inUse) leave() { u.left(u.n.Add(-1)) }

// retire lets nobody in any more.
func (u inUse) retire() { u.left(u.n.Add(math.MinInt64)) }

func (u inUse) left(n int64) {
	if n == math.MinInt64 {
		close(u.idle)
	}
}
