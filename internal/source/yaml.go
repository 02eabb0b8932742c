package source

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads one YAML document into a tree with its aliases and merge keys
// resolved.
func parseYAML(file *File, data []byte) (root *Node, bad *syntaxError) {
	// The parser is not ours and has panicked on strange bytes before.
	defer func() {
		if p := recover(); p != nil {
			root, bad = nil, &syntaxError{text: "cannot be read as YAML"}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if bad := deep(tokens); bad != nil {
		return nil, bad
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlError(err)
	}
	r := yamlReader{file: file, anchors: make(map[string]ast.Node), open: make(map[string]bool)}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			at := place(doc.Body)
			return nil, &syntaxError{at.Line, at.Column, "holds a second document", "one file holds one; remove the line ---"}
		}
		root = r.read(doc.Body, 0)
	}
	if r.full {
		return nil, &syntaxError{text: fmt.Sprintf("holds more than %d values, or is nested deeper than %d", maxNodes, maxDepth), hint: "aliases count each time"}
	}
	if root == nil {
		root = &Node{File: file}
	}
	return root, nil
}

// deep refuses tokens that nest too deep, for the parser's work grows with the
// square of the depth. Each bracket opens a level, and so does each dash and each
// question mark of one line.
func deep(tokens token.Tokens) *syntaxError {
	flow, inLine, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			inLine++
		}
		if flow > maxDepth || inLine > maxDepth {
			return tooDeep(t.Position.Line, t.Position.Column)
		}
	}
	return nil
}

// yamlError keeps the parser's message and place, and drops its excerpt, which
// may show a secret.
func yamlError(err error) *syntaxError {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok || e.GetToken() == nil || e.GetToken().Position == nil {
		return &syntaxError{text: "cannot be read as YAML"}
	}
	pos, hint := e.GetToken().Position, ""
	if strings.Contains(e.GetMessage(), "'\t' that cannot start") {
		hint = "YAML is indented with spaces, not with tabs"
	}
	return &syntaxError{max(pos.Line, 1), max(pos.Column, 1), "not valid YAML: " + e.GetMessage(), hint}
}

// yamlReader turns the parser's tree into nodes.
type yamlReader struct {
	file    *File
	anchors map[string]ast.Node
	open    map[string]bool // aliases that are being resolved
	nodes   int
	full    bool
}

func place(n ast.Node) *token.Position {
	switch n := n.(type) {
	case *ast.MappingValueNode:
		return place(n.Key)
	case *ast.MappingNode:
		// A block map's own token is its first colon.
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return place(n.Values[0].Key)
		}
	case *ast.LiteralNode:
		return n.Start.Position
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position
	}
	return &token.Position{Line: 1, Column: 1}
}

func (r *yamlReader) node(at ast.Node, k Kind, text string) *Node {
	pos := place(at)
	out := &Node{File: r.file, Line: pos.Line, Column: pos.Column, Kind: k, Text: text}
	// A literal's own token is its mark; its text stands in the lines below.
	if _, literal := at.(*ast.LiteralNode); !literal && k < List && at.GetToken() != nil {
		if raw := strings.TrimSpace(at.GetToken().Origin); !strings.Contains(raw, "\n") {
			out.end = pos.Column + utf8.RuneCountInString(raw)
		}
	}
	return out
}

// bad returns a node for what cannot be read.
func (r *yamlReader) bad(at ast.Node, text, hint string) *Node {
	out := r.node(at, Bad, "")
	out.Wrong = []Mistake{out.Mistake(text, hint)}
	return out
}

func (r *yamlReader) read(n ast.Node, depth int) *Node {
	r.nodes++
	if r.full || r.nodes > maxNodes || depth > maxDepth {
		r.full = true
		return r.node(n, Null, "")
	}
	switch n := n.(type) {
	case *ast.StringNode:
		return r.node(n, Text, n.Value)
	case *ast.LiteralNode:
		return r.node(n, Text, n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return r.plain(n)
	case *ast.NullNode:
		return r.node(n, Null, "")
	case *ast.SequenceNode:
		out := r.node(n, List, "")
		for _, v := range n.Values {
			out.Items = append(out.Items, r.read(v, depth+1))
		}
		return out
	case *ast.MappingValueNode:
		return r.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.MappingNode:
		return r.mapping(n, n.Values, depth)
	case *ast.AnchorNode:
		r.anchors[n.Name.GetToken().Value] = n.Value
		return r.read(n.Value, depth+1)
	case *ast.AliasNode:
		return r.alias(n, depth)
	case *ast.TagNode:
		return r.tag(n, depth)
	}
	return r.bad(n, "is no value that a configuration may hold", "")
}

// plain reads a number, true or false.
func (r *yamlReader) plain(n ast.Node) *Node {
	out := r.node(n, Int, n.GetToken().Value)
	switch n := n.(type) {
	case *ast.BoolNode:
		out.Kind, out.Plain = Bool, strconv.FormatBool(n.Value)
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			return r.bad(n, "is no finite number", "")
		}
		out.Kind, out.Plain = Float, strconv.FormatFloat(n.Value, 'g', -1, 64)
	case *ast.IntegerNode:
		out.Plain = fmt.Sprint(n.Value)
	}
	return out
}

func (r *yamlReader) mapping(at ast.Node, values []*ast.MappingValueNode, depth int) *Node {
	out := r.node(at, Map, "")
	var merged []Pair
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, r.merge(out, v.Value, depth)...)
			continue
		}
		if key := r.key(out, v.Key); key != nil {
			out.Pairs = append(out.Pairs, Pair{key, r.read(v.Value, depth+1)})
		}
	}
	if len(merged) == 0 {
		return out
	}
	// What the map says itself wins, and so does what is merged first.
	said := make(map[string]bool)
	for _, p := range out.Pairs {
		said[p.Key.Text] = true
	}
	for _, p := range merged {
		if !said[p.Key.Text] {
			said[p.Key.Text] = true
			out.Pairs = append(out.Pairs, p)
		}
	}
	return out
}

func (r *yamlReader) key(in *Node, n ast.MapKeyNode) *Node {
	switch k := n.(type) {
	case *ast.StringNode:
		return r.node(k, Text, k.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return r.node(k, Text, k.GetToken().Value)
	}
	in.Wrong = append(in.Wrong, r.bad(n, "this key is no text", "").Wrong...)
	return nil
}

// merge returns the pairs of a merge key's value: a map, or a list of maps.
func (r *yamlReader) merge(in *Node, value ast.Node, depth int) []Pair {
	from := r.read(value, depth+1)
	maps := []*Node{from}
	if from.Kind == List {
		maps = from.Items
	}
	var out []Pair
	for _, m := range maps {
		in.Wrong = append(in.Wrong, m.Wrong...)
		if m.Kind != Map && m.Kind != Bad {
			in.Wrong = append(in.Wrong, m.Mistake("<< wants a map", ""))
		}
		out = append(out, m.Pairs...)
	}
	return out
}

func (r *yamlReader) alias(n *ast.AliasNode, depth int) *Node {
	name := n.Value.GetToken().Value
	target, ok := r.anchors[name]
	if !ok {
		return r.bad(n, fmt.Sprintf("no anchor &%s stands above", name), "")
	}
	if r.open[name] {
		return r.bad(n, fmt.Sprintf("*%s holds itself", name), "")
	}
	r.open[name] = true
	defer delete(r.open, name)
	return r.read(target, depth+1)
}

// tag reads !!str; no other tag means anything in a configuration.
func (r *yamlReader) tag(n *ast.TagNode, depth int) *Node {
	if n.Start.Value != "!!str" || n.Value == nil {
		return r.bad(n, fmt.Sprintf("tag %s is not read here", n.Start.Value), "quote a value to make it a text")
	}
	out := r.read(n.Value, depth+1)
	if out.Kind == Bool || out.Kind == Int || out.Kind == Float {
		out.Kind = Text
	}
	return out
}
