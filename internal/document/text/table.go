package text

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// CSV converts values that are separated by commas, semicolons, tabs or bars to a
// table. Which of them it is, the first lines tell.
func CSV(_ context.Context, src draft.Source, out *draft.Out) error {
	r, name := Decode(src, out)
	if name != "utf-8" {
		out.Set("charset", name)
	}
	head := make([]byte, 16<<10)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return draft.Damage(err, "the table cannot be read")
	}
	head = bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))
	lines := &limitedLines{r: io.MultiReader(bytes.NewReader(head), r)}
	c := csv.NewReader(lines)
	c.Comma = separator(head, src)
	lines.comma = byte(c.Comma)
	c.LazyQuotes, c.FieldsPerRecord, c.ReuseRecord = true, -1, true
	rows, columns := 0, 0
	for {
		record, err := c.Read()
		switch {
		case errors.Is(err, io.EOF):
			if rows == 0 {
				return out.Err()
			}
			out.EndTable()
			return out.Err()
		case err != nil:
			return draft.Damage(err, "the table is damaged after %d rows", rows)
		case rows == 0:
			columns = len(record)
			out.Table(record)
		default:
			if len(record) > columns {
				out.Note("row %d and maybe others have more cells than the first one", rows+1)
			}
			out.Row(record)
		}
		rows++
		lines.record, lines.cells = 0, 0
		if err := out.Err(); err != nil {
			return err
		}
	}
}

// separator returns the character that splits the first lines most evenly.
func separator(head []byte, src draft.Source) rune {
	if src.Ext() == ".tsv" || src.Ext() == ".tab" || strings.Contains(src.MIME, "tab-separated") {
		return '\t'
	}
	best, most := ',', 0
	for _, sep := range []rune{',', ';', '\t', '|'} {
		least, lines := 0, 0
		for line := range strings.Lines(string(head)) {
			if strings.TrimSpace(line) == "" || lines > 10 {
				continue
			}
			n := strings.Count(line, string(sep))
			if lines == 0 || n < least {
				least = n
			}
			lines++
		}
		if least > most {
			best, most = sep, least
		}
	}
	if most == 0 && bytes.Count(head, []byte(";")) > bytes.Count(head, []byte(",")) {
		return ';'
	}
	return best
}

// limitedLines refuses a record of more than a few MiB, which an open quote makes of
// all that follows, however many lines that are, and one of very many cells.
type limitedLines struct {
	r      io.Reader
	comma  byte
	record int // bytes that were read since the last one
	cells  int
}

const (
	maxRecord = 4 << 20
	maxCells  = 200_000
)

func (l *limitedLines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.record += n; l.record > maxRecord {
		return n, draft.TooLarge("a row of the table has more than %d MiB, perhaps for a quote that is not closed", maxRecord>>20)
	}
	if l.cells += bytes.Count(p[:n], []byte{l.comma}); l.cells > maxCells {
		return n, draft.TooLarge("a row of the table has more than %d cells, perhaps for a quote that is not closed", maxCells)
	}
	return n, err
}
