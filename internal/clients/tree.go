package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/tenon-mcp/tenon/internal/toml"
)

// maxBytes bounds a file of settings. Claude Code keeps what it did in its own, so
// it grows.
const maxBytes = 32 << 20

const maxDepth = 200

// A kind is what a node holds.
type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	table
)

// String names the kind as an error does.
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a text", "a list", "a map"}[k]
}

// A node is a value of a file of settings, with where it stands in its bytes.
type node struct {
	kind       kind
	text       string // of a text, without quotes; of others, as written
	items      []*node
	pairs      []pair
	start, end int
}

// A pair is one key of a table and its value.
type pair struct {
	key   string
	at    int // where the key stands
	value *node
}

// field returns the value of a key: of several, the last one, as programs do.
func (n *node) field(key string) *node {
	if p := n.pair(key); p != nil {
		return p.value
	}
	return nil
}

func (n *node) pair(key string) *pair {
	if n == nil {
		return nil
	}
	for i := len(n.pairs) - 1; i >= 0; i-- {
		if n.pairs[i].key == key {
			return &n.pairs[i]
		}
	}
	return nil
}

// equal reports whether two nodes say the same.
func (n *node) equal(m *node) bool {
	if n.kind != m.kind || n.text != m.text || len(n.items) != len(m.items) || len(n.pairs) != len(m.pairs) {
		return false
	}
	for i := range n.items {
		if !n.items[i].equal(m.items[i]) {
			return false
		}
	}
	for i := range n.pairs {
		if n.pairs[i].key != m.pairs[i].key || !n.pairs[i].value.equal(m.pairs[i].value) {
			return false
		}
	}
	return true
}

// errorAt returns an error at an offset.
func errorAt(path string, data []byte, offset int, message, hint string) *Error {
	offset = min(offset, len(data))
	line := bytes.Count(data[:offset], []byte("\n")) + 1
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return &Error{Path: path, Line: line, Column: utf8.RuneCount(data[start:offset]) + 1, Text: message, Hint: hint}
}

// blanked returns the text with spaces in the place of a mark of its encoding, so
// that offsets stay.
func blanked(data []byte) []byte {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return append([]byte("   "), data[3:]...)
	}
	return data
}

// parse reads a file of settings. An empty one gives nil.
func (f file) parse(path string, data []byte) (*node, error) {
	data = blanked(data)
	if !utf8.Valid(data) {
		return nil, &Error{Path: path, Text: "is not UTF-8 text"}
	}
	if f.format == tomlFile {
		return parseTOML(path, data)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	value, err := parseJSON(data)
	if err != nil {
		return nil, jsonError(path, data, err)
	}
	root := jsonNode(&value, 0)
	if root == nil {
		return nil, &Error{Path: path, Text: fmt.Sprintf("is nested deeper than %d", maxDepth)}
	}
	if root.kind != table {
		return nil, errorAt(path, data, root.start, "wants a map, and holds "+root.kind.String(), "")
	}
	return root, nil
}

// parseJSON reads JSON with comments. A comment may end with the text, which the
// parser does not allow.
func parseJSON(data []byte) (hujson.Value, error) {
	return hujson.Parse(slices.Concat(blanked(data), []byte("\n")))
}

func parseTOML(path string, data []byte) (*node, error) {
	root, _, err := toml.Parse(data)
	if e, ok := errors.AsType[*toml.Error](err); ok {
		return nil, errorAt(path, data, e.Offset, "is not valid TOML: "+e.Text, mend)
	}
	return tomlNode(root), err
}

func tomlNode(t *toml.Node) *node {
	kinds := map[toml.Kind]kind{toml.Text: text, toml.Bool: boolean, toml.Plain: number, toml.List: list, toml.Table: table}
	n := &node{kind: kinds[t.Kind], text: t.Text, start: t.Start, end: t.End}
	for _, item := range t.Items {
		n.items = append(n.items, tomlNode(item))
	}
	for _, p := range t.Pairs {
		n.pairs = append(n.pairs, pair{p.Key, p.At, tomlNode(p.Value)})
	}
	return n
}

const mend = "mend it, then try again; it was left as it is"

// jsonError keeps the place and the message of the parser, but for the literal that
// it quotes, which may be a secret.
func jsonError(path string, data []byte, err error) error {
	out := &Error{Path: path, Text: "is not valid JSON", Hint: mend}
	_, rest, ok := strings.Cut(err.Error(), "hujson: line ")
	if !ok {
		return out
	}
	var line, column int // in bytes
	if n, _ := fmt.Sscanf(rest, "%d, column %d:", &line, &column); n != 2 {
		return out
	}
	out.Line, out.Column = line, column
	if lines := bytes.Split(data, []byte("\n")); line <= len(lines) && column <= len(lines[line-1])+1 {
		out.Column = utf8.RuneCount(lines[line-1][:column-1]) + 1
	}
	_, message, _ := strings.Cut(rest, ": ")
	if before, _, quotes := strings.Cut(message, "invalid literal"); quotes {
		message = before + "invalid literal"
	}
	out.Text += ": " + message
	return out
}

// jsonNode returns nil where the value is nested too deep.
func jsonNode(v *hujson.Value, depth int) *node {
	if depth > maxDepth {
		return nil
	}
	n := &node{start: v.StartOffset, end: v.EndOffset}
	switch x := v.Value.(type) {
	case *hujson.Object:
		n.kind = table
		for i := range x.Members {
			m := &x.Members[i]
			value := jsonNode(&m.Value, depth+1)
			if value == nil {
				return nil
			}
			name, _ := m.Name.Value.(hujson.Literal)
			n.pairs = append(n.pairs, pair{name.String(), m.Name.StartOffset, value})
		}
	case *hujson.Array:
		n.kind = list
		for i := range x.Elements {
			item := jsonNode(&x.Elements[i], depth+1)
			if item == nil {
				return nil
			}
			n.items = append(n.items, item)
		}
	case hujson.Literal:
		n.text = string(x)
		switch x.Kind() {
		case '"':
			n.kind, n.text = text, x.String()
		case 't', 'f':
			n.kind = boolean
		case '0':
			n.kind = number
		default:
			n.text = ""
		}
	}
	return n
}
