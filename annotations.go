package tenon

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/tool"
)

// annotated returns metadata with what a server says of its tool. That can make
// it stricter; laxer, and known at all, only where the server is trusted.
func annotated(m tool.Meta, annotations json.RawMessage, trusted bool) tool.Meta {
	var all map[string]json.RawMessage
	if len(annotations) == 0 || json.Unmarshal(annotations, &all) != nil {
		return m
	}
	says := func(hint, value string) bool { return string(all[hint]) == value }
	said := func(hint string) bool { return says(hint, "true") || says(hint, "false") }
	if trusted && (said("readOnlyHint") || said("destructiveHint") || said("idempotentHint") || said("openWorldHint")) {
		// What is not said has the defaults of the protocol.
		m.Registered = true
		m.ReadOnly = says("readOnlyHint", "true")
		m.Destructive = !m.ReadOnly && !says("destructiveHint", "false")
		m.Idempotent = m.ReadOnly || says("idempotentHint", "true")
		m.SideEffect = tool.EffectNone
		if !says("openWorldHint", "false") {
			m.SideEffect = tool.EffectExternal
		}
	}
	if says("destructiveHint", "true") && (!trusted || !m.ReadOnly) {
		m.Destructive = true
	}
	if says("readOnlyHint", "false") || m.Destructive {
		m.ReadOnly = false
	}
	if says("idempotentHint", "false") && !m.ReadOnly {
		m.Idempotent = false
	}
	if says("openWorldHint", "true") && m.SideEffect == tool.EffectNone {
		m.SideEffect = tool.EffectExternal
	}
	return m
}
