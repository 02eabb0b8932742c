package prometheus

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// place matches where in a query a mistake is: line, column, what it is.
var place = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\d{1,6}):(\d{1,6}): (?:parse error: )?(.*)$`)
})

// position adds the line of the query to an error that names a place in it, with
// a mark below the place.
func position(promql string, err error) error {
	e, ok := errors.AsType[*apiError](err)
	if !ok || e.kind == "" {
		return err
	}
	m := place().FindStringSubmatch(e.text)
	if m == nil {
		return err
	}
	row, _ := strconv.Atoi(m[1]) // digits, and few
	col, _ := strconv.Atoi(m[2])
	lines := strings.Split(promql, "\n")
	if row < 1 || row > len(lines) || col < 1 {
		return err
	}
	text := lines[row-1]
	before := utf8.RuneCountInString(text[:min(col-1, len(text))]) // columns are bytes
	const around = 60
	runes := []rune(strings.ReplaceAll(text, "\t", " "))
	from := max(0, before-around)
	shown := answer.Line(string(runes[from:min(len(runes), before+around)]), 2*around)
	return &apiError{kind: e.kind, text: e.text + "\n\n```\n" + shown + "\n" + strings.Repeat(" ", before-from) + "^\n```\n\nMend the query and ask again."}
}
