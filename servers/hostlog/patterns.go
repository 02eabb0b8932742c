package hostlog

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/hostlog/templates"
)

const (
	maxTemplates  = 2000 // that are kept while mining
	maxPatterns   = 50
	minedChars    = 1000 // bytes of a line that are looked at
	templateChars = 300
)

type patternsInput struct {
	Scope

	MaxPatterns int `json:"max_patterns,omitempty" jsonschema:"how many templates to return, those with most lines, 1 to 50"`
}

type patternsOutput struct {
	Source   string         `json:"source" jsonschema:"what was read"`
	Start    string         `json:"start" jsonschema:"earliest time that was asked for"`
	End      string         `json:"end" jsonschema:"latest time that was asked for"`
	Total    int            `json:"total" jsonschema:"how many entries match"`
	Patterns []patternValue `json:"patterns" jsonschema:"templates, those with most entries first"`
	Found    int            `json:"found" jsonschema:"how many templates there are"`
	Notes    []string       `json:"notes" jsonschema:"what could not be read, or was left out"`
}

type patternValue struct {
	Count    int            `json:"count"`
	Level    string         `json:"level"`  // the most severe one, which the example has
	Levels   map[string]int `json:"levels"` // entries of each level
	Program  string         `json:"program,omitempty"`
	Template string         `json:"template"`
	First    string         `json:"first,omitempty"`
	Last     string         `json:"last,omitempty"`
	Example  string         `json:"example"`
}

func (s *server) addPatterns(srv *mcp.Server) {
	add(s, srv, spec{
		name: "log_patterns", title: "Patterns of a log",
		description: "Groups the entries of this machine's logs by the sentence that they are made of: numbers, addresses, ids and paths become marks such as <num>, and " +
			"each template comes with its count, how many entries of each level it has, first and last time and an example of the most severe level. Makes about twenty lines of 100,000: a good first look. " +
			"Takes the filters of query_host_log.",
		defaults: map[string]any{"last_minutes": 60, "max_patterns": 20},
		bounds:   map[string][2]int{"last_minutes": {1, mostMinutes}, "max_patterns": {1, maxPatterns}},
	}, s.patterns)
}

func (s *server) patterns(ctx context.Context, in patternsInput) (string, patternsOutput, error) {
	q, err := s.understand(in.Scope)
	if err != nil {
		return "", patternsOutput{}, err
	}
	m := templates.New(maxTemplates)
	w := &walk{s: s, q: q, visit: func(e *entry, _ bool) bool {
		line, _, _ := strings.Cut(e.text, "\n")
		m.Add(e.writer(), clean(line, minedChars), e.level, e.at)
		return true
	}}
	name, err := w.run(ctx)
	if err != nil {
		return "", patternsOutput{}, err
	}
	out := patternsOutput{
		Source: plain(name, 200), Start: s.stamp(q.start), End: s.stamp(q.end), Total: m.Lines(), Found: m.Count(),
		Patterns: []patternValue{}, Notes: w.said(),
	}
	if n := m.Beyond(); n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d entries fit none of the first %d templates and were not grouped; filter by unit", n, maxTemplates))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Patterns of %s, %s\n%s\n%d entries, %d templates.\n", out.Source, s.between(q), notes(w.lead), out.Total, out.Found)
	if out.Total == 0 {
		fmt.Fprintf(&b, "\nNothing matches in %d entries of %d files.%s\n", w.entries, w.files, s.hint(q, w))
	}
	left := patternsChars - 600 - runes(b.String()) - runes(notes(out.Notes[len(w.lead):]))
	shownEntries := 0
	for _, t := range m.Top(clamp(in.MaxPatterns, 20, maxPatterns)) {
		v := patternValue{
			Count: t.Count, Level: levelNames[t.Level], Levels: map[string]int{}, Program: plain(t.Program, 80), Template: plain(shown(t.Text, templateChars), templateChars),
			First: s.stamp(t.First), Last: s.stamp(t.Last), Example: plain(shown(t.Example, templateChars), templateChars),
		}
		for level, n := range t.Levels {
			if n > 0 {
				v.Levels[levelNames[level]] = n
			}
		}
		block := v.markdown()
		if left -= runes(block); left < 0 {
			break
		}
		b.WriteString(block)
		out.Patterns = append(out.Patterns, v)
		shownEntries += v.Count
	}
	if rest := out.Found - len(out.Patterns); rest > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d rarer templates with %d entries are not shown. Filter by unit or level to see them", rest, out.Total-shownEntries-m.Beyond()))
	}
	b.WriteString(notes(out.Notes[len(w.lead):]))
	return b.String(), out, nil
}

// levels prints the level that all entries have, or how many have each.
func (v patternValue) levels() string {
	if len(v.Levels) == 1 {
		return v.Level
	}
	var parts []string
	for _, name := range levelNames {
		if n := v.Levels[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (v patternValue) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %d × %s %s\n    %s\n", v.Count, v.levels(), v.Program, v.Template)
	if v.Count > 1 {
		fmt.Fprintf(&b, "%s to %s, such as:\n    %s\n", v.First, v.Last, v.Example)
	} else {
		fmt.Fprintf(&b, "at %s:\n    %s\n", v.First, v.Example)
	}
	return b.String()
}
