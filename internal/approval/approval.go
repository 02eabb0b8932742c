// Package approval has a person decide about a call: whoever answers first, once, in time,
// or it is denied.
package approval
