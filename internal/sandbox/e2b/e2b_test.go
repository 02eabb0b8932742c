package e2b_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/e2b"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/e2bdouble"
	"github.com/tenon-mcp/tenon/tool"
)

func newBackend(t testing.TB, d *e2bdouble.Double, change func(*e2b.Options)) *e2b.Backend {
	t.Helper()
	o := e2b.Options{Key: tool.NewSecret(e2bdouble.Key), BaseURL: d.URL, Machines: d.URL, Dir: t.TempDir(), Proxy: "none", Waits: egress.Seconds(0.01, 0.01)}
	if change != nil {
		change(&o)
	}
	b, err := e2b.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, e2bdouble.New(t), nil) }, sandboxtest.Options{Bare: true})
}
