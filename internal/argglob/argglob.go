// Package argglob holds the text of an argument to a glob, as whoever wrote the glob
// understands it: it does not leave the folder that it names, nor hide a part of
// itself from who looks at it.
//
//	g, err := argglob.Compile("/data/*")
//	g.Match("/data/a.txt")        // true
//	g.Match("/data/x/a.txt")      // false: ** passes a slash
//	g.Match("/data/..")           // false
//	argglob.Unseen("/data/a\x00") // 0, true: refuse it before any pattern is asked
//
// In a glob * is any text without / and \, ** is any text, ? is one character but
// these, and \ quotes what follows. All else stands for itself. In the host of an address
// (https://*.example.com/**) none of them is what could end it: / \ ? # @ %.
//
// A glob says what may be. A text with escapes (%2f) therefore fits only where it does so
// as it stands and as it is read by those who read them. What is to be kept away is not
// said with a glob: it would miss what is written in yet another way.
package argglob

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// MaxLen is how long a glob may be, in bytes.
const MaxLen = 4096

// A Glob is a glob that is ready to be used.
type Glob struct {
	text  string
	re    *regexp.Regexp
	read  []*regexp.Regexp // for each of its readings, the first of which is re
	plain bool             // all of it is as in Plain
}

// Compile returns a glob. The error says what is wrong with its text.
func Compile(text string) (*Glob, error) {
	if len(text) > MaxLen || !utf8.ValidString(text) {
		return nil, fmt.Errorf("it is no text in UTF-8 of at most %d bytes", MaxLen)
	}
	g := &Glob{text: text, plain: Plain(text) == text}
	all, _ := readings(text)
	for _, r := range all {
		g.read = append(g.read, regexp.MustCompile(expression(r))) // what is quoted always compiles
	}
	g.re = g.read[0]
	return g, nil
}

// String returns the text of the glob.
func (g *Glob) String() string { return g.text }

// Match reports whether a text fits, also as programs read it that know no full width, or
// that read its escapes. One that climbs fits only a glob that is the same, character by
// character. A text with characters that are not seen is for Unseen.
func (g *Glob) Match(text string) bool {
	if text == g.text {
		return true
	}
	return g.re.MatchString(text) && !climbs(text) && (!g.plain || g.re.MatchString(Plain(text))) && g.unescaped(text)
}

// unescaped reports whether a text fits also once its escapes are read. Those of the glob
// are read then as well.
func (g *Glob) unescaped(text string) bool {
	if !strings.Contains(Plain(text), "%") {
		return true
	}
	all, ok := readings(text)
	for i, r := range all {
		if !g.read[min(i, len(g.read)-1)].MatchString(r) {
			return false
		}
	}
	return ok
}

// authority returns where the host of an address stands in a glob.
func authority(glob string) (start, end int) {
	_, rest, ok := strings.Cut(glob, "://")
	if !ok || strings.Trim(rest, "*") == "" && len(rest) > 1 { // all hosts with all that is on them
		return 0, 0
	}
	start, end = len(glob)-len(rest), len(glob)
	for _, sign := range []string{"/", "#", `\?`} {
		if n := strings.Index(rest, sign); n >= 0 {
			end = min(end, start+n)
		}
	}
	return start, end
}

// expression returns the regular expression that a glob stands for. It has one for
// each text.
func expression(glob string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	start, end := authority(glob)
	for i := 0; i < len(glob); {
		one, all := `[^/\\]`, `(?s:.*)`
		if i >= start && i < end {
			one, all = `[^/\\?#@%]`, `[^/\\?#@%]*`
		}
		r, size := utf8.DecodeRuneInString(glob[i:])
		switch {
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(all)
			size = len(glob[i:]) - len(strings.TrimLeft(glob[i:], "*"))
		case r == '*':
			b.WriteString(one + "*")
		case r == '?':
			b.WriteString(one)
		case r == '\\' && i+1 < len(glob):
			_, next := utf8.DecodeRuneInString(glob[i+1:])
			b.WriteString(regexp.QuoteMeta(glob[i+1 : i+1+next]))
			size += next
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+size]))
		}
		i += size
	}
	b.WriteString(`\z`)
	return b.String()
}

// Unseen returns the first character of a text that a person does not see, that ends
// the text for other programs, or that is not valid. Those of but may be in it.
func Unseen(text, but string) (rune, bool) {
	for _, r := range text {
		if r == utf8.RuneError || unseen.Is(r) && !strings.ContainsRune(but, r) {
			return r, true
		}
	}
	return 0, false
}
