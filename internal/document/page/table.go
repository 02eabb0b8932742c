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
	g := grid{w: w, left: maxSpans}
	for _, r := range rows {
		g.row(r)
	}
	columns := 0
	for _, r := range g.rows {
		columns = max(columns, len(r))
	}
	if columns == 0 {
		return
	}
	w.want(2)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.Data == "caption" {
			w.block(2, c)
		}
	}
	for i, r := range g.rows {
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
	rows  [][]string
	below []int // rows that each column is still covered from above
	left  int
}

func (g *grid) row(tr *html.Node) {
	var row []string
	covered := func() {
		for len(row) < len(g.below) && g.below[len(row)] > 0 {
			g.below[len(row)]--
			row = append(row, "")
		}
	}
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.Data != "td" && c.Data != "th" || dropped(c) {
			continue
		}
		covered()
		if len(row) >= maxColumns {
			break
		}
		text := g.w.sub(c)
		wide, high := g.span(c, "colspan"), g.span(c, "rowspan")
		for i := range wide {
			if i > 0 {
				text = ""
			}
			for len(g.below) <= len(row) {
				g.below = append(g.below, 0)
			}
			g.below[len(row)] = high - 1
			row = append(row, text)
		}
	}
	covered()
	for _, c := range row {
		if c != "" {
			g.rows = append(g.rows, row)
			return
		}
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
