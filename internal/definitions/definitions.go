// Package definitions keeps watch over what servers say of their tools: it remembers which
// definitions were accepted, and looks for instructions hidden in them.
package definitions
