package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/jsonsize"
)

const masked = cmdmask.Masked

// lastApplied is the annotation in which kubectl keeps the whole object, with the
// data of a Secret and the values of variables once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// An object is one of the cluster, as it is.
type object map[string]any

// safe returns an object without what must not be seen: the data of Secrets, the
// values of environment variables, and what looks like a secret anywhere else. The
// bookkeeping of the server goes too: nobody asks for it, and it is long.
func safe(o object) object {
	out, ok := hide(map[string]any(o), "", 0).(map[string]any)
	if !ok {
		return object{}
	}
	return out
}

// secretData are the members of a Secret that hold what is secret.
var secretData = []string{"data", "stringData", "binaryData"}

// isSecret reports whether an object is a Secret, also within another one, such as a
// manifest that is applied elsewhere.
func isSecret(m map[string]any) bool {
	return strings.EqualFold(strings.TrimSpace(text(m["kind"])), "Secret")
}

// sizes returns how long the values are in place of them.
func sizes(v any) any {
	data, ok := v.(map[string]any)
	if !ok {
		return masked
	}
	out := make(map[string]any, len(data))
	for k, v := range data {
		out[k] = fmt.Sprintf("%s (%d characters as it is kept)", masked, len(text(v)))
	}
	return out
}

// deepest is how deep an object is looked through.
const deepest = 60

// hide returns a value without secrets; key is the name under which it stands, and
// depth how deep.
func hide(v any, key string, depth int) any {
	if depth > deepest {
		return "…"
	}
	switch v := v.(type) {
	case map[string]any:
		return hideMap(v, key, depth)
	case []any:
		if isCommand(key) {
			return hideArgs("", v, depth)
		}
		out := make([]any, 0, len(v))
		for _, e := range v {
			if hidden(key, e) {
				e = masked
			}
			out = append(out, hide(e, key, depth+1))
		}
		return out
	case string:
		return hideText(v, depth)
	}
	return v
}

// hideText returns a text without secrets. One in JSON, such as the copy of an object
// that a tool keeps in an annotation, is looked through as the object would be.
func hideText(s string, depth int) string {
	if t := strings.TrimSpace(s); t != "" && (t[0] == '{' || t[0] == '[') && len(t) <= longJSON && !jsonsize.Over([]byte(t), 10_000) {
		d := json.NewDecoder(strings.NewReader(t))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil && !d.More() {
			if clean := hide(v, "", depth+1); !reflect.DeepEqual(clean, v) {
				return asJSON(clean)
			}
		}
	}
	s = withoutManifests(s)
	if len(s) > longText {
		return cmdmask.Text(s[:longText]) + fmt.Sprintf("… (%d bytes more)", len(s)-longText)
	}
	return cmdmask.Text(s)
}

func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return masked
	}
	s := strings.TrimSpace(b.String())
	if len(s) > longText {
		return s[:longText] + fmt.Sprintf("… (%d bytes more)", len(s)-longText)
	}
	return s
}

const (
	// longText is how much of a text is kept: nobody is shown more.
	longText = 8 << 10
	longJSON = 1 << 20
)

// manifest matches the line by which a text in YAML says that it is a Secret.
var manifest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^[ \t-]*kind:[ \t]*["']?secret["']?[ \t]*\r?$`) })

// withoutManifests returns a text without the data of Secrets in YAML that it holds.
func withoutManifests(s string) string {
	if !strings.Contains(s, "ecret") || !manifest().MatchString(s) {
		return s
	}
	var b strings.Builder
	below := -1 // how far the data that is left out stands in, or more
	for line := range strings.Lines(s) {
		trimmed := strings.TrimLeft(line, " \t-")
		in := len(line) - len(trimmed)
		name, rest, _ := strings.Cut(strings.TrimSpace(trimmed), ":")
		switch {
		case strings.TrimSpace(trimmed) == "", below >= 0 && in > below:
			continue
		case slices.Contains(secretData, strings.Trim(name, `"'`)):
			below = in
			b.WriteString(line[:in] + name + ": " + masked + "\n")
			if strings.HasPrefix(strings.TrimSpace(rest), "{") && !strings.Contains(rest, "}") { // over several lines
				return b.String() + masked
			}
		default:
			below = -1
			b.WriteString(line)
		}
	}
	return b.String()
}

func hideMap(m map[string]any, key string, depth int) map[string]any {
	out := make(map[string]any, len(m))
	named := text(m["name"])
	if named == "" {
		named = text(m["key"])
	}
	variables := isEnv(key)
	secret := isSecret(m)
	for k, v := range m {
		switch {
		case k == "managedFields" && key == "metadata", k == lastApplied:
			continue
		case secret && slices.Contains(secretData, k):
			out[k] = sizes(v)
		case k == "items" && strings.EqualFold(text(m["kind"]), "SecretList"):
			out[k] = hide(asSecrets(v), k, depth+1)
		case secret && k == "metadata":
			out[k] = hide(withoutCopies(v), k, depth+1)
		case isValue(k) && v != "" && isScalar(v) && (variables || cmdmask.Secret(named) || cmdmask.Secret(key) && !reference(key)):
			out[k] = masked
		case variables && named == "" && isScalar(v) && v != "": // env: {NAME: value}
			out[k] = masked
		case hidden(k, v):
			out[k] = masked
		default:
			if list, ok := v.([]any); ok && k == "args" {
				out[k] = hideArgs(programOf(m), list, depth+1)
			} else {
				out[k] = hide(v, k, depth+1)
			}
		}
	}
	return out
}

// asSecrets says of each object in a list that it is a Secret, as the list does.
func asSecrets(v any) any {
	list, ok := v.([]any)
	if !ok {
		return masked
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			m = maps.Clone(m)
			m["kind"] = "Secret"
			e = m
		}
		out = append(out, e)
	}
	return out
}

// withoutCopies returns the metadata of a Secret without annotations that may be
// copies of it.
func withoutCopies(v any) any {
	meta, ok := v.(map[string]any)
	if !ok {
		return v
	}
	notes, ok := meta["annotations"].(map[string]any)
	if !ok {
		return v
	}
	meta, notes = maps.Clone(meta), maps.Clone(notes)
	for k, v := range notes {
		if s := text(v); len(s) > 200 || strings.ContainsAny(s, "{[\n") {
			notes[k] = fmt.Sprintf("%s (%d characters)", masked, len(s))
		}
	}
	meta["annotations"] = notes
	return meta
}

// isEnv reports whether environment variables stand under a key, such as env or extraEnv.
func isEnv(key string) bool {
	key = strings.ToLower(key)
	for _, end := range []string{"env", "envs", "envvars", "environment", "environmentvariables"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

func isValue(key string) bool {
	switch strings.ToLower(key) {
	case "value", "defaultvalue", "default", "plain", "content", "literal":
		return true
	}
	return false
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, json.Number, bool:
		return true
	}
	return false
}

// hidden reports whether a value under a key, or one of a list there, is a secret.
func hidden(key string, v any) bool {
	if !cmdmask.Secret(key) || reference(key) {
		return false
	}
	switch v := v.(type) {
	case string:
		return v != ""
	case json.Number:
		return true
	case bool: // of many keys it says whether there is a secret
		lower := strings.ToLower(key)
		return !strings.HasPrefix(lower, "automount") && (strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "token"))
	}
	return false
}

func isCommand(key string) bool {
	switch key {
	case "command", "args", "cmd", "entrypoint":
		return true
	}
	return false
}

// programOf returns the program whose arguments stand beside it.
func programOf(m map[string]any) string {
	if list, ok := m["command"].([]any); ok && len(list) > 0 {
		return text(list[0])
	}
	return ""
}

// hideArgs masks the arguments of a program.
func hideArgs(program string, list []any, depth int) any {
	args := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if ok && len(s) > longText {
			s = s[:longText] + "…"
		}
		args = append(args, s)
	}
	out := make([]any, 0, len(list))
	for i, a := range cmdmask.Args(program, args) {
		if _, ok := list[i].(string); ok {
			out = append(out, a)
		} else {
			out = append(out, hide(list[i], "", depth+1))
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
