package cmdmask

import "strings"

// A value finds what belongs to a secret's name in a text.
type value struct {
	s       string
	column  int  // of the name in its line: a block of YAML under it is deeper
	quote   byte // the sign that the name and its value are in together
	cookie  bool // it has several words
	encoded bool // it is encoded for an address
	bare    bool // it stands on a command line: it is a word
}

// find returns from where to where the value is that begins at a place; nowhere
// where there is none, or one that holds more names.
func (v *value) find(at int) (from, to int) {
	s := v.s
	i := skip(s, at, " \t")
	for i < len(s) && (s[i] == '!' || s[i] == '&') && !v.bare { // !!str and &anchor of YAML
		end := strings.IndexAny(s[i:min(len(s), i+longestName)], " \t\r\n")
		if end < 0 || s[i+end] != ' ' && s[i+end] != '\t' {
			break
		}
		i = skip(s, i+end, " \t")
	}
	if i >= len(s) {
		return i, i
	}
	if v.quote != 0 && !isQuote(s[i]) {
		if end := strings.IndexByte(s[i:], v.quote); end > 0 {
			return i, i + end
		}
	}
	if v.bare {
		return i, v.word(i)
	}
	switch c := s[i]; {
	case c == '\n' || c == '\r':
		return v.below(i)
	case c == '|' || c == '>':
		if from, to := v.block(i); from < to {
			return from, to
		}
	case c == '[' || c == '(':
		return i, v.list(i)
	case c == '{' && holdsNames(s[i:min(len(s), i+longestName)]):
		return i, i
	}
	return i, v.word(i)
}

// word returns where a word ends, or what is in quotes.
func (v *value) word(i int) int {
	s := v.s
	slashes := 0
	for i+slashes < len(s) && s[i+slashes] == '\\' {
		slashes++
	}
	if q := i + slashes; q < len(s) && isQuote(s[q]) {
		return closing(s, q+1, s[q], slashes)
	}
	end := bareEnd(s, i, v.encoded)
	if isScheme(s[i:end]) || v.cookie && strings.HasSuffix(s[i:end], ";") {
		for next := skip(s, end, " \t"); next < len(s) && next > end && s[next] != '\n' && s[next] != '\r' && !isQuote(s[next]); next = skip(s, end, " \t") {
			more := v.cookie && !isScheme(s[i:end])
			end = bareEnd(s, next, v.encoded)
			if !more || s[end-1] != ';' {
				break
			}
		}
	}
	return end
}

// bareEnd returns where a word without quotes ends: at a space, and at a quote that
// something else follows.
func bareEnd(s string, i int, encoded bool) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return i
		case c == '"' || c == '\'':
			if i+1 >= len(s) || !isName(s[i+1]) || s[i+1] == '.' || s[i+1] == '-' {
				return i
			}
		case encoded && (c == '&' || strings.HasPrefix(s[i:], "%26")):
			return i
		}
	}
	return i
}

// closing returns where the quote ends that was opened before at, with so many
// backslashes before it: quotes in JSON that is quoted itself have some.
func closing(s string, at int, quote byte, slashes int) int {
	rest := s // what is too far away belongs to something else
	s = s[:min(len(s), at+16*far)]
	if three := strings.Repeat(string(quote), 3); slashes == 0 && at+2 <= len(s) && strings.HasPrefix(s[at-1:], three) {
		if end := strings.Index(s[at+2:], three); end >= 0 {
			return at + 2 + end + 3
		}
	}
	run := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\\':
			run++
			continue
		case quote:
			if quote == '\'' && slashes == 0 || run%(2*(slashes+1)) == slashes {
				return i + 1
			}
		}
		run = 0
	}
	return lineEnd(rest, at)
}

// list returns where a list ends; where it begins, where it holds more names.
func (v *value) list(i int) int {
	s := v.s
	shut := byte(']')
	if s[i] == '(' {
		shut = ')'
	}
	body := s[i:min(len(s), i+far)]
	if end := strings.IndexByte(body, shut); end >= 0 {
		body = body[:end+1]
	} else if end := strings.IndexByte(body, '\n'); end >= 0 {
		body = body[:end]
	}
	if strings.IndexByte(body, '{') >= 0 {
		return i
	}
	return i + len(body)
}

// holdsNames reports whether a brace opens something that has names of its own.
func holdsNames(s string) bool {
	s = strings.TrimLeft(s, "{ \t\r\n")
	if s == "" || s[0] == '"' || s[0] == '\'' || s[0] == '\\' || s[0] == '}' || s[0] == '.' {
		return true
	}
	i := 0
	for i < len(s) && isName(s[i]) {
		i++
	}
	return i > 0 && separator(strings.TrimLeft(s[i:], " \t")) > 0
}

// block returns where a block of YAML is that "|" or ">" announces.
func (v *value) block(i int) (from, to int) {
	s := v.s
	end := strings.IndexByte(s[i:min(len(s), i+longestName)], '\n')
	if end < 0 {
		return i, i
	}
	head, _, _ := strings.Cut(s[i+1:i+end], "#")
	if strings.Trim(head, "+-0123456789 \t\r") != "" {
		return i, i
	}
	to = i + end
	for to < len(s) { // at the end of a line
		next := strings.IndexByte(s[to+1:], '\n')
		if next < 0 {
			next = len(s) - to - 1
		}
		line := s[to+1 : to+1+next]
		if strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " \t")) <= v.column {
			break
		}
		to += 1 + next
	}
	return i, to
}

// below returns where the value is that stands on the lines after its name: a list,
// or a line that is no setting itself.
func (v *value) below(i int) (from, to int) {
	s := v.s
	at := skip(s, i, " \t\r\n")
	for at < len(s) && s[at] == '-' && at+1 < len(s) && s[at+1] == ' ' {
		end := lineEnd(s, at)
		if strings.Contains(s[at:end], ": ") || strings.HasSuffix(strings.TrimSpace(s[at:end]), ":") {
			break
		}
		if from == 0 {
			from = at + 2
		}
		to = end
		at = skip(s, end, " \t\r\n")
	}
	if from > 0 || at >= len(s) {
		return from, to
	}
	end := lineEnd(s, at)
	if line := s[at:end]; strings.ContainsAny(line, ":=：＝<{}") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "- ") {
		return i, i
	}
	return at, end
}

func lineEnd(s string, at int) int {
	if end := strings.IndexByte(s[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(s)
}
