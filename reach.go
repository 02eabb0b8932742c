package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/tool"
)

// reachLimit is the time that an agent elsewhere has to show its card.
const reachLimit = 10 * time.Second

// probeAgent returns what finds out whether an agent can be had: its model, or the agent
// elsewhere. One that is a tool of the pool is looked at with that.
func probeAgent(cfg *config.Config, d *delegate) func(context.Context) []tool.Probe {
	switch {
	case d.there != nil:
		return func(ctx context.Context) []tool.Probe {
			ctx, cancel := context.WithTimeout(ctx, reachLimit)
			defer cancel()
			p := tool.Probe{Service: "agent", State: tool.ProbeOK}
			if err := d.there.Reach(ctx); err != nil {
				p.State, p.Text = tool.ProbeUnreachable, egress.Plain(err.Error(), 300)
			}
			return []tool.Probe{p}
		}
	case d.run.Ask != nil:
		return func(ctx context.Context) []tool.Probe { return probeModel(ctx, cfg, "agent", &d.set.Model) }
	}
	return nil
}

func probeModel(ctx context.Context, cfg *config.Config, use string, m *config.Model) []tool.Probe {
	client, err := modelOf(cfg, use, m)
	if err != nil {
		return nil // what uses it is not made either, and says why
	}
	return model.Reach(ctx, client)
}

// misdirected returns the agents that name a tool which cannot do their work. Of a server
// that has not listed its tools only that it is not there is told.
func (p *pool) misdirected() []Problem {
	var out []Problem
	for i := range p.cfg.Delegations {
		d := &p.cfg.Delegations[i]
		if d.Tool.Name == "" {
			continue
		}
		tell := func(at Problem, text, hint string) {
			at.Text, at.Hint = fmt.Sprintf("agent %s: %s", d.Server, text), hint
			out = append(out, at)
		}
		m := p.byName[d.Tool.Server]
		if m == nil {
			hint := ""
			if near := p.catalog.Snapshot().NearServers(d.Tool.Server, 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %s/%s?", near[0], d.Tool.Name)
			}
			tell(d.ToolAt, fmt.Sprintf("tool: there is no server %s, so the agent cannot work", d.Tool.Server), hint)
			continue
		}
		tools, _ := p.catalog.Snapshot().Server(d.Tool.Server)
		name := cmp.Or(m.also[d.Tool.Name], d.Tool.Name)
		at := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == name })
		switch {
		case len(tools) == 0: // not known yet
		case at < 0:
			hint := ""
			if near := p.catalog.Snapshot().NearTools(d.Tool.Server, d.Tool.Name, 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %s?", near[0])
			}
			tell(d.ToolAt, fmt.Sprintf("tool: server %s has no tool %s, so the agent cannot work", d.Tool.Server, d.Tool.Name), hint)
		default:
			if text, hint := takesSubtask(tools[at].Schema, d.Argument); text != "" {
				tell(d.ArgumentAt, fmt.Sprintf("argument: %s %s, so the agent cannot work", d.Tool, text), hint)
			}
		}
	}
	return out
}

// takesSubtask says why a tool does not work with one argument of that name that is a text.
func takesSubtask(schema json.RawMessage, argument string) (text, hint string) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		More       json.RawMessage            `json:"additionalProperties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return "", ""
	}
	if _, ok := s.Properties[argument]; !ok && (string(s.More) == "false" || len(s.Properties) > 0 && len(s.More) == 0) {
		known := slices.Sorted(maps.Keys(s.Properties))
		if len(known) == 0 {
			return fmt.Sprintf("has no argument %q", argument), "it takes none"
		}
		return fmt.Sprintf("has no argument %q", argument), "set argument: to one of " + strings.Join(known[:min(len(known), 20)], ", ")
	}
	for _, r := range s.Required {
		if r != argument {
			return fmt.Sprintf("wants the argument %q besides %q", r, argument), "an agent gives one argument, the subtask"
		}
	}
	return "", ""
}

// warnMisdirected tells the operator of agents that cannot work.
func (p *pool) warnMisdirected(log *slog.Logger) {
	for _, f := range p.misdirected() {
		log.Warn("an agent cannot work", "place", f.Place(), "problem", f.Text, "hint", f.Hint)
	}
}

// toolless returns the agents that are models and have no tool, though their entries name
// some: none that matches is there, or what may be done here hides all.
func toolless(v view) []Problem {
	var out []Problem
	for _, m := range v.members {
		if m.delegate == nil || m.err != nil || len(m.delegate.set.Tools) == 0 || m.delegate.run.Ask == nil {
			continue
		}
		set := m.delegate.set
		sees, err := v.as(Viewer{Skill: set.Skill, Mode: set.Mode}.subject())
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(sees.look().tools, func(t *tool.Tool) bool { return t.Server != m.name && set.Allows(t.ID) }) {
			at := slices.IndexFunc(v.cfg.Delegations, func(d config.Delegation) bool { return d.Server == m.name })
			if at < 0 {
				continue
			}
			f := v.cfg.Delegations[at].ToolAt
			f.Text = fmt.Sprintf("agent %s: tools: there is none that it may call, so its model works without tools", m.name)
			f.Hint = "look at the patterns, at its mode and skill, and at the policy"
			out = append(out, f)
		}
	}
	return out
}

// mendable returns what the caller of an agent is told where its entry is at fault: they
// can do nothing about that.
func (w *deputy) mendable(res *tool.Result) (tool.Bytes, error) {
	e := &tool.Error{Kind: tool.Unavailable, Err: res.Err, Text: fmt.Sprintf(
		"The agent %s is configured wrongly: it hands its work to the tool %s with the argument %q, and that cannot be done (%s). The operator must mend the entry of %s in the configuration. Another call of it will end the same way: do this part yourself.",
		w.entry.Name, w.set.Tool, w.set.Argument, strings.TrimRight(egress.Plain(firstLine(res.Text()), 300), ". "), w.entry.Name)}
	if res.Kind == tool.Invalid {
		e.Kind = tool.Failed
	}
	return nil, e
}

// misuses reports whether a call failed for how the entry is written.
func (w *deputy) misuses(res *tool.Result) bool {
	if res.Kind == tool.NotFound {
		return true
	}
	t, ok := w.catalog.Snapshot().Find(w.set.Tool)
	if !ok || res.Kind != tool.Invalid {
		return false
	}
	text, _ := takesSubtask(t.Schema, w.set.Argument)
	return text != ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
