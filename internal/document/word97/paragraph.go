package word97

import (
	"bytes"
	"strings"
	"unicode/utf16"
)

const hyperlink = "HYPERLINK"

// A paragraph collects text. Fields are a code and its result: of links both are used.
type paragraph struct {
	b      []byte
	look   string // the emphasis of what comes
	open   string // and of the text that stands last
	high   rune
	fields []*field
}

type field struct {
	code  strings.Builder
	begin int // where its result begins, -1 while the code is read
}

func (p *paragraph) add(s string) {
	if n := len(p.fields); n > 0 && p.fields[n-1].begin < 0 {
		p.fields[n-1].code.WriteString(s)
		return
	}
	if strings.TrimLeft(s, " \t\n") != "" { // white space has no look
		p.set(p.look)
	}
	p.b = append(p.b, s...)
}

// set ends the emphasis of the text that is open, and begins another one. Emphasis ends
// before white space, which it may not.
func (p *paragraph) set(look string) {
	if look == p.open {
		return
	}
	if p.open != "" {
		text := bytes.TrimRight(p.b, " \t\n")
		p.b = append(text, reversed(p.open)+string(p.b[len(text):])...)
	}
	p.open = look
	p.b = append(p.b, look...)
}

func reversed(look string) string {
	if rest, ok := strings.CutPrefix(look, "~~"); ok {
		return rest + "~~"
	}
	return look
}

// bare returns the text of a heading without the emphasis that all of it has.
func bare(text string) string {
	for _, look := range []string{"***", "**", "*"} {
		if inner, ok := strings.CutPrefix(text, look); ok {
			if inner, ok = strings.CutSuffix(inner, look); ok && !strings.Contains(inner, "*") {
				return inner
			}
		}
	}
	return text
}

func (p *paragraph) char(r rune) {
	switch {
	case utf16.IsSurrogate(r):
		if p.high == 0 {
			p.high = r
			return
		}
		r = utf16.DecodeRune(p.high, r)
	case r == 0x13:
		if len(p.fields) < 64 {
			p.fields = append(p.fields, &field{begin: -1})
		}
		return
	case r == 0x14:
		if n := len(p.fields); n > 0 {
			if strings.Contains(p.fields[n-1].code.String(), hyperlink) {
				p.set("")
			}
			p.fields[n-1].begin = len(p.b)
		}
		return
	case r == 0x15:
		p.endField()
		return
	case r == 0x0b:
		r = '\n'
	case r == 0x1e:
		r = '-'
	case r == 0xa0:
		r = ' '
	case r < ' ' && r != '\t':
		return
	}
	p.high = 0
	p.add(string(r))
}

// endField makes a link of a field that is one.
func (p *paragraph) endField() {
	n := len(p.fields)
	if n == 0 {
		return
	}
	f := p.fields[n-1]
	code := strings.TrimSpace(f.code.String())
	begin := f.begin
	p.fields = p.fields[:n-1]
	rest, isLink := strings.CutPrefix(code, hyperlink)
	if begin < 0 || !isLink || begin > len(p.b) {
		return
	}
	p.set("")
	rest = strings.TrimSpace(rest)
	to, _, quoted := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
	whole := string(p.b)
	label := whole[begin:]
	if !quoted || !strings.Contains(to, ":") || strings.ContainsAny(to, " \n<>") || strings.TrimSpace(label) == "" {
		return
	}
	link := "[" + strings.ReplaceAll(label, "]", ")") + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(to) + ")"
	p.b = append(p.b[:begin], link...)
}

// take returns the paragraph, and begins a new one.
func (p *paragraph) take() string {
	p.set("")
	s := strings.TrimSpace(string(p.b))
	p.b, p.look = p.b[:0], ""
	p.high = 0
	for i := range p.fields { // one may reach over paragraphs
		if p.fields[i].begin > 0 {
			p.fields[i].begin = 0
		}
	}
	return s
}
