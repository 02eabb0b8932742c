package ooxml

import (
	"strconv"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const maxPoints = 2000 // of one series

// A series is a row of values of a chart.
type series struct {
	name       string
	categories []string
	values     []string
}

// chart returns the title and the data of a chart.
func chart(z *draft.Zip, name string) (string, [][]string) {
	var all []series
	title := ""
	inTitle := false
	var where, index string
	// What can be read of it is shown.
	_ = part(z, name, func(s *xmlscan.Scanner) {
		switch {
		case s.Starts("title") && len(all) == 0:
			inTitle = true
		case s.Ends("title"):
			inTitle = false
		case s.Starts("ser"):
			if len(all) < 100 {
				all = append(all, series{})
			}
			where = ""
		case s.Starts("tx"), s.Starts("cat"), s.Starts("val"), s.Starts("xVal"), s.Starts("yVal"):
			where = string(s.Name)
		case s.Starts("pt"):
			index = s.Attr("idx")
		case s.Starts("t") && inTitle:
			title += s.Inner(1000)
		case s.Starts("v") && len(all) > 0:
			all[len(all)-1].put(where, index, s.Inner(1000))
		}
	})
	if title = draft.Line(title); title != "" {
		title = "Chart: " + title
	} else {
		title = "Chart"
	}
	return title, chartRows(all)
}

func (s *series) put(where, index, value string) {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= maxPoints {
		return
	}
	to := &s.values
	switch where {
	case "tx":
		s.name = value
		return
	case "cat", "xVal":
		to = &s.categories
	case "val", "yVal":
	default:
		return
	}
	for len(*to) <= i {
		*to = append(*to, "")
	}
	(*to)[i] = value
}

// chartRows returns a table with a column for each series.
func chartRows(all []series) [][]string {
	if len(all) == 0 {
		return [][]string{}
	}
	head := []string{"Category"}
	height := 0
	categories := all[0].categories
	for i, s := range all {
		name := s.name
		if name == "" {
			name = "Series " + strconv.Itoa(i+1)
		}
		head = append(head, name)
		height = max(height, len(s.values))
		if len(s.categories) > len(categories) {
			categories = s.categories
		}
	}
	rows := [][]string{head}
	for i := range height {
		row := []string{strconv.Itoa(i + 1)}
		if i < len(categories) {
			row[0] = categories[i]
		}
		for _, s := range all {
			v := ""
			if i < len(s.values) {
				v = s.values[i]
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}
