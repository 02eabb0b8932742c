// Package chunk cuts Markdown into sections that can be read alone, and those into
// passages that are small enough to be compared by meaning.
//
//	sections := chunk.Sections(markdown, 2400)
//	sections[0].Path      // Runbook › Disk full
//	chunk.Passages(sections[0].Text, 300, 50)
//
// No cut falls into a fenced block of code, a table, a formula, a link, an image or
// code in a line. The texts of all sections, one behind the other, are the document.
// Lengths are in characters (runes).
package chunk

import (
	"strings"
	"unicode/utf8"
)

// A Section is a piece of a document.
type Section struct {
	Path string // the headings that it stands under, from the outermost: "A › B"
	Text string // as it stands in the document, its own heading with it
}

// Separator stands between the headings of a Path.
const Separator = " › "

// Depth is the deepest level of heading that begins a section.
const Depth = 3

// hard is how many times larger than wanted a block may be before it is cut at a
// line all the same: a log of a megabyte in a fence is no section that anybody reads.
const hard = 8

// Sections cuts a document at its headings down to Depth, and what is longer than
// most characters between its blocks.
func Sections(markdown string, most int) []Section {
	c := cutter{most: max(most, 1)}
	if n := frontMatter(markdown); n > 0 {
		c.add(block{kind: whole, text: markdown[:n]})
		markdown = markdown[n:]
	}
	for _, b := range blocks(markdown) {
		if b.kind == heading && b.level <= Depth {
			if !c.onlyHeading() { // one that stands alone goes with what follows it
				c.flush()
			}
			c.enter(b)
		}
		c.add(b)
	}
	c.flush()
	return c.sections
}

type cutter struct {
	most     int
	sections []Section
	titles   [Depth]string // the headings that now hold
	text     strings.Builder
	length   int
	says     bool // it has more than headings
}

func (c *cutter) enter(b block) {
	c.titles[b.level-1] = b.title
	for i := b.level; i < Depth; i++ {
		c.titles[i] = ""
	}
}

func (c *cutter) path() string {
	var path []string
	for _, t := range c.titles {
		if t != "" {
			path = append(path, t)
		}
	}
	return strings.Join(path, Separator)
}

// flush ends the section. One of white space alone goes to the one before it.
func (c *cutter) flush() {
	text := c.text.String()
	c.text.Reset()
	c.length, c.says = 0, false
	if strings.TrimSpace(text) == "" && len(c.sections) > 0 {
		c.sections[len(c.sections)-1].Text += text
		return
	}
	if text != "" {
		c.sections = append(c.sections, Section{c.path(), text})
	}
}

func (c *cutter) add(b block) {
	n := utf8.RuneCountInString(b.text)
	if c.length > 0 && c.length+n > c.most && !c.onlyHeading() {
		c.flush()
	}
	if n <= c.most {
		c.write(b.text, n)
		c.says = c.says || b.kind != heading && b.kind != blank
		return
	}
	for _, piece := range b.pieces(c.most) {
		n := utf8.RuneCountInString(piece)
		if c.length > 0 && c.length+n > c.most && !c.onlyHeading() {
			c.flush()
		}
		c.write(piece, n)
		c.says = true
	}
}

func (c *cutter) write(text string, n int) {
	c.text.WriteString(text)
	c.length += n
}

// onlyHeading reports whether the section has nothing but headings yet, which must not
// stand alone.
func (c *cutter) onlyHeading() bool { return c.length > 0 && !c.says && c.length < c.most }

// Passages cuts the text of a section into passages of about most characters, each
// of which begins with up to overlap characters of the one before it. A passage is
// longer where what may not be cut is.
func Passages(text string, most, overlap int) []string {
	most = max(most, 1)
	overlap = min(max(overlap, 0), most/2)
	var units []string
	for _, b := range blocks(text) {
		units = append(units, b.pieces(most)...)
	}
	var passages []string
	start := 0 // of the passage, in units
	for start < len(units) {
		length, end := 0, start
		for end < len(units) {
			n := utf8.RuneCountInString(units[end])
			if end > start && length+n > most {
				break
			}
			length += n
			end++
		}
		if p := strings.TrimSpace(strings.Join(units[start:end], "")); p != "" {
			passages = append(passages, p)
		}
		if end == len(units) {
			break
		}
		// The next one begins with what of this one fits in the overlap.
		next, length := end, 0
		for next-1 > start {
			n := utf8.RuneCountInString(units[next-1])
			if length+n > overlap {
				break
			}
			length += n
			next--
		}
		start = next
	}
	return passages
}
