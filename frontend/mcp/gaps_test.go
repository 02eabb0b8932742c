package mcp_test

import (
	"strings"
	"testing"
)

// TestPoolSaysWhatItsClientLacks: the instructions of the pool name what cannot be bridged to
// a client of the era that asks, and no tool that it may not see.
func TestPoolSaysWhatItsClientLacks(t *testing.T) {
	old := newUpstream(t, "one", legacyOnly)
	for more, want := range map[string]bool{"policy: {mode: bypass}\n": false, "  s2: {url: \"" + old.url + "\", isolation: session, retries: 0}\npolicy: {mode: bypass}\n": true} {
		url := gatewayOf(t, more, old)
		p := dialIn(t, url+"/mcp", "2025-11-25", false, "ann")
		_ = p.call(t, "s1__plain")
		if want {
			_ = p.call(t, "s2__plain") // now it has been met
		}
		said := sendModern(t, url+"/mcp", "server/discover", "", "")
		if got := strings.Contains(said, "Of server s2 this client lacks something: it can ask its client nothing"); got != want {
			t.Errorf("with %q: %s", more, said)
		}
	}
}
