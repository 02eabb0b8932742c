// Package schema checks the arguments of a call against the tool's JSON Schema,
// and mends those that leave one reading.
//
//	s := schema.Compile(t.Schema)
//	if s.Accepts(args) { … the usual case: valid for certain, found in one scan … }
//	out := s.Check(args, repair)
//	switch {
//	case out.Problem != "":      … invalid; the text says to the model what to send …
//	case out.Arguments != nil:   … mended; out.Repairs says how …
//	default:                     … as they came …
//	}
//
// A schema is compiled once into a tree of nodes (compile.go), which three
// readers walk. Accepts reads raw bytes (accept.go): it allocates nothing and
// answers "valid for certain" or "cannot tell". Check parses the arguments into
// values that know their place in the text (value.go) and finds every fault
// (eval.go). Where there are faults, the repairs (repair.go, candidate.go) are
// tried out one by one as edits of the text, so that all else keeps its bytes:
// the order of keys, the spelling of numbers, unknown members. What stays wrong
// is put into words (explain.go) with an example (example.go).
//
// JSON Schema 2020-12, 2019-09 and the drafts 4, 6 and 7 are understood; the
// newest holds where a schema names none. Formats are not checked, since the
// drafts leave that open and servers differ. Nothing is ever fetched.
//
// Schemas come from tool servers and may be anything. One that is no object, is
// wrong in itself, is too large, or refers to what is elsewhere checks nothing:
// Unchecked says why. What a schema asks for is never more than the package can
// do within a fixed number of steps; beyond that, arguments pass unchecked too.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Limits. What is beyond them passes unchecked, but for the depth of arguments.
const (
	maxSchema    = 1 << 20   // bytes of a schema
	maxDepth     = 128       // nesting of a schema, and of arguments
	maxArguments = 8 << 20   // bytes of arguments that are parsed
	maxMended    = 256 << 10 // bytes of arguments that are mended
	maxSteps     = 300_000   // visits of a node of the schema in one Check
)

// A Schema is a compiled JSON Schema. It never changes and may be used
// concurrently.
type Schema struct {
	root      *node
	unchecked string
}

// Compile compiles a schema as its server sent it. It always returns one; see
// Unchecked for those that check nothing. An empty text is the schema that
// accepts everything.
func Compile(text []byte) *Schema {
	if len(text) == 0 {
		return &Schema{unchecked: "the tool has no schema"}
	}
	root, err := compile(text)
	if err != nil {
		return &Schema{unchecked: err.Error()}
	}
	return &Schema{root: root}
}

func compile(text []byte) (*node, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(text), maxSchema)
	}
	if !json.Valid(text) {
		return nil, errors.New("the schema is no JSON")
	}
	source, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is %w", err)
	}
	if source.kind != object {
		return nil, errors.New("the schema is no object")
	}
	c := newCompiler(source)
	root, err := c.compile(source)
	if err != nil {
		return nil, err
	}
	if goesInCircles(root) {
		return nil, errors.New("the schema refers to itself in a circle")
	}
	if name := impossible(root); name != "" {
		return nil, fmt.Errorf("the schema asks for %s and does not allow it", name)
	}
	for _, n := range c.nodes {
		n.plain = n.isPlain()
	}
	return root, nil
}

// Unchecked returns why the schema checks nothing, or "" where it does.
func (s *Schema) Unchecked() string { return s.unchecked }

// An Outcome is what came of a check. The zero Outcome means that the arguments
// are fine as they are, or that nothing could be checked.
type Outcome struct {
	// Arguments are the mended arguments, or nil where nothing was mended.
	Arguments []byte
	// Repairs has one line for each thing that was mended.
	Repairs []string
	// Problem says to a model what is wrong and what to send in its place.
	Problem string
}

// Check checks arguments and mends them where repair is set and they leave one
// reading. What is no JSON at all is left to whoever reads it.
func (s *Schema) Check(args []byte, repair bool) Outcome {
	if s.root == nil || len(args) > maxArguments || !json.Valid(args) || s.Accepts(args) {
		return Outcome{}
	}
	v, err := parse(args)
	if err != nil {
		return Outcome{Problem: "- the arguments are " + err.Error() + "; send flatter ones"}
	}
	e := &evaluation{steps: maxSteps}
	faults := e.root(s.root, v)
	if len(faults) == 0 || e.over {
		return Outcome{}
	}
	m := mender{schema: s, eval: e, text: args, value: v, faults: faults}
	if repair && len(args) <= maxMended && !v.twice {
		m.mend()
	}
	switch {
	case e.over:
		return Outcome{}
	case len(m.faults) == 0:
		return Outcome{Arguments: m.text, Repairs: m.repairs}
	}
	return Outcome{Problem: s.explain(m.faults)}
}
