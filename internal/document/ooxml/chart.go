package ooxml

import (
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const (
	maxPoints = 2000    // of one series
	maxBytes  = 4 << 20 // of the values of a chart
)

// A Series is a row of values of a chart.
type Series struct {
	Name               string
	Categories, Values []string
	// Where the three come from, as ranges of cells.
	NameFrom, CategoriesFrom, ValuesFrom string
}

// Chart returns the title and the data of a chart.
func Chart(out *draft.Out, z *draft.Zip, name string) (string, [][]string) {
	if !draft.Charts(out) {
		return ChartTitle(""), nil
	}
	var all []Series
	title := ""
	inTitle := false
	var where, index string
	left := maxBytes
	// What can be read of it is shown.
	_ = part(z, name, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("title") && len(all) == 0:
			inTitle = true
		case s.Ends("title"):
			inTitle = false
		case s.Starts("ser"):
			if len(all) < 100 {
				all = append(all, Series{})
			}
			where = ""
		case s.Starts("tx"), s.Starts("cat"), s.Starts("val"), s.Starts("xVal"), s.Starts("yVal"):
			where = string(s.Name)
		case s.Starts("pt"):
			index = s.Attr("idx")
		case s.Starts("t") && inTitle:
			title += s.Inner(1000)
		case s.Starts("f") && len(all) > 0:
			all[len(all)-1].from(where, s.Inner(300))
		case s.Starts("v") && len(all) > 0 && left > 0:
			value := s.Inner(1000)
			left -= len(value)
			all[len(all)-1].put(where, index, value)
		}
	})
	rows := ChartRows(all)
	draft.Charted(out, 1000+len(rows)*(len(all)+1))
	return ChartTitle(title), rows
}

// ChartTitle returns the line above the data of a chart.
func ChartTitle(title string) string {
	if title = draft.Line(title); title != "" {
		return "Chart: " + title
	}
	return "Chart"
}

// from takes the range that a part of the series comes from.
func (s *Series) from(where, cells string) {
	cells = strings.ReplaceAll(cells, "$", "")
	switch where {
	case "tx":
		s.NameFrom = cells
	case "cat", "xVal":
		s.CategoriesFrom = cells
	case "val", "yVal":
		s.ValuesFrom = cells
	}
}

func (s *Series) put(where, index, value string) {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= maxPoints {
		return
	}
	to := &s.Values
	switch where {
	case "tx":
		s.Name = value
		return
	case "cat", "xVal":
		to = &s.Categories
	case "val", "yVal":
	default:
		return
	}
	if n := i + 1 - len(*to); n > 0 {
		*to = append(*to, make([]string, n)...)
	}
	(*to)[i] = value
}

// ChartRows returns a table with a column for each series, or of the ranges of cells
// that a chart has its data in, where its file does not hold them.
func ChartRows(all []Series) [][]string {
	if len(all) == 0 {
		return [][]string{}
	}
	head := []string{"Category"}
	height := 0
	categories := all[0].Categories
	for i, s := range all {
		head = append(head, s.title(i))
		height = max(height, len(s.Values))
		if len(s.Categories) > len(categories) {
			categories = s.Categories
		}
	}
	if height == 0 {
		return ranges(all)
	}
	rows := [][]string{head}
	for i := range height {
		row := append(make([]string, 0, len(all)+1), strconv.Itoa(i+1))
		if i < len(categories) {
			row[0] = categories[i]
		}
		for _, s := range all {
			v := ""
			if i < len(s.Values) {
				v = s.Values[i]
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *Series) title(i int) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.NameFrom != "":
		return s.NameFrom
	}
	return "Series " + strconv.Itoa(i+1)
}

func ranges(all []Series) [][]string {
	rows := [][]string{{"Series", "Values in", "Categories in"}}
	for i, s := range all {
		if s.ValuesFrom != "" {
			rows = append(rows, []string{s.title(i), s.ValuesFrom, s.CategoriesFrom})
		}
	}
	if len(rows) == 1 {
		return [][]string{}
	}
	return rows
}
