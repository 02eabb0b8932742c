// Package taint keeps track of what a session has read, so that what is private does not
// leave by way of what is untrusted.
package taint
