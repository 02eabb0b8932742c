package proc

import "os"

// EnvironOf is Environ as it is on another system.
func EnvironOf(goos string, parent []string, declared map[string]string) []string {
	return environ(goos, parent, declared)
}

// Tail runs all of r through a tail and returns what it keeps.
func Tail(r *os.File, keep int, onLine func(string)) string {
	t := newTail(r, keep, onLine)
	t.read()
	return t.String()
}

// MaxLine bounds a line given to OnStderr.
const MaxLine = maxLine
