package tenon_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestAgentsThatCannotWork are told by a check, each with its place; and who calls one is
// told that its entry is at fault.
func TestAgentsThatCannotWork(t *testing.T) {
	t.Parallel()
	const closed = "http://127.0.0.1:1"
	m := &scripted{says: []string{done}}
	url := m.start(t)
	for _, tt := range []struct {
		entry  string
		broken string // or
		warned string // or
		probe  string
		cold   bool   // told without connecting too
		called string // what a call says
	}{
		{entry: "{agent: {tool: nope/x}}", broken: ":3:20: agent helper: tool: there is no server nope", cold: true, called: "configured wrongly: it hands its work to the tool nope/x"},
		{entry: "{agent: {tool: go/lok}}", broken: ":3:20: agent helper: tool: server go has no tool lok, so the agent cannot work (did you mean go/look?)", cold: true, called: "The operator must mend the entry of helper"},
		{entry: "{agent: {tool: go/look, argument: question}}", broken: ":3:35: agent helper: argument: go/look has no argument \"question\", so the agent cannot work (set argument: to one of text)", cold: true, called: "The operator must mend the entry of helper"},
		{entry: "{agent: {tool: go/look, argument: text}}"},
		{entry: "{agent: {tool: helper/execute_subtask}}", broken: ":3:20: tool: an agent cannot hand its work to itself", cold: true},
		{entry: entryOf(url, `, tools: ["toyy/*"]`), warned: `"toyy/*" names no tool: there is no such server`, called: "works without tools"},
		{entry: entryOf(url, `, tools: ["go/write"], mode: read_only`), warned: "agent helper: tools: there is none that it may call", called: "works without tools"},
		{entry: entryOf(url, `, tools: ["go/*"], mode: read_only`), called: "It is done."},
		{entry: entryOf(closed+"/v1", ""), probe: "helper OpenAI unreachable"},
		{entry: "{agent: {a2a: " + closed + "}}", probe: "helper agent unreachable"},
		{entry: "{bundled: thinker}\nsampling: {servers: [helper], model: {base_url: " + closed + "/v1, name: m}}", probe: "sampling OpenAI unreachable"},
	} {
		var log lockedBuffer
		g, _ := agents(t, "version: 1\nservers:\n  helper: "+tt.entry, tenon.Options{
			Logger: slog.New(slog.NewJSONHandler(&log, nil)), Bundled: []tenon.Bundled{{Name: "thinker", New: thinks, Meta: map[string]tool.Meta{"think": {Registered: true}}}},
		})
		cold := g.Check(t.Context(), false)
		if cold.OK() == tt.cold {
			t.Errorf("%s: without connecting it is fine: %t", tt.entry, cold.OK())
		}
		r := g.Check(t.Context(), true)
		if fine := tt.broken == "" && tt.probe == ""; r.OK() != fine {
			t.Errorf("%s: fine: %t; broken %v, probes %v", tt.entry, r.OK(), r.Broken, r.Probes)
		}
		if tt.broken != "" {
			wantProblem(t, r.Broken, tt.broken)
		}
		if tt.warned != "" {
			wantProblem(t, r.Warnings, tt.warned)
		} else if len(r.Warnings) > 0 {
			t.Errorf("%s: %v", tt.entry, r.Warnings)
		}
		var probes []string
		for _, p := range r.Probes {
			probes = append(probes, p.Server+" "+p.Service+" "+string(p.State))
		}
		if got := strings.Join(probes, "\n"); tt.probe != "" && !strings.Contains(got, tt.probe) {
			t.Errorf("%s: probes %s, want %s", tt.entry, got, tt.probe)
		}
		if strings.Contains(tt.entry, "nope/x") && !strings.Contains(log.String(), "an agent cannot work") {
			t.Errorf("%s: the log says nothing:\n%s", tt.entry, &log)
		}
		if tt.called == "" {
			continue
		}
		res := subtask(t, g, "helper", tool.Call{})
		text := res.Text()
		for _, n := range res.Notes {
			text += n.Text
		}
		if !strings.Contains(text, tt.called) {
			t.Errorf("%s: %s: %s", tt.entry, res.Kind, text)
		}
	}
}
