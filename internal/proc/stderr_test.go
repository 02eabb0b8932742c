package proc_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// feed runs the pieces of text through a tail, one write each.
func feed(tb testing.TB, keep int, pieces ...string) (kept string, lines []string) {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var reader sync.WaitGroup
	reader.Go(func() {
		kept = proc.Tail(r, keep, func(line string) { lines = append(lines, line) })
	})
	for _, piece := range pieces {
		if _, err := w.WriteString(piece); err != nil {
			tb.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Error(err)
	}
	reader.Wait()
	return kept, lines
}

func TestTail(t *testing.T) {
	long := strings.Repeat("x", proc.MaxLine)
	for _, tt := range []struct {
		name   string
		keep   int
		pieces []string
		kept   string
		lines  []string
	}{
		{name: "nothing", keep: 10},
		{"all fits", 10, []string{"one\ntwo\n"}, "one\ntwo\n", []string{"one", "two"}},
		{"a line in pieces", 10, []string{"on", "e\ntw", "o"}, "one\ntwo", []string{"one", "two"}},
		{"from the first whole line", 10, []string{"0123456\n", "one\n", "two\n"}, "one\ntwo\n", []string{"0123456", "one", "two"}},
		{"part of the only line", 4, []string{"0123456789"}, "6789", []string{"0123456789"}},
		{"part of the only line, ended", 4, []string{"0123456789\n"}, "789\n", []string{"0123456789"}},
		{"carriage returns", 20, []string{"one\r\n", "\n"}, "one\r\n\n", []string{"one", ""}},
		{"no text", 20, []string{"\xff\xfe a\n"}, "\uFFFD a\n", []string{"\uFFFD a"}},
		{"half a letter", 2, []string{"äb"}, "\uFFFDb", []string{"äb"}},
		{"a line that is too long", 4, []string{long, "yy\nz\n"}, "z\n", []string{long, "z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kept, lines := feed(t, tt.keep, tt.pieces...)
			if kept != tt.kept {
				t.Errorf("kept %q, want %q", kept, tt.kept)
			}
			if !slices.Equal(lines, tt.lines) {
				t.Errorf("lines %q, want %q", lines, tt.lines)
			}
		})
	}
}

// However the text comes, what is kept and handed on is that of the whole.
func FuzzTail(f *testing.F) {
	f.Add("one\ntwo\nthree", 5, 3)
	f.Add("\xff\xf0\n\r\n\n", 1, 1)
	f.Add(strings.Repeat("äö\n", 100), 64, 7)
	f.Add(strings.Repeat("z", 3*proc.MaxLine)+"\nend", 4096, 5000)
	f.Fuzz(func(t *testing.T, text string, keep, piece int) {
		if keep < 1 || keep > 1<<16 || piece < 1 || len(text)/piece > 1000 {
			t.Skip()
		}
		var pieces []string
		for chunk := range slices.Chunk([]byte(text), piece) {
			pieces = append(pieces, string(chunk))
		}
		kept, lines := feed(t, keep, pieces...)

		want := text[max(0, len(text)-keep):]
		if _, rest, ok := strings.Cut(want, "\n"); ok && len(want) < len(text) && rest != "" {
			want = rest
		}
		if want = strings.ToValidUTF8(want, "\uFFFD"); kept != want {
			t.Errorf("kept %q, want %q", kept, want)
		}
		var wantLines []string
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			line = strings.TrimSuffix(line[:min(len(line), proc.MaxLine)], "\r")
			wantLines = append(wantLines, strings.ToValidUTF8(line, "\uFFFD"))
		}
		if !slices.Equal(lines, wantLines) {
			t.Errorf("lines %q, want %q", lines, wantLines)
		}
		if !utf8.ValidString(kept) {
			t.Errorf("not UTF-8: %q", kept)
		}
	})
}
