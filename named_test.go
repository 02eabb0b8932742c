package tenon_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// named is a server with a tool whose name is easily misspelled.
var named = upstreamtest.Script{Extra: []string{
	`{"name":"kubectl","inputSchema":{"type":"object","properties":{"verb":{"type":"string"},"name":{"type":"string"}}}}`,
	`{"name":"post","inputSchema":{"type":"object","properties":{"url":{"type":"string"}}}}`,
}}

// misspelled names a tool that is not there in every section that can, one a line
// from line 4 on.
const misspelled = `blacklist: [[mini, kubctl]]
tools: {"mini/kubctl": {labels: [egress]}}
lazy: {mode: off, pinned: ["mini/kubctl"]}
fallbacks: {"mini/kubctl": ["mini/psot"]}
content_rules: {mine: {addresses: [example.com], tools: ["mini/psot"], search_tools: ["mini/psot"]}}
skills: {dirs: [skills]}
policy:
  limits: [{per: tool, calls: 5, tools: ["mini/psot"]}]
  parameters:
    "mini/kubctl": {name: {glob: "web-*"}}
    "mini/kubectl": {nmae: {glob: "web-*"}}
    "mini/delete_*": {name: {glob: "web-*"}}
`

// places are those of misspelled.
var places = []string{
	":4:13: \"mini/kubctl\"", ":5:9: \"mini/kubctl\"", ":6:28: \"mini/kubctl\"", ":7:13: \"mini/kubctl\"", ":7:29: \"mini/psot\"",
	":8:58: \"mini/psot\"", ":8:87: \"mini/psot\"", ":11:42: \"mini/psot\"", ":13:5: \"mini/kubctl\"", ":14:22: \"mini/kubectl\"",
	"SKILL.md:4:17: \"mini/kubctl\"", "SKILL.md:4:30: \"mini__psot\"",
}

// loose are those that are never more than a warning.
var loose = []string{":15:5: \"mini/delete_*\"", "SKILL.md:4:42: \"nothing\""}

func misspelledPool(t *testing.T, more string) string {
	t.Helper()
	path := write(t, "version: 1\nservers:\n"+entry(t, "mini", named, "")+misspelled+more)
	file := filepath.Join(filepath.Dir(path), "skills", "mine", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: mine\ndescription: d\nallowed_tools: [mini/kubctl, mini__psot, nothing, mini__post]\n---\nx\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMisspelledTools: wherever the configuration names tools, a name that no server
// has is told with its place, once the tools are known.
func TestMisspelledTools(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		more := ""
		if strict {
			more = "strict: true\n"
		}
		var log lockedBuffer
		path := misspelledPool(t, more)
		g := open(t, tenon.Options{Config: path, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		if r := g.Check(t.Context(), false); len(r.Broken)+len(r.Warnings) > 0 {
			t.Errorf("before the tools are known: %v, %v", r.Broken, r.Warnings)
		}
		r := g.Check(t.Context(), true)
		firm, soft := r.Warnings, r.Warnings
		if strict {
			firm = r.Broken
		}
		for _, want := range places {
			wantProblem(t, firm, want)
		}
		for _, want := range loose {
			wantProblem(t, soft, want)
		}
		if n := len(r.Broken) + len(r.Warnings); n != len(places)+len(loose) {
			t.Errorf("strict %t: %d are told, want %d:\n%v\n%v", strict, n, len(places)+len(loose), r.Broken, r.Warnings)
		}
		if r.OK() == strict {
			t.Errorf("strict %t: the report is fine: %t", strict, r.OK())
		}
		const text = "configuration names what is not there"
		told := strings.Count(log.String(), text)
		if told == 0 || !strings.Contains(log.String(), ":4:13") || !strings.Contains(log.String(), `did you mean \"mini/kubectl\"?`) {
			t.Errorf("the log does not tell of it with its place and what is near:\n%s", &log)
		}
		g.Check(t.Context(), true)
		if again := strings.Count(log.String(), text); again != told {
			t.Errorf("the log tells it %d times, and then %d times", told, again)
		}
	}
}

func wantProblem(t *testing.T, all []tenon.Problem, want string) {
	t.Helper()
	var texts []string
	for _, p := range all {
		texts = append(texts, p.String())
	}
	if text := strings.Join(texts, "\n"); !strings.Contains(text, want) {
		t.Errorf("%s is missing in:\n%s", want, text)
	}
}

// TestMistakesTogether: names of skills that are not there are told with their places,
// beside every other mistake, those of skills and of entries among them.
func TestMistakesTogether(t *testing.T) {
	path := write(t, `version: 1
servers:
  a: {comand: x}
skills:
  dirs: [skills]
  disabled: [generic_oncall, gone]
  default: nosuch
policy:
  callers: {x: {skill: generic_oncal}, y: {skill: [mine, generic_oncall]}}
  sessions: {z: {skill: other}}
auth:
  oidc: {issuer: "https://id.example.com", audience: a, grants: [{claim: c, is: d, skills: [none]}]}
`)
	file := filepath.Join(filepath.Dir(path), "skills", "mine", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("---\nname: mine\ndescription: d\nalowed_tools: [x]\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tenon.Open(t.Context(), tenon.Options{Config: path})
	if err == nil {
		t.Fatal("it opens")
	}
	for _, want := range []string{
		`:3:7: unknown key "comand"`, `:7:12: there is no skill "nosuch"`, `:9:24: there is no skill "generic_oncal"`,
		`:9:58: the skill "generic_oncall" is disabled`, `:10:25: there is no skill "other"`, `:12:93: there is no skill "none"`,
		`SKILL.md:4:1: unknown key "alowed_tools"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), `"mine"`) {
		t.Errorf("a skill that is broken is said not to be there:\n%v", err)
	}
}
