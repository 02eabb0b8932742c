package network_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/servers/network"
)

// TestTracerouteByUDP traces as those do who may not send ICMP.
func TestTracerouteByUDP(t *testing.T) {
	for host, address := range map[string]string{"127.0.0.1": `127\.0\.0\.1`, "::1": "::1"} {
		cs := client(t, network.Options{Allow: []string{"127.0.0.0/8", "::1"}}, network.Hooks{UDP: true})
		text, isError, out := callFull(t, cs, "traceroute", args{"host": host})
		if isError || out["by"] != "UDP" || out["reached"] != true {
			t.Errorf("%s: %s %v", host, text, out)
			continue
		}
		mustMatch(t, text, `^ 1  `+address+`  \d+\.\d ms  reached$`, `^Reached after 1 hops\.$`, `^Traced with UDP`)
	}
}
