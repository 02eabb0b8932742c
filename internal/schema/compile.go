package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// The drafts, by the year or number that their schemas state.
const (
	draft4    = 4
	draft6    = 6
	draft7    = 7
	draft2019 = 2019
	draft2020 = 2020
)

// A compiler makes nodes of the values of one schema.
type compiler struct {
	root   *value
	base   string // $id of the root
	draft  int
	nodes  map[*value]*node // each is compiled once, so references may go round
	anchor map[string]*value
	nested bool // a schema within has an $id of its own
	weak   bool // a pattern was left out, since Go cannot compile it
	strict bool // something asks what is *not* valid, so nothing may be left out
}

func newCompiler(root *value) *compiler {
	c := &compiler{root: root, draft: draft2020, nodes: map[*value]*node{}, anchor: map[string]*value{}}
	c.base = strings.TrimSuffix(textOf(root.get("$id")), "#")
	return c
}

// textOf returns what a string says, or "".
func textOf(v *value) string {
	if v == nil || v.kind != str {
		return ""
	}
	return v.text
}

// compile compiles the root.
func (c *compiler) compile(root *value) (*node, error) {
	if err := c.chooseDraft(); err != nil {
		return nil, err
	}
	c.findAnchors(root, true)
	n, err := c.node(root)
	if err != nil {
		return nil, err
	}
	if c.weak && c.strict {
		return nil, errors.New("a pattern of the schema is not understood")
	}
	return n, nil
}

func (c *compiler) chooseDraft() error {
	v := c.root.get("$schema")
	if v == nil {
		return nil
	}
	said := strings.TrimSuffix(textOf(v), "#")
	said = strings.TrimPrefix(strings.TrimPrefix(said, "https:"), "http:")
	switch strings.TrimPrefix(said, "//json-schema.org/") {
	case "draft/2020-12/schema", "schema":
	case "draft/2019-09/schema":
		c.draft = draft2019
	case "draft-07/schema":
		c.draft = draft7
	case "draft-06/schema":
		c.draft = draft6
	case "draft-04/schema":
		c.draft = draft4
	default:
		return fmt.Errorf("the schema is of a dialect that is not known: %s", show(v))
	}
	return nil
}

// findAnchors gathers the names that references can use.
func (c *compiler) findAnchors(v *value, root bool) {
	for _, m := range v.members {
		switch name := textOf(m.value); {
		case name == "":
		case m.key == "$anchor" && c.draft >= draft2019:
			c.anchor[name] = v
		case m.key == "$id" || m.key == "id" && c.draft == draft4:
			if anchor, ok := strings.CutPrefix(name, "#"); ok && c.draft < draft2019 {
				c.anchor[anchor] = v
			} else if !root {
				c.nested = true
			}
		}
		c.findAnchors(m.value, false)
	}
	for _, item := range v.items {
		c.findAnchors(item, false)
	}
}

// show returns the text of a value of the schema, shortened.
func show(v *value) string {
	return clip(string(v.raw), 60)
}

func wrong(v *value, keyword, want string) error {
	return fmt.Errorf("the schema is wrong in itself: %s must be %s, not %s", keyword, want, show(v))
}

// node compiles one schema.
func (c *compiler) node(v *value) (*node, error) {
	if n := c.nodes[v]; n != nil {
		return n, nil
	}
	n := &node{source: v}
	c.nodes[v] = n
	switch {
	case v.kind == boolean:
		n.never = v.text == "false"
		return n, nil
	case v.kind != object:
		return nil, wrong(v, "a schema", "an object or a boolean")
	}
	if ref := v.get("$ref"); ref != nil {
		if err := c.reference(n, ref); err != nil {
			return nil, err
		}
		if c.draft < draft2019 {
			return n, nil // what stands beside it does not count
		}
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if v.get(key) != nil {
			return nil, fmt.Errorf("the schema uses %s", key)
		}
	}
	for _, part := range []func(*node) error{
		c.types, c.values, c.textRules, c.numberRules, c.arrayRules, c.objectRules, c.logicRules,
	} {
		if err := part(n); err != nil {
			return nil, err
		}
	}
	c.annotate(n)
	return n, nil
}

// reference finds what a $ref means.
func (c *compiler) reference(n *node, ref *value) error {
	if ref.kind != str {
		return wrong(ref, "$ref", "a string")
	}
	at, ok := strings.CutPrefix(ref.text, c.base)
	if !ok {
		at = ref.text
	}
	name, local := strings.CutPrefix(at, "#")
	if !local || c.nested {
		return fmt.Errorf("the schema refers to %s, which is not fetched", show(ref))
	}
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	target := c.anchor[name]
	if name == "" || strings.HasPrefix(name, "/") {
		target = c.root.at(pointerTokens(name))
	}
	if target == nil {
		return fmt.Errorf("the schema refers to %s, which is not there", show(ref))
	}
	var err error
	n.ref, err = c.node(target)
	return err
}

func (c *compiler) types(n *node) error {
	v := n.source.get("type")
	if v == nil {
		return nil
	}
	list := []*value{v}
	if v.kind == array {
		list = v.items
	}
	for _, item := range list {
		i := -1
		if item.kind == str {
			for j, k := range kindNames {
				if k.name == item.text {
					i = j
				}
			}
		}
		if i < 0 {
			return wrong(v, "type", "the name of a type")
		}
		n.types |= kindNames[i].kind
	}
	if n.types == 0 {
		return wrong(v, "type", "the name of a type")
	}
	if n.types&number != 0 {
		n.types |= integer
	}
	return nil
}

// values compiles enum and const.
func (c *compiler) values(n *node) error {
	if v := n.source.get("enum"); v != nil {
		if v.kind != array {
			return wrong(v, "enum", "a list")
		}
		n.enum = v.items
		if len(n.enum) == 0 {
			n.never = true
		}
	}
	v := n.source.get("const")
	switch {
	case v == nil || c.draft < draft6:
	case n.enum == nil || slices.ContainsFunc(n.enum, func(e *value) bool { return equal(e, v) }):
		n.enum = []*value{v}
	default:
		n.never = true
	}
	return nil
}

func (c *compiler) annotate(n *node) {
	n.notes.format = textOf(n.source.get("format"))
	n.notes.fallback = n.source.get("default")
	if v := n.source.get("examples"); v != nil && v.kind == array {
		n.notes.examples = v.items
	}
}

// count returns the value of a keyword that counts something, or unset.
func count(n *node, keyword string, unset int) (int, error) {
	v := n.source.get(keyword)
	if v == nil {
		return unset, nil
	}
	if v.kind&integer == 0 || strings.HasPrefix(v.text, "-") {
		return 0, wrong(v, keyword, "a count")
	}
	r, ok := rat(v.text)
	if !ok || !r.Num().IsInt64() || r.Num().Int64() > 1<<40 {
		return 1 << 40, nil
	}
	return int(r.Num().Int64()), nil
}

// counts sets several counts at once. It reports whether one of them is there.
func counts(n *node, into map[string]*int) (there bool, err error) {
	for _, keyword := range slices.Sorted(maps.Keys(into)) {
		unset := 0
		if strings.HasPrefix(keyword, "max") {
			unset = -1
		}
		if *into[keyword], err = count(n, keyword, unset); err != nil {
			return false, err
		}
		there = there || n.source.get(keyword) != nil
	}
	return there, nil
}

// list compiles a list of schemas.
func (c *compiler) list(n *node, keyword string) ([]*node, error) {
	v := n.source.get(keyword)
	if v == nil {
		return nil, nil
	}
	if v.kind != array || len(v.items) == 0 && keyword != "items" {
		return nil, wrong(v, keyword, "a list of schemas")
	}
	out := make([]*node, 0, len(v.items))
	for _, item := range v.items {
		sub, err := c.node(item)
		if err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// one compiles a schema that a keyword holds, or returns nil.
func (c *compiler) one(n *node, keyword string, since int) (*node, error) {
	v := n.source.get(keyword)
	if v == nil || c.draft < since {
		return nil, nil
	}
	return c.node(v)
}

// pattern compiles a regular expression. It returns nil for one that Go does not
// have, such as with a look-ahead: that demand is left out.
func (c *compiler) pattern(v *value, keyword string) (*pattern, error) {
	if v.kind != str {
		return nil, wrong(v, keyword, "a string")
	}
	re, err := compilePattern(v.text)
	if err != nil {
		c.weak = true
		return nil, nil
	}
	return re, nil
}

// names reads a list of strings.
func names(v *value, keyword string) ([]string, error) {
	if v.kind != array {
		return nil, wrong(v, keyword, "a list of names")
	}
	out := make([]string, len(v.items))
	for i, item := range v.items {
		if item.kind != str {
			return nil, wrong(v, keyword, "a list of names")
		}
		out[i] = item.text
	}
	return out, nil
}

// pointerTokens takes a JSON pointer apart.
func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}
