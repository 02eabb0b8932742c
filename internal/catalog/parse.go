package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
	"github.com/tenon-mcp/tenon/tool"
)

// maxName bounds a tool's name in bytes. MCP recommends at most 128 characters;
// the longest seen in 120 public servers has 52.
const maxName = 512

// toolNames are the members of a tool that decide what it is. Whoever reads Raw after us
// must not find another value for one.
var toolNames = [...]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// Parse reads one tool object of a tools/list answer. The raw fields of the
// tool alias raw, which must not be changed afterwards. Server and Meta stay
// empty: Set fills them in.
//
// Only an object with a usable name is a tool, and one that all read alike; nothing else
// can cost a server its tool: a title that is no string is left out, and a schema is kept
// as it came, whatever it is. What Parse does not know stays in Raw.
func Parse(raw json.RawMessage) (tool.Tool, error) {
	t := tool.Tool{Raw: raw}
	if !json.Valid(raw) {
		return tool.Tool{}, errors.New("a tool is not valid JSON")
	}
	twofold := ""
	var seen [len(toolNames)]bool
	object := eachMember(raw, func(key string, value json.RawMessage) {
		for i, name := range toolNames {
			if strings.EqualFold(key, name) {
				if seen[i] || key != name {
					twofold = name
				}
				seen[i] = true
			}
		}
		switch key {
		case "name":
			t.Name = text(value)
		case "title":
			t.Title = text(value)
		case "description":
			t.Description = text(value)
		case "inputSchema":
			t.Schema = unlessNull(value)
		case "outputSchema":
			t.Output = unlessNull(value)
		case "annotations":
			t.Annotations = unlessNull(value)
		}
	})
	switch {
	case !object:
		return tool.Tool{}, errors.New("a tool is not a JSON object")
	case twofold != "":
		return tool.Tool{}, fmt.Errorf("tool %q: %q stands twice, or is written in another case", clip(t.Name), twofold)
	}
	if err := checkName(t.Name); err != nil {
		return tool.Tool{}, fmt.Errorf("tool %q: %w", clip(t.Name), err)
	}
	return t, nil
}

// checkName reports why a server or tool cannot be called by that name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("it has no name")
	case len(name) > maxName:
		return fmt.Errorf("its name has more than %d bytes", maxName)
	}
	for i, r := range name {
		if r == utf8.RuneError {
			// Either not UTF-8 or a replacement for what was not: the server would not
			// know the name again.
			return fmt.Errorf("its name is not valid text at byte %d", i)
		}
		if unseen.Is(r) {
			return fmt.Errorf("its name has the invisible character %U", r)
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > maxName {
		return s[:maxName]
	}
	return s
}

// text returns the string value, or "" where it is something else.
func text(value json.RawMessage) string {
	var s string
	if value[0] != '"' || json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

func unlessNull(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// eachMember calls visit with each member of the JSON object in raw, which must
// be valid JSON, and reports whether it is an object. The values alias raw:
// encoding/json would copy them, and most of a catalog is schemas.
func eachMember(raw json.RawMessage, visit func(key string, value json.RawMessage)) bool {
	i := skipSpace(raw, 0)
	if raw[i] != '{' {
		return false
	}
	for {
		i = skipSpace(raw, i+1) // past { or ,
		if raw[i] == '}' {
			return true
		}
		end := skipString(raw, i)
		key := text(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // past :
		end = skipValue(raw, i)
		visit(key, raw[i:end:end])
		i = skipSpace(raw, end)
		if raw[i] == '}' {
			return true
		}
	}
}

func skipSpace(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// skipString returns the offset behind the string that begins at i.
func skipString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the offset behind the value of an object's member that
// begins at i.
func skipValue(raw []byte, i int) int {
	depth := 0
	for {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
		}
		if depth > 0 {
			continue
		}
		// A string or a closed bracket ends here; a literal, at what follows it.
		switch raw[i-1] {
		case '"', '}', ']':
			return i
		}
		switch raw[i] {
		case ',', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
}
