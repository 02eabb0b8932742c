package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// A screen is where a command writes: the answer to one place, all else to the
// other.
type screen struct {
	stdout, stderr io.Writer
	width          int  // of the terminal that stdout is; 0 where it is none
	watched        bool // stderr is a terminal
}

// An aside is standard error: notes and the log come from several goroutines, and a writer
// need not be made for that.
type aside struct {
	w  io.Writer
	mu sync.Mutex
}

// Write writes p, alone.
func (a *aside) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.Write(p)
}

// An answer is standard output: it remembers that something could not be written.
type answer struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write writes p.
func (a *answer) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.err = cmp.Or(a.err, err)
	}
	return n, err
}

// lost returns why a part of the answer was not written, or nil. Whoever closed
// the other end of a pipe does not want to know.
func (a *answer) lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if errors.Is(a.err, syscall.EPIPE) || errors.Is(a.err, io.ErrClosedPipe) {
		return nil
	}
	return a.err
}

// printText writes a text of the answer, with a line end at its end. On a
// terminal it is shown without the sequences that would control it: the text
// comes from a tool, and from whatever the tool has read.
func (s screen) printText(text string) {
	if s.width > 0 {
		text = safe(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(s.stdout, text) // whoever closed it does not want to know
}

// printJSON writes the answer as one JSON object.
func (s screen) printJSON(v any) {
	e := json.NewEncoder(s.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // what cannot be written is told at the end
}

// printTable writes a table, cut to the width of the terminal.
func (s screen) printTable(rows [][]string) {
	_, _ = s.stdout.Write(rest.AlignedTable(rows, s.width))
}

// note tells the person something beside the answer.
func (s screen) note(format string, args ...any) {
	fmt.Fprintln(s.stderr, safe(fmt.Sprintf(format, args...)))
}

// safe returns s without control characters other than line ends and tabs, and writes out
// what would end a line, turn its direction or hide a text in it.
func safe(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
		case unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r < 0xe0080:
			b.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inset returns a text that somebody else wrote as the rest of a line of this program: no
// other line of it begins like one.
func inset(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
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
func (s screen) printResult(res *tool.Result) {
	for _, n := range res.Notes {
		s.note("note: %s", inset(n.Text))
	}
	if res.Kind != "" {
		s.note("error: %s", inset(res.Text()))
		return
	}
	s.printText(res.Text())
}
