package policy_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/tool"
)

// large is a policy of 1,000 rules for arguments and 5,000 tools, of which each
// has one or two.
func large(tb testing.TB) (*policy.Profile, []*tool.Tool) {
	tb.Helper()
	tools := make([]*tool.Tool, 5000)
	for i := range tools {
		tools[i] = known(fmt.Sprintf("tool_%d", i), func(m *tool.Meta) {
			m.ReadOnlyFor = `args.verb in ["get", "list"]`
		})
	}
	o := normal
	for i := range 1000 {
		r := policy.Parameter{Tool: tool.ID{Server: "*", Name: fmt.Sprintf("tool_%d*", i)}, Argument: "name", Globs: []string{"web-*", "api-*"}}
		if i%2 == 0 {
			r.Tool = tool.ID{Server: "s", Name: fmt.Sprintf("tool_%d", i)}
		}
		if i%10 == 1 {
			r.Globs, r.Expression = nil, `value.startsWith("web-") && caller != "x"`
		}
		o.Parameters = append(o.Parameters, r)
	}
	for i := range 20 {
		o.Skills = append(o.Skills, policy.Skill{Name: fmt.Sprintf("skill_%d", i), Tools: []string{"s/tool_*", "other", "x__y*"}})
	}
	p, err := policy.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	pr, err := p.Profile(policy.Subject{Caller: "c", Session: "s", Skill: "skill_7"})
	if err != nil {
		tb.Fatal(err)
	}
	return pr, tools
}

var arguments = json.RawMessage(`{"verb": "get", "name": "web-7", "namespace": "default", "limit": 10, "labels": {"a": "b"}}`)

// BenchmarkDecide is one decision on the arguments of a call, with all that looks
// at arguments: parameter rules and an expression.
func BenchmarkDecide(b *testing.B) {
	pr, tools := large(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if d := pr.Decide(tools[i%len(tools)], arguments, policy.Facts{}); d.Behavior != tool.Allow {
			b.Fatal(d.Reason)
		}
		i += 7
	}
}

// BenchmarkDecideSimple is a decision on a tool whose arguments no rule looks at.
func BenchmarkDecideSimple(b *testing.B) {
	pr, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		pr.Decide(reader, arguments, policy.Facts{})
	}
}

// BenchmarkDecideDenied is a decision with its chain.
func BenchmarkDecideDenied(b *testing.B) {
	pr, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		pr.Decide(destroyer, arguments, policy.Facts{})
	}
}

// BenchmarkFirstMeeting is the first look at 5,000 tools.
func BenchmarkFirstMeeting(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		pr, tools := large(b)
		b.StartTimer()
		for _, t := range tools {
			pr.Visible(t, policy.Facts{})
		}
	}
}

// BenchmarkProfile finds the profile of a call.
func BenchmarkProfile(b *testing.B) {
	o := normal
	o.Callers = []policy.CallerRule{{Name: "c*", Mode: tool.ModeReadOnly}}
	p, err := policy.New(o)
	if err != nil {
		b.Fatal(err)
	}
	g := &tool.Grant{Mode: tool.ModeNormal, Limits: "l"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Profile(policy.Subject{Caller: "c", Session: "s", Grant: g}); err != nil {
			b.Fatal(err)
		}
	}
}
