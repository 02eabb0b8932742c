package hostlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxNames = 5000 // units and programs that are counted apart
	topNames = 20
	maxSlots = 60
)

type statisticsInput struct {
	Scope
}

type statisticsOutput struct {
	Source string         `json:"source" jsonschema:"what was read"`
	Start  string         `json:"start" jsonschema:"earliest time that was asked for"`
	End    string         `json:"end" jsonschema:"latest time that was asked for"`
	Total  int            `json:"total" jsonschema:"how many entries match"`
	Levels map[string]int `json:"levels" jsonschema:"entries of each level"`
	Units  []nameCount    `json:"units" jsonschema:"units or programs with most entries"`
	Slots  []slotCount    `json:"slots" jsonschema:"entries in each stretch of time that has any"`
	Step   string         `json:"step" jsonschema:"length of a stretch of time"`
	Notes  []string       `json:"notes" jsonschema:"what could not be read, or was left out"`
}

type nameCount struct {
	Name   string `json:"name"`
	Count  int    `json:"count"`
	Errors int    `json:"errors"` // of level error or more severe
}

type slotCount struct {
	Start  string `json:"start"`
	Count  int    `json:"count"`
	Errors int    `json:"errors"`
}

func (s *server) addStatistics(srv *mcp.Server) {
	add(s, srv, spec{
		name: "log_statistics", title: "Log statistics",
		description: "Counts the entries of this machine's logs by level, by unit or program, and over time (stretches of minutes, hours or days, as fits), " +
			"each with the number of errors. Answers when trouble began and who makes the noise. Takes the filters of query_host_log.",
		defaults: map[string]any{"last_minutes": 60},
		bounds:   map[string][2]int{"last_minutes": {1, mostMinutes}},
	}, s.statistics)
}

// counts is what is counted of entries.
type counts struct {
	total  int
	levels [len(levelNames)]int
	names  map[string]*nameCount
	slots  map[time.Time]*slotCount
	step   time.Duration
	zone   *time.Location
}

func (c *counts) visit(e *entry, _ bool) bool {
	failed := 0
	if e.level <= 3 {
		failed = 1
	}
	c.total++
	c.levels[e.level]++
	name := e.writer()
	n := c.names[name]
	if n == nil {
		if len(c.names) >= maxNames {
			name = "others"
		}
		if n = c.names[name]; n == nil {
			n = &nameCount{Name: name}
			c.names[name] = n
		}
	}
	n.Count, n.Errors = n.Count+1, n.Errors+failed
	at := c.slot(e.at)
	slot := c.slots[at]
	if slot == nil {
		slot = &slotCount{}
		c.slots[at] = slot
	}
	slot.Count, slot.Errors = slot.Count+1, slot.Errors+failed
	return true
}

// slot returns the beginning of the stretch that a time is in, by the local clock.
func (c *counts) slot(t time.Time) time.Time {
	t = t.In(c.zone)
	_, offset := t.Zone()
	shift := time.Duration(offset) * time.Second
	return t.Add(shift).Truncate(c.step).Add(-shift)
}

// step returns the stretch that shows a time in at most sixty parts.
func step(d time.Duration) time.Duration {
	for _, s := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if d/s < maxSlots || s > 24*time.Hour {
			return s
		}
	}
	return 7 * 24 * time.Hour
}

func (s *server) statistics(ctx context.Context, in statisticsInput) (string, statisticsOutput, error) {
	q, err := s.understand(in.Scope)
	if err != nil {
		return "", statisticsOutput{}, err
	}
	c := &counts{names: map[string]*nameCount{}, slots: map[time.Time]*slotCount{}, step: step(q.end.Sub(q.start)), zone: s.zone}
	w := &walk{s: s, q: q, visit: c.visit}
	name, err := w.run(ctx)
	if err != nil {
		return "", statisticsOutput{}, err
	}
	out := statisticsOutput{
		Source: plain(name, 200), Start: s.stamp(q.start), End: s.stamp(q.end), Total: c.total, Levels: map[string]int{},
		Units: []nameCount{}, Slots: []slotCount{}, Step: duration(c.step), Notes: w.said(),
	}
	for level, n := range c.levels {
		if n > 0 {
			out.Levels[levelNames[level]] = n
		}
	}
	for _, n := range c.names {
		out.Units = append(out.Units, nameCount{plain(n.Name, 100), n.Count, n.Errors})
	}
	slices.SortFunc(out.Units, func(a, b nameCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Name, b.Name)) })
	if more := len(out.Units) - topNames; more > 0 {
		out.Units = out.Units[:topNames]
		out.Notes = append(out.Notes, fmt.Sprintf("%d more units or programs wrote less", more))
	}
	for at, n := range c.slots {
		out.Slots = append(out.Slots, slotCount{s.stamp(at), n.Count, n.Errors})
	}
	slices.SortFunc(out.Slots, func(a, b slotCount) int { return cmp.Compare(a.Start, b.Start) })
	if more := len(out.Slots) - maxSlots; more > 0 {
		out.Slots = out.Slots[more:]
		out.Notes = append(out.Notes, fmt.Sprintf("%d earlier stretches of time were left out", more))
	}
	return s.statisticsText(q, w, out), out, nil
}

func (s *server) statisticsText(q query, w *walk, out statisticsOutput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Statistics of %s, %s\n%s\n%d entries match.\n", out.Source, s.between(q), notes(w.lead), out.Total)
	if out.Total == 0 {
		fmt.Fprintf(&b, "\nNothing matches in %d entries of %d files.%s\n", w.entries, w.files, s.hint(q, w))
		b.WriteString(notes(out.Notes[len(w.lead):]))
		return b.String()
	}
	b.WriteString("\n| level | entries |\n| --- | --- |\n")
	for _, name := range levelNames {
		if n := out.Levels[name]; n > 0 {
			fmt.Fprintf(&b, "| %s | %d |\n", name, n)
		}
	}
	b.WriteString("\n| unit or program | entries | errors |\n| --- | --- | --- |\n")
	for _, n := range out.Units {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", cell(n.Name), n.Count, n.Errors)
	}
	most := 1
	for _, n := range out.Slots {
		most = max(most, n.Count)
	}
	fmt.Fprintf(&b, "\n| from, for %s | entries | errors | |\n| --- | --- | --- | --- |\n", out.Step)
	for _, n := range out.Slots {
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", n.Start[:19], n.Count, n.Errors, strings.Repeat("█", (n.Count*20+most-1)/most))
	}
	b.WriteString(notes(out.Notes[len(w.lead):]))
	return cut(b.String(), statisticsChars)
}

func duration(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
