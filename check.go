package tenon

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/tool"
)

// A Report says what is wrong with a pool.
type Report struct {
	// Broken are the mistakes in server entries, which are left out of the pool.
	Broken []Problem `json:"broken,omitempty"`
	// Warnings are what was read over in the configuration.
	Warnings []Problem `json:"warnings,omitempty"`
	// Servers are the states of all servers; after connecting, of what came of it.
	Servers []tool.ServerStatus `json:"servers"`
	// Probes say of the services that bundled servers are configured for whether they can
	// be reached and take their keys; after connecting only.
	Probes []tool.Probe `json:"probes,omitempty"`
	// Undeclared are the tools, as "server/tool", that nobody has declared
	// metadata for: they count as neither read-only nor safe to run side by side.
	Undeclared []string `json:"undeclared,omitempty"`
	// Drafts are entries of `tools:` for them, for a person to look at.
	Drafts []Draft `json:"drafts,omitempty"`
	// Findings are what may be hidden in the definitions of tools, as far as these
	// are known.
	Findings []Finding `json:"findings,omitempty"`
	// Gaps are what clients of one era or the other do not have of servers, as far as
	// these have been met.
	Gaps []Gap `json:"gaps,omitempty"`
}

// OK reports whether nothing is broken, no server has failed, and no probe is bad.
func (r *Report) OK() bool {
	for _, s := range r.Servers {
		if s.State == tool.StateFailed {
			return false
		}
	}
	return len(r.Broken) == 0 && !slices.ContainsFunc(r.Probes, tool.Probe.Bad)
}

// Check looks at the configuration, and where connect is set starts or connects
// each server, side by side, to see whether it works, and asks the services of bundled
// servers for one cheap thing each.
func (g *Gateway) Check(ctx context.Context, connect bool) Report {
	p := g.pool.Load()
	probes, sampler := make([][]tool.Probe, len(p.members)), []tool.Probe(nil)
	if connect {
		var wg sync.WaitGroup
		for i, m := range p.members {
			if m.server != nil {
				wg.Go(func() { _ = m.server.Connect(ctx) }) // the status says what came of it
			}
			if m.err == nil && m.probe != nil {
				wg.Go(func() { probes[i] = m.probe(ctx) })
			}
		}
		if s := p.cfg.Sampling; s != nil {
			wg.Go(func() { sampler = probeModel(ctx, p.cfg, "sampling", &s.Model) })
		}
		wg.Wait()
		g.meetAs(ctx, p)
	}
	r := Report{Broken: p.cfg.Broken, Warnings: p.cfg.Warnings, Servers: g.Status(), Findings: g.Definitions().Findings(), Gaps: p.allGaps()}
	r.Broken, r.Warnings = slices.Clone(r.Broken), slices.Clone(r.Warnings)
	for i, m := range p.members {
		for _, found := range probes[i] {
			found.Server, found.Text = m.name, g.secrets.Text(found.Text)
			r.Probes = append(r.Probes, found)
		}
	}
	for _, found := range sampler {
		found.Server, found.Text = "sampling", g.secrets.Text(found.Text)
		r.Probes = append(r.Probes, found)
	}
	g.offering.Lock()
	p.checkNames(&r, connect)
	g.offering.Unlock()
	r.Broken = append(r.Broken, p.misdirected()...)
	p.trust.check(&r)
	if connect {
		r.Warnings = append(r.Warnings, toolless(view{g, p})...)
	}
	for _, t := range p.catalog.Snapshot().Tools() {
		if !t.Meta.Registered {
			r.Undeclared = append(r.Undeclared, t.ID.String())
			r.Drafts = append(r.Drafts, p.draft(t))
		}
	}
	return r
}

// check tells of a file of accepted definitions that cannot be read, and of one that is not
// there though the configuration goes by it.
func (t *trust) check(r *Report) {
	missing := errors.Is(t.err, fs.ErrNotExist)
	if t.err == nil || missing && t.mode == config.TrustAll {
		return
	}
	at := Problem{File: t.file, Text: "the accepted definitions cannot be read: " + strings.TrimPrefix(t.err.Error(), filepath.Base(t.file)+": ")}
	if e, ok := errors.AsType[*fs.PathError](t.err); ok {
		at.Text = "the accepted definitions cannot be read: " + e.Err.Error()
	}
	at.Hint = "take the file from version control, or write it anew with tenon lock"
	if missing {
		at.Text, at.Hint = "there is no file of accepted definitions", "tenon lock writes it"
	}
	if t.mode == config.TrustPinned {
		at.Text += "; policy.definitions is pin, so all tools are held back"
	}
	if missing || t.mode == config.TrustAll {
		r.Warnings = append(r.Warnings, at)
	} else {
		r.Broken = append(r.Broken, at)
	}
}
