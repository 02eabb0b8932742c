// Package redact hides secrets in texts and in JSON: known values, and what has the form
// of one.
package redact
