//go:build !unix

package testenv

import "testing"

// A Prometheus is one of its own with a node exporter.
type Prometheus struct{ URL string }

// KeepPrometheus skips the test: the Prometheus of the tests comes from Debian.
func KeepPrometheus(tb testing.TB) *Prometheus {
	tb.Helper()
	tb.Skip("needs Prometheus as Debian brings it")
	return nil
}

// Stop does nothing.
func (p *Prometheus) Stop() {}
