package tenon

import (
	"log/slog"
	"slices"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/policy"
)

// watchNames returns what finds the places of the configuration that name no tool.
func (p *pool) watchNames() *named.Watch {
	names := slices.Clone(p.cfg.Named)
	for _, s := range skillsOf(p.cfg) {
		if s.Path != "" { // those that come with Tenon are for servers that need not be there
			names = append(names, s.Named...)
		}
	}
	servers := make([]string, len(p.members))
	for i, m := range p.members {
		servers[i] = m.name
	}
	return named.NewWatch(names, servers, policy.Steps)
}

// tellNames shows a watch the tools of a member, once it has told them itself.
// Whoever calls it holds offering.
func (m *member) tellNames(w *named.Watch) []named.Finding {
	if w.Done() || m.tools == nil || m.recalled.Load() != nil {
		return nil
	}
	var tools []named.Tool
	for _, raw := range m.tools {
		t, _ := catalog.Parse(raw) // one that is left out is there all the same
		tools = append(tools, named.Tool{Name: t.Name, Schema: t.Schema})
	}
	for _, more := range m.capable.tools {
		for _, raw := range more {
			t, _ := catalog.Parse(raw)
			tools = append(tools, named.Tool{Name: t.Name, Schema: t.Schema})
		}
	}
	return w.Listed(m.name, tools)
}

// warnNamed tells the operator, once, where the configuration names tools that the
// server of a member turns out not to have. Whoever calls it holds offering.
func (p *pool) warnNamed(m *member, log *slog.Logger) {
	found := m.tellNames(p.named)
	const most = 20
	for _, f := range found[:min(len(found), most)] {
		log.Warn("configuration names what is not there", "place", f.Problem.Place(), "problem", f.Problem.Text, "hint", f.Problem.Hint)
	}
	if more := len(found) - most; more > 0 {
		log.Warn("configuration names what is not there in more places", "count", more, "hint", "tenon check --connect tells all")
	}
}

// checkNames tells where the configuration names tools that are not there, as far as
// these are known. A name that is spelled out is a mistake where strict is set.
// Whoever calls it holds offering.
func (p *pool) checkNames(r *Report, connected bool) {
	watch := p.watchNames()
	var found []named.Finding
	for _, m := range p.members {
		found = append(found, m.tellNames(watch)...)
	}
	if connected { // else whoever wrote it may still add the server
		found = append(found, watch.Nowhere()...)
	}
	for _, f := range found {
		if f.Plain && p.cfg.Strict {
			r.Broken = append(r.Broken, f.Problem)
			continue
		}
		r.Warnings = append(r.Warnings, f.Problem)
	}
}
