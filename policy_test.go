package tenon_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// hinted is a tool with these annotations.
func hinted(name, annotations string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"},"annotations":` + annotations + `}`
}

// described are tools whose server says all kinds of things of them.
var described = upstreamtest.Script{Extra: []string{
	hinted("reads", `{"readOnlyHint":true}`),
	hinted("destroys", `{"destructiveHint":true}`),
	hinted("claims", `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`),
	hinted("writes", `{"readOnlyHint":false,"destructiveHint":false}`),
	hinted("again", `{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true}`),
	hinted("world", `{"openWorldHint":true}`),
	hinted("vague", `{"title":"x"}`),
	hinted("odd", `{"readOnlyHint":"true","destructiveHint":1}`),
	hinted("broken", `[]`),
}}

func metaOf(t *testing.T, g *tenon.Gateway, server string) map[string]tool.Meta {
	t.Helper()
	l, err := g.Tools(t.Context(), tenon.ListOptions{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]tool.Meta{}
	for _, s := range l.Servers {
		for _, tl := range s.Tools {
			out[tl.Name] = tl.Meta
		}
	}
	return out
}

// TestAnnotations: what a server says makes its tools stricter; laxer, and known,
// only where it is trusted; and the operator has the last word.
func TestAnnotations(t *testing.T) {
	rules := "tools:\n  \"*/destroys\": {destructive: false}\n"
	g := open(t, tenon.Options{Config: write(t, "version: 1\npolicy: {mode: bypass}\nservers:\n"+
		entry(t, "foreign", described, "")+
		entry(t, "trusted", described, ", trust_annotations: true")+rules)})
	foreign, trusted := metaOf(t, g, "foreign"), metaOf(t, g, "trusted")
	type said struct{ registered, reads, destroys, again bool }
	of := func(m tool.Meta) said { return said{m.Registered, m.ReadOnly, m.Destructive, m.Idempotent} }
	for name, want := range map[string]struct{ foreign, trusted said }{
		"reads":    {said{}, said{true, true, false, true}},
		"destroys": {said{registered: true}, said{registered: true}}, // by the operator's entry
		"claims":   {said{}, said{true, true, false, true}},
		"writes":   {said{}, said{registered: true}},
		"again":    {said{}, said{true, false, false, true}},
		"world":    {said{}, said{true, false, true, false}},
		"vague":    {said{}, said{}},
		"odd":      {said{}, said{}},
		"broken":   {said{}, said{}},
	} {
		if got := of(foreign[name]); got != want.foreign {
			t.Errorf("%s of a foreign server is %+v, want %+v", name, got, want.foreign)
		}
		if got := of(trusted[name]); got != want.trusted {
			t.Errorf("%s of a trusted server is %+v, want %+v", name, got, want.trusted)
		}
	}
	if foreign["world"].SideEffect != tool.EffectExternal {
		t.Errorf("a tool of the open world has the side effect %s", foreign["world"].SideEffect)
	}
	g = open(t, tenon.Options{Config: write(t, "version: 1\npolicy: {mode: bypass}\nservers:\n"+entry(t, "foreign", described, ""))})
	if m := metaOf(t, g, "foreign")["destroys"]; !m.Destructive || m.Registered {
		t.Errorf("a tool that says it destroys is %+v, want destructive, and declared by nobody", m)
	}
}

// TestUndeclaredIsTold: the operator is told of each tool without metadata, once,
// and gets an entry to paste.
func TestUndeclaredIsTold(t *testing.T) {
	var log lockedBuffer
	config := "version: 1\nservers:\n" + entry(t, "a", described, "")
	path := write(t, config)
	g := open(t, tenon.Options{Config: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := g.Check(t.Context(), true)
	drafts := map[string]tenon.Draft{}
	for _, d := range r.Drafts {
		drafts[d.Tool] = d
	}
	if d := drafts["a/reads"]; !d.ReadOnly || !d.ConcurrencySafe || d.RiskLevel != tool.RiskLow || d.Guessed {
		t.Errorf("the entry for a tool that says it reads is %+v", d)
	}
	if d := drafts["a/vague"]; d.ReadOnly || !d.Destructive || d.RiskLevel != tool.RiskHigh || !d.Guessed {
		t.Errorf("the entry for a tool that says nothing is %+v, want the strictest", d)
	}
	if n := strings.Count(log.String(), "have no metadata"); n != 1 {
		t.Errorf("the log tells %d times of tools without metadata, want once:\n%s", n, log.String())
	}
	for name := range drafts {
		if _, name, _ = strings.Cut(name, "/"); len(drafts) < 6 || !strings.Contains(log.String(), name) {
			t.Errorf("of %d tools without metadata the log does not name %s:\n%s", len(drafts), name, log.String())
		}
	}
	if err := os.WriteFile(path, []byte(config+"strict: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "no metadata"); n != 1 {
		t.Errorf("after a reload the log has told %d times, want once", n)
	}
}

const skillText = "---\nname: mine\ndescription: d\nallowed_tools: [%TOOLS%]\n---\nFirst look.\n"

// TestSkillsFollowTheirFiles: a skill is read with the configuration, and a reload
// sees that its file changed.
func TestSkillsFollowTheirFiles(t *testing.T) {
	path := write(t, "version: 1\nskills: {dirs: [skills], built_in: false, default: mine}\nservers:\n  system: {bundled: system}\n  time: {bundled: time}\n"+
		"tools:\n  \"*/*\": {read_only: false}\n")
	file := filepath.Join(filepath.Dir(path), "skills", "mine", "SKILL.md")
	say := func(tools string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(skillText, "%TOOLS%", tools)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	say("get_current_time, nothing_of_that_name")
	g := open(t, tenon.Options{Config: path})
	all := g.Policy().Skills(tool.Caller{})
	if len(all) != 1 || all[0].Playbook != "First look." || strings.Join(all[0].Missing, " ") != "nothing_of_that_name" && strings.Join(all[0].Missing, " ") != "get_current_time nothing_of_that_name" {
		t.Fatalf("skills are %+v", all)
	}
	explained := func() string {
		t.Helper()
		e, err := g.Policy().Explain(t.Context(), tool.Call{Server: "system", Tool: "get_load_average"})
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Decision.Behavior) + " " + e.Decision.ReasonType
	}
	if got := explained(); got != "deny skill_allowlist" {
		t.Errorf("a tool beside the skill is %s", got)
	}
	say("system/*")
	if r, err := g.Reload(t.Context()); err != nil || !r.Changed {
		t.Fatalf("reload: %+v, %v; want a change", r, err)
	}
	if got := explained(); got != "allow ok" {
		t.Errorf("after a reload the tool is %s", got)
	}
	say("system/[")
	if _, err := g.Reload(t.Context()); err == nil {
		t.Error("a skill with a mistake is taken")
	} else if e, ok := errors.AsType[*tenon.ConfigError](err); !ok || e.Problems[0].Line != 4 || !strings.HasSuffix(e.Problems[0].File, "SKILL.md") {
		t.Errorf("error is %v, want one with its place", err)
	}
	if got := explained(); got != "allow ok" {
		t.Errorf("after a reload that failed the tool is %s", got)
	}
}

// TestExplain: what is explained is what a call meets.
func TestExplain(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+
		entry(t, "a", described, "")+
		"  gone: {command: /nonexistent/server, retries: 0}\n"+
		"tools:\n  \"gone/drop\": {destructive: true}\n  \"a/again\": {risk_level: high, is_read_only_for_input: 'args.dry == true'}\n"+
		"blacklist: [a/world]\n"+
		"policy:\n  parameters: {\"a/writes\": {path: {glob: \"/data/**\"}}}\n  callers: {ci: {mode: read_only}}\n")})
	for name, tt := range map[string]struct {
		call tool.Call
		want string
		note bool
	}{
		"allowed":              {tool.Call{Server: "a", Tool: "vague"}, "allow ok", false},
		"for a caller":         {tool.Call{Server: "a", Tool: "vague", Caller: tool.Caller{Name: "ci"}}, "deny mode_read_only", false},
		"with a mode":          {tool.Call{Server: "a", Tool: "vague", Mode: tool.ModeAskDestructive}, "ask mode_ask", false},
		"destructive":          {tool.Call{Server: "a", Tool: "destroys"}, "deny guardrail_high", false},
		"reading arguments":    {tool.Call{Server: "a", Tool: "again", Arguments: json.RawMessage(`{"dry":true}`)}, "allow ok", false},
		"other arguments":      {tool.Call{Server: "a", Tool: "again", Arguments: json.RawMessage(`{"dry":false}`)}, "deny guardrail_high", false},
		"within a rule":        {tool.Call{Server: "a", Tool: "writes", Arguments: json.RawMessage(`{"path":"/data/x"}`)}, "allow ok", false},
		"beyond a rule":        {tool.Call{Server: "a", Tool: "writes", Arguments: json.RawMessage(`{"path":"/etc/x"}`)}, "deny rule_param", false},
		"blacklisted":          {tool.Call{Server: "a", Tool: "world"}, "deny blacklist", false},
		"server does not come": {tool.Call{Server: "gone", Tool: "drop"}, "deny guardrail_high", true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := g.Policy().Explain(t.Context(), tt.call)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(e.Decision.Behavior) + " " + e.Decision.ReasonType; got != tt.want || (e.Note != "") != tt.note {
				t.Errorf("explained as %s (%s), note %q, want %s", got, e.Decision.Reason, e.Note, tt.want)
			}
			if len(e.Decision.Chain) == 0 {
				t.Error("no chain")
			}
			if tt.note || e.Decision.Behavior == tool.Ask {
				return
			}
			res := g.Call(t.Context(), tt.call)
			if denied := res.Kind == tool.Denied; denied != (e.Decision.Behavior == tool.Deny) {
				t.Errorf("the call ends with %s: %s", res.Kind, res.Text())
			}
		})
	}
	for name, tt := range map[string]struct {
		call tool.Call
		want tool.Kind
	}{
		"no server": {tool.Call{Server: "b", Tool: "x"}, tool.NotFound},
		"no tool":   {tool.Call{Server: "a", Tool: "vagu"}, tool.NotFound},
		"no skill":  {tool.Call{Server: "a", Tool: "vague", Skill: "x"}, tool.Invalid},
		"no mode":   {tool.Call{Server: "a", Tool: "vague", Mode: "x"}, tool.Invalid},
	} {
		if _, err := g.Policy().Explain(t.Context(), tt.call); tool.KindOf(err) != tt.want {
			t.Errorf("%s: error is %v, want %s", name, err, tt.want)
		}
	}
}

// TestPolicyMistakes: a policy that cannot be meant stops the start, with its place.
func TestPolicyMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"policy: {parameters: {a/b: {x: {cel: 'value == '}}}}":              ":4:38",
		"policy: {parameters: {a/b: {x: {cel: 'arg.x'}}}}":                  "undeclared reference",
		"policy: {parameters: {a/b: {x: {regexp: '('}}}}":                   "missing closing",
		"policy: {parameters: {a/b: {x: {cidr: 10.0.0.0/33}}}}":             "no address or network",
		"tools: {a/b: {is_read_only_for_input: 'args.verb in [get]'}}":      ":4:54",
		"skills: {default: nothing}":                                        "there is no skill",
		"policy: {callers: {x: {skill: generic_oncal}}}":                    "did you mean \"generic_oncall\"",
		"policy: {callers: {x: {skill: [generic_oncall, host_diagnosis]}}}": "host_diagnosis",
	} {
		_, err := tenon.Open(t.Context(), tenon.Options{Config: write(t, "version: 1\nservers: {a: {command: x}}\n\n"+text+"\n")})
		if e, ok := errors.AsType[*tenon.ConfigError](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s\nerror is %v, want a ConfigError with %q", text, err, want)
		}
	}
}
