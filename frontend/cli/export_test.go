package cli

import (
	"encoding/json"
	"io"

	"github.com/tenon-mcp/tenon/tool"
)

// Assign types flags of the form key=value by a schema.
func Assign(flags []string, schema string) (string, error) {
	assigned, err := parseAssignments(flags)
	if err != nil {
		return "", err
	}
	b, err := assign(nil, assigned, json.RawMessage(schema))
	return string(b), err
}

// Explain returns what is told of an error.
func Explain(err error) (kind tool.Kind, text, hint string) {
	p := explain(err)
	return p.kind, p.text, p.hint
}

// Nearest returns the one of names that word most likely means.
func Nearest(word string, names ...string) string { return nearest(word, names) }

// Spin starts a spinner, as on a terminal, and returns what changes and stops it.
func Spin(w io.Writer, label string) (say func(string), stop func()) {
	s := spin(w, label)
	return s.say, s.stop
}

// Bound is how the log cuts values.
var Bound = bound
