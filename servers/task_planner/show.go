package planner

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
)

// A plan is the list as a program wants it: the part of it that the text shows.
type plan struct {
	Message   string `json:"message,omitempty" jsonschema:"what the call did"`
	Total     int    `json:"total" jsonschema:"todos in the plan"`
	Pending   int    `json:"pending" jsonschema:"todos that are not done"`
	Completed int    `json:"completed" jsonschema:"todos that are done"`
	Todos     []todo `json:"todos" jsonschema:"the todos that are shown, in the order in which they were added"`
	LeftOut   int    `json:"left_out,omitempty" jsonschema:"todos after these that did not fit"`
}

// cleanTitles returns the titles that say something, each as one line.
func cleanTitles(titles []string) ([]string, error) {
	if len(titles) == 0 {
		return nil, errors.New("titles is empty: give at least one todo")
	}
	if len(titles) > maxTitles {
		return nil, fmt.Errorf("%d titles are too many for one call; nothing was added. Give at most %d", len(titles), maxTitles)
	}
	var clean []string
	for i, title := range titles {
		if len(title) > 4*maxTitle*2 { // far too long, however it is written
			return nil, tooLong(i)
		}
		line := oneLine(title)
		if utf8.RuneCountInString(line) > maxTitle {
			return nil, tooLong(i)
		}
		if line != "" {
			clean = append(clean, line)
		}
	}
	if len(clean) == 0 {
		return nil, errors.New("no title has any text: give at least one todo")
	}
	return clean, nil
}

func tooLong(i int) error {
	return fmt.Errorf("titles[%d] has more than %d characters; nothing was added. A title is one short sentence", i, maxTitle)
}

// oneLine returns text without line ends and other control characters, so that a
// title cannot look like further lines of the plan.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

func addedMessage(added []todo) string {
	if len(added) == 1 {
		return fmt.Sprintf("Task added: %q", short(added[0].Title))
	}
	return fmt.Sprintf("Added %d tasks: %s", len(added), names(added))
}

// names lists titles, as many as a message needs to be understood.
func names(todos []todo) string {
	const shown = 10
	var list []string
	for i, t := range todos {
		if i == shown {
			list = append(list, fmt.Sprintf("and %d more", len(todos)-shown))
			break
		}
		list = append(list, short(t.Title))
	}
	return strings.Join(list, "; ")
}

// short bounds a text of the model that is given back in a message.
func short(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// A choice is what ids of a call stand for.
type choice struct {
	todos     []todo
	ids       map[string]bool
	missing   []string
	ambiguous []string
}

// choose finds todos by the beginnings of their ids. One that several todos share
// stands for none of them.
func choose(todos []todo, given []string) choice {
	c := choice{ids: map[string]bool{}}
	for _, id := range given {
		want := cleanID(id)
		var match []todo
		for _, t := range todos {
			if want != "" && strings.HasPrefix(t.ID, want) {
				match = append(match, t)
			}
		}
		switch {
		case len(match) == 0:
			c.missing = append(c.missing, short(oneLine(id)))
		case len(match) > 1:
			c.ambiguous = append(c.ambiguous, short(want))
		case !c.ids[match[0].ID]:
			c.ids[match[0].ID] = true
			c.todos = append(c.todos, match[0])
		}
	}
	return c
}

// cleanID takes off what models copy along from the shown plan.
func cleanID(id string) string {
	if len(id) > 100 {
		return ""
	}
	return strings.ToLower(strings.Trim(id, " \t\n()[]#`\"'…"))
}

func (c choice) failure() error {
	return errors.New(c.trouble("Task IDs not found: ") + ". Nothing was changed; list_todos shows the ids")
}

func (c choice) message(verb string) string {
	text := verb + ": " + names(c.todos)
	if trouble := c.trouble("Not found: "); trouble != "" {
		text += "\n" + trouble
	}
	return text
}

// trouble says which ids stand for nothing.
func (c choice) trouble(missing string) string {
	var parts []string
	if len(c.missing) > 0 {
		parts = append(parts, missing+some(c.missing))
	}
	if len(c.ambiguous) > 0 {
		parts = append(parts, "More than one ID begins with: "+some(c.ambiguous))
	}
	return strings.Join(parts, "\n")
}

func some(ids []string) string {
	const shown = 10
	if len(ids) > shown {
		return strings.Join(ids[:shown], ", ") + fmt.Sprintf(" and %d more", len(ids)-shown)
	}
	return strings.Join(ids, ", ")
}

// answer shows the plan, as much of it as fits.
func answer(message string, todos []todo, in listInput) ([]mcp.Content, plan, error) {
	p := plan{Message: message, Total: len(todos), Todos: []todo{}}
	var chosen []todo
	for _, t := range todos {
		if t.Completed {
			p.Completed++
		}
		if in.Status == "" || in.Status == "all" || t.Completed == (in.Status == "completed") {
			chosen = append(chosen, t)
		}
	}
	p.Pending = p.Total - p.Completed
	from := min(max(in.Offset, 0), len(chosen))

	var b strings.Builder
	if message != "" {
		b.WriteString(message + "\n\n")
	}
	fmt.Fprintf(&b, "# Task Plan\n\nTotal: %d | Pending: %d | Completed: %d\n\n", p.Total, p.Pending, p.Completed)
	switch {
	case len(todos) == 0:
		b.WriteString("No tasks planned yet.\n")
	case len(chosen) == 0:
		fmt.Fprintf(&b, "None of them is %s.\n", in.Status)
	case from == len(chosen):
		fmt.Fprintf(&b, "There are only %d; ask with a smaller offset.\n", len(chosen))
	}
	const forNote = 160 // characters that are kept for the note on what was left out
	used := utf8.RuneCountInString(b.String())
	width := idWidth(todos)
	for _, t := range chosen[from:] {
		line := t.line(width)
		used += utf8.RuneCountInString(line)
		if used > maxChars-forNote {
			break
		}
		b.WriteString(line)
		p.Todos = append(p.Todos, t)
	}
	next := from + len(p.Todos)
	if p.LeftOut = len(chosen) - next; p.LeftOut > 0 {
		more := fmt.Sprintf("offset: %d", next)
		if in.Status != "" && in.Status != "all" {
			more = "status: " + in.Status + ", " + more
		}
		fmt.Fprintf(&b, "\n%d more are not shown: call list_todos with %s.\n", p.LeftOut, more)
	}
	return typed.Text(strings.TrimRight(b.String(), "\n")), p, nil
}

func (t todo) line(width int) string {
	box := " "
	if t.Completed {
		box = "x"
	}
	return fmt.Sprintf("- [%s] %s (%s)\n", box, t.Title, t.ID[:min(width, len(t.ID))])
}

// idWidth is how much of an id is shown: eight characters, or as many more as tell
// all of them apart.
func idWidth(todos []todo) int {
	for width := 8; ; width++ {
		seen := make(map[string]bool, len(todos))
		for _, t := range todos {
			seen[t.ID[:min(width, len(t.ID))]] = true
		}
		if len(seen) == len(todos) || width >= 36 {
			return width
		}
	}
}
