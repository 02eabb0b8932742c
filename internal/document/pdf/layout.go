package pdf

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// A run is text in one line and one font. Positions are in points from the upper
// left.
type run struct {
	text                     string
	left, top, right, bottom float64
	size                     float64
	bold                     bool
}

// A segment is text that stands together in a line: a line of a column, or a cell.
type segment struct{ run }

// A line is what stands at one height.
type line struct {
	segments                 []segment
	left, top, right, bottom float64
	ruled                    bool // lines from above to below are drawn beside it
}

func (l *line) add(s segment) {
	if len(l.segments) == 0 {
		l.left, l.top, l.right, l.bottom = s.left, s.top, s.right, s.bottom
	}
	l.segments = append(l.segments, s)
	l.left, l.right = min(l.left, s.left), max(l.right, s.right)
	l.top, l.bottom = min(l.top, s.top), max(l.bottom, s.bottom)
}

func (l *line) text() string {
	parts := make([]string, len(l.segments))
	for i, s := range l.segments {
		parts[i] = s.text
	}
	return strings.Join(parts, " ")
}

func (l *line) size() float64 {
	most := 0.0
	for _, s := range l.segments {
		most = max(most, s.size)
	}
	return most
}

func (l *line) bold() bool {
	for _, s := range l.segments {
		if !s.bold {
			return false
		}
	}
	return true
}

// layout returns what stands on a page in the order in which it is read.
func layout(runs []run, drawn rules, width, height float64, f *furniture) []block {
	segments := joinRuns(runs, drawn)
	var lines []line
	if gutter := columns(segments, width); gutter > 0 {
		lines = inOrder(segments, gutter)
	} else {
		lines = byHeight(segments, drawn)
	}
	for i := range lines {
		lines[i].ruled = drawn.beside(lines[i].top, lines[i].bottom)
	}
	body := bodySize(runs)
	return blocks(f.clear(lines, height, body), body)
}

// joinRuns joins what follows on another in the file and in its line.
func joinRuns(runs []run, drawn rules) []segment {
	var out []segment
	for _, r := range runs {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if overlap(last.run, r) && r.left >= last.right-0.6*r.size {
				if gap := r.left - last.right; gap < 1.1*max(r.size, last.size) && !drawn.between(last.run, r) {
					last.join(r, gap)
					continue
				}
			}
		}
		out = append(out, segment{r})
	}
	return out
}

// overlap reports whether two runs stand at one height.
func overlap(a, b run) bool {
	common := min(a.bottom, b.bottom) - max(a.top, b.top)
	return common > 0.4*min(a.bottom-a.top, b.bottom-b.top)
}

func (s *segment) join(r run, gap float64) {
	with := ""
	if gap > 0.12*r.size && !strings.HasSuffix(s.text, " ") {
		with = " "
	}
	// What is a size smaller and further up or down is an index.
	s.text += with + r.text
	if utf8.RuneCountInString(r.text)*2 > utf8.RuneCountInString(s.text) {
		s.size, s.bold = r.size, r.bold
	}
	s.right = max(s.right, r.right)
	s.top, s.bottom = min(s.top, r.top), max(s.bottom, r.bottom)
}

// columns returns where the gap between two columns of text is, or 0.
func columns(segments []segment, width float64) float64 {
	var prose []segment
	for _, s := range segments {
		if s.right-s.left > 0.25*width && utf8.RuneCountInString(s.text) > 25 {
			prose = append(prose, s)
		}
	}
	if len(prose) < 16 {
		return 0
	}
	best, bestCrossed := 0.0, len(prose)
	for x := 0.3 * width; x < 0.7*width; x += 3 {
		left, right, crossed := 0, 0, 0
		for _, s := range prose {
			switch {
			case s.right < x:
				left++
			case s.left > x:
				right++
			default:
				crossed++
			}
		}
		if left >= 8 && right >= 8 && crossed < bestCrossed {
			best, bestCrossed = x, crossed
		}
	}
	if bestCrossed*5 > len(prose) {
		return 0
	}
	return best
}

// inOrder makes lines of segments in the order of the file, and keeps what stands
// on either side of the gutter apart.
func inOrder(segments []segment, gutter float64) []line {
	var lines []line
	for _, s := range segments {
		if n := len(lines); n > 0 {
			last := &lines[n-1]
			across := last.right < gutter && s.left > gutter
			if overlap(run{top: last.top, bottom: last.bottom}, s.run) && s.left >= last.right && !across {
				last.add(s)
				continue
			}
		}
		var l line
		l.add(s)
		lines = append(lines, l)
	}
	return lines
}

// byHeight makes lines of segments by where they stand.
func byHeight(segments []segment, drawn rules) []line {
	sorted := slices.Clone(segments)
	slices.SortStableFunc(sorted, func(a, b segment) int {
		return cmp.Compare((a.top+a.bottom)/2, (b.top+b.bottom)/2)
	})
	var lines []line
	for _, s := range sorted {
		if n := len(lines); n > 0 {
			last := lines[n-1].segments[len(lines[n-1].segments)-1]
			middle := (s.top + s.bottom) / 2
			if overlap(last.run, s.run) && (middle-(last.top+last.bottom)/2) < 0.5*min(s.size, last.size) {
				lines[n-1].add(s)
				continue
			}
		}
		var l line
		l.add(s)
		lines = append(lines, l)
	}
	for i := range lines {
		lines[i].settle(drawn)
	}
	return lines
}

// settle puts the segments of a line in their order, and joins those that stand
// close together.
func (l *line) settle(drawn rules) {
	slices.SortStableFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.left, b.left) })
	joined := l.segments[:1]
	for _, s := range l.segments[1:] {
		last := &joined[len(joined)-1]
		if gap := s.left - last.right; gap < 0.9*max(s.size, last.size) && !drawn.between(last.run, s.run) {
			last.join(s.run, gap)
			continue
		}
		joined = append(joined, s)
	}
	l.segments = joined
}

// bodySize returns the size of most letters.
func bodySize(runs []run) float64 {
	counts := map[int]int{}
	best := 0
	for _, r := range runs {
		k := int(r.size*2 + 0.5)
		counts[k] += len(r.text)
		if counts[k] > counts[best] {
			best = k
		}
	}
	return float64(best) / 2
}

// furniture is what stands at the edge of every page: it is read once.
type furniture struct{ top, bottom map[string]bool }

func (f *furniture) clear(lines []line, height, body float64) []line {
	top, bottom := map[string]bool{}, map[string]bool{}
	out := lines[:0]
	for _, l := range lines {
		text := digitless(l.text())
		edge, seen := top, f.top
		switch {
		case l.size() > 1.1*body: // a heading, also where many are alike
			out = append(out, l)
			continue
		case l.bottom < 0.1*height:
		case l.top > 0.9*height:
			edge, seen = bottom, f.bottom
		default:
			out = append(out, l)
			continue
		}
		edge[text] = true
		if seen[text] || strings.Trim(text, "# -–|/") == "" || text == "page #" || text == "page # of #" {
			continue
		}
		out = append(out, l)
	}
	f.top, f.bottom = top, bottom
	return out
}

// digitless returns text with # in the place of each number.
func digitless(s string) string {
	var b strings.Builder
	digits := false
	for _, r := range strings.ToLower(s) {
		if unicode.IsDigit(r) {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return draft.Line(b.String())
}
