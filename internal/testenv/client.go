package testenv

import (
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client returns a client that is connected to a server in this process, until the
// test ends.
func Client(tb testing.TB, srv *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	there, here := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(tb.Context(), there, nil)
	if err != nil {
		tb.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(tb.Context(), here, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(cs.Close(), ss.Wait()); err != nil {
			tb.Error(err)
		}
	})
	return cs
}
