package kubernetes

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// yaml writes a value as YAML for reading, a line at a time, until write says no.
func yaml(v any, indent string, write func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !pair(indent+answer.Line(k, 200)+":", v[k], indent+"  ", write) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !item(e, indent, write) {
				return false
			}
		}
	default:
		return write(indent + scalar(v))
	}
	return true
}

// item writes one of a list, whose first line begins with a dash.
func item(v any, indent string, write func(string) bool) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return pair(indent+"-", v, indent+"  ", write)
	}
	first := true
	return yaml(m, indent+"  ", func(line string) bool {
		if first {
			line, first = indent+"- "+strings.TrimPrefix(line, indent+"  "), false
		}
		return write(line)
	})
}

func pair(head string, v any, indent string, write func(string) bool) bool {
	switch c := v.(type) {
	case map[string]any:
		if len(c) == 0 {
			return write(head + " {}")
		}
		return write(head) && yaml(v, indent, write)
	case []any:
		if len(c) == 0 {
			return write(head + " []")
		}
		return write(head) && yaml(v, indent, write)
	}
	return write(head + " " + scalar(v))
}

func scalar(v any) string {
	if s, ok := v.(string); ok {
		s = answer.Line(s, 500)
		if s == "" || strings.ContainsAny(s[:1], "&*!|>%@`{[\"'#-?,: ") || strings.Contains(s, ": ") || strings.HasSuffix(s, ":") ||
			strings.Contains(s, " #") || strings.HasSuffix(s, " ") || slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "~"}, strings.ToLower(s)) || strings.Trim(s, "0123456789.eE+-_") == "" {
			b, err := json.Marshal(s)
			if err == nil {
				return string(b)
			}
		}
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// fenced adds a text in a fence that it cannot leave, as much as fits, and reports
// whether that is all.
func fenced(p *answer.Page, language, body string) bool {
	fence := answer.Fence(body)
	p.Line("%s%s", fence, language)
	defer p.Line("%s", fence)
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		if !p.Row(line) {
			return false
		}
	}
	return true
}
