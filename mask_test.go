package tenon_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestErrorsHoldNoSecret: what a server says of a failure often has its key in it.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = `s3cr3t-"value"-XYZ`
	o := tenon.Options{Config: write(t, "version: 1\nservers:\n  other: {command: nothing, env: {KEY: '"+secret+"'}}\n")}
	tenon.AddTool(&o, tenon.Function{Name: "fails"}, func(context.Context, struct{}) (any, error) {
		return nil, errors.New("the key " + secret + " is wrong")
	})
	g := open(t, o)
	res := g.Call(t.Context(), tool.Call{Server: "go", Tool: "fails"})
	if res.Kind != tool.Failed || strings.Contains(res.Text(), "s3cr3t") || !strings.Contains(res.Text(), "is wrong") {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	if strings.Contains(string(res.Raw.Join()), "s3cr3t") {
		t.Errorf("the raw result holds the secret: %s", res.Raw.Join())
	}
}

// TestMisspeltServerDoesNotLeadAroundTheBlacklist: the tool that was meant is
// refused, and no other one runs in its place.
func TestMisspeltServerDoesNotLeadAroundTheBlacklist(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+
		entry(t, "main", upstreamtest.Script{}, "")+entry(t, "other", upstreamtest.Script{}, "")+"blacklist: [[main, pid]]\n")})
	if res := g.Call(t.Context(), tool.Call{Server: "mian", Tool: "pid"}); res.Kind != tool.Denied {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	if res := g.Call(t.Context(), tool.Call{Server: "nobody-else", Tool: "pid"}); res.Kind != "" || res.Server != "other" {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
}
