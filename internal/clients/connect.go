package clients

import (
	"fmt"
	"slices"
	"strings"
)

// load reads the file and its tree, which is nil where there is none.
func (s Settings) load() (data []byte, root *node, existed bool, err error) {
	data, existed, err = readFile(s.Path)
	if err != nil {
		return nil, nil, false, err
	}
	root, err = s.file.parse(s.Path, data)
	return data, root, existed, err
}

// servers returns the map of servers in a tree, or nil. The error is that of a file
// with something else in its place.
func (s Settings) servers(data []byte, root *node) (*node, error) {
	at := root
	for _, key := range s.file.servers {
		next := at.field(key)
		if next == nil {
			return nil, nil
		}
		if next.kind != table {
			return nil, errorAt(s.Path, data, next.start, fmt.Sprintf("%s wants a map, and holds %s", key, next.kind), "")
		}
		at = next
	}
	return at, nil
}

// Connect returns the change that makes an entry for Tenon, in place of one that is
// there, and removes the servers of the names in drop.
func (s Settings) Connect(e Entry, drop []string) (Change, error) {
	data, root, existed, err := s.load()
	if err != nil {
		return Change{}, err
	}
	at, err := s.servers(data, root)
	if err != nil {
		return Change{}, err
	}
	drop = slices.DeleteFunc(slices.Clone(drop), func(name string) bool { return name == EntryName })
	fields := s.Client.entry(e)
	after := data
	cut := drop
	if old := at.field(EntryName); old == nil || !says(old, fields) {
		cut = append(cut, EntryName)
	}
	if after, err = s.cut(after, cut); err != nil {
		return Change{}, err
	}
	if slices.Contains(cut, EntryName) {
		if after, err = s.put(after, fields); err != nil {
			return Change{}, err
		}
	}
	c := Change{Path: s.Path, Before: data, After: after, Existed: existed, Mode: 0o600, had: at.field(EntryName) != nil, roots: s.world.roots()}
	c.Values = s.values(c)
	return c, s.verify(c, drop, func(n *node) bool { return n != nil && says(n, fields) })
}

// Disconnect returns the change that removes the entry of Tenon and nothing else.
func (s Settings) Disconnect() (Change, error) {
	data, root, existed, err := s.load()
	if err != nil {
		return Change{}, err
	}
	if _, err := s.servers(data, root); err != nil {
		return Change{}, err
	}
	after, err := s.cut(data, []string{EntryName})
	if err != nil {
		return Change{}, err
	}
	c := Change{Path: s.Path, Before: data, After: after, Existed: existed, roots: s.world.roots()}
	c.Values = s.values(c)
	return c, s.verify(c, nil, func(n *node) bool { return n == nil })
}

// values returns what servers are given in the texts of a change, as it stands in
// them.
func (s Settings) values(c Change) []Pair {
	var out []Pair
	for _, data := range [][]byte{c.Before, c.After} {
		root, err := s.file.parse(s.Path, data)
		if err != nil {
			continue
		}
		collect(root, &out)
	}
	return out
}

// collect finds the maps that give values, wherever they stand.
func collect(n *node, to *[]Pair) {
	if n == nil {
		return
	}
	for _, item := range n.items {
		collect(item, to)
	}
	for _, p := range n.pairs {
		if slices.Contains([]string{"env", "headers", "http_headers"}, p.key) {
			for _, v := range p.value.pairs {
				*to = append(*to, Pair{v.key, v.value.text})
			}
		}
		collect(p.value, to)
	}
}

// says reports whether an entry holds those fields and nothing else.
func says(n *node, fields []field) bool {
	if n.kind != table || len(n.pairs) != len(fields) {
		return false
	}
	for _, f := range fields {
		value := n.field(f.key)
		if value == nil || !value.equal(f.node()) {
			return false
		}
	}
	return true
}

// node returns the value as it is once read.
func (f field) node() *node {
	if s, ok := f.value.(string); ok {
		return &node{kind: text, text: s}
	}
	out := &node{kind: list}
	items, _ := f.value.([]string)
	for _, s := range items {
		out.items = append(out.items, &node{kind: text, text: s})
	}
	return out
}

func (s Settings) put(data []byte, fields []field) ([]byte, error) {
	if s.file.format == tomlFile {
		return putTOML(data, s.file.servers, EntryName, fields), nil
	}
	out, err := putJSON(data, s.file.servers, EntryName, fields)
	if err != nil {
		return nil, &Error{Path: s.Path, Text: err.Error()}
	}
	return out, nil
}

func (s Settings) cut(data []byte, names []string) ([]byte, error) {
	if len(names) == 0 {
		return data, nil
	}
	if s.file.format == tomlFile {
		return cutTOML(data, s.file.servers, names...)
	}
	return cutJSON(data, s.file.servers, names...)
}

// verify reads a change back: everything that was not to change says what it said,
// and the entry is as it is to be.
func (s Settings) verify(c Change, drop []string, entry func(*node) bool) error {
	wrong := &Error{Path: s.Path, Text: "is written in a way that cannot be edited without touching the rest", Hint: "edit it by hand"}
	before, err := s.file.parse(s.Path, c.Before)
	if err != nil {
		return err
	}
	after, err := s.file.parse(s.Path, c.After)
	if err != nil {
		return wrong
	}
	at, err := s.servers(c.After, after)
	if err != nil || !entry(at.field(EntryName)) {
		return wrong
	}
	gone := append(slices.Clone(drop), EntryName)
	if !without(before, s.file.servers, gone).equal(without(after, s.file.servers, gone)) {
		return wrong
	}
	return nil
}

// without returns a tree without some servers, and without maps on the way to them
// that are empty then.
func without(n *node, path, names []string) *node {
	out := &node{kind: table}
	if n == nil {
		return out
	}
	out.kind, out.text, out.items = n.kind, n.text, n.items
	for _, p := range n.pairs {
		switch {
		case len(path) == 0 && slices.Contains(names, p.key):
			continue
		case len(path) > 0 && p.key == path[0] && p.value.kind == table:
			p.value = without(p.value, path[1:], names)
			if len(p.value.pairs) == 0 {
				continue
			}
		}
		out.pairs = append(out.pairs, p)
	}
	return out
}

// IsTenon tells whether an entry is a gateway of ours: by its name, or by what it
// starts.
func (s Server) IsTenon() bool {
	if s.Name == EntryName {
		return true
	}
	base := s.Command[strings.LastIndexAny(s.Command, `/\`)+1:]
	return (base == "tenon" || base == "tenon.exe") && slices.Contains(s.Args, "serve")
}
