package gvisor_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/gvisor"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

func newBackend(t testing.TB, o gvisor.Options) *gvisor.Backend {
	t.Helper()
	o.Runsc = testenv.Program(t, "runsc")
	if o.Python == "" {
		o.Python = "/usr/bin/python3"
	}
	b := gvisor.New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, gvisor.Options{}) })
}

func TestEscape(t *testing.T) {
	sandboxtest.Escape(t, func(t testing.TB) sandbox.Backend { return newBackend(t, gvisor.Options{}) }, sandboxtest.Options{Fixed: true})
}
