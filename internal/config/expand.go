package config

import (
	"fmt"
	"strings"
)

// An expander puts values from the environment into texts.
type expander struct {
	lookup func(name string) (string, bool)
	// vars, where not nil, are a desktop client's own variables: the text is then
	// read by the rules of those clients.
	vars map[string]string
	// mandatory reads a text "???" as OmegaConf does: a value that must be given.
	mandatory bool
	// found is told each value that came from the environment.
	found func(value string)
}

// A fault is an expression that could not be expanded. At is the expression's
// beginning as it stands in the text, to find its place.
type fault struct{ at, text, hint string }

// dull are variables whose values are no secrets: hiding one would hide half of
// each path in a log.
var dull = map[string]bool{
	"HOME": true, "PATH": true, "PWD": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true,
	"TERM": true, "TMPDIR": true, "TMP": true, "TEMP": true, "USERNAME": true, "USERPROFILE": true,
	"HOMEDRIVE": true, "HOMEPATH": true, "APPDATA": true, "LOCALAPPDATA": true, "SYSTEMROOT": true, "VIRTUAL_ENV": true,
}

const maxNested = 5 // defaults within defaults

// expand returns the text with every expression replaced. Expressions that fail
// are reported and left out.
func (x *expander) expand(text string) (string, []fault) {
	if x.mandatory && text == "???" {
		return "", []fault{{"???", `"???" stands for a value that must be given`, "write the value"}}
	}
	return x.walk(text, maxNested)
}

func (x *expander) walk(text string, nested int) (string, []fault) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var b strings.Builder
	var faults []fault
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), faults
		}
		if i > 0 && text[i-1] == '$' && x.vars == nil { // "$${" is a literal "${"
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		body, rest, ok := closing(text[i+2:])
		if !ok {
			if x.vars == nil {
				return b.String(), append(faults, fault{"${", `"${" without a closing "}"`, literalHint})
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

func (x *expander) resolve(body string, nested int) (string, []fault) {
	if x.vars != nil {
		return x.client(body)
	}
	for _, scheme := range []string{"env:", "oc.env:"} {
		if args, ok := strings.CutPrefix(body, scheme); ok {
			return x.variable(scheme, args, nested)
		}
	}
	f := fault{"${", "unknown expression in ${…}", `write ${env:NAME} for a variable, or "$${" for a literal "${"`}
	if isName(body) {
		f = fault{"${" + body, fmt.Sprintf("unknown expression ${%s}", body), fmt.Sprintf("did you mean ${env:%s}?", body)}
	}
	return "", []fault{f}
}

// variable resolves the arguments of env: or oc.env:, NAME or NAME,default.
func (x *expander) variable(scheme, args string, nested int) (string, []fault) {
	name, fallback, hasDefault := strings.Cut(args, ",")
	name = strings.TrimSpace(name)
	if !isName(name) {
		return "", []fault{{"${" + scheme, fmt.Sprintf("${%s…} wants the name of a variable", scheme), "letters, digits and _"}}
	}
	if value, ok := x.get(name); ok {
		return value, nil
	}
	at := "${" + scheme + name
	missing := fault{at, fmt.Sprintf("variable %s is not set", name), fmt.Sprintf("set it in the environment or in .env, or give a default: ${%s%s,default}", scheme, name)}
	if !hasDefault {
		return "", []fault{missing}
	}
	fallback = strings.TrimSpace(fallback)
	switch {
	case fallback == "???":
		missing.hint = "set it in the environment or in .env; its default ??? says that it must be given"
		return "", []fault{missing}
	case fallback == "null" && scheme == "oc.env:":
		return "", nil
	case len(fallback) >= 2 && (fallback[0] == '"' || fallback[0] == '\'') && fallback[len(fallback)-1] == fallback[0]:
		fallback = fallback[1 : len(fallback)-1]
	}
	if nested == 0 {
		return "", []fault{{at, "defaults are nested too deep", ""}}
	}
	return x.walk(fallback, nested-1)
}

// client resolves an expression as desktop clients write it: ${env:NAME},
// ${NAME}, ${NAME:-default}, and their own variables. What it does not know may
// be meant for a shell, and stays.
func (x *expander) client(body string) (string, []fault) {
	if value, ok := x.vars[body]; ok {
		return value, nil
	}
	if id, ok := strings.CutPrefix(body, "input:"); ok {
		return "", []fault{{"${input:", fmt.Sprintf("${input:%s} asks the user, which is not possible here", clip(id)), "put the value into the environment or into .env, and write ${env:NAME}"}}
	}
	name, isEnv := strings.CutPrefix(body, "env:")
	name, fallback, hasDefault := strings.Cut(name, ":-")
	if !isName(name) {
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
	return "", []fault{{at, fmt.Sprintf("variable %s is not set", name), "set it in the environment or in .env"}}
}

func (x *expander) get(name string) (string, bool) {
	value, ok := x.lookup(name)
	if ok && value != "" && !dull[envKey(name)] && x.found != nil {
		x.found(value)
	}
	return value, ok
}

// isName tells whether a text is the name of a variable. Windows has some with
// parentheses.
func isName(s string) bool {
	for _, c := range s {
		if !isNameChar(c) && c != '(' && c != ')' {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

func isNameChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// clip keeps what an error quotes of a file short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
