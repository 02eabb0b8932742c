package rest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestExplainIsForWhoAsks: a caller is told what holds for itself; what holds for
// others only to who decides, and where nobody needs a key.
func TestExplainIsForWhoAsks(t *testing.T) {
	gw, keys, calls := keyed(t, "policy: {callers: {ann: {mode: read_only}}}\n")
	srv := bare(t, gw)
	for name, c := range map[string]struct {
		token, body string
		status      int
		says        string
	}{
		"for itself":               {keys["ann"], `{"server":"go","tool":"send"}`, 200, `"mode_read_only"`},
		"for itself, by name":      {keys["ann"], `{"server":"go","tool":"send","caller":"ann"}`, 200, `"mode_read_only"`},
		"for another":              {keys["bob"], `{"server":"go","tool":"send","caller":"ann"}`, 403, "only an approver"},
		"for another, by both":     {keys["both"], `{"server":"go","tool":"send","caller":"ann"}`, 200, `"mode_read_only"`},
		"for another, by the user": {"", `{"server":"go","tool":"send","caller":"ann"}`, 200, `"mode_read_only"`},
		"for the user":             {"", `{"server":"go","tool":"send"}`, 200, `"behavior":"allow"`},
		"by flat name":             {"", `{"tool":"go__say"}`, 200, `"read_only":true`},
		"with a mode":              {"", `{"server":"go","tool":"send","mode":"read_only"}`, 200, `"mode_read_only"`},
		"with no mode":             {"", `{"server":"go","tool":"send","mode":"careful"}`, 400, "read_only"},
		"with no skill":            {"", `{"server":"go","tool":"send","skill":"x"}`, 400, "generic_oncall"},
		"of no tool":               {"", `{"server":"go","tool":"sned"}`, 404, "go/send"},
		"of no server":             {"", `{"server":"g","tool":"send"}`, 404, "no server g"},
		"of nothing":               {"", `{}`, 400, "/tool"},
		"caller is no text":        {"", `{"server":"go","tool":"send","caller":1}`, 400, "/caller"},
		"no JSON":                  {"", `{`, 400, ""},
	} {
		status, body := as(t, srv, c.token, "POST", "/policy/explain", c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if calls.Load() != 0 {
		t.Error("explaining made a call")
	}
}

// TestSkillsAreThoseOfTheCaller: a caller that is held to a skill is shown no other,
// and nobody is shown where a skill lies.
func TestSkillsAreThoseOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "skills", "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: mine\ndescription: d\nallowed_tools: [\"*\"]\n---\nLook <first> & last.\n"
	if err := os.WriteFile(filepath.Join(dir, "skills", "mine", "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gw, keys, _ := keyed(t, "skills: {dirs: ["+filepath.Join(dir, "skills")+"]}\npolicy: {callers: {ann: {skill: mine}}}\n")
	srv := bare(t, gw)
	status, body := as(t, srv, keys["ann"], "GET", "/skills", "")
	if status != 200 || strings.Count(body, `"name"`) != 1 || strings.Contains(body, dir) {
		t.Errorf("skills of a caller that is held to one: %d %s", status, body)
	}
	if status, body = as(t, srv, keys["bob"], "GET", "/skills", ""); status != 200 || strings.Count(body, `"name"`) != 5 {
		t.Errorf("skills of any caller: %d %s", status, body)
	}
	status, body = as(t, srv, keys["ann"], "GET", "/skills/mine", "")
	var skill struct{ Playbook string }
	if json.Unmarshal([]byte(body), &skill) != nil || status != 200 || skill.Playbook != "Look <first> & last." || strings.Contains(body, dir) {
		t.Errorf("a skill: %d %s", status, body)
	}
	for path, want := range map[string]int{"/skills/generic_oncall": 404, "/skills/mine?x=1": 400, "/skills?x=1": 400} {
		if status, body := as(t, srv, keys["ann"], "GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestPolicyClient: the client gives what the API says, and all of it is as
// described.
func TestPolicyClient(t *testing.T) {
	gw, err := tenon.Open(t.Context(), tenon.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gw.Close() })
	srv := serve(t, gw)
	c, err := rest.NewClient(srv.URL, tool.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := rest.PolicyOf(c)
	all, err := p.Skills(t.Context())
	if err != nil || len(all) != 4 {
		t.Fatalf("%d skills, %v", len(all), err)
	}
	s, err := p.Skill(t.Context(), all[0].Name)
	if err != nil || s.Playbook == "" || !s.BuiltIn || len(s.Missing) != len(s.Tools) {
		t.Errorf("a skill is %+v, %v", s, err)
	}
	if _, err := p.Skill(t.Context(), "a/b"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a skill that is not there: %v", err)
	}
	e, err := p.Explain(t.Context(), tool.Call{Server: "tenon", Tool: "tenon_read_result"})
	if err != nil || e.Decision.Behavior != tool.Allow || len(e.Decision.Chain) == 0 {
		t.Errorf("explained as %+v, %v", e, err)
	}
	if status, body := as(t, srv, "", "POST", "/policy/explain", `{"server":"x","tool":"y"}`); status != http.StatusNotFound {
		t.Errorf("of a server that is not there: %d %s", status, body)
	}
}
