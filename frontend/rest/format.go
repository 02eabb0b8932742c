package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// A Format is a form in which the tools of the pool are shown. The last four are
// the member "tools" of a request to that API, as one JSON object; a tool has its
// flat name there, server__tool, by which it can be called without naming its
// server.
type Format string

// The formats.
const (
	Table     Format = "table"     // text for a person
	Prompt    Format = "prompt"    // text for the system prompt of a model
	MCP       Format = "mcp"       // the tools as their servers sent them
	OpenAI    Format = "openai"    // Chat Completions
	Anthropic Format = "anthropic" // Messages
	Gemini    Format = "gemini"    // generateContent
)

// Formats lists all formats.
func Formats() []Format { return []Format{Table, Prompt, MCP, OpenAI, Anthropic, Gemini} }

// Render shows a listing in a format. The offer gives the tools their flat names.
// Schemas are shown as they came but for what an API is known to refuse: OpenAI
// and Anthropic want an object without a choice (anyOf, oneOf, allOf, not, enum)
// at the top, OpenAI wants its properties named even if there are none, Gemini
// does not know $schema. The gateway still checks the arguments of a call against
// the whole schema. Servers that failed have a place only in the two texts.
func Render(l tool.Listing, offer tenon.Offer, f Format) ([]byte, error) {
	declare := declarations[f]
	if f != Table {
		l = withOwn(shown(l, offer), offer)
	}
	switch {
	case f == Table:
		return TableOf(l, 0), nil
	case f == Prompt:
		return promptOf(l), nil
	case declare == nil:
		return nil, &Error{Text: fmt.Sprintf("there is no format %q; known: %s", f, names(Formats())), Kind: tool.Invalid}
	}
	flat := map[tool.ID]string{}
	for name, t := range offer.All {
		flat[t.ID] = name
	}
	declared := []json.RawMessage{}
	for _, s := range l.Servers {
		for i := range s.Tools {
			name, ok := flat[s.Tools[i].ID]
			if !ok {
				continue // gone since it was listed
			}
			d, err := declare(name, &s.Tools[i])
			if err != nil {
				return nil, fmt.Errorf("tool %s: %w", s.Tools[i].ID, err)
			}
			declared = append(declared, d)
		}
	}
	if f == Gemini {
		return marshal(map[string]any{"tools": []any{map[string]any{"functionDeclarations": declared}}})
	}
	return marshal(map[string]any{"tools": declared})
}

// shown returns the listing with the tools alone that the offer shows.
func shown(l tool.Listing, offer tenon.Offer) tool.Listing {
	if !offer.Lazy() {
		return l
	}
	all := map[tool.ID]bool{}
	for _, t := range offer.All {
		all[t.ID] = true
	}
	out := tool.Listing{Servers: slices.Clone(l.Servers)}
	for i, s := range out.Servers {
		out.Servers[i].Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t tool.Tool) bool { return !all[t.ID] })
	}
	return out
}

// withOwn returns the listing with the gateway's own tools, which belong to no server of
// the pool: those that stand in place of others, and the one that reads long results,
// where a tool of the listing may give some.
func withOwn(l tool.Listing, offer tenon.Offer) tool.Listing {
	canCut := func(s tool.ServerTools) bool {
		return slices.ContainsFunc(s.Tools, func(t tool.Tool) bool { return t.Meta.MaxResultChars != 0 })
	}
	if !offer.Lazy() && !slices.ContainsFunc(l.Servers, canCut) {
		return l
	}
	own := tool.ServerTools{State: tool.StateReady}
	for name, t := range offer.All {
		if name == t.Name { // all others have flat names
			own.Name = t.Server
			own.Tools = append(own.Tools, *t)
		}
	}
	if len(own.Tools) > 0 {
		l.Servers = append(slices.Clip(l.Servers), own)
	}
	return l
}

// declarations make the object that an API takes for one tool.
var declarations = map[Format]func(name string, t *tool.Tool) (json.RawMessage, error){
	MCP: func(name string, t *tool.Tool) (json.RawMessage, error) {
		o, err := parseObject(t.Raw)
		if err != nil {
			return nil, err
		}
		quoted, err := marshal(name)
		return o.with("name", quoted).bytes(), err
	},
	OpenAI: func(name string, t *tool.Tool) (json.RawMessage, error) {
		schema := schemaOf(t).without(choices...)
		if !slices.ContainsFunc(schema, func(m member) bool { return m.key == "properties" }) {
			schema = schema.with("properties", json.RawMessage("{}"))
		}
		type function struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		return marshal(struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{name, t.Description, schema.bytes()}})
	},
	Anthropic: func(name string, t *tool.Tool) (json.RawMessage, error) {
		return marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			InputSchema json.RawMessage `json:"input_schema"`
		}{name, t.Description, schemaOf(t).without(choices...).bytes()})
	},
	Gemini: func(name string, t *tool.Tool) (json.RawMessage, error) {
		return marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parametersJsonSchema"`
		}{name, t.Description, schemaOf(t).without("$schema").bytes()})
	},
}

// choices are what some APIs refuse at the top of a schema.
var choices = []string{"anyOf", "oneOf", "allOf", "not", "enum"}

// schemaOf returns the input schema of a tool; any object where it has none.
func schemaOf(t *tool.Tool) object {
	o, err := parseObject(t.Schema)
	if err != nil {
		return object{{"type", json.RawMessage(`"object"`)}}
	}
	return o
}

// promptOf explains the tools to a model. Descriptions are indented, so that none
// can look like a heading of this text.
func promptOf(l tool.Listing) []byte {
	var b bytes.Buffer
	b.WriteString("These tools can be called. They are grouped by server; a call names the server, the tool, " +
		"and arguments that fit the tool's JSON schema.\n")
	for _, s := range l.Servers {
		fmt.Fprintf(&b, "\n## Server name: %s\n", s.Name)
		if s.Error != "" {
			fmt.Fprintf(&b, "error: %s\n", oneLine(s.Error))
		}
		for _, t := range s.Tools {
			fmt.Fprintf(&b, "### Tool name: %s\n", t.Name)
			if d := strings.TrimSpace(printable(t.Description)); d != "" {
				fmt.Fprintf(&b, "Description:\n  %s\n", strings.ReplaceAll(d, "\n", "\n  "))
			}
			fmt.Fprintf(&b, "Input JSON schema: %s\n", schemaOf(&t).bytes())
		}
	}
	return b.Bytes()
}

// TableOf shows the tools as a table with the first line of each description,
// cut to width, in characters, where that is not 0. Why a server failed is never
// cut.
func TableOf(l tool.Listing, width int) []byte {
	rows := [][]string{{"SERVER", "TOOL", "DESCRIPTION"}}
	whole := map[int]bool{}
	for _, s := range l.Servers {
		for _, t := range s.Tools {
			first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
			rows = append(rows, []string{s.Name, t.Name, first})
		}
		switch {
		case s.Error != "":
			whole[len(rows)] = true
			rows = append(rows, []string{s.Name, "-", string(s.State) + ": " + s.Error})
		case len(s.Tools) == 0 && len(s.Withheld) > 0:
			rows = append(rows, []string{s.Name, "-", fmt.Sprintf("%s: all of its tools are withheld (%d)", s.State, len(s.Withheld))})
		case len(s.Tools) == 0:
			rows = append(rows, []string{s.Name, "-", string(s.State) + ": offers no tools"})
		}
	}
	lines := align(rows)
	for i, line := range lines {
		if !whole[i] {
			lines[i] = cut(line, width)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// AlignedTable lays out rows of cells, the first row being the heads, and cuts
// lines to width where it is not 0. Foreign text in cells cannot reach the
// terminal as more than text of one line.
func AlignedTable(rows [][]string, width int) []byte {
	lines := align(rows)
	for i, line := range lines {
		lines[i] = cut(line, width)
	}
	return []byte(strings.Join(lines, ""))
}

// align returns rows as lines.
func align(rows [][]string) []string {
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = oneLine(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // to memory
	lines := make([]string, 0, len(rows))
	for line := range strings.Lines(aligned.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	return lines
}

// cut shortens a line to width where that is not 0.
func cut(line string, width int) string {
	if r := []rune(line); width > 0 && len(r)-1 > width {
		return string(r[:width-1]) + "…\n"
	}
	return line
}

// oneLine folds white space, and drops what is not printable.
func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// printable returns s without control characters, such as the escape sequences
// of a terminal, but with its line ends and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.IsSpace(r) && !unicode.IsControl(r) {
			return r
		}
		return -1
	}, s)
}

func names(formats []Format) string {
	texts := make([]string, len(formats))
	for i, f := range formats {
		texts[i] = string(f)
	}
	return strings.Join(texts, ", ")
}
