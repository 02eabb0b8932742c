// Package store keeps finished calls and approvals in a database, SQLite or PostgreSQL.
package store
