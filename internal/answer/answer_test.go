package answer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"a\x1b[31mb\nc\td": "a?[31mb c d", "\u202eabc\u200b": "?abc?", "bad \xff": "bad ?", "⚠\ufe0f \u3164a\U000e0101": "⚠ ?a", "磁盘空间不足": "磁盘空间不足", "": "",
	} {
		if got := answer.Line(s, 20); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := answer.Line(strings.Repeat("磁", 1_000_000), 10); utf8.RuneCountInString(got) != 10 || !strings.HasSuffix(got, "…") {
		t.Errorf("cut to %q", got)
	}
	if got := answer.Cell("", 5) + answer.Cell("a|b`c", 9); got != `-a\|b'c` {
		t.Errorf("cells %q", got)
	}
}

func TestTable(t *testing.T) {
	rows := make([][]string, 100)
	for i := range rows {
		rows[i] = []string{"a|b", "value"}
	}
	got := answer.Table([]string{"x", "y"}, rows, 400)
	if n := utf8.RuneCountInString(got); n > 400 || !strings.Contains(got, "more rows were left out") || !strings.Contains(got, `| a\|b | value |`) {
		t.Errorf("%d characters:\n%s", n, got)
	}
}

func TestPage(t *testing.T) {
	p := answer.NewPage(600)
	p.Line("## %s", "Head")
	if n := p.Rows(50, func(int) string { return "a row of text" }); n >= 50 || n == 0 {
		t.Errorf("%d rows", n)
	}
	for range 100 {
		p.Line("the end, %s", strings.Repeat("long ", 20))
	}
	if n := utf8.RuneCountInString(p.String()); n > 600 || !strings.HasPrefix(p.String(), "## Head\n") {
		t.Errorf("%d characters", n)
	}
}

func TestFence(t *testing.T) {
	for text, want := range map[string]string{"": "```", "a `b` ```c": "````", "`````": "``````"} {
		if got := answer.Fence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
