package schema

import (
	"math/big"
)

func (c *compiler) textRules(n *node) error {
	r := &textRules{}
	there, err := counts(n, map[string]*int{"minLength": &r.min, "maxLength": &r.max})
	if err != nil {
		return err
	}
	if v := n.source.get("pattern"); v != nil {
		if r.pattern, err = c.pattern(v, "pattern"); err != nil {
			return err
		}
	}
	if there || r.pattern != nil {
		n.text = r
	}
	return nil
}

// bound reads a keyword that holds a number; nil where there is none, or one
// that is too large to reckon with.
func bound(n *node, keyword string) (*big.Rat, error) {
	v := n.source.get(keyword)
	if v == nil {
		return nil, nil
	}
	if v.kind&number == 0 {
		return nil, wrong(v, keyword, "a number")
	}
	r, _ := rat(v.text)
	return r, nil
}

func (c *compiler) numberRules(n *node) error {
	r := &numberRules{}
	var err error
	if r.multiple, err = bound(n, "multipleOf"); err != nil {
		return err
	}
	if r.multiple != nil && r.multiple.Sign() <= 0 {
		return wrong(n.source.get("multipleOf"), "multipleOf", "greater than 0")
	}
	if r.min, r.minOpen, err = side(n, "minimum", "exclusiveMinimum", 1); err != nil {
		return err
	}
	if r.max, r.maxOpen, err = side(n, "maximum", "exclusiveMaximum", -1); err != nil {
		return err
	}
	if r.multiple != nil || r.min != nil || r.max != nil {
		r.wholeBounds()
		n.number = r
	}
	return nil
}

// side reads the bounds on one side, and returns the one that counts: the
// greater where sign is 1. In draft 4 the exclusive one is a boolean.
func side(n *node, closed, open string, sign int) (*big.Rat, bool, error) {
	limit, err := bound(n, closed)
	if err != nil {
		return nil, false, err
	}
	v := n.source.get(open)
	if v == nil {
		return limit, false, nil
	}
	if v.kind == boolean {
		return limit, v.text == "true", nil
	}
	other, err := bound(n, open)
	switch {
	case err != nil || other == nil:
		return limit, false, err
	case limit == nil || other.Cmp(limit)*sign >= 0:
		return other, true, nil
	}
	return limit, false, nil
}

// wholeBounds works out the least and the greatest integer that the bounds allow.
func (t *numberRules) wholeBounds() {
	const most = int64(1) << 53
	t.minWhole, t.maxWhole = -most, most
	if t.min != nil {
		q := floor(t.min)
		if t.minOpen || !t.min.IsInt() {
			q.Add(q, big.NewInt(1))
		}
		if !q.IsInt64() || q.Int64() < -most || q.Int64() > most {
			return
		}
		t.minWhole = q.Int64()
	}
	if t.max != nil {
		q := floor(t.max)
		if t.maxOpen && t.max.IsInt() {
			q.Sub(q, big.NewInt(1))
		}
		if !q.IsInt64() || q.Int64() < -most || q.Int64() > most {
			return
		}
		t.maxWhole = q.Int64()
	}
	t.whole = t.multiple == nil
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: towards minus infinity here
}

func (c *compiler) arrayRules(n *node) error {
	r := &arrayRules{minContains: 1, maxContains: -1}
	there, err := counts(n, map[string]*int{"minItems": &r.min, "maxItems": &r.max})
	if err != nil {
		return err
	}
	if v := n.source.get("uniqueItems"); v != nil {
		if v.kind != boolean {
			return wrong(v, "uniqueItems", "true or false")
		}
		r.unique = v.text == "true"
	}
	if err := c.items(n, r); err != nil {
		return err
	}
	if r.contains, err = c.one(n, "contains", draft6); err != nil {
		return err
	}
	if r.contains != nil {
		c.strict = true
	}
	if r.contains != nil && c.draft >= draft2019 {
		if r.minContains, err = count(n, "minContains", 1); err != nil {
			return err
		}
		if r.maxContains, err = count(n, "maxContains", -1); err != nil {
			return err
		}
	}
	if r.unevaluated, err = c.one(n, "unevaluatedItems", draft2019); err != nil {
		return err
	}
	if there || r.unique || r.prefix != nil || r.rest != nil || r.contains != nil || r.unevaluated != nil {
		n.array = r
	}
	return nil
}

// items reads the schemas of the items in all their spellings: a list of them is
// a tuple, named prefixItems since 2020-12.
func (c *compiler) items(n *node, r *arrayRules) (err error) {
	v, rest := n.source.get("items"), "items"
	switch {
	case n.source.get("prefixItems") != nil && c.draft >= draft2020:
		r.prefix, err = c.list(n, "prefixItems")
	case v != nil && v.kind == array:
		r.prefix, err = c.list(n, "items")
		rest = "additionalItems"
	}
	if err == nil {
		r.rest, err = c.one(n, rest, 0)
	}
	return err
}

func (c *compiler) objectRules(n *node) error {
	r := &objectRules{}
	there, err := counts(n, map[string]*int{"minProperties": &r.min, "maxProperties": &r.max})
	if err != nil {
		return err
	}
	if err := c.properties(n, r); err != nil {
		return err
	}
	if r.rest, err = c.one(n, "additionalProperties", 0); err != nil {
		return err
	}
	if r.names, err = c.one(n, "propertyNames", draft6); err != nil {
		return err
	}
	if err := c.dependencies(n, r); err != nil {
		return err
	}
	if r.unevaluated, err = c.one(n, "unevaluatedProperties", draft2019); err != nil {
		return err
	}
	if len(r.list) > 8 {
		r.index = make(map[string]int, len(r.list))
		for i := range r.list {
			r.index[r.list[i].name] = i
		}
	}
	for i := range r.list {
		if r.list[i].required && i < maxFastProperties {
			r.required[i/64] |= 1 << (i % 64)
		}
	}
	if there || r.list != nil || r.patterns != nil || r.rest != nil || r.names != nil ||
		r.dependencies != nil || r.unevaluated != nil {
		n.object = r
	}
	return nil
}

func (c *compiler) properties(n *node, r *objectRules) error {
	if v := n.source.get("properties"); v != nil {
		if v.kind != object {
			return wrong(v, "properties", "an object")
		}
		for _, m := range v.members {
			if v.get(m.key) != m.value {
				continue // the last one counts
			}
			sub, err := c.node(m.value)
			if err != nil {
				return err
			}
			r.list = append(r.list, property{name: m.key, declared: true, node: sub})
		}
	}
	if v := n.source.get("patternProperties"); v != nil {
		if v.kind != object {
			return wrong(v, "patternProperties", "an object")
		}
		for _, m := range v.members {
			sub, err := c.node(m.value)
			if err != nil {
				return err
			}
			re, err := c.pattern(&value{kind: str, raw: quoted(m.key), text: m.key}, "a pattern")
			if err != nil {
				return err
			}
			if re == nil {
				c.strict = true // whose members would they be?
				continue
			}
			r.patterns = append(r.patterns, patternRule{re, sub})
		}
	}
	return c.required(n, r)
}

func (c *compiler) required(n *node, r *objectRules) error {
	v := n.source.get("required")
	if v == nil {
		return nil
	}
	if v.kind == boolean && c.draft == draft2020 && n.source.get("$schema") == nil {
		return nil // draft 3 wrote it so, beside the property; it says nothing here
	}
	names, err := names(v, "required")
	if err != nil {
		return err
	}
	known := make(map[string]int, len(r.list))
	for i := range r.list {
		known[r.list[i].name] = i
	}
	for _, name := range names {
		if i, ok := known[name]; ok {
			r.list[i].required = true
			continue
		}
		known[name] = len(r.list)
		r.list = append(r.list, property{name: name, required: true})
	}
	return nil
}

// dependencies reads the three spellings of them.
func (c *compiler) dependencies(n *node, r *objectRules) error {
	for _, keyword := range []string{"dependencies", "dependentRequired", "dependentSchemas"} {
		v := n.source.get(keyword)
		if v == nil || keyword != "dependencies" && c.draft < draft2019 {
			continue
		}
		if v.kind != object {
			return wrong(v, keyword, "an object")
		}
		for _, m := range v.members {
			d := dependency{key: m.key}
			var err error
			if m.value.kind == array && keyword != "dependentSchemas" {
				d.needs, err = names(m.value, keyword)
			} else {
				d.node, err = c.node(m.value)
			}
			if err != nil {
				return err
			}
			r.dependencies = append(r.dependencies, d)
		}
	}
	return nil
}

func (c *compiler) logicRules(n *node) error {
	r := &logicRules{}
	var err error
	for keyword, into := range map[string]*[]*node{"allOf": &r.all, "anyOf": &r.any, "oneOf": &r.one} {
		if *into, err = c.list(n, keyword); err != nil {
			return err
		}
	}
	if r.not, err = c.one(n, "not", 0); err != nil {
		return err
	}
	if r.cond, err = c.one(n, "if", draft7); err != nil {
		return err
	}
	if r.cond != nil {
		if r.then, err = c.one(n, "then", draft7); err != nil {
			return err
		}
		if r.alt, err = c.one(n, "else", draft7); err != nil {
			return err
		}
	}
	if r.not != nil || r.cond != nil || r.one != nil {
		c.strict = true
	}
	if r.all != nil || r.any != nil || r.one != nil || r.not != nil || r.cond != nil {
		n.logic = r
	}
	return nil
}
