package ooxml

import (
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

// A style says whether a paragraph is a heading or belongs to a list.
type style struct {
	level       int
	list, depth string
	parent      string
}

func (d *document) readStyles() {
	d.styles = map[string]style{}
	id := ""
	var st style
	err := part(d.zip, byKind(d.rels, "styles"), func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("style"):
			id, st = s.Any("styleId"), style{}
		case s.Starts("name"):
			if st.level == 0 {
				st.level = headingLevel(s.Any("val"))
			}
		case s.Starts("basedOn"):
			st.parent = s.Any("val")
		case s.Starts("outlineLvl"):
			if n, err := strconv.Atoi(s.Any("val")); err == nil && n >= 0 && n < 9 {
				st.level = n + 1
			}
		case s.Starts("numId"):
			st.list = s.Any("val")
		case s.Starts("ilvl"):
			st.depth = s.Any("val")
		case s.Ends("style") && id != "" && len(d.styles) < 10_000:
			d.styles[id] = st
			id = ""
		}
	})
	if err != nil {
		d.out.Note("styles are ignored: %v", err)
	}
	for id, st := range d.styles {
		for parent, steps := st.parent, 0; parent != "" && steps < 10; steps++ {
			up := d.styles[parent]
			if st.level == 0 {
				st.level = up.level
			}
			if st.list == "" {
				st.list, st.depth = up.list, up.depth
			}
			parent = up.parent
		}
		d.styles[id] = st
	}
}

// headingLevel returns the level of a style by its name, which does not depend on
// the language of the program.
func headingLevel(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil && n > 0 && n <= 9 {
		return n
	}
	return 0
}

// numbering knows the lists of a document.
type numbering struct {
	formats  map[string]string // of an abstract list and its level
	abstract map[string]string // of a list
	counts   map[string][]int
}

func (n *numbering) read(z *draft.Zip, name string) {
	n.formats, n.abstract, n.counts = map[string]string{}, map[string]string{}, map[string][]int{}
	inAbstract, inNum, level := "", "", ""
	// Lists that cannot be read are lists of points.
	_ = part(z, name, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("abstractNum"):
			inAbstract = s.Any("abstractNumId")
		case s.Ends("abstractNum"):
			inAbstract = ""
		case s.Starts("num"):
			inNum = s.Any("numId")
		case s.Ends("num"):
			inNum = ""
		case s.Starts("abstractNumId") && inNum != "":
			n.abstract[inNum] = s.Any("val")
		case s.Starts("lvl"):
			level = s.Any("ilvl")
		case s.Starts("numFmt") && inAbstract != "" && len(n.formats) < 100_000:
			n.formats[inAbstract+"."+level] = s.Any("val")
		}
	})
}

// next returns what stands before the next item of a list.
func (n *numbering) next(list, depth string) string {
	if depth == "" {
		depth = "0"
	}
	level, err := strconv.Atoi(depth)
	if err != nil || level < 0 || level > 8 {
		level = 0
	}
	counts := n.counts[list]
	for len(counts) <= level {
		counts = append(counts, 0)
	}
	counts = counts[:level+1]
	counts[level]++
	n.counts[list] = counts
	indent := strings.Repeat("   ", level)
	switch format := n.formats[n.abstract[list]+"."+depth]; format {
	case "", "bullet", "none":
		return indent + "* "
	default:
		return indent + label(format, counts[level]) + ". "
	}
}

// label returns a number as a list shows it.
func label(format string, n int) string {
	switch format {
	case "lowerLetter", "upperLetter":
		s := strings.Repeat(string(rune('a'+(n-1)%26)), min((n-1)/26+1, 5))
		if format == "upperLetter" {
			return strings.ToUpper(s)
		}
		return s
	case "lowerRoman", "upperRoman":
		s := roman(n)
		if format == "upperRoman" {
			return strings.ToUpper(s)
		}
		return s
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		n int
		s string
	}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= d.n; n -= d.n {
			b.WriteString(d.s)
		}
	}
	return b.String()
}
