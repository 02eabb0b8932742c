// Package interpolate puts values of the environment into texts of a
// configuration: ${env:NAME} and ${env:NAME,default}, the ${oc.env:…} of OmegaConf
// with the same meaning, and what desktop clients write in their files. Other
// sources have a name of their own, such as ${file:/run/secrets/token}.
//
//	x := interpolate.Expander{Lookup: os.LookupEnv}
//	text, faults := x.Expand("Bearer ${env:TOKEN}")
//
// What cannot be expanded is a fault that names its place in the text and what to
// write, and is left out. No fault holds a value.
package interpolate

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// An Expander puts values from the environment into texts. Lookup must be set.
type Expander struct {
	Lookup func(name string) (string, bool)
	// Vars, where not nil, are a desktop client's own variables: the text is then
	// read by the rules of those clients.
	Vars map[string]string
	// Mandatory reads a text "???" as OmegaConf does: a value that must be given.
	Mandatory bool
	// Sources give what stands behind their name and a colon, such as file:PATH. Their
	// arguments may hold expressions. What they give is taken as it is.
	Sources map[string]Source
	// Found is told each value that came from the environment with the name of its
	// variable, but for variables that hold no secrets; and each value of a source,
	// without a name.
	Found func(name, value string)
}

// A Source gives the value of an argument, or tells what is wrong and what to do.
// Neither text may hold a value.
type Source func(argument string) (value, wrong, hint string)

// A Fault is an expression that could not be expanded. At is the expression's
// beginning as it stands in the text, to find its place.
type Fault struct{ At, Text, Hint string }

// dull are variables whose values are no secrets: hiding one would hide half of
// each path in a log.
var dull = map[string]bool{
	"HOME": true, "PATH": true, "PWD": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true,
	"TERM": true, "TMPDIR": true, "TMP": true, "TEMP": true, "USERNAME": true, "USERPROFILE": true,
	"HOMEDRIVE": true, "HOMEPATH": true, "APPDATA": true, "LOCALAPPDATA": true, "SYSTEMROOT": true, "VIRTUAL_ENV": true,
}

func isDull(name string) bool {
	if runtime.GOOS == "windows" { // which does not distinguish upper and lower case
		name = strings.ToUpper(name)
	}
	return dull[name]
}

const maxNested = 5 // defaults within defaults

// Expand returns the text with every expression replaced. Expressions that fail
// are reported and left out.
func (x *Expander) Expand(text string) (string, []Fault) {
	if x.Mandatory && text == "???" {
		return "", []Fault{{"???", `"???" stands for a value that must be given`, "write the value"}}
	}
	return x.walk(text, maxNested)
}

func (x *Expander) walk(text string, nested int) (string, []Fault) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var b strings.Builder
	var faults []Fault
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), faults
		}
		if i > 0 && text[i-1] == '$' && x.Vars == nil { // "$${" is a literal "${"
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		body, rest, ok := closing(text[i+2:])
		if !ok {
			if x.Vars == nil {
				return b.String(), append(faults, Fault{"${", `"${" without a closing "}"`, literalHint})
			}
			b.WriteString(text[i:])
			return b.String(), faults
		}
		value, f := x.resolve(body, nested)
		b.WriteString(value)
		faults = append(faults, f...)
		text = rest
	}
}

const literalHint = `write "$${" for a literal "${"`

// closing splits the text at the brace that closes an expression.
func closing(text string) (body, rest string, ok bool) {
	depth := 1
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '}':
			depth--
			if depth == 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

func (x *Expander) resolve(body string, nested int) (string, []Fault) {
	if name, args, ok := strings.Cut(body, ":"); ok && x.Sources[name] != nil {
		return x.source(name, args, nested)
	}
	if x.Vars != nil {
		return x.client(body)
	}
	for _, scheme := range []string{"env:", "oc.env:"} {
		if args, ok := strings.CutPrefix(body, scheme); ok {
			return x.variable(scheme, args, nested)
		}
	}
	hint := `write ${env:NAME} for a variable, or "$${" for a literal "${"`
	if len(x.Sources) > 0 {
		hint = "there are env, " + strings.Join(slices.Sorted(maps.Keys(x.Sources)), ", ") + `; write "$${" for a literal "${"`
	}
	f := Fault{"${", "unknown expression in ${…}", hint}
	if IsName(body) {
		f = Fault{"${" + body, fmt.Sprintf("unknown expression ${%s}", body), fmt.Sprintf("did you mean ${env:%s}?", body)}
	}
	return "", []Fault{f}
}

// source resolves the arguments of a source.
func (x *Expander) source(name, args string, nested int) (string, []Fault) {
	at := "${" + name + ":"
	if strings.Contains(args, "${") {
		if nested == 0 {
			return "", []Fault{{at, "expressions are nested too deep", ""}}
		}
		var faults []Fault
		if args, faults = x.walk(args, nested-1); len(faults) > 0 {
			return "", faults
		}
	}
	value, wrong, hint := x.Sources[name](strings.TrimSpace(args))
	if wrong != "" {
		return "", []Fault{{at, wrong, hint}}
	}
	if value != "" && x.Found != nil {
		x.Found("", value)
	}
	return value, nil
}

// variable resolves the arguments of env: or oc.env:, NAME or NAME,default.
func (x *Expander) variable(scheme, args string, nested int) (string, []Fault) {
	name, fallback, hasDefault := strings.Cut(args, ",")
	name = strings.TrimSpace(name)
	if !IsName(name) {
		return "", []Fault{{"${" + scheme, fmt.Sprintf("${%s…} wants the name of a variable", scheme), "letters, digits and _"}}
	}
	if value, ok := x.get(name); ok {
		return value, nil
	}
	at := "${" + scheme + name
	missing := Fault{at, fmt.Sprintf("variable %s is not set", name), fmt.Sprintf("set it in the environment or in .env, or give a default: ${%s%s,default}", scheme, name)}
	if !hasDefault {
		return "", []Fault{missing}
	}
	fallback = strings.TrimSpace(fallback)
	switch {
	case fallback == "???":
		missing.Hint = "set it in the environment or in .env; its default ??? says that it must be given"
		return "", []Fault{missing}
	case fallback == "null" && scheme == "oc.env:":
		return "", nil
	case len(fallback) >= 2 && (fallback[0] == '"' || fallback[0] == '\'') && fallback[len(fallback)-1] == fallback[0]:
		fallback = fallback[1 : len(fallback)-1]
	}
	if nested == 0 {
		return "", []Fault{{at, "defaults are nested too deep", ""}}
	}
	return x.walk(fallback, nested-1)
}

// client resolves an expression as desktop clients write it: ${env:NAME},
// ${NAME}, ${NAME:-default}, and their own variables. What it does not know may
// be meant for a shell, and stays.
func (x *Expander) client(body string) (string, []Fault) {
	if value, ok := x.Vars[body]; ok {
		return value, nil
	}
	if id, ok := strings.CutPrefix(body, "input:"); ok {
		return "", []Fault{{"${input:", fmt.Sprintf("${input:%s} asks the user, which is not possible here", id), "put the value into the environment or into .env, and write ${env:NAME}"}}
	}
	name, isEnv := strings.CutPrefix(body, "env:")
	name, fallback, hasDefault := strings.Cut(name, ":-")
	if !IsName(name) {
		return "${" + body + "}", nil
	}
	if value, ok := x.get(name); ok && (value != "" || !hasDefault) {
		return value, nil
	}
	if hasDefault {
		return fallback, nil
	}
	at := "${" + name
	if isEnv {
		at = "${env:" + name
	}
	return "", []Fault{{at, fmt.Sprintf("variable %s is not set", name), "set it in the environment or in .env"}}
}

func (x *Expander) get(name string) (string, bool) {
	value, ok := x.Lookup(name)
	if ok && value != "" && !isDull(name) && x.Found != nil {
		x.Found(name, value)
	}
	return value, ok
}

// IsName tells whether a text is the name of a variable. Windows has some with
// parentheses.
func IsName(s string) bool {
	for _, c := range s {
		if !IsNameChar(c) && c != '(' && c != ')' {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// IsNameChar tells whether a character may stand in any name of a variable.
func IsNameChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
