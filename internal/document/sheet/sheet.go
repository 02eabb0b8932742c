// Package sheet converts workbooks: XLSX and XLSB as a stream, whatever their size, and XLS.
//
// Each sheet is a table below a heading. Cells show what the program that wrote the
// file last showed: the values of formulas, dates as dates.
package sheet

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxColumn = 1024
	lookAhead = 500     // rows by which the width of a table is told
	lookBytes = 1 << 20 // and the bytes that they may have
)

// A Table writes the rows of a sheet. It holds the first ones back until it knows
// how many columns they have.
type Table struct {
	out     *draft.Out
	held    [][]string
	bytes   int
	columns int
	left    int // columns that are empty on the left
	begun   bool
}

// NewTable returns a Table that writes to out.
func NewTable(out *draft.Out) *Table { return &Table{out: out} }

// Row takes a row, which it does not keep.
func (t *Table) Row(cells []string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return
	}
	if t.begun {
		t.out.Row(cells[min(t.left, len(cells)):])
		return
	}
	for _, c := range cells {
		t.bytes += len(c) + 16
	}
	if t.held = append(t.held, slices.Clone(cells)); len(t.held) >= lookAhead || t.bytes > lookBytes {
		t.begin()
	}
}

func (t *Table) begin() {
	t.begun = true
	if len(t.held) == 0 {
		return
	}
	t.left = maxColumn
	for _, r := range t.held {
		t.columns = max(t.columns, len(r))
		first := 0
		for first < len(r) && r[first] == "" {
			first++
		}
		t.left = min(t.left, first)
	}
	for i, r := range t.held {
		r = r[min(t.left, len(r)):]
		if i > 0 {
			t.out.Row(r)
			continue
		}
		head := make([]string, t.columns-t.left)
		copy(head, r)
		t.out.Table(head)
	}
	t.held = nil
}

// End writes what was held back. It reports whether there was anything.
func (t *Table) End() bool {
	some := t.begun || len(t.held) > 0
	if !t.begun {
		t.begin()
	}
	if some {
		t.out.EndTable()
	}
	return some
}

// Wanted returns the sheets that are wanted by their name or number, and an error
// that lists them where there is no such one.
func Wanted(out *draft.Out, names []string) ([]int, error) {
	all := make([]int, len(names))
	for i := range names {
		all[i] = i
	}
	want := strings.TrimSpace(out.Options.Sheet)
	if want == "" {
		return all, nil
	}
	for i, n := range names {
		if strings.EqualFold(n, want) {
			return []int{i}, nil
		}
	}
	for i := range names {
		if want == number(i+1) {
			return []int{i}, nil
		}
	}
	list := strings.Join(names[:min(len(names), 50)], ", ")
	return nil, &draft.Error{Reason: draft.Wrong, Text: "there is no sheet " + draft.Clip(want, 100) + ": there are " + list}
}
