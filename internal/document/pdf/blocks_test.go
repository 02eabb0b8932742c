package pdf_test

import (
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/internal/document/pdf"
)

// TestHeads puts heads over what they are the heads of, and leaves alone what only
// looks as if it had none.
func TestHeads(t *testing.T) {
	for _, c := range []struct{ rows, want [][]string }{
		{ // heads in the middle, texts on the left
			[][]string{{"", "Country", "", "Capital", "", "People"}, {"Aldia", "", "Port Aldern", "", "12", ""}, {"Borland", "", "Brisk", "", "34", ""}},
			[][]string{{"Country", "Capital", "People"}, {"Aldia", "Port Aldern", "12"}, {"Borland", "Brisk", "34"}},
		},
		{ // figures on the right of one column
			[][]string{{"Item", "Sum", ""}, {"Rope", "", "12"}, {"Tar", "", "7"}},
			[][]string{{"Item", "Sum"}, {"Rope", "12"}, {"Tar", "7"}},
		},
		{ // figures in one of two columns
			[][]string{{"Item", "Debit", "Credit"}, {"Rope", "12", ""}, {"Tar", "", "7"}},
			[][]string{{"Item", "Debit", "Credit"}, {"Rope", "12", ""}, {"Tar", "", "7"}},
		},
		{ // a column without a head, one without texts behind it
			[][]string{{"", "2024", "2025", "Note"}, {"Rope", "1", "2", ""}},
			[][]string{{"", "2024", "2025", "Note"}, {"Rope", "1", "2", ""}},
		},
		{[][]string{{"", "Head"}, {"a", ""}}, [][]string{{"", "Head"}, {"a", ""}}},
		{[][]string{{"", "", "Head"}, {"a", "b", ""}}, [][]string{{"", "", "Head"}, {"a", "b", ""}}},
	} {
		if got := pdf.UnderHeads(c.rows); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q became %q; want %q", c.rows, got, c.want)
		}
	}
}
