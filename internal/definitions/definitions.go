// Package definitions keeps watch over what servers say of their tools. A model
// obeys the text of a definition, so whoever changes one after it was read, or hides
// something in it, steers the model.
//
// A Lock holds the definitions that somebody has accepted, in a file beside the
// configuration that is read in reviews as code is. Compare tells what differs:
//
//	lock, err := definitions.Read("tenon.lock")
//	…
//	now := definitions.Server{Name: "files", Source: source, Tools: tools}
//	for _, c := range definitions.Compare(lock.Server("files"), &now).Tools {
//		fmt.Println(c.Change, c.Name, c.Fields) // changed write_file [/description …]
//	}
//
// A definition is everything that a server says of a tool but its name, in one
// canonical spelling. So its hash is the same after a rename, and where members only
// change their order, and another one as soon as a word of it is.
//
// A Scanner looks for instructions that are hidden in definitions: see Finding. It
// reports, and decides nothing. Both work on whatever a hostile server may send, in
// time that grows with its length.
package definitions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// maxTool is how long a definition may be that is taken apart. The longest of 3,600
// known ones has 77 KB.
const maxTool = 2 << 20

// A Tool is the definition of one tool.
type Tool struct {
	Name string
	Hash string // of all but the name
	// Found are the rules of a Scanner that found something in it when it was
	// accepted, sorted.
	Found  []string
	summed bool  // body has hashes for its members
	body   *node // an object without the name; nil where it was too large to take apart
}

// New reads one tool as a server lists it. clean changes each of its texts, to hide
// secrets, and may be nil. A definition that is too large to take apart has a hash
// all the same.
func New(raw json.RawMessage, clean func(string) string) (Tool, error) {
	if len(raw) > maxTool {
		return large(raw)
	}
	n, err := parse(raw, maxNodes, clean)
	switch {
	case errors.Is(err, errLarge):
		return large(raw)
	case err != nil:
		return Tool{}, err
	case n.member("name").str() == "":
		return Tool{}, errors.New("a tool has no name")
	}
	t := Tool{body: &node{kind: object}}
	plain := ""
	if clean != nil { // the name is no secret, and tools are told apart by it
		plain = nameOf(raw)
	}
	for i, key := range n.keys {
		if key == "name" && t.Name == "" {
			t.Name = cmp.Or(plain, n.items[i].str())
			continue
		}
		t.body.keys = append(t.body.keys, key)
		t.body.items = append(t.body.items, n.items[i])
	}
	t.Hash = t.body.hash()
	return t, nil
}

// large returns a tool whose definition is only known by its bytes.
func large(raw json.RawMessage) (Tool, error) {
	name := nameOf(raw)
	if name == "" {
		return Tool{}, errors.New("a tool has no name")
	}
	return Tool{Name: name, Hash: hashOf(raw)}, nil
}

func nameOf(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named) // what is no tool has none
	return named.Name
}

func (n *node) hash() string { return hashOf(n.canonical(nil)) }

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// meaning returns the hash of what remains where a tool and its title are renamed.
func (t *Tool) meaning() string {
	if t.body == nil {
		return t.Hash
	}
	n := &node{kind: object}
	for i, key := range t.body.keys {
		item := t.body.items[i]
		switch {
		case key == "title":
			continue
		case key == "annotations" && item.kind == object:
			plain := &node{kind: object}
			for j, k := range item.keys {
				if k != "title" {
					plain.keys, plain.items = append(plain.keys, k), append(plain.items, item.items[j])
				}
			}
			item = plain
		}
		n.keys, n.items = append(n.keys, key), append(n.items, item)
	}
	return n.hash()
}

// Sum returns the tool without its definition, which remains known by its hash and
// those of its members: a pool keeps thousands.
func (t *Tool) Sum() Tool {
	if t.body == nil || t.summed {
		return *t
	}
	short := &node{kind: object, keys: t.body.keys}
	for _, item := range t.body.items {
		short.items = append(short.items, &node{kind: text, text: item.hash()})
	}
	out := *t
	out.body, out.summed = short, true
	return out
}

// members returns the hashes of the members of a definition.
func (t *Tool) members() map[string]string {
	m := map[string]string{}
	for name, n := range t.body.members() {
		m[name] = n.text
		if !t.summed {
			m[name] = n.hash()
		}
	}
	return m
}

// A Server is what one server says of itself and its tools.
type Server struct {
	Name         string
	Source       Source
	Instructions string // for models, on how to use the server
	Tools        []Tool
}

// tool returns the tool of a name, or nil, of a server that a lock holds: its tools
// are sorted.
func (s *Server) tool(name string) *Tool {
	if i, ok := slices.BinarySearchFunc(s.Tools, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) }); ok {
		return &s.Tools[i]
	}
	return nil
}

// Definitions reads the tools of a list. What is no tool is left out, as is the
// second of a name: nobody is offered either.
func Definitions(raw []json.RawMessage, clean func(string) string) []Tool {
	out := make([]Tool, 0, len(raw))
	seen := make(map[string]bool, len(raw))
	for _, r := range raw {
		t, err := New(r, clean)
		if err != nil || seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		out = append(out, t)
	}
	return out
}

// lines returns the lines of a text as JSON, so that a change of one is a change of
// one line in a file.
func lines(s string) *node {
	n := &node{kind: list}
	for l := range strings.SplitSeq(s, "\n") {
		n.items = append(n.items, &node{kind: text, text: l})
	}
	return n
}

// joined is the reverse of lines.
func (n *node) joined() (string, bool) {
	if n.kind != list {
		return "", false
	}
	parts := make([]string, len(n.items))
	for i, item := range n.items {
		if item.kind != text {
			return "", false
		}
		parts[i] = item.text
	}
	return strings.Join(parts, "\n"), true
}
