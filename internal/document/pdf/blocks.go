package pdf

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blocks makes paragraphs, headings, lists and tables of lines.
func blocks(lines []line, body float64) []block {
	b := builder{body: body}
	for i := 0; i < len(lines); {
		if n := tableLength(lines[i:]); n > 0 {
			b.flush()
			b.table(lines[i : i+n])
			i += n
			continue
		}
		b.line(&lines[i])
		i++
	}
	b.flush()
	return b.out
}

// A builder puts lines together to paragraphs.
type builder struct {
	body  float64
	out   []block
	text  string
	level int
	item  bool
	last  *line
	right float64 // how far the lines of the paragraph reach
}

// Fonts of symbols have their signs where Unicode has none of its own.
var (
	bullet   = regexp.MustCompile(`^([•◦▪■●○‣∙➢➤►✓✔❖]\s*|([·–-]|\*|o|[\x{E000}-\x{F8FF}])\s+)`)
	numbered = regexp.MustCompile(`^(\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d{1,3}\])\s+`)
	onlyMark = regexp.MustCompile(`^([•◦▪■●○‣∙➢➤►✓✔❖·–\x{E000}-\x{F8FF}-]|\*|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d{1,3}\])$`)
)

// line takes the next line.
func (b *builder) line(l *line) {
	text := l.text()
	level := b.heading(l, text)
	item := level == 0 && (bullet.MatchString(text) || numbered.MatchString(text))
	if b.last == nil || !b.goesOn(l, text, level, item) {
		b.flush()
		b.text, b.level, b.item = text, level, item
		b.right = l.right
	} else {
		b.text = joinText(b.text, text)
		b.right = max(b.right, l.right)
	}
	b.last = l
}

// heading returns the level of a line that looks like a heading, or 0.
func (b *builder) heading(l *line, text string) int {
	n := utf8.RuneCountInString(text)
	if n > 150 || n < 2 || b.body == 0 || !strings.ContainsFunc(text, unicode.IsLetter) {
		return 0
	}
	switch ratio := l.size() / b.body; {
	case ratio >= 1.7:
		return 1
	case ratio >= 1.3:
		return 2
	case ratio >= 1.12:
		return 3
	case ratio >= 0.97 && l.bold() && n < 90 && len(l.segments) == 1 && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ",") && !strings.HasSuffix(text, ":"):
		return 4
	}
	return 0
}

// goesOn reports whether a line belongs to the paragraph before it.
func (b *builder) goesOn(l *line, text string, level int, item bool) bool {
	gap := l.top - b.last.bottom
	size := max(l.size(), b.last.size())
	switch {
	case level != b.level, item:
		return false
	case gap > 0.75*size, gap < -1.5*size && l.top > b.last.top:
		return false
	case level > 0:
		return gap < 0.5*size && len(b.text) < 200 && gap > -size
	case gap < -size: // the next column
		return endsOpen(b.text) && startsLow(text)
	}
	short := b.last.right < b.right-0.2*(b.right-b.last.left)-2*size
	if short && !endsOpen(b.text) {
		return false
	}
	if short && len(l.segments) == 1 && b.last.right < l.right-0.3*(l.right-l.left) && !startsLow(text) {
		return false
	}
	// A line that begins further right begins a paragraph, where the one before is full.
	return l.left < b.last.left+1.2*size || b.item || startsLow(text)
}

func endsOpen(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r) || r == ',' || r == '-' || r == '\u00ad' || r == ';' || unicode.IsDigit(r) || r == '(' || r == '–'
}

func startsLow(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

// joinText joins two lines; a word that was divided is whole again.
func joinText(a, c string) string {
	if bare, ok := strings.CutSuffix(a, "\u00ad"); ok {
		if startsLow(c) && !compound(bare, c) {
			return bare + c
		}
		return bare + "-" + c
	}
	if strings.HasSuffix(a, "-") && startsLow(c) {
		return a + c
	}
	return a + " " + c
}

// compound reports whether a hyphen between two parts of a word is likely its own.
func compound(a, c string) bool {
	word := a[strings.LastIndexAny(a, " (")+1:]
	switch strings.ToLower(word) {
	case "multi", "non", "self", "well", "high", "low", "long", "short", "state", "real", "cross", "end", "co", "semi", "so", "up", "one", "two", "three", "large", "small", "open", "full", "half", "pre", "post", "ex", "all":
		return true
	}
	return strings.Contains(word, "-") || strings.HasPrefix(c, "based ") || strings.HasPrefix(c, "of-")
}

func (b *builder) flush() {
	text := strings.TrimSpace(strings.ReplaceAll(b.text, "\u00ad", "-"))
	if text != "" {
		if b.item {
			text = bullet.ReplaceAllString(text, "* ")
		}
		b.out = append(b.out, block{Level: b.level, Text: text, Item: b.item})
	}
	b.text, b.level, b.item, b.last = "", 0, false, nil
}

// tableLength returns how many of the lines are a table, or 0.
func tableLength(lines []line) int {
	if len(lines[0].segments) < 2 {
		return 0
	}
	rows, n := 0, 0
	for i := range lines {
		l := &lines[i]
		if i > 0 {
			gap := l.top - lines[i-1].bottom
			if gap > 2.2*max(l.size(), lines[i-1].size()) || gap < -l.size() {
				break
			}
		}
		if len(l.segments) >= 2 {
			rows++
			n = i + 1
			continue
		}
		// A line of one cell belongs to the table where it goes on below a cell, and
		// another row follows.
		if i+1 >= len(lines) || len(lines[i+1].segments) < 2 || !l.ruled && lines[i-1].ruled || !below(l, &lines[i-1]) && !alike(&lines[i-1], &lines[i+1]) {
			break
		}
	}
	if rows < 2 || listLike(lines[:n]) {
		return 0
	}
	return n
}

// alike reports whether two lines are rows of one table, by their cells.
func alike(a, b *line) bool {
	n := min(len(a.segments), len(b.segments))
	if n < 3 || len(a.segments) != len(b.segments) {
		return false
	}
	for i, s := range a.segments {
		if min(s.right, b.segments[i].right)-max(s.left, b.segments[i].left) <= 0 {
			return false
		}
	}
	return true
}

// below reports whether a line of one cell stands below one cell of another line.
func below(l, above *line) bool {
	hit := 0
	for _, s := range above.segments {
		if min(s.right, l.right)-max(s.left, l.left) > 0 {
			hit++
		}
	}
	return hit <= 1
}

// listLike reports whether all that stands on the left are bullets or numbers.
func listLike(lines []line) bool {
	for _, l := range lines {
		if len(l.segments) == 2 && !onlyMark.MatchString(l.segments[0].text) || len(l.segments) > 2 {
			return false
		}
	}
	return true
}

// A column is what stands one below the other.
type column struct{ left, right float64 }

// table writes lines as a table.
func (b *builder) table(lines []line) {
	columns := tableColumns(lines)
	if len(columns) < 2 {
		for i := range lines {
			b.line(&lines[i])
		}
		b.flush()
		return
	}
	var rows [][]string
	for i := range lines {
		l := &lines[i]
		cells := make([]string, len(columns))
		for _, s := range l.segments {
			c := place(columns, s)
			if cells[c] != "" {
				cells[c] += " "
			}
			cells[c] += strings.ReplaceAll(s.text, "\u00ad", "-")
		}
		if len(l.segments) == 1 && len(rows) > 0 {
			last := rows[len(rows)-1]
			for c, text := range cells {
				if text != "" && last[c] != "" && l.left > lines[0].left+1 {
					last[c] += " " + text
					cells = nil
				}
			}
		}
		if cells != nil {
			rows = append(rows, cells)
		}
	}
	b.out = append(b.out, block{Rows: underHeads(rows)})
}

// underHeads joins columns where heads stand beside what they are the heads of, as
// those do that are in the middle of cells whose texts are at their edge: columns with
// a head alone and others without one, as many of each between any that have both.
func underHeads(rows [][]string) [][]string {
	const head, body = 2, 1 // and 3 for both
	kinds := make([]int, len(rows[0]))
	for r, row := range rows {
		kind := body
		if r == 0 {
			kind = head
		}
		for c, text := range row {
			if text != "" {
				kinds[c] |= kind
			}
		}
	}
	to := make([]int, len(kinds)) // the column that each becomes a part of
	n := 0
	for from := 0; from < len(kinds); {
		end := from
		count := [4]int{}
		for end < len(kinds) && (kinds[end] == head || kinds[end] == body) {
			count[kinds[end]]++
			end++
		}
		if count[head] != count[body] || count[head] == 0 {
			for end = max(end, from+1); from < end; from++ {
				to[from], n = n, n+1
			}
			continue
		}
		at := [4]int{head: n, body: n}
		for ; from < end; from++ {
			to[from] = at[kinds[from]]
			at[kinds[from]]++
		}
		n += count[head]
	}
	if n < 2 {
		return rows // no table would be left
	}
	out := make([][]string, len(rows))
	for r, row := range rows {
		out[r] = make([]string, n)
		for c, text := range row {
			out[r][to[c]] += text
		}
	}
	return out
}

// tableColumns tells columns by the line with the most cells, and widens them by the
// others; what stands beside all of them is a column of its own.
func tableColumns(lines []line) []column {
	most := &lines[0]
	for i := range lines {
		if len(lines[i].segments) > len(most.segments) {
			most = &lines[i]
		}
	}
	var cols []column
	for _, s := range most.segments {
		cols = append(cols, column{s.left, s.right})
	}
	for i := range lines {
		if len(lines[i].segments) < 2 {
			continue
		}
		for _, s := range lines[i].segments {
			cols = widen(cols, s)
		}
	}
	return cols
}

// widen makes room for a cell.
func widen(cols []column, s segment) []column {
	hit, at := 0, 0
	for i, c := range cols {
		if min(c.right, s.right)-max(c.left, s.left) > 0 {
			hit++
			at = i
		}
	}
	switch {
	case hit == 1:
		c := &cols[at]
		left, right := min(c.left, s.left), max(c.right, s.right)
		if at == 0 || left > cols[at-1].right {
			c.left = left
		}
		if at == len(cols)-1 || right < cols[at+1].left {
			c.right = right
		}
	case hit == 0 && len(cols) < 60:
		i := 0
		for i < len(cols) && cols[i].left < s.left {
			i++
		}
		cols = append(cols[:i], append([]column{{s.left, s.right}}, cols[i:]...)...)
	}
	return cols
}

// place returns the column of a cell.
func place(cols []column, s segment) int {
	best, most := 0, -1e9
	for i, c := range cols {
		common := min(c.right, s.right) - max(c.left, s.left) // less than 0: how far away
		if common > most {
			best, most = i, common
		}
	}
	return best
}
