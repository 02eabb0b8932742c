package testenv

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client returns a client that is connected to a server in this process, until the
// test ends.
func Client(tb testing.TB, srv *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	return ClientWith(tb, srv, nil)
}

// ClientWith is [Client] for a client with options: handlers and capabilities.
func ClientWith(tb testing.TB, srv *mcp.Server, options *mcp.ClientOptions) *mcp.ClientSession {
	tb.Helper()
	// The context of a test has ended when its cleanup begins.
	cs, stop, err := Dial(context.WithoutCancel(tb.Context()), srv, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	return cs
}

// Dial is [ClientWith] where no test is at hand, or where its end is part of the test:
// stop closes the client and returns when the server's last handler has.
func Dial(ctx context.Context, srv *mcp.Server, options *mcp.ClientOptions) (_ *mcp.ClientSession, stop func() error, _ error) {
	there, here := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(ctx, there, nil)
	if err != nil {
		return nil, nil, err
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(ctx, here, nil)
	if err != nil {
		return nil, nil, errors.Join(err, ss.Close())
	}
	return cs, func() error {
		err := cs.Close()
		// A handler that answers after the close, as one does whose call was given up,
		// finds the pipe closed. That is the close, and no fault of the server.
		if gone := ss.Wait(); !errors.Is(gone, io.ErrClosedPipe) {
			err = errors.Join(err, gone)
		}
		return err
	}, nil
}
