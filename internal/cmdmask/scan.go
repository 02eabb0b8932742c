package cmdmask

import "strings"

// named masks what stands after the name of a secret: name=value, name: value (also
// of JSON, YAML, XML and of addresses), <name>value</name>, --name value, and value
// where "name: NAME, value: VALUE" says it in two. It goes through a text once.
func named(s string) string {
	m := masker{s: s}
	for m.at < len(s) {
		switch s[m.at] {
		case '=', ':', '%', 0xef:
			m.assignment()
		case '<':
			m.tag()
		case '-':
			m.option()
		default:
			m.at++
		}
	}
	if m.done == 0 {
		return s
	}
	m.out.WriteString(s[m.done:])
	return m.out.String()
}

// A masker goes through a text.
type masker struct {
	s    string
	out  strings.Builder
	done int // what is written
	at   int // where it looks
}

// far is how far what belongs together may be apart.
const far = 4 << 10

// mask hides what is from one place to another, and goes on behind it.
func (m *masker) mask(from, to int) {
	from = max(from, m.done)
	if from < to {
		m.out.WriteString(m.s[m.done:from])
		m.out.WriteString(Masked)
		m.done = to
	}
	m.at = max(m.at+1, to)
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// separator returns how long the sign between a name and its value is that s begins with.
func separator(s string) int {
	for _, sign := range []string{"=", ":", "%3D", "%3d", "%3A", "%3a", "：", "＝"} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

// assignment looks at a sign between a name and a value.
func (m *masker) assignment() {
	s, n := m.s, separator(m.s[m.at:])
	if n == 0 {
		m.at++
		return
	}
	begin, end := nameBefore(s, m.done, m.at)
	if begin == end {
		m.at += n
		return
	}
	name := strings.TrimLeft(s[begin:end], "-")
	after := m.at + n
	for after < len(s) && (s[after] == '=' || s[after] == ':' || s[after] == '>') { // :=, =>
		after++
	}
	if isLabel(name) && m.apart(after) {
		return
	}
	if !Secret(name) {
		m.at += n
		return
	}
	v := value{s: s, column: column(s, begin), cookie: strings.HasSuffix(strings.ToLower(name), "cookie"), encoded: s[m.at] == '%'}
	if s[m.at] == ':' && end == m.at && begin > 0 && isQuote(s[begin-1]) { // a header in quotes
		v.quote = s[begin-1]
	}
	if from, to := v.find(after); from < to {
		m.mask(from, to)
		return
	}
	m.at = after
}

// nameBefore returns where the name is that ends before a place.
func nameBefore(s string, least, at int) (begin, end int) {
	least = max(least, at-longestName-20)
	end = at
	for end > least && at-end < 8 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	if end > least && (s[end-1] == '"' || s[end-1] == '\'') {
		for end--; end > least && s[end-1] == '\\'; end-- {
		}
	}
	begin = end
	for begin > least && isName(s[begin-1]) {
		begin--
	}
	return begin, end
}

// column returns how far from the beginning of its line a place is.
func column(s string, at int) int {
	return at - (strings.LastIndexByte(s[max(0, at-far):at], '\n') + 1 + max(0, at-far))
}

// isLabel reports whether what stands under a name may be the name of another value.
func isLabel(name string) bool {
	switch strings.ToLower(name) {
	case "name", "key", "variable", "property", "field":
		return true
	}
	return false
}

// apart masks the value that stands beside its name, as in name: DB_PASSWORD, value: x.
func (m *masker) apart(at int) bool {
	s := m.s
	i := skip(s, at, " \t\\\"'`")
	j := i
	for j < len(s) && isName(s[j]) {
		j++
	}
	if i == j || !Secret(s[i:j]) {
		return false
	}
	k := skip(s, j, " \t\r\n\\\"'`,;")
	l := k
	for l < len(s) && isName(s[l]) {
		l++
	}
	switch strings.ToLower(s[k:l]) {
	case "value", "val", "content", "defaultvalue":
	default:
		return false
	}
	e := skip(s, l, " \t\\\"'`")
	n := separator(s[e:])
	if n == 0 {
		return false
	}
	v := value{s: s, column: column(s, k)}
	if from, to := v.find(e + n); from < to {
		m.mask(from, to)
		return true
	}
	return false
}

// skip returns the first place from at that holds none of the signs, at most far on.
func skip(s string, at int, signs string) int {
	for most := min(len(s), at+far); at < most && strings.IndexByte(signs, s[at]) >= 0; at++ {
	}
	return at
}

// tag looks at <name>value</name>, and at <key>name</key><string>value</string>.
func (m *masker) tag() {
	s := m.s
	name, body := element(s, m.at)
	switch {
	case body < 0:
		m.at++
		return
	case isLabel(name):
		end := strings.IndexByte(s[body:min(len(s), body+longestName)], '<')
		if end <= 0 || !Secret(strings.TrimSpace(s[body:body+end])) {
			break
		}
		next := skip(s, strings.IndexByte(s[body+end:], '>')+body+end+1, " \t\r\n")
		if _, inner := element(s, next); inner > 0 {
			m.content(inner)
			return
		}
	case Secret(name):
		m.content(body)
		return
	}
	m.at = body
}

// element returns the name of an element that begins at a place, and where what it
// holds does; -1 where none begins there.
func element(s string, at int) (string, int) {
	if at >= len(s) || s[at] != '<' {
		return "", -1
	}
	i := at + 1
	for i < len(s) && i < at+longestName && (isName(s[i]) || s[i] == ':') {
		i++
	}
	end := strings.IndexByte(s[i:min(len(s), i+200)], '>')
	if i == at+1 || end < 0 || strings.ContainsAny(s[i:i+end], "</") && strings.HasSuffix(s[i:i+end], "/") {
		return "", -1
	}
	name := s[at+1 : i]
	return name[strings.LastIndexByte(name, ':')+1:], i + end + 1
}

// content masks what an element holds.
func (m *masker) content(at int) {
	s := m.s
	m.at = at
	rest := s[at:min(len(s), at+far)]
	text := strings.TrimLeft(rest, " \t\r\n")
	switch end := strings.Index(rest, "</"); {
	case strings.HasPrefix(text, "</"), strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "<!"), text == "":
	case end > 0:
		m.mask(at, at+end)
	default: // cut off, or a placeholder in a sentence
		if end = strings.IndexAny(rest, " \t\r\n<"); end < 0 {
			end = len(rest)
		}
		if end > 0 {
			m.mask(at, at+end)
		}
	}
}

// option looks at an option whose value is the next word, also of a list.
func (m *masker) option() {
	s, i := m.s, m.at
	before := byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	for i < len(s) && isName(s[i]) {
		i++
	}
	word := s[m.at:i]
	if name, ok := option(word); i < len(s) && ok && strings.IndexByte(" \t\r\n\"'[(,", before) >= 0 {
		at := skip(s, i, "\\\"'")
		if listed := at > i && at < len(s) && s[at] == ','; listed {
			at++
		} else if at > i && !isQuote(before) {
			at = i
		}
		from := skip(s, at, " \t")
		if from > i && from < len(s) && s[from] != '\n' && (s[from] != '-' || surely(name) && from+1 < len(s) && s[from+1] == '-') {
			v := value{s: s, bare: true}
			if from, to := v.find(from); from < to {
				m.mask(from, to)
				return
			}
		}
	}
	m.at = i
}
