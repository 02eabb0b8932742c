// Package named tells which patterns of a configuration name no tool. A guard whose
// pattern is misspelled guards nothing, and nobody sees that until it is too late.
//
// Whoever reads a pattern makes a Name of it, with its place. A Watch holds all of
// them against the tools that servers list, and tells each that matches none once all
// servers that it may mean have listed theirs:
//
//	w := named.NewWatch(names, []string{"kube", "files"}, nil)
//	for _, f := range w.Listed("kube", []named.Tool{{Name: "kubectl"}}) {
//		fmt.Println(f.Problem) // tenon.yaml:7:12: "kube/kubctl" names no tool of kube (did you mean "kube/kubectl"?)
//	}
//
// It looks at the very list of a server, so that a tool that the pattern itself hides
// is there.
package named

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A Name is one place of the configuration that names tools.
type Name struct {
	Text string // as it is written
	// Patterns are what it may mean. The last one is what is most likely meant.
	Patterns []tool.ID
	// Argument is set for a rule that looks at an argument of the tools: its path.
	Argument string
	At       source.Problem // the place, without a text
}

// At returns the name of a pattern that stands at a node.
func At(n *source.Node, pattern tool.ID, argument string) Name {
	place := source.Problems([]source.Mistake{n.Mistake("", "")})[0]
	return Name{Text: pattern.String(), Patterns: []tool.ID{pattern}, Argument: argument, At: place}
}

// special are the characters that have a meaning in a pattern.
const special = `*?[\`

func (n *Name) likely() tool.ID { return n.Patterns[len(n.Patterns)-1] }

// plain reports whether it names one tool, and not those that match.
func (n *Name) plain() bool {
	id := n.likely()
	return !strings.ContainsAny(id.Server+id.Name, special)
}

// A Tool is one that a server lists.
type Tool struct {
	Name   string
	Schema json.RawMessage // of its arguments
}

// A Finding is a Name that matches nothing.
type Finding struct {
	Problem source.Problem
	// Plain is set where it spells the name of one tool of one server. Others may be
	// meant for tools that are still to come.
	Plain bool
}

// A pending name is one of which it is not known yet whether it matches.
type pending struct {
	Name

	found bool     // a tool that has no such argument
	takes []string // the arguments of that
}

// A Watch finds the names that match nothing. It is not safe for concurrent use.
type Watch struct {
	servers []string
	known   map[string][]Tool
	names   []pending
	steps   func(argument string) []string
	told    int
}

// maxTold is how many findings one watch tells. Nobody reads more.
const maxTold = 1000

// NewWatch returns a watch for a pool of these servers. steps splits the path of an
// argument; nil leaves arguments alone.
func NewWatch(names []Name, servers []string, steps func(argument string) []string) *Watch {
	w := &Watch{servers: servers, known: map[string][]Tool{}, steps: steps}
	for _, n := range names {
		if n.Argument == "" || steps != nil && len(steps(n.Argument)) > 0 {
			w.names = append(w.names, pending{Name: n})
		}
	}
	return w
}

// Done reports whether nothing is left to be found out.
func (w *Watch) Done() bool { return len(w.names) == 0 }

// Listed takes the tools that a server has listed, and returns what is certain now.
// Nothing is told twice.
func (w *Watch) Listed(server string, tools []Tool) []Finding {
	if w.Done() {
		return nil
	}
	w.known[server] = tools
	var out []Finding
	open := w.names[:0]
	for i := range w.names {
		if n := &w.names[i]; !n.means(server) || !w.settle(n, tools, server, &out) {
			open = append(open, *n)
		}
	}
	w.names = open
	slices.SortStableFunc(out, func(a, b Finding) int {
		x, y := a.Problem, b.Problem
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	if w.Done() {
		w.known = map[string][]Tool{} // nobody asks any more
	}
	return out
}

// Nowhere returns the names that mean no server of the pool.
func (w *Watch) Nowhere() []Finding {
	var out []Finding
	for i := range w.names {
		n := &w.names[i]
		if n.Argument == "" && !slices.ContainsFunc(w.servers, n.means) {
			w.tell(&out, n, fmt.Sprintf("%q names no tool: there is no such server", clip(n.Text)), "")
		}
	}
	for i := range out {
		out[i].Plain = false // the server may come later
	}
	return out
}

// means reports whether the name may mean tools of a server.
func (n *Name) means(server string) bool { return glob.Match(n.likely().Server, server) }

func (n *Name) matches(server, name string) bool {
	id := tool.ID{Server: server, Name: name}
	return slices.ContainsFunc(n.Patterns, func(p tool.ID) bool { return glob.MatchID(p, id) })
}

// settle looks at the tools of one more server, and reports whether all is known now.
func (w *Watch) settle(n *pending, tools []Tool, server string, out *[]Finding) bool {
	for _, t := range tools {
		if !n.matches(server, t.Name) {
			continue
		}
		if n.Argument == "" {
			return true
		}
		takes, lacks := lacking(t.Schema, w.steps(n.Argument))
		if !lacks {
			return true
		}
		n.found, n.takes = true, takes
	}
	for _, s := range w.servers {
		if _, ok := w.known[s]; !ok && n.means(s) {
			return false
		}
	}
	switch {
	case n.found:
		w.tell(out, n, fmt.Sprintf("%q has no argument %q, so this rule refuses every call", clip(n.Text), clip(n.Argument)), Suggest(n.Argument, n.takes, "it takes"))
	case n.Argument == "": // of one with an argument, the name of the tool is told by itself
		w.unmatched(n, out)
	}
	return true
}

// unmatched tells a name that matches no tool, and what is like it.
func (w *Watch) unmatched(n *pending, out *[]Finding) {
	var servers, names []string
	near := map[string]string{} // name → as it is to be written
	for _, s := range w.servers {
		if !n.means(s) {
			continue
		}
		servers = append(servers, s)
		for _, t := range w.known[s] {
			if near[t.Name] == "" {
				names = append(names, t.Name)
				near[t.Name] = s + "/" + t.Name
			}
		}
	}
	text := fmt.Sprintf("%q names no tool of %s", clip(n.Text), servers[0])
	if len(servers) > 1 {
		text = fmt.Sprintf("%q names no tool of any server", clip(n.Text))
	}
	hint := listing(names, "it has")
	if best, ok := Nearest(n.likely().Name, names); ok {
		hint = fmt.Sprintf("did you mean %q?", clip(near[best]))
	} else if len(servers) > 1 {
		hint = ""
	}
	w.tell(out, n, text, hint)
}

func (w *Watch) tell(out *[]Finding, n *pending, text, hint string) {
	if w.told++; w.told > maxTold {
		return
	}
	f := Finding{Problem: n.At, Plain: n.plain()}
	f.Problem.Text, f.Problem.Hint = text, hint
	*out = append(*out, f)
}

// lacking reports whether no value of a schema has what a path leads to, and what is
// there in its place. Where the schema leaves room for it, it has.
func lacking(schema json.RawMessage, path []string) (takes []string, lacks bool) {
	for range path {
		var node map[string]json.RawMessage
		if json.Unmarshal(schema, &node) != nil {
			return nil, false
		}
		for key := range node {
			if slices.Contains(elsewhere, key) {
				return nil, false
			}
		}
		if more := string(node["additionalProperties"]); more != "" && more != "false" {
			return nil, false
		}
		var properties map[string]json.RawMessage
		if json.Unmarshal(node["properties"], &properties) != nil {
			return nil, false // any name, or the elements of a list
		}
		next, ok := properties[path[0]]
		if !ok {
			return slices.Sorted(maps.Keys(properties)), true
		}
		schema, path = next, path[1:]
	}
	return nil, false
}

// elsewhere are the keys of a schema that may let further names in.
var elsewhere = []string{
	"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "items", "prefixItems",
	"patternProperties", "dependentSchemas", "unevaluatedProperties", "dependencies", "additionalItems",
}
