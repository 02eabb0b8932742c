package config

import (
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/internal/source"
)

// Sampling is the section of that name: the model that answers what servers ask a model,
// where their clients cannot. Without it nobody does.
type Sampling struct {
	Model     Model
	Servers   []string // that may ask
	PerCall   int      // questions of one call
	PerMinute int      // questions of all servers

	named []*source.Node // where Servers are
}

// sampling reads the section.
func (s sections) sampling(o *object) {
	n := o.key("sampling")
	if n == nil {
		return
	}
	p := &Sampling{PerCall: 5, PerMinute: 30}
	s.cfg.Sampling = p
	in := newObject(n, o.ex, o.to)
	if at := in.key("model"); at != nil {
		p.Model.read(at, in, s.cfg.Dir)
	}
	if p.Model.MaxTokens == 0 {
		p.Model.MaxTokens = 1000
	}
	in.integer("per_call", 1, 100, &p.PerCall)
	in.integer("per_minute", 1, 10_000, &p.PerMinute)
	for _, item := range in.list("servers") {
		name, ok := in.scalar(item)
		if ok {
			p.Servers = append(p.Servers, name)
			p.named = append(p.named, item)
		}
	}
	in.refuse()
	switch {
	case n.Kind != source.Map:
	case !in.has("model"):
		in.fail(n, "sampling lacks its model", "such as model: {base_url: https://api.openai.com/v1, name: …}")
	case len(p.Servers) == 0 && !in.has("servers"):
		in.fail(n, "sampling names no servers", "say in servers which may ask the model; no other one can")
	}
}

// markSampled marks the entries that may ask the model.
func (l *loader) markSampled() {
	if l.cfg.Sampling == nil {
		return
	}
	l.keepModel(&l.cfg.Sampling.Model)
	for i, name := range l.cfg.Sampling.Servers {
		at := slices.IndexFunc(l.entries, func(e *entry) bool { return e.server.Name == name && !e.double })
		if at < 0 {
			l.fail(l.cfg.Sampling.named[i], fmt.Sprintf("servers: there is no server %s", quoteOf(l.cfg.Sampling.named[i], name)), "")
			continue
		}
		e := l.entries[at]
		if e.server.Care.Agent != nil {
			l.fail(l.cfg.Sampling.named[i], fmt.Sprintf("servers: %s cannot ask a model", quoteOf(l.cfg.Sampling.named[i], name)), "agents are asked, and ask nothing")
			continue
		}
		e.server.Care.Sampled = true
	}
}
