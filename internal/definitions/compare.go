package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is what happened to a tool since it was accepted.
type Change string

// The changes of a tool.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Renamed Change = "renamed" // the same definition under another name
	Changed Change = "changed" // another definition under the same name
)

// A Field is one place where two definitions differ.
type Field struct {
	Place string `json:"place"` // JSON pointer into the definition
	Was   string `json:"was,omitempty"`
	Is    string `json:"is,omitempty"`
	// Diff shows a changed text with [-what is gone-] and {+what is new+}, and escapes
	// for what cannot be seen.
	Diff string `json:"diff,omitempty"`
}

// A ToolChange is one tool that differs from what was accepted.
type ToolChange struct {
	Name   string  `json:"name"`
	Change Change  `json:"change"`
	Was    string  `json:"was,omitempty"` // the name of a renamed one
	Fields []Field `json:"fields,omitempty"`
}

// A ServerChange is how a server differs from what was accepted.
type ServerChange struct {
	New    bool         // nothing of it was accepted
	Source []Field      // how it is started, its version and its instructions
	Tools  []ToolChange // by name
}

// Equal reports whether there is no difference.
func (c *ServerChange) Equal() bool { return !c.New && len(c.Source)+len(c.Tools) == 0 }

// Compare tells how a server differs from what was accepted of it, which is nil
// where nothing was.
func Compare(accepted, now *Server) ServerChange {
	c := ServerChange{New: accepted == nil}
	if accepted == nil {
		accepted = &Server{Source: now.Source, Instructions: now.Instructions}
	}
	was, is := accepted.Source, now.Source
	a, b := was.fields(), is.fields()
	for i := range a {
		if *a[i].value != *b[i].value {
			c.Source = append(c.Source, Field{Place: "/" + a[i].name, Was: *a[i].value, Is: *b[i].value})
		}
	}
	if accepted.Instructions != now.Instructions {
		c.Source = append(c.Source, textField("/instructions", accepted.Instructions, now.Instructions))
	}
	c.Tools = compareTools(accepted, now)
	return c
}

func compareTools(accepted, now *Server) []ToolChange {
	was, is := byName(accepted.Tools), byName(now.Tools)
	var out []ToolChange
	gone := map[string][]*Tool{} // by meaning
	for i := range accepted.Tools {
		if t := &accepted.Tools[i]; is[t.Name] == nil {
			gone[t.meaning()] = append(gone[t.meaning()], t)
		}
	}
	for i := range now.Tools {
		t := &now.Tools[i]
		old := was[t.Name]
		switch {
		case old == nil && len(gone[t.meaning()]) > 0:
			before := gone[t.meaning()]
			old, gone[t.meaning()] = before[0], before[1:]
			out = append(out, ToolChange{Name: t.Name, Change: Renamed, Was: old.Name, Fields: difference(old, t)})
		case old == nil:
			out = append(out, ToolChange{Name: t.Name, Change: Added})
		case old.Hash != t.Hash:
			out = append(out, ToolChange{Name: t.Name, Change: Changed, Fields: difference(old, t)})
		}
	}
	for _, tools := range gone {
		for _, t := range tools {
			out = append(out, ToolChange{Name: t.Name, Change: Removed})
		}
	}
	slices.SortFunc(out, func(a, b ToolChange) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Change), string(b.Change)))
	})
	return out
}

func byName(tools []Tool) map[string]*Tool {
	m := make(map[string]*Tool, len(tools))
	for i := range tools {
		m[tools[i].Name] = &tools[i]
	}
	return m
}

// maxFields is how many places of one tool are told.
const maxFields = 50

// difference returns the places where two definitions differ.
func difference(was, is *Tool) []Field {
	if was.body == nil || is.body == nil {
		if was.Hash == is.Hash {
			return nil
		}
		return []Field{{Place: "", Was: "hash " + was.Hash, Is: "hash " + is.Hash}}
	}
	d := differ{}
	d.walk("", was.body, is.body)
	if d.more > 0 {
		d.fields = append(d.fields, Field{Place: "", Is: fmt.Sprintf("%d more places", d.more)})
	}
	return d.fields
}

type differ struct {
	fields []Field
	more   int
}

func (d *differ) add(f Field) {
	if len(d.fields) >= maxFields {
		d.more++
		return
	}
	d.fields = append(d.fields, f)
}

// walk compares two values; either may be nil.
func (d *differ) walk(at string, was, is *node) {
	switch {
	case was == nil || is == nil || was.kind != is.kind || was.kind <= number:
		if was == nil || is == nil || was.kind != is.kind || was.text != is.text {
			d.add(Field{Place: at, Was: was.shown(), Is: is.shown()})
		}
	case was.kind == text:
		if was.text != is.text {
			d.add(textField(at, was.text, is.text))
		}
	case was.kind == list:
		for i := range max(len(was.items), len(is.items)) {
			d.walk(pointer(at, strconv.Itoa(i)), was.at(i), is.at(i))
		}
	default:
		d.walkMembers(at, was, is)
	}
}

func (n *node) at(i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return nil
}

// walkMembers compares two objects. The second member of a name has a place of its
// own, with a #.
func (d *differ) walkMembers(at string, was, is *node) {
	a, b := was.members(), is.members()
	names := make([]string, 0, len(a)+len(b))
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.walk(pointer(at, name), a[name], b[name])
	}
}

func (n *node) members() map[string]*node {
	m := make(map[string]*node, len(n.keys))
	count := map[string]int{}
	for i, key := range n.keys {
		if count[key]++; count[key] > 1 {
			key = fmt.Sprintf("%s#%d", key, count[key])
		}
		m[key] = n.items[i]
	}
	return m
}

// shown returns a value for people, or "" where there is none.
func (n *node) shown() string {
	if n == nil {
		return ""
	}
	return clip(Show(string(n.canonical(nil)), false), maxShown)
}

const maxShown = 2000

func textField(at, was, is string) Field {
	return Field{Place: at, Was: clip(Show(was, true), maxShown), Is: clip(Show(is, true), maxShown), Diff: wordDiff(was, is)}
}

// Judge tells how a tool differs from what was accepted of its server, and in which
// members of its definition: "" where it does not. offered says whether the server
// offers a tool of a name now. A nil Server accepted nothing.
func (s *Server) Judge(t *Tool, offered func(name string) bool) (c Change, was string, members []string) {
	if s == nil {
		return Added, "", nil
	}
	old := s.tool(t.Name)
	switch {
	case old == nil:
		for i := range s.Tools {
			if o := &s.Tools[i]; o.Hash == t.Hash && !offered(o.Name) {
				return Renamed, o.Name, nil
			}
		}
		return Added, "", nil
	case old.Hash == t.Hash:
		return "", "", nil
	}
	if old.body == nil || t.body == nil {
		return Changed, "", nil
	}
	before, now := old.members(), t.members()
	for name, hash := range now {
		if before[name] != hash {
			members = append(members, name)
		}
	}
	for name := range before {
		if now[name] == "" {
			members = append(members, name)
		}
	}
	slices.Sort(members)
	return Changed, "", members
}

// Accepts reports whether a tool was accepted as it is, with what the rule found in
// it.
func (s *Server) Accepts(t *Tool, rule string) bool {
	if s == nil {
		return false
	}
	old := s.tool(t.Name)
	return old != nil && old.Hash == t.Hash && slices.Contains(old.Found, rule)
}
