package tenon_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestKeyOfAMachineIsLookedAtFirst: a private key that proves nothing is told when the
// configuration is opened, and not by the first call that wants a login.
func TestKeyOfAMachineIsLookedAtFirst(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n  ledger: {url: \"http://127.0.0.1:1/mcp\", auth: {flow: client_credentials, client_id: me, client_key: not-a-real-key-000}}\n")})
	for _, st := range g.Status() {
		if st.State != tool.StateFailed || !strings.Contains(st.Reason, "auth.client_key") || !strings.Contains(st.Reason, "not in PEM") || strings.Contains(st.Reason, "not-a-real-key") {
			t.Errorf("%s: %s %s", st.Name, st.State, st.Reason)
		}
	}
	if res := g.Call(t.Context(), tool.Call{Server: "ledger", Tool: "x"}); res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "auth.client_key") {
		t.Errorf("%q %s", res.Kind, res.Text())
	}
}
