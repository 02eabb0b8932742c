//go:build !linux

package local

import (
	"context"
	"errors"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Command is the hidden command of the program that runs Launch.
const Command = "sandbox-init"

// Launch is for Linux.
func Launch() error { return errors.New("this is for Linux") }

// A Backend says that there is none on this system.
type Backend struct{}

// New returns the back end.
func New(Options) *Backend { return &Backend{} }

// Name returns "local".
func (*Backend) Name() string { return "local" }

// Check says why there is none.
func (*Backend) Check(context.Context) (sandbox.Status, error) {
	return sandbox.Status{Level: sandbox.LevelNone}, &sandbox.Error{Kind: sandbox.Unavailable, Text: "the back end \"local\" keeps code apart by what Linux has, and this is " + runtime.GOOS + ": run the server on Linux"}
}

// Create says why there is none.
func (b *Backend) Create(ctx context.Context, _ sandbox.Spec) (sandbox.Sandbox, error) {
	_, err := b.Check(ctx)
	return nil, err
}

// Close does nothing.
func (*Backend) Close() error { return nil }
