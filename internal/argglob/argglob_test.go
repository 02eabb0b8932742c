package argglob_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/argglob"
)

func TestMatch(t *testing.T) {
	for glob, c := range map[string]struct{ fit, not []string }{
		"/tmp/*": {
			[]string{"/tmp/", "/tmp/a", "/tmp/.a", "/tmp/...a"},
			[]string{"/tmp", "/tmp/a/b", `/tmp/a\b`, "/tmp/..", "/tmp/.. ", "/tmp/%2e%2E", "/tmp/%252e.", "/tmp/．．", "x/tmp/a"},
		},
		"/tmp/**": {
			[]string{"/tmp/", "/tmp/a/b", "/tmp/a..b"},
			[]string{"/tmp/../etc", "/tmp/a/..", `/tmp/x\..\y`, "/tmp/%2e%2e/x", "/tmp/x%2f..", "/tmp/%25252e", "/tmp/...", "/tmp/..;/x"},
		},
		"?x":    {[]string{"ax", "äx"}, []string{"x", "/x", `\x`, "aax"}},
		`\*[a]`: {[]string{"*[a]"}, []string{"a", "x[a]"}},
		"../*":  {[]string{"../*"}, []string{"../x"}},
		"":      {[]string{""}, []string{"a"}},
	} {
		g, err := argglob.Compile(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.fit {
			if !g.Match(text) {
				t.Errorf("%s does not fit %s", text, g)
			}
		}
		for _, text := range c.not {
			if g.Match(text) {
				t.Errorf("%s fits %s", text, g)
			}
		}
	}
	for _, glob := range []string{"\xff", strings.Repeat("a", argglob.MaxLen+1)} {
		if _, err := argglob.Compile(glob); err == nil {
			t.Errorf("%.20q is a glob", glob)
		}
	}
}

func TestUnseen(t *testing.T) {
	for text, want := range map[string]rune{"a\x00": 0, "a\nb": '\n', "\u202e": '\u202e', "a\u200b": '\u200b', "\u2028": '\u2028', "\xff": '\ufffd', "\x7f": '\x7f'} {
		if r, ok := argglob.Unseen(text, "\t"); !ok || r != want {
			t.Errorf("%q: %U, %v", text, r, ok)
		}
	}
	for _, text := range []string{"", "a b", "ümlaut/日本", "a\tb"} {
		if r, ok := argglob.Unseen(text, "\t"); ok {
			t.Errorf("%q: %U", text, r)
		}
	}
}
