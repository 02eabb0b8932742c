package definitions

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are texts that the chat formats of models are made of.
var marks = []string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|eot_id|>", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>", "\n\nhuman:", "\n\nassistant:", "### system:", "### instruction:", "[system]", "[system message]", "[admin]"}

// tags are elements that set a part of a text off as an order.
var tags = map[string]bool{
	"important": true, "system": true, "secret": true, "critical": true, "admin": true, "hidden": true, "override": true,
	"system-reminder": true, "sys": true, "attention": true, "mandatory": true, "system_prompt": true, "systemprompt": true, "urgent": true,
}

const (
	whyMark    = "it imitates the marks that divide a conversation, so that what follows seems to come from somebody else"
	whyTag     = "a tag sets a part of the text off as an order to the model"
	whyComment = "a comment is not shown where the text is rendered, and the model reads it"
)

// markup looks for what a person does not see, or a model takes for something else,
// because of its form.
func (l *look) markup(place, s string) {
	if !strings.ContainsAny(s, "<[#|\n!") {
		return
	}
	low := lowerASCII(s)
	for _, m := range marks {
		if at := strings.Index(low, m); at >= 0 {
			l.add(High, "chat-mark", place, around(s, at, at+len(m)), whyMark)
			break
		}
	}
	for at := 0; ; {
		i := strings.IndexByte(low[at:], '<')
		if i < 0 {
			break
		}
		at += i + 1
		l.tag(place, s, low, at)
	}
	if i := strings.Index(low, "[//]: #"); i >= 0 {
		l.add(Warn, "comment", place, around(s, i, min(len(s), i+60)), whyComment)
	}
	if i := strings.Index(low, "!["); i >= 0 {
		rest := low[i:min(len(low), i+400)]
		if j := strings.Index(rest, "](http"); j >= 0 {
			address, _, _ := strings.Cut(rest[j+2:], ")")
			if strings.Contains(address, "?") && strings.ContainsAny(address, "{<$[") {
				l.add(Warn, "exfiltration", place, around(s, i, i+j+len(address)), "an image whose address carries data is fetched by whatever shows it")
			}
		}
	}
	for _, fetch := range []string{"curl ", "wget "} {
		if i := strings.Index(low, fetch); i >= 0 {
			line, _, _ := strings.Cut(low[i:], "\n")
			if strings.Contains(line, "| sh") || strings.Contains(line, "| bash") || strings.Contains(line, "|sh") || strings.Contains(line, "|bash") {
				l.add(Warn, "command", place, around(s, i, i+len(line)), "it has a program fetched and run")
			}
		}
	}
}

// tag looks at what stands behind a <.
func (l *look) tag(place, s, low string, at int) {
	rest := low[at:]
	switch {
	case strings.HasPrefix(rest, "!--"):
		const most = 400 // what is looked at of a comment
		if inside, _, _ := strings.Cut(rest[3:min(len(rest), most)], "-->"); len(strings.Fields(inside)) >= 3 && !strings.HasPrefix(inside, "[if") {
			l.add(Warn, "comment", place, around(s, at-1, min(len(s), at+60)), whyComment)
		}
		return
	case len(rest) == 0 || rest[0] < 'a' || rest[0] > 'z':
		return
	}
	end := 0
	for end < len(rest) && end < 40 && isNameByte(rest[end]) {
		end++
	}
	attributes, _, closed := strings.Cut(rest[end:min(len(rest), end+300)], ">")
	switch {
	case !closed:
	case tags[rest[:end]] || strings.Contains(rest[:end], "llm") || strings.Contains(rest[:end], "assistant") || strings.Contains(rest[:end], "secret") || strings.HasPrefix(rest[:end], "hidden"):
		l.add(Warn, "order-tag", place, around(s, at-1, at+end), whyTag)
	case strings.Contains(attributes, "display:none"), strings.Contains(attributes, "display: none"), strings.Contains(attributes, "font-size:0"),
		strings.Contains(attributes, "visibility:hidden"), strings.Contains(attributes, "opacity:0"):
		l.add(Warn, "comment", place, around(s, at-1, at+end+len(attributes)), "a style hides a part of the text where it is rendered")
	}
}

// lowerASCII returns s with small letters, byte for byte.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

const whyEncoded = "a text is encoded, as to get past whoever reads it"

// encoded looks for texts within texts.
func (l *look) encoded(place, s string) {
	if strings.Count(s, "%") >= 8 {
		if out, err := url.PathUnescape(escapes(s)); err == nil && out != s {
			l.within(place, s, out, Info)
		}
	}
	if strings.Count(s, "&#") >= 6 {
		l.within(place, s, html.UnescapeString(s), Info)
	}
	for start := 0; start < len(s); {
		if !isBlobByte(s[start]) {
			start++
			continue
		}
		end := start
		for end < len(s) && isBlobByte(s[end]) {
			end++
		}
		if end-start >= 32 {
			l.blob(place, s, start, end)
		}
		start = end
	}
	if at := strings.Index(s, "data:text/html"); at >= 0 {
		l.add(Warn, "encoded", place, around(s, at, at+40), "a page stands within the text")
	}
}

// escapes returns s with the percent signs escaped that begin no escape.
func escapes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isBlobByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// blob looks at what may be bytes in base64 or hexadecimal digits.
func (l *look) blob(place, s string, start, end int) {
	blob := s[start:end]
	const most = 64 << 10
	blob = blob[:min(len(blob), most)]
	if b, err := hex.DecodeString(blob[:len(blob)&^1]); err == nil {
		if readable(b) {
			l.within(place, blob, string(b), Warn)
		}
		return
	}
	blob = strings.NewReplacer("-", "+", "_", "/").Replace(blob)
	blob = blob[:len(blob)-len(blob)%4]
	if b, err := base64.StdEncoding.DecodeString(blob); err == nil && readable(b) {
		l.within(place, s[start:end], string(b), Warn)
	}
}

// readable reports whether bytes are a text of some words.
func readable(b []byte) bool {
	if len(b) < 12 || !utf8.Valid(b) {
		return false
	}
	letters, spaces, odd := 0, 0, 0
	for _, r := range string(b) {
		switch {
		case unicode.IsLetter(r):
			letters++
		case r == ' ' || r == '\n':
			spaces++
		case !unicode.IsPrint(r):
			odd++
		}
	}
	return odd == 0 && spaces >= 2 && letters*10 >= len(b)*5
}

// within notes that a text has another one in it: that is bad if the other one has
// what is looked for, and of the given severity if it has not.
func (l *look) within(place, blob, plain string, otherwise Severity) {
	in := &look{Scanner: l.Scanner, server: l.server, tool: l.tool}
	in.characters(place, plain)
	in.phrases(place, plain)
	in.markup(place, plain)
	excerpt := around(blob, 0, 40) + " = " + clip(plain, 100)
	for _, f := range in.found {
		if f.Serious() && !l.has(f.Rule, place) {
			l.add(High, "encoded", place, excerpt, whyEncoded+", and "+f.Why)
			return
		}
	}
	if otherwise != Info {
		l.add(otherwise, "encoded", place, excerpt, whyEncoded)
	}
}
