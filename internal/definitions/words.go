package definitions

import (
	"slices"
	"strings"
	"unicode"
)

const (
	maxDiffWords = 2000 // of one side, after what both begin and end with
	context      = 12   // words and spaces beside a change that are shown
)

// wordDiff shows how a text changed: [-what is gone-] and {+what is new+}, with some
// words beside it.
func wordDiff(was, is string) string {
	a, b := splitText(was), splitText(is)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var steps []step
	steps = append(steps, step{same, a[:head]})
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x) > maxDiffWords || len(y) > maxDiffWords {
		steps = append(steps, step{gone, x}, step{fresh, y})
	} else {
		steps = append(steps, align(x, y)...)
	}
	steps = append(steps, step{same, a[len(a)-tail:]})
	return clip(render(steps), 2*maxShown)
}

type side byte

const (
	same side = iota
	gone
	fresh
)

// A step is some words that both texts have, or one of them.
type step struct {
	side  side
	words []string
}

// splitText cuts a text into words and the spaces between them; letters that are
// written without spaces are words.
func splitText(s string) []string {
	var out []string
	start, space := 0, false
	for i, r := range s {
		wide := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
		if i > start && (space != unicode.IsSpace(r) || wide) {
			out = append(out, s[start:i])
			start = i
		}
		space = unicode.IsSpace(r)
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// align finds the longest sequence of words that both have.
func align(a, b []string) []step {
	width := len(b) + 1
	length := make([]uint16, (len(a)+1)*width)
	for i, from := range slices.Backward(a) {
		for j, to := range slices.Backward(b) {
			if from == to {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var steps []step
	add := func(s side, word string) {
		if n := len(steps); n == 0 || steps[n-1].side != s {
			steps = append(steps, step{side: s})
		}
		last := &steps[len(steps)-1]
		last.words = append(last.words, word)
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			add(same, a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[(i+1)*width+j] >= length[i*width+j+1]:
			add(gone, a[i])
			i++
		default:
			add(fresh, b[j])
			j++
		}
	}
	return steps
}

func render(steps []step) string {
	var b strings.Builder
	for i, s := range steps {
		words := s.words
		if len(words) == 0 {
			continue
		}
		switch s.side {
		case gone:
			b.WriteString("[-" + Show(strings.Join(words, ""), true) + "-]")
		case fresh:
			b.WriteString("{+" + Show(strings.Join(words, ""), true) + "+}")
		case same:
			first, last := i == 0, i == len(steps)-1
			switch {
			case len(words) <= 2*context && !first && !last:
				b.WriteString(Show(strings.Join(words, ""), true))
				continue
			case !first:
				b.WriteString(Show(strings.Join(words[:min(context, len(words))], ""), true))
			}
			if first && len(words) > context || !first && len(words) > context {
				b.WriteString("… ")
			}
			if !last {
				b.WriteString(Show(strings.Join(words[max(0, len(words)-context):], ""), true))
			}
		}
	}
	return strings.TrimSpace(b.String())
}
