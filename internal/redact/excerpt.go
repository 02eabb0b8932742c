package redact

import (
	"encoding/json"
	"strings"
)

// Excerpt returns a text as a record keeps it: what [Redactor.JSON] hides in JSON is
// hidden here too, where JSON is only a part of the text, or was cut. Of the
// operator's names the value is also found behind name=value and name: value.
func (r *Redactor) Excerpt(s string) string {
	e := r.engine.Load()
	if t := strings.TrimSpace(s); t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t)) {
		out, _ := e.json([]byte(s), job{what: values | forms, keys: true})
		s = string(out) // a text in it may hold JSON again
	}
	s = r.Text(s)
	spans := e.named(s)
	if len(spans) == 0 {
		return s
	}
	var out strings.Builder
	at := 0
	for _, p := range spans {
		out.WriteString(s[at:p.start])
		out.WriteString(dots)
		at = p.end
	}
	out.WriteString(s[at:])
	return out.String()
}

// named returns the values in a text that stand behind a name of a secret.
func (e *engine) named(s string) []span {
	var out []span
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' {
			continue
		}
		name, quoted := nameBefore(s, i)
		if name == "" || (len(e.keys) == 0 || !e.keys[plainKey(name)]) && (!quoted || s[i] != ':' || !isSecretName(name)) {
			continue
		}
		if v := valueAt(s, i+1); v.end > v.start {
			if s[v.start:v.end] != dots {
				out = append(out, v)
			}
			i = v.end - 1
		}
	}
	return out
}

// nameBefore returns the name that ends before a sign, and whether it has quotes.
func nameBefore(s string, end int) (name string, quoted bool) {
	const most = 128
	end = len(strings.TrimRight(s[:end], " \t"))
	if end > 0 && isQuote(s[end-1]) {
		quoted = true
		end = len(strings.TrimRight(s[:end-1], `\`))
	}
	from := end
	for from > 0 && end-from < most {
		if c := s[from-1]; quoted && (isQuote(c) || c == '\n') || !quoted && !isURL64(int(c)) {
			break
		}
		from--
	}
	return s[from:end], quoted
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// valueAt returns where the value stands that follows a sign.
func valueAt(s string, i int) span {
	i = pass(s, i, " \t\r\n=>")
	slashes := pass(s, i, `\`) - i
	at := i + slashes
	switch {
	case at >= len(s):
		return span{i, i}
	case isQuote(s[at]):
		return span{at + 1, quoteEnd(s, at+1, s[at], slashes)}
	case s[i] == '{' || s[i] == '[':
		return span{i, bracketEnd(s, i)}
	}
	end := i
	for end < len(s) && !strings.ContainsRune(" \t\r\n,;\"'`<>(){}[]", rune(s[end])) {
		end++
	}
	switch s[i:end] {
	case "true", "false", "null":
		end = i
	}
	return span{i, end}
}

// pass passes over some bytes.
func pass(s string, i int, over string) int {
	return len(s) - len(strings.TrimLeft(s[i:], over))
}

// quoteEnd returns where a text ends that has so many backslashes before its quotes:
// at the end of all, where it was cut.
func quoteEnd(s string, i int, q byte, slashes int) int {
	n := 0
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			n++
			continue
		case s[i] == q && (n == slashes && n > 0 || slashes == 0 && n%2 == 0):
			return i - n*min(slashes, 1)
		}
		n = 0
	}
	return i
}

// bracketEnd returns where an object or a list ends.
func bracketEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			i = quoteEnd(s, i+1, '"', 0)
		}
		i++
	}
	return len(s)
}
