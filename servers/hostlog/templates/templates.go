// Package templates finds the few sentences that many log lines are made of. Words
// that differ from line to line become marks, and lines that are nearly the same
// become one template:
//
//	m := templates.New(1000)
//	m.Add("sshd", "Failed password for bob from 10.0.0.7 port 4711", at)
//	m.Add("sshd", "Failed password for eve from 10.0.0.8 port 4712", at)
//	m.Top(20) // one: Failed password for <*> from <ip> port <num>, twice
//
// It follows the idea of Drain (He and others, 2017): a line is compared only with
// the templates of its program, of its number of words and of its first word. The
// same lines in the same order give the same templates. Memory is bounded by the
// number of templates; what finds no place any more is counted.
package templates

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	maxWords   = 60
	similarity = 0.6 // of words that must be the same
	varying    = "<*>"
)

// A Template is a sentence and what is known of the lines that have it.
type Template struct {
	Program     string
	Text        string
	Count       int
	First, Last time.Time // of the lines that have a time
	Level       int       // the most severe one, 0 to 7; 8 if none is known
	Levels      [9]int    // lines of each level
	Example     string    // the first line of the most severe level

	words []string
}

// A Miner collects templates.
type Miner struct {
	most   int
	count  int
	groups map[group][]*Template
	lines  int
	beyond int
}

type group struct {
	program string
	words   int
	first   string
}

// New returns a miner of at most that many templates.
func New(most int) *Miner { return &Miner{most: most, groups: map[group][]*Template{}} }

// Add adds a line. Level is 8 where it is not known, at is zero likewise.
func (m *Miner) Add(program, line string, level int, at time.Time) {
	m.lines++
	words := split(line)
	g := group{program, len(words), ""}
	if len(words) > 0 && !strings.Contains(words[0], "<") {
		g.first = words[0]
	}
	t := m.nearest(g, words)
	if t == nil {
		if m.count >= m.most {
			m.beyond++
			return
		}
		t = &Template{Program: program, Example: strings.Clone(line), Level: level, First: at, Last: at, words: words}
		m.groups[g] = append(m.groups[g], t)
		m.count++
	}
	t.Count++
	t.Levels[level]++
	if level < t.Level {
		t.Level, t.Example = level, strings.Clone(line)
	}
	if !at.IsZero() {
		if t.First.IsZero() || at.Before(t.First) {
			t.First = at
		}
		if at.After(t.Last) {
			t.Last = at
		}
	}
}

// nearest returns the template of a group that a line has, and widens it.
func (m *Miner) nearest(g group, words []string) *Template {
	var best *Template
	most := -1
	for _, t := range m.groups[g] {
		same := 0
		for i, w := range words {
			if t.words[i] == w {
				same++
			}
		}
		if same > most {
			best, most = t, same
		}
	}
	if best == nil || float64(most) < similarity*float64(len(words)) {
		return nil
	}
	for i, w := range words {
		if best.words[i] != w {
			best.words[i] = varying
		}
	}
	return best
}

// Lines returns the number of lines that were added.
func (m *Miner) Lines() int { return m.lines }

// Beyond returns the number of lines that found no place.
func (m *Miner) Beyond() int { return m.beyond }

// Count returns the number of templates.
func (m *Miner) Count() int { return m.count }

// Top returns the templates with most lines, at most n.
func (m *Miner) Top(n int) []*Template {
	list := make([]*Template, 0, m.count)
	for _, g := range m.groups {
		list = append(list, g...)
	}
	for _, t := range list {
		t.Text = strings.Join(t.words, " ")
	}
	slices.SortFunc(list, func(a, b *Template) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Program, b.Program),
			cmp.Compare(a.Text, b.Text), cmp.Compare(a.Example, b.Example))
	})
	return list[:min(n, len(list))]
}

func split(line string) []string {
	words := strings.Fields(line)
	if len(words) > maxWords {
		words = append(words[:maxWords:maxWords], "…")
	}
	for i, w := range words {
		words[i] = mask(w)
	}
	return words
}
