package answer_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/answer"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		asked, want int
		note        string
	}{
		{7, 7, ""},
		{0, 5, "n is 2 to 9: 5 was taken for 0"},
		{-3, 2, "n is 2 to 9: 2 was taken for -3"},
		{100, 9, "n is 2 to 9: 9 was taken for 100"},
	} {
		if n, note := answer.Within("n", c.asked, 5, 2, 9); n != c.want || note != c.note {
			t.Errorf("%d: %d, %q; want %d, %q", c.asked, n, note, c.want, c.note)
		}
	}
}
