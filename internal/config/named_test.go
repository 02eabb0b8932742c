package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/internal/config"
)

// TestNamed: every place that names tools of servers that are there is known, with what
// it means.
func TestNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	text := `version: 1
servers: {a: {command: x}, b: {command: x}}
blacklist: [[a, x], "gone/x"]
tools: {"a/*": {labels: [egress]}}
fallbacks: {"a/x": [b, b/y], "a/z*": [b], group: [a]}
lazy: {mode: on, pinned: [b/p]}
content_rules: {r: {addresses: [example.com], tools: [a/t], search_tools: [a/s]}}
policy:
  limits: [{per: tool, calls: 1, tools: [a/l]}]
  parameters: {a/q: {n.m: {glob: x}}, gone/q: {n: {glob: x}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range cfg.Named {
		got = append(got, n.At.Place()[len(path):]+" "+n.Text+" "+n.Argument)
	}
	slices.Sort(got)
	want := []string{
		":10:16 a/q ", ":10:22 a/q n.m", ":3:13 a/x ", ":4:9 a/* ", ":5:13 a/x ", ":5:21 b/x ", ":5:24 b/y ", ":5:30 a/z* ", ":5:39 b/* ",
		":5:51 a/* ", ":6:27 b/p ", ":7:55 a/t ", ":7:76 a/s ", ":9:42 a/l ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("named are\n%q, want\n%q", got, want)
	}
	if len(cfg.Warnings) != 2 {
		t.Errorf("warnings %v, want one for each name of a server that is not there", cfg.Warnings)
	}
}
