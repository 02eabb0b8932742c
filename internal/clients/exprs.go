package clients

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/interpolate"
)

// A dialect is what a client puts into the texts of its settings.
type dialect struct {
	braces bool // ${NAME} and ${NAME:-default}
	dollar bool // $NAME
	editor bool // ${env:NAME}, ${input:id}, ${workspaceFolder} and their kin
}

// every is the dialect of a file that nobody knows the client of.
var every = dialect{braces: true, editor: true}

// A translator turns texts of a client into those of tenon.yaml.
type translator struct {
	dialect
	world World
	notes []string
}

// text returns a text with its variables written ${env:NAME}, and with everything
// else that tenon.yaml would read otherwise written so that it means itself.
func (t *translator) text(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		s = s[i:]
		body, rest, ok := braced(s)
		switch {
		case ok:
			b.WriteString(t.expression(body))
		case strings.HasPrefix(s, "${"):
			b.WriteString("$${")
			rest = s[2:]
		case t.dollar && name(s[1:]) != "":
			n := name(s[1:])
			b.WriteString("${env:" + n + "}")
			rest = s[1+len(n):]
		default:
			b.WriteByte('$')
			rest = s[1:]
		}
		s = rest
	}
}

// braced splits a text that begins with ${…}.
func braced(s string) (body, rest string, ok bool) {
	after, ok := strings.CutPrefix(s, "${")
	if !ok {
		return "", "", false
	}
	return strings.Cut(after, "}")
}

// name returns the name of a variable that a text begins with.
func name(s string) string {
	for i, c := range s {
		if !interpolate.IsNameChar(c) || i == 0 && c >= '0' && c <= '9' {
			return s[:i]
		}
	}
	return s
}

// expression translates what stands in ${…}.
func (t *translator) expression(body string) string {
	if t.editor {
		if n, ok := strings.CutPrefix(body, "env:"); ok && interpolate.IsName(n) {
			return "${env:" + n + "}"
		}
		if id, ok := strings.CutPrefix(body, "input:"); ok {
			n := variableName(id)
			t.notes = append(t.notes, fmt.Sprintf("${input:%s} asks a person: put the value into the environment or into .env as %s", id, n))
			return "${env:" + n + "}"
		}
		if value, ok := t.variables()[body]; ok {
			return strings.ReplaceAll(value, "${", "$${")
		}
	}
	if t.braces {
		n, fallback, has := strings.Cut(body, ":-")
		switch {
		case !interpolate.IsName(n):
		case has:
			return "${env:" + n + "," + fallback + "}"
		default:
			return "${env:" + n + "}"
		}
	}
	return "$${" + body + "}"
}

// variables are those that editors define themselves.
func (t *translator) variables() map[string]string {
	sep := "/"
	if t.world.OS == "windows" {
		sep = `\`
	}
	dir := t.world.Project
	return map[string]string{
		"workspaceFolder": dir, "workspaceRoot": dir, "workspaceFolderBasename": dir[strings.LastIndexAny(dir, `/\`)+1:],
		"userHome": t.world.home(), "pathSeparator": sep, "/": sep, "cwd": dir,
	}
}

// variableName makes the name of a variable of a text.
func variableName(s string) string {
	s = strings.Map(func(c rune) rune {
		if interpolate.IsNameChar(c) {
			return c
		}
		return '_'
	}, strings.ToUpper(s))
	s = strings.Trim(s, "_")
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "V_" + s
	}
	return s
}
