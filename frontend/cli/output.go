package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// printText writes a text of the answer, with a line end at its end. On a
// terminal it is shown without the sequences that would control it: the text
// comes from a tool, and from whatever the tool has read.
func (a *app) printText(text string) {
	if _, ok := terminal(a.Stdout); ok {
		text = a.safe(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(a.Stdout, text) // whoever closed it does not want to know
}

// printTable writes a table, cut to the width of the terminal.
func (a *app) printTable(rows [][]string) {
	width, _ := terminal(a.Stdout)
	_, _ = a.Stdout.Write(rest.AlignedTable(rows, width))
}

// note tells the person something beside the answer.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.Stderr, a.safe(fmt.Sprintf(format, args...)))
}

// safe returns s without control characters other than line ends and tabs.
func (*app) safe(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// count shows a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// printResult tells the outcome of a call: the text for the model to standard
// output, or the error to standard error.
func (a *app) printResult(res *tool.Result) {
	for _, n := range res.Notes {
		a.note("note: %s", n.Text)
	}
	if res.Kind != "" {
		a.note("error: %s", res.Text())
		return
	}
	a.printText(res.Text())
}
