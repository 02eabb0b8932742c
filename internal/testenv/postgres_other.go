//go:build !unix

package testenv

import "testing"

// A Postgres is a PostgreSQL server of its own.
type Postgres struct{ URL string }

// StartPostgres skips the test: on this system nobody knows where the server is.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	tb.Skip("PostgreSQL is started on Unix only")
	return nil
}

// KeepPostgres skips the test as StartPostgres does.
func KeepPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	return StartPostgres(tb)
}

// Database makes a new empty database and returns its URL.
func (p *Postgres) Database(testing.TB) string { return p.URL }

// Stop ends the server.
func (p *Postgres) Stop() {}
