package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A ToolRule is one entry of `tools:`: what the operator says of the tools that
// its pattern names. A nil field says nothing.
type ToolRule struct {
	Pattern tool.ID // see Match

	ReadOnly        *bool
	ConcurrencySafe *bool
	Destructive     *bool
	Idempotent      *bool
	Notification    *bool
	SideEffect      *tool.SideEffect
	RiskLevel       *tool.RiskLevel
	MaxResultChars  *int
	SearchHint      *string
	ReadOnlyFor     *string // an expression
	Labels          *[]tool.Label
	Spend           *float64
	Timeout         *time.Duration
}

// Match tells whether the rule names the tool.
func (r ToolRule) Match(id tool.ID) bool { return glob.MatchID(r.Pattern, id) }

// Apply lays the rule over what is known of a tool that it matches. A rule that
// declares what the tool does registers it; one that only sets limits or words
// for the search does not, for it says nothing of how safe the tool is.
func (r ToolRule) Apply(m tool.Meta) tool.Meta {
	// What was said before of one is taken back by the other: nothing is both.
	m.Destructive = m.Destructive && (r.ReadOnly == nil || !*r.ReadOnly)
	m.ReadOnly = m.ReadOnly && (r.Destructive == nil || !*r.Destructive)
	set(&m.ReadOnly, r.ReadOnly)
	set(&m.ConcurrencySafe, r.ConcurrencySafe)
	if r.ConcurrencySafe != nil {
		m.Exclusive = !*r.ConcurrencySafe
	}
	set(&m.Destructive, r.Destructive)
	set(&m.Idempotent, r.Idempotent)
	set(&m.Notification, r.Notification)
	set(&m.SideEffect, r.SideEffect)
	set(&m.RiskLevel, r.RiskLevel)
	set(&m.MaxResultChars, r.MaxResultChars)
	set(&m.SearchHint, r.SearchHint)
	set(&m.Timeout, r.Timeout)
	set(&m.ReadOnlyFor, r.ReadOnlyFor)
	set(&m.Labels, r.Labels)
	set(&m.Spend, r.Spend)
	m.Registered = m.Registered || r.declares()
	return m
}

func (r ToolRule) declares() bool {
	return r.ReadOnly != nil || r.ConcurrencySafe != nil || r.Destructive != nil || r.Idempotent != nil ||
		r.Notification != nil || r.SideEffect != nil || r.RiskLevel != nil || r.ReadOnlyFor != nil
}

// ruleOnData reads the keys that say what a tool does with data, and when.
func ruleOnData(o *object, r *ToolRule, check func(expression string) error) {
	optional(o, "is_read_only_for_input", &r.ReadOnlyFor, o.text)
	if r.ReadOnlyFor != nil && check != nil {
		if err := check(*r.ReadOnlyFor); err != nil {
			wrongRule(o, o.at("is_read_only_for_input"), "is_read_only_for_input", err)
		}
	}
	optional(o, "labels", &r.Labels, func(key string, dst *[]tool.Label) {
		*dst = []tool.Label{}
		known := words(string(tool.LabelPrivate), string(tool.LabelUntrusted), string(tool.LabelEgress))
		for _, n := range o.list(key) {
			text, ok := o.scalar(n)
			switch {
			case !ok:
			case known[text] == "":
				o.fail(n, fmt.Sprintf("labels wants private, untrusted and egress, and holds %s", quoteOf(n, text)), "")
			case !slices.Contains(*dst, tool.Label(text)):
				*dst = append(*dst, tool.Label(text))
			}
		}
	})
	const most = 1e9
	optional(o, "spend", &r.Spend, func(key string, dst *float64) { o.number(key, 0, most, dst) })
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}
