//go:build !linux

package testenv

import "testing"

// A Docker is a Docker engine of its own, on Linux.
type Docker struct {
	Socket, TCP, Certs string
}

// KeepDocker skips the test: the engine runs on Linux alone.
func KeepDocker(tb testing.TB) *Docker {
	tb.Helper()
	tb.Skip("dockerd runs on Linux alone")
	return nil
}

// Stop does nothing.
func (*Docker) Stop() {}
