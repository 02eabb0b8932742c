// Package jsonsize counts what a text in JSON holds, before it is decoded: three
// bytes, "{},", can become hundreds when they are, so a bound on bytes is none on
// memory.
//
//	var g jsonsize.Gauge
//	g.Add([]byte(`{"a":[{},{}]}`)) // in pieces, as they come
//	g.Elements                      // 2
package jsonsize

// A Gauge counts the elements of arrays in a text, and the members of objects.
type Gauge struct {
	Elements, Members int

	stack    []byte // the brackets that are open
	text     bool   // within a text
	escaped  bool   // behind a backslash in it
	anything bool   // something stands behind the last bracket or comma
}

// Add counts what is in the next piece of the text.
func (g *Gauge) Add(p []byte) {
	for _, c := range p {
		if g.text {
			switch {
			case g.escaped:
				g.escaped = false
			case c == '\\':
				g.escaped = true
			case c == '"':
				g.text = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '"':
			g.text, g.anything = true, true
		case '[', '{':
			g.stack, g.anything = append(g.stack, c), false
		case ',':
			g.count()
			g.anything = false
		case ']', '}':
			if g.anything {
				g.count()
			}
			g.stack = g.stack[:max(0, len(g.stack)-1)]
			g.anything = true
		default:
			g.anything = true
		}
	}
}

// count counts what ends here.
func (g *Gauge) count() {
	if n := len(g.stack); n > 0 && g.stack[n-1] == '[' {
		g.Elements++
	} else {
		g.Members++
	}
}

// Over reports whether a whole text holds more elements than are wanted, or more
// than ten times as many members.
func Over(text []byte, elements int) bool {
	var g Gauge
	for len(text) > 0 && g.Elements <= elements && g.Members <= 10*elements {
		n := min(len(text), 64<<10)
		g.Add(text[:n])
		text = text[n:]
	}
	return g.Elements > elements || g.Members > 10*elements
}
