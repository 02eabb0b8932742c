package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

const masked = cmdmask.Masked

// lastApplied is the annotation in which kubectl keeps the whole object, with the
// data of a Secret and the values of variables once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// An object is one of the cluster, as it is.
type object map[string]any

// safe returns an object without what must not be seen: the data of a Secret, the
// values of environment variables, and what looks like a secret anywhere else. The
// bookkeeping of the server goes too: nobody asks for it, and it is long.
func safe(o object) object {
	out, ok := hide(map[string]any(o), "", 0).(map[string]any)
	if !ok {
		return object{}
	}
	if strings.EqualFold(text(out["kind"]), "Secret") {
		for _, k := range []string{"data", "stringData"} {
			if data, ok := o[k].(map[string]any); ok {
				out[k] = sizes(data)
			}
		}
	}
	return out
}

// sizes returns how long the values are in place of them.
func sizes(data map[string]any) map[string]any {
	out := make(map[string]any, len(data))
	for k, v := range data {
		out[k] = fmt.Sprintf("%s (%d characters as it is kept)", masked, len(text(v)))
	}
	return out
}

// hide returns a value without secrets; key is the name under which it stands, and
// depth how deep.
func hide(v any, key string, depth int) any {
	if depth > 60 {
		return "…"
	}
	switch v := v.(type) {
	case map[string]any:
		return hideMap(v, key, depth)
	case []any:
		out := make([]any, 0, len(v))
		for i, e := range v {
			if (key == "command" || key == "args") && i > 0 {
				if before := text(v[i-1]); strings.HasPrefix(before, "-") && cmdmask.Secret(strings.TrimLeft(before, "-")) {
					e = masked
				}
			}
			out = append(out, hide(e, key, depth+1))
		}
		return out
	case string:
		if len(v) > longText {
			return cmdmask.Text(v[:longText]) + fmt.Sprintf("… (%d bytes more)", len(v)-longText)
		}
		return cmdmask.Text(v)
	}
	return v
}

// longText is how much of a text is kept: masking a megabyte takes seconds, and
// nobody is shown that much.
const longText = 8 << 10

func hideMap(m map[string]any, key string, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		s, isText := v.(string)
		switch {
		case k == "managedFields" && key == "metadata", k == lastApplied:
			continue
		case k == "value" && key == "env" && s != "":
			out[k] = masked
		case isText && s != "" && cmdmask.Secret(k) && !reference(k):
			out[k] = masked
		default:
			out[k] = hide(v, k, depth+1)
		}
	}
	return out
}

// reference reports whether what stands under a key only names a secret, as
// secretName does, or is no secret at all.
func reference(key string) bool {
	lower := strings.ToLower(key)
	for _, end := range []string{"name", "ref", "key", "path", "topologykey", "class", "mode", "kind"} {
		if strings.HasSuffix(lower, end) && !strings.HasSuffix(lower, "apikey") && !strings.HasSuffix(lower, "privatekey") && !strings.HasSuffix(lower, "secretkey") && !strings.HasSuffix(lower, "accesskey") {
			return true
		}
	}
	return false
}

// text returns a value that should be a text.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// at returns what is in an object below keys; nil where it is not.
func (o object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

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
