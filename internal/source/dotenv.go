package source

import (
	"strings"
	"unicode/utf8"
)

// ParseDotenv reads the lines NAME=value of a file .env. Quoted values may span
// lines; a double-quoted one knows \n, \r, \t, \", \\ and \$; a # behind white
// space begins a comment. Values are taken as they are: $NAME means nothing.
//
// It is our own because of what others do with a mistake: they stop at the
// first, name no place, or quote the line, which is a secret.
func ParseDotenv(file *File, data []byte) (map[string]string, []Mistake) {
	if !utf8.Valid(data) {
		return nil, []Mistake{file.Mistake("is not UTF-8 text", "")}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	p := dotenv{file: file, text: strings.ReplaceAll(text, "\r\n", "\n"), line: 1, env: make(map[string]string)}
	for p.pos < len(p.text) {
		p.statement()
	}
	return p.env, p.mistakes
}

type dotenv struct {
	file     *File
	text     string
	pos      int // offset in text
	start    int // offset of the line
	line     int
	env      map[string]string
	mistakes []Mistake
}

func (p *dotenv) fail(offset int, text, hint string) {
	column := utf8.RuneCountInString(p.text[p.start:max(offset, p.start)]) + 1
	p.mistakes = append(p.mistakes, p.file.MistakeAt(p.line, column, text, hint))
}

// statement reads one line, or several where a quoted value spans them, and
// stands at the next line afterwards.
func (p *dotenv) statement() {
	defer p.nextLine()
	p.blanks()
	if p.pos == len(p.text) || p.text[p.pos] == '\n' || p.text[p.pos] == '#' {
		return
	}
	if rest, ok := strings.CutPrefix(p.text[p.pos:], "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		p.pos += len("export")
		p.blanks()
	}
	at := p.pos
	name := p.name()
	if name == "" {
		p.fail(at, "wants NAME=value", "a name is letters, digits and _, and begins with no digit")
		return
	}
	p.blanks()
	if p.pos == len(p.text) || p.text[p.pos] != '=' {
		p.fail(p.pos, "wants NAME=value", "a value that spans lines is quoted")
		return
	}
	p.pos++
	p.blanks()
	if value, ok := p.value(); ok {
		p.env[name] = value
	}
}

func (p *dotenv) name() string {
	at := p.pos
	for p.pos < len(p.text) {
		c := rune(p.text[p.pos])
		if !nameChar(c) && c != '.' && c != '-' {
			break
		}
		p.pos++
	}
	if name := p.text[at:p.pos]; name != "" && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return ""
}

func (p *dotenv) value() (string, bool) {
	if p.pos < len(p.text) && (p.text[p.pos] == '"' || p.text[p.pos] == '\'') {
		return p.quoted(p.text[p.pos])
	}
	at := p.pos
	end := strings.IndexByte(p.text[at:], '\n')
	if end < 0 {
		end = len(p.text) - at
	}
	p.pos = at + end
	value := p.text[at:p.pos]
	for i := range len(value) {
		if before := p.text[at+i-1]; value[i] == '#' && (before == ' ' || before == '\t') {
			value = value[:i]
			break
		}
	}
	value = strings.TrimSpace(value)
	if strings.ContainsRune(value, 0) {
		p.fail(at, "holds a NUL byte", "")
		return "", false
	}
	return value, true
}

func (p *dotenv) quoted(mark byte) (string, bool) {
	at, start, line := p.pos, p.start, p.line
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == mark:
			p.pos++
			return b.String(), p.tail()
		case c == '\n':
			p.line++
			p.start = p.pos + 1
			b.WriteByte(c)
		case c == 0:
			p.fail(p.pos, "holds a NUL byte", "")
			return "", false
		case c == '\\' && mark == '"' && p.pos+1 < len(p.text) && p.text[p.pos+1] != '\n':
			p.pos++
			b.WriteString(unescape(p.text[p.pos]))
		default:
			b.WriteByte(c)
		}
	}
	p.start, p.line = start, line
	p.fail(at, "this quote is never closed", "")
	p.pos = at // the lines below may be whole
	return "", false
}

// unescape returns what a backslash and the byte c stand for. An escape that
// means nothing stays as it is.
func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$', '`', '\'':
		return string(c)
	}
	return `\` + string([]byte{c})
}

// tail checks what stands behind a closing quote.
func (p *dotenv) tail() bool {
	at := p.pos
	p.blanks()
	if p.pos < len(p.text) && p.text[p.pos] != '\n' && (p.text[p.pos] != '#' || p.pos == at) {
		p.fail(p.pos, "stands behind a closing quote", "quote the whole value, or write \\\" within it")
		return false
	}
	return true
}

func (p *dotenv) blanks() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t') {
		p.pos++
	}
}

func (p *dotenv) nextLine() {
	i := strings.IndexByte(p.text[p.pos:], '\n')
	if i < 0 {
		p.pos = len(p.text)
		return
	}
	p.pos += i + 1
	p.start = p.pos
	p.line++
}

func nameChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
