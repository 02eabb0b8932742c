package tenon

import (
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	aloud   = 5   // tools of one listing that are warned of one by one
	inAWord = 200 // those that one warning names
)

// warnUndeclared tells the operator, once for each tool, which tools of a member
// nobody has declared. Whoever calls it holds offering.
func (k maker) warnUndeclared(m *member) {
	tools, _ := k.catalog.Snapshot().Server(m.name)
	var names []string
	for i := range tools {
		t := &tools[i]
		if t.Meta.Registered || m.warned[t.Name] {
			continue
		}
		if m.warned == nil {
			m.warned = map[string]bool{}
		}
		m.warned[t.Name] = true
		names = append(names, t.Name)
	}
	const text = "tool has no metadata: it counts as neither read-only nor safe to run side by side"
	if len(names) <= aloud {
		for _, name := range names {
			k.log.Warn(text, "server", m.name, "tool", name, "hint", "tenon check --connect prints an entry for tools:")
		}
		return
	}
	more := ""
	if len(names) > inAWord {
		more = ", …"
	}
	k.log.Warn("tools have no metadata: they count as neither read-only nor safe to run side by side", "server", m.name,
		"count", len(names), "tools", strings.Join(names[:min(len(names), inAWord)], ", ")+more, "hint", "tenon check --connect prints entries for tools:")
}

// draft returns the entry of tools: that declares a tool as what its server says
// it is, for a person to look at, to change and to take up.
func (p *pool) draft(t *tool.Tool) Draft {
	m := annotated(tool.DefaultMeta(), t.Annotations, true)
	d := Draft{Tool: t.ID.String(), ReadOnly: m.ReadOnly, Destructive: m.Destructive, Idempotent: m.Idempotent, RiskLevel: tool.RiskLow}
	switch {
	case !m.Registered: // nothing is known: the strictest, which a person loosens
		d.Destructive, d.RiskLevel, d.Guessed = true, tool.RiskHigh, true
		m.SideEffect = tool.EffectExternal
	case m.Destructive:
		d.RiskLevel = tool.RiskHigh
	case !m.ReadOnly:
		d.RiskLevel = tool.RiskMedium
	}
	// That a server says nothing of the open world does not make a tool that writes
	// one without effect: then nobody has said on what it acts.
	if d.ReadOnly || m.SideEffect != tool.EffectNone {
		d.SideEffect = m.SideEffect
	}
	d.ConcurrencySafe = d.ReadOnly
	d.Effect = p.effect(&d, t.Meta.Risk() == tool.RiskHigh)
	return d
}

// effect says what would become of a tool with an entry, compared with now.
func (p *pool) effect(d *Draft, risky bool) string {
	blocks := p.cfg.Policy.BlockHighRisk && p.cfg.Policy.Mode != tool.ModeBypass
	switch {
	case d.ReadOnly:
		return "this lets the tool run beside others and in the mode read_only"
	case d.Destructive && blocks && risky:
		return "this leaves the tool blocked; with destructive: false and a lower risk_level it is not"
	case d.Destructive && blocks:
		return "this blocks the tool, which is not blocked now"
	case d.Destructive:
		return "this makes the tool one for which a person is asked in the mode ask_destructive"
	}
	return "this ends that a person is asked for the tool in the mode ask_destructive"
}

// A Draft is a proposed entry of `tools:` for a tool that nobody has declared.
type Draft struct {
	Tool            string          `json:"tool"` // "server/tool"
	ReadOnly        bool            `json:"read_only"`
	ConcurrencySafe bool            `json:"concurrency_safe"`
	Destructive     bool            `json:"destructive"`
	Idempotent      bool            `json:"idempotent"`
	SideEffect      tool.SideEffect `json:"side_effect,omitempty"` // empty where nobody says on what it acts
	RiskLevel       tool.RiskLevel  `json:"risk_level"`
	// Guessed is set where the server says nothing of the tool either.
	Guessed bool `json:"guessed,omitempty"`
	// Effect says what would become of the tool with this entry.
	Effect string `json:"effect"`
}
