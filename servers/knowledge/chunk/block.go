package chunk

import (
	"strings"
	"unicode/utf8"
)

type kind int

const (
	prose kind = iota // cut between sentences, words, characters
	heading
	whole // never cut: code, table, formula
	blank
)

// A block is a run of lines that belong together. The texts of all blocks are the
// document.
type block struct {
	kind  kind
	text  string
	level int    // of a heading
	title string // of a heading
}

// blocks cuts Markdown into its blocks.
func blocks(markdown string) []block {
	lines := strings.SplitAfter(markdown, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []block
	for i := 0; i < len(lines); {
		b, n := next(lines[i:])
		out = append(out, b)
		i += n
	}
	return out
}

// frontMatter returns the length of the settings that a document may begin with,
// between two lines of dashes.
func frontMatter(markdown string) int {
	const most = 10_000
	first, rest, _ := strings.Cut(markdown, "\n")
	if strings.TrimRight(first, "\r") != "---" {
		return 0
	}
	end := strings.Index("\n"+rest[:min(len(rest), most)], "\n---\n")
	if end < 0 {
		return 0
	}
	return len(first) + 1 + end + len("---\n")
}

// next returns the first block of lines, and how many lines it has.
func next(lines []string) (block, int) {
	first := strings.TrimSpace(lines[0])
	switch {
	case first == "":
		return take(blank, lines, count(lines, func(s string) bool { return strings.TrimSpace(s) == "" }))
	case fence(first) != "":
		return take(whole, lines, fenced(lines, fence(first)))
	case first == "$$" || strings.HasPrefix(first, "$$") && !strings.HasSuffix(first[2:], "$$"):
		return take(whole, lines, until(lines, "$$"))
	case first == `\[`:
		return take(whole, lines, until(lines, `\]`))
	case table(lines):
		return take(whole, lines, count(lines, func(s string) bool { return strings.Contains(s, "|") }))
	}
	if level, title := atx(lines[0]); level > 0 {
		b, n := take(heading, lines, 1)
		b.level, b.title = level, title
		return b, n
	}
	if level := setext(lines); level > 0 {
		b, n := take(heading, lines, 2)
		b.level, b.title = level, first
		return b, n
	}
	return take(prose, lines, paragraph(lines))
}

func take(k kind, lines []string, n int) (block, int) {
	return block{kind: k, text: strings.Join(lines[:n], "")}, n
}

func count(lines []string, is func(string) bool) int {
	for i, line := range lines {
		if !is(line) {
			return max(i, 1)
		}
	}
	return len(lines)
}

// paragraph returns how many lines belong to the one that begins.
func paragraph(lines []string) int {
	for i := 1; i < len(lines); i++ {
		s := strings.TrimSpace(lines[i])
		level, _ := atx(lines[i])
		if s == "" || level > 0 || fence(s) != "" || strings.HasPrefix(s, "$$") || table(lines[i:]) {
			return i
		}
		if setext(lines[i:]) > 0 {
			return i
		}
	}
	return len(lines)
}

// fence returns the mark that opens a block of code, or nothing.
func fence(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// fenced returns how many lines a block of code has, with its fences. One that is
// not closed goes on to the end.
func fenced(lines []string, mark string) int {
	for i := 1; i < len(lines); i++ {
		s := strings.TrimSpace(lines[i])
		if strings.HasPrefix(s, mark) && strings.Trim(s, mark[:1]) == "" {
			return i + 1
		}
	}
	return len(lines)
}

// until returns how many lines there are up to one that ends with the mark. Where
// none does in a page, it was no mark.
func until(lines []string, mark string) int {
	const page = 200
	for i := 1; i < min(len(lines), page); i++ {
		if strings.HasSuffix(strings.TrimSpace(lines[i]), mark) {
			return i + 1
		}
	}
	return 1
}

// table reports whether a table begins: a line with cells above one of dashes.
func table(lines []string) bool {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") {
		return false
	}
	rule := strings.TrimSpace(lines[1])
	return strings.Contains(rule, "-") && strings.Contains(rule, "|") && strings.Trim(rule, "|:- \t") == ""
}

// atx returns the level and text of a heading that is marked by #.
func atx(line string) (level int, title string) {
	s := strings.TrimRight(line, " \t\r\n")
	if strings.HasPrefix(s, "    ") || strings.HasPrefix(s, "\t") {
		return 0, ""
	}
	s = strings.TrimLeft(s, " ")
	level = len(s) - len(strings.TrimLeft(s, "#"))
	if level == 0 || level > 6 || len(s) > level && s[level] != ' ' && s[level] != '\t' {
		return 0, ""
	}
	title = strings.TrimSpace(s[level:])
	if bare := strings.TrimRight(title, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		title = strings.TrimSpace(bare) // without the marks that close it
	}
	return level, title
}

// setext returns the level of a heading that is underlined.
func setext(lines []string) int {
	if len(lines) < 2 || strings.TrimSpace(lines[0]) == "" || strings.ContainsAny(strings.TrimSpace(lines[0])[:1], "-*+>|=#") {
		return 0
	}
	under := strings.TrimSpace(lines[1])
	switch {
	case len(under) >= 3 && strings.Trim(under, "=") == "":
		return 1
	case len(under) >= 3 && strings.Trim(under, "-") == "":
		return 2
	}
	return 0
}

// pieces cuts a block that is longer than most characters, where it may be.
func (b block) pieces(most int) []string {
	switch {
	case b.kind == prose:
		return sentences(b.text, most)
	case utf8.RuneCountInString(b.text) > hard*max(most, 1000):
		return atLines(b.text, most)
	}
	return []string{b.text}
}

// atLines cuts a text between lines into pieces of so many characters at most, or of
// one line.
func atLines(text string, most int) []string {
	var pieces []string
	var piece strings.Builder
	length := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		n := utf8.RuneCountInString(line)
		if length > 0 && length+n > most {
			pieces = append(pieces, piece.String())
			piece.Reset()
			length = 0
		}
		piece.WriteString(line)
		length += n
	}
	if length > 0 {
		pieces = append(pieces, piece.String())
	}
	return pieces
}
