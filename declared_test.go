package tenon_test

import (
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestDeclaredByOptions sees that what is declared of a bundled server's tools follows
// its options: code with a network is of high risk.
func TestDeclaredByOptions(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\npolicy: {block_high_risk: false}\nservers:\n  closed: {bundled: python}\n  open: {bundled: python, options: {network: [public]}}\n")})
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range l.Servers {
		want := map[string]tool.RiskLevel{"closed": tool.RiskMedium, "open": tool.RiskHigh}[s.Name]
		for _, tl := range s.Tools {
			if tl.Name != "run_python_code" {
				continue
			}
			seen++
			if tl.Meta.RiskLevel != want {
				t.Errorf("%s: %s, want %s", s.Name, tl.Meta.RiskLevel, want)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d tools", seen)
	}
}
