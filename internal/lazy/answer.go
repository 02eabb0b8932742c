package lazy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/tool"
)

// The bounds of an answer, in bytes.
const (
	maxHead    = 300    // of a description among others
	maxWhole   = 8_000  // of one that was asked for by its name
	maxDefined = 32_000 // of its schema
	maxAnswer  = 32_000
	maxServers = 100 // of an overview
	maxNames   = 8   // of the tools of one server there
)

// An Entry is one tool of an answer, by the name that it can be called by.
type Entry struct {
	Name string
	Tool *tool.Tool
}

// Found is the answer to a question with words.
type Found struct {
	Question  Question
	Entries   []Entry  // best first
	Of        int      // how many tools were looked through
	Unmatched []string // words that none of them has
}

// Text returns the answer for the model.
func (f Found) Text() string {
	var b strings.Builder
	where := ""
	if f.Question.Server != "" {
		where = " on server " + shortQuote(f.Question.Server)
	}
	if len(f.Entries) == 0 && f.Question.Query == "" {
		return "There are no tools" + where + "."
	}
	if len(f.Entries) == 0 {
		fmt.Fprintf(&b, "None of %d tools%s fits %s. Try other words for the same need, or call %s without query for an overview.",
			f.Of, where, strconv.Quote(clip(f.Question.Query, 200)), Search)
		return b.String()
	}
	fmt.Fprintf(&b, "%d of %d tools%s:\n\n", len(f.Entries), f.Of, where)
	shown := writeEntries(&b, f.Entries)
	b.WriteByte('\n')
	if shown < len(f.Entries) {
		fmt.Fprintf(&b, "[%d more are left out for their length: ask for fewer]\n", len(f.Entries)-shown)
	}
	if len(f.Unmatched) > 0 {
		quoted := make([]string, len(f.Unmatched))
		for i, w := range f.Unmatched {
			quoted[i] = shortQuote(w)
		}
		fmt.Fprintf(&b, "No tool has: %s.\n", strings.Join(quoted, ", "))
	}
	fmt.Fprintf(&b, "Call one with %s. Its exact name as query gives its whole description and schema.", Execute)
	return b.String()
}

// writeEntries writes as many as an answer takes, and returns how many.
func writeEntries(b *strings.Builder, entries []Entry) int {
	for i, e := range entries {
		text := fmt.Sprintf("- %s%s\n", e.Name, Signature(e.Tool.Schema))
		if head := oneLine(e.Tool.Description); head != "" {
			text += "  " + clip(head, maxHead) + "\n"
		} else if title := oneLine(e.Tool.Title); title != "" {
			text += "  " + clip(title, maxHead) + "\n"
		}
		if b.Len()+len(text) > maxAnswer {
			return i
		}
		b.WriteString(text)
	}
	return len(entries)
}

// Whole returns the answer to the exact name of a tool.
func (e Entry) Whole() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", e.Name, Signature(e.Tool.Schema))
	if d := strings.TrimSpace(printable(e.Tool.Description)); d != "" {
		fmt.Fprintf(&b, "\n  %s\n", strings.ReplaceAll(clip(d, maxWhole), "\n", "\n  "))
	}
	switch schema := oneLine(string(e.Tool.Schema)); {
	case schema == "":
	case len(schema) > maxDefined:
		fmt.Fprintf(&b, "\nIts JSON schema has %d bytes, which is too long to show.\n", len(schema))
	default:
		fmt.Fprintf(&b, "\nJSON schema of its arguments: %s\n", schema)
	}
	fmt.Fprintf(&b, "\nCall it with %s.", Execute)
	return b.String()
}

// A Server is one line of an overview.
type Server struct {
	Name    string
	Trouble string   // why it has no tools; empty where it has
	Tools   []string // the names that they can be called by
}

// Overview returns the answer to a question without words.
func Overview(servers []Server) string {
	var b strings.Builder
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	fmt.Fprintf(&b, "%d tools on %d servers:\n\n", tools, len(servers))
	for i, s := range servers {
		if i == maxServers || b.Len() > maxAnswer {
			fmt.Fprintf(&b, "- … %d more servers\n", len(servers)-i)
			break
		}
		if s.Trouble != "" {
			fmt.Fprintf(&b, "- %s: %s\n", s.Name, clip(oneLine(s.Trouble), 120))
			continue
		}
		names := s.Tools
		more := ""
		if len(names) > maxNames {
			more = fmt.Sprintf(", … %d more", len(names)-maxNames)
			names = names[:maxNames]
		}
		fmt.Fprintf(&b, "- %s (%d): %s%s\n", s.Name, len(s.Tools), strings.Join(names, ", "), more)
	}
	fmt.Fprintf(&b, "\nSearch with words of what is needed for parameters and descriptions, or with server alone for all tools of one.")
	return b.String()
}

// printable returns s without control characters but for line ends and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}
