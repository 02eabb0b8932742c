// Package policy decides what a caller may do with a tool. It is pure: what it decides
// follows from its options and its arguments alone.
package policy
