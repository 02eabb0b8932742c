package tenon_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// A rule for an argument holds whatever is written into texts and names that nobody
// sees, and takes nothing else from who writes emoji.
func TestRulesAreNotPassedUnseen(t *testing.T) {
	var ran atomic.Int64
	o := tenon.Options{Config: write(t, `version: 1
policy: {parameters: {"go/save": {path: {glob: "/data/**"}}}}
`)}
	tenon.AddTool(&o, tenon.Function{Name: "save"}, func(context.Context, map[string]any) (struct{}, error) {
		ran.Add(1)
		return struct{}{}, nil
	})
	g := open(t, o)
	call := func(args string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "go", Tool: "save", Arguments: []byte(args)})
	}
	for _, c := range "\u200b\ufe0f\ufe00\u3164\u2800\u115f\u1160\uffa0\u034f\u180b\u17b4\U000e0100\U000e0041" {
		for _, args := range []string{`{"path":"/data/x%y"}`, `{"path":"/data/x","path%":"/etc"}`} {
			if res := call(strings.ReplaceAll(args, "%", string(c))); res.Kind != tool.Denied || !strings.Contains(res.Text(), "path") {
				t.Errorf("%q with %U: %s %s", args, c, res.Kind, res.Text())
			}
		}
	}
	for _, path := range []string{"/data/\u2025/etc", "/data/\u2025\u2215etc", "/data/%c0%ae%c0%ae/etc", "/data/%u002e%u002e/etc"} {
		if res := call(`{"path":"` + path + `"}`); res.Kind != tool.Denied {
			t.Errorf("%s: %s", path, res.Text())
		}
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
	if res := call("{\"path\":\"/data/x\",\"text\":\"\u2764\ufe0f \u3164\"}"); res.Kind != "" || ran.Load() != 1 {
		t.Errorf("%s %s", res.Kind, res.Text())
	}
}

// A tool whose name holds what nobody sees is none: it could stand beside another one of
// the same look.
func TestToolsWithUnseenNames(t *testing.T) {
	extra := []string{
		"{\"name\":\"count\ufe0f\",\"inputSchema\":{\"type\":\"object\"}}", "{\"name\":\"co\u3164unt\",\"inputSchema\":{\"type\":\"object\"}}",
		"{\"name\":\"count\U000e0100\",\"inputSchema\":{\"type\":\"object\"}}", "{\"name\":\"größe\",\"inputSchema\":{\"type\":\"object\"}}",
	}
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{Extra: extra}, ""))})
	listing, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var odd []string
	for _, found := range listing.Servers[0].Tools {
		if strings.ContainsFunc(found.Name, func(r rune) bool { return r >= 0x80 }) {
			odd = append(odd, found.Name)
		}
	}
	if len(odd) != 1 || odd[0] != "größe" {
		t.Errorf("%+q", odd)
	}
}
