package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxColumns = 100
	maxSpans   = 100_000 // cells that spans may add to one table
	maxHere    = 8 << 20 // bytes of a table that cannot go out yet
)

// table writes a table; one that only lays out a page is written as blocks.
func (w *writer) table(n *html.Node) {
	rows, layout := tableRows(n)
	if layout || w.flat > 0 {
		w.want(2)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && !dropped(c) {
				w.block(1, c)
			}
		}
		w.want(2)
		return
	}
	g := grid{w: w, left: maxSpans, to: draft.NewGrid(w.out)}
	for _, r := range rows {
		if w.out.Err() != nil {
			break
		}
		g.row(r)
	}
	if g.to.Empty() {
		return
	}
	w.want(2)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.Data == "caption" {
			w.block(2, c)
		}
	}
	if w.prefix == "" && len(w.marks) == 0 {
		w.flushBlock()
		g.to.Write()
		return
	}
	tableHere(w, g.to)
}

// tableHere writes a table into text that cannot go out yet: a quote, or an item of a list.
func tableHere(w *writer, g *draft.Grid) {
	defer g.Drop()
	rows, columns := g.Rows()
	begin := len(w.buf)
	for i, r := range rows {
		if len(w.buf)-begin > maxHere {
			w.out.Note("of a table in a list or a quote the first %d rows are shown, and %d more left out", i, len(rows)-i)
			break
		}
		w.want(1)
		w.space()
		w.cells(r, columns)
		if i == 0 {
			w.want(1)
			w.space()
			w.append("|" + strings.Repeat(" --- |", columns))
		}
	}
	w.want(2)
}

func (w *flow) cells(row []string, columns int) {
	w.append("|")
	for i := range columns {
		c := ""
		if i < len(row) {
			c = row[i]
		}
		w.append(" " + draft.Cell(c) + " |")
	}
}

// tableRows returns the rows of a table that are not those of one in it, and whether
// the table only lays out a page.
func tableRows(table *html.Node) (rows []*html.Node, layout bool) {
	cells, most := 0, 0
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || dropped(c) {
				continue
			}
			switch c.Data {
			case "thead", "tbody", "tfoot":
				walk(c)
			case "tr":
				rows = append(rows, c)
				count := 0
				for d := c.FirstChild; d != nil; d = d.NextSibling {
					if d.Type == html.ElementNode && (d.Data == "td" || d.Data == "th") {
						count++
						layout = layout || blocky(d)
					}
				}
				cells += count
				most = max(most, count)
			}
		}
	}
	walk(table)
	role := attribute(table, "role")
	return rows, layout || most < 2 || role == "presentation" || role == "none"
}

// blocky reports whether a cell holds what fits in no cell. It looks a few levels
// deep, for the tables below look for themselves.
func blocky(cell *html.Node) bool {
	var look func(n *html.Node, depth int) bool
	look = func(n *html.Node, depth int) bool {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode {
				continue
			}
			switch c.Data {
			case "table", "h1", "h2", "h3", "pre", "article", "section", "blockquote":
				return true
			}
			if depth < 5 && look(c, depth+1) {
				return true
			}
		}
		return false
	}
	return look(cell, 0)
}

// A grid lays out cells that span rows and columns.
type grid struct {
	w     *writer
	to    *draft.Grid
	below []int // rows that each column is still covered from above
	left  int
}

// covered puts the cells that are covered from above.
func (g *grid) covered() {
	for at := g.to.Wide(); at < len(g.below) && g.below[at] > 0; at++ {
		g.below[at]--
		g.to.Add("", 1)
	}
}

// row lays out a row. One without any text is left out.
func (g *grid) row(tr *html.Node) {
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.Data != "td" && c.Data != "th" || dropped(c) {
			continue
		}
		g.covered()
		if g.to.Wide() >= maxColumns {
			break
		}
		text := g.w.sub(c)
		wide, high := g.span(c, "colspan"), g.span(c, "rowspan")
		for at := range wide {
			at += g.to.Wide()
			for len(g.below) <= at {
				g.below = append(g.below, 0)
			}
			g.below[at] = high - 1
		}
		g.to.Add(text, 1)
		g.to.Add("", wide-1)
	}
	g.covered()
	if len(g.to.Cells) > 0 {
		g.to.EndRow()
	} else {
		g.to.Reset()
	}
}

func (g *grid) span(n *html.Node, name string) int {
	v, err := strconv.Atoi(attribute(n, name))
	if err != nil || v < 2 {
		return 1
	}
	v = min(v, maxColumns, g.left)
	g.left -= max(v, 1)
	return max(v, 1)
}
