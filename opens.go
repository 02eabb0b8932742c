package tenon

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/tool"
)

// opens says what an operator can write so that a refused tool is not refused, or
// nothing where that is not for the configuration to say. It is for the operator: a model
// is told that the operator alone can.
func opens(d *tool.Decision, t *tool.Tool) string {
	switch {
	case d.Behavior != tool.Deny:
	case d.ReasonType == policy.HighRisk:
		entry, skill := "destructive: false", ""
		switch {
		case !t.Meta.Destructive:
			entry, skill = "risk_level: medium", ", or a skill that lists it"
		case t.Meta.RiskLevel == tool.RiskHigh:
			entry += ", risk_level: medium"
		}
		return fmt.Sprintf("in the configuration, policy: {mode: ask_destructive, block_high_risk: false} has a person asked for each such call; "+
			"tools: {%q: {%s}} opens this tool alone, where it does no great harm%s; docs/policy.md tells more", t.ID.String(), entry, skill)
	case d.ReasonType == policy.ReadOnly && !t.Meta.Registered:
		entry := fmt.Sprintf("in the configuration, tools: {%q: {read_only: true}} declares it, where it only reads", t.ID.String())
		if t.SaysItReads() {
			entry += "; trust_annotations: true at the server " + t.Server + " believes what that says of all its tools"
		}
		return entry + "; docs/policy.md tells more"
	}
	return ""
}
