package tenon_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestAnotherAgentStandsIn where one cannot be had: nothing was begun, whichever kind of
// agent it is. One that was asked and does not take the subtask has failed.
func TestAnotherAgentStandsIn(t *testing.T) {
	t.Parallel()
	keyless, strict, good := &scripted{says: []string{done}, codes: []int{401, 401}}, &scripted{says: []string{done}, codes: []int{400, 400}}, &scripted{says: []string{done}}
	g, _ := agents(t, "version: 1\nservers:\n  gone: {agent: {a2a: \"http://127.0.0.1:1\"}}\n  keyless: "+entryOf(keyless.start(t), "")+
		"\n  strict: "+entryOf(strict.start(t), "")+"\n  good: "+entryOf(good.start(t), "")+
		"\nfallbacks: {\"gone/*\": [good/execute_subtask], \"keyless/*\": [good/execute_subtask], \"strict/*\": [good/execute_subtask]}\n", tenon.Options{})
	for name, ok := range map[string]bool{"gone": true, "keyless": true, "strict": false} {
		res := subtask(t, g, name, tool.Call{})
		if ok != (res.Kind == "") || ok != strings.Contains(res.Text(), "It is done.") {
			t.Errorf("%s: %s: %s", name, res.Kind, res.Text())
		}
	}
	alone, _ := agents(t, "version: 1\nservers:\n  keyless: "+entryOf((&scripted{says: []string{done}, codes: []int{401}}).start(t), ""), tenon.Options{})
	if res := subtask(t, alone, "keyless", tool.Call{}); res.Kind != tool.Unavailable || res.Attempts != 1 || !strings.Contains(res.Text(), "the operator must check agent.model.key. Nothing was begun: do the subtask yourself") {
		t.Errorf("%s after %d attempts: %s", res.Kind, res.Attempts, res.Text())
	}
}

// TestWhatAnAgentIsRefused reads as a refusal to its model, with the reason, and not as a
// tool that is not there.
func TestWhatAnAgentIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ asked, more, want string }{
		{"go__write", `, tools: ["go/*"], mode: read_only`, "Refused, and not carried out: The mode is read_only"},
		{"go__write", `, tools: ["go/look"]`, "Refused, and not carried out: The tool go__write is not among those that the entry of this agent allows."},
		{"go__gone", `, tools: ["go/*"]`, "Refused, and not carried out: The tool go/gone is on the blacklist"},
		{"go__nothing", `, tools: ["go/*"]`, "There is no tool of this name."},
	} {
		m := &scripted{says: []string{wants(tt.asked, `{"text": "x"}`), done}}
		g, written := agents(t, "version: 1\nblacklist: [go/gone]\nservers:\n  helper: "+entryOf(m.start(t), tt.more), tenon.Options{})
		res := subtask(t, g, "helper", tool.Call{})
		if got := m.questions()[1].last(); !strings.HasPrefix(got, tt.want) || len(*written) != 0 || !strings.Contains(res.Text(), "It is done.") {
			t.Errorf("%s%s: told %q, written %q; %s", tt.asked, tt.more, got, *written, res.Text())
		}
	}
}
