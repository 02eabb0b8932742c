package tenon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// A key that stands where a name is wanted is not shown to who looks at calls.
func TestKeysInNamesAreHidden(t *testing.T) {
	key := "tnk_" + strings.Repeat("a", 10) + "_" + strings.Repeat("b", 52)
	for where, store := range map[string]string{"memory": "store: {url: memory}\n", "disk": ""} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			g := open(t, tenon.Options{Config: write(t, "version: 1\n"+store), StateDir: dir})
			g.Call(t.Context(), tool.Call{
				Server: "system", Tool: key, Caller: tool.Caller{Name: "x" + " " + key}, Session: key, Task: key,
				Arguments: []byte(`{"x":"` + key + `"}`),
			})
			page, err := g.Record().Calls(t.Context(), tenon.CallFilter{Details: true})
			if err != nil || len(page.Calls) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			one, err := g.Record().Call(t.Context(), page.Calls[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			last, _ := g.CallRecord(one.ID)
			shown, err := json.Marshal([]any{page, one, last, g.Calls(9)})
			if err != nil || strings.Contains(string(shown), "tnk_") || !strings.Contains(string(shown), "•••") {
				t.Errorf("%s, %v", shown, err)
			}
		})
	}
}

func TestKeysInNamesOfApprovalsAreHidden(t *testing.T) {
	token := "tna_" + strings.Repeat("c", 52)
	g, removed := asking(t, "")
	told := g.Approvals().Watch(t.Context())
	c := removal("/" + token)
	c.Session, c.Task, c.Caller.Name = token, token, token
	first := c
	got := during(t, func() *tool.Result { return g.Call(t.Context(), first) })
	p := <-told
	all, err := g.Approvals().Recent(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	one, err := g.Approvals().Get(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	pending, _ := g.Approvals().Pending(t.Context(), 9)
	decided, err := g.Approvals().Decide(t.Context(), p.ID, tool.Verdict{Approved: true, Scope: tool.ScopeSession, Why: token})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal([]any{p, all, one, pending, decided, <-told})
	if err != nil || strings.Contains(string(shown), "tna_") {
		t.Errorf("%s, %v", shown, err)
	}
	<-got
	if res := g.Call(t.Context(), c); res.Kind != "" || removed.Load() != 2 {
		t.Errorf("the session that is shown otherwise is another one: %s", res.Text())
	}
	c.Session = token + "d"
	got = during(t, func() *tool.Result { return g.Call(t.Context(), c) })
	p = <-told
	if _, err := g.Approvals().Decide(t.Context(), p.ID, tool.Verdict{}); err != nil {
		t.Error(err)
	}
	<-got
}
