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
		// * and ? pass no slash, however it is written.
		"/data/*/x": {
			[]string{"/data/a/x", "/data/a%20b/x", "/data/%C3%A4/x", "/data/100%/x", "/data/50%zz/x", "/data/%e4/x"},
			[]string{
				"/data/a%2fb/x", "/data/a%2Fb/x", "/data/a%5cb/x", "/data/a%5Cb/x", "/data/a%252fb/x", "/data/a%u002fb/x", "/data/a%u005cb/x", "/data/a%c0%afb/x", "/data/a%c1%9cb/x",
				"/data/a%c1%2fb/x", "/data/a%ef%bc%8fb/x", "/data/a%ef%bc%bcb/x", "/data/a％2fb/x", "/data/a%2f..%2fetc", "/data/a%25252fb/x",
			},
		},
		"/one/?":          {[]string{"/one/a", "/one/%"}, []string{"/one/%2f", "/one/%61"}},
		"/two/**":         {[]string{"/two/a%2fb", "/two/a%5Cb%252Fc"}, []string{"/two/a%2f..%2f..%2fetc"}},
		"/a%2fb/*":        {[]string{"/a%2fb/c", "/a%2fb/c%20d"}, []string{"/a/b/c", "/a%2fb/c%2fd", "/a%2Fb/c"}},
		"/a%252fb/*":      {[]string{"/a%252fb/c", "/a%252fb/%C3%A4"}, []string{"/a%252fb/c%252fd", "/a%2fb/c"}},
		"/日本／x/*":         {[]string{"/日本／x/y%20", "/日本／x/y"}, []string{"/日本／x/y%2fz"}},
		"http://h.test/*": {[]string{"http://h.test/a%20b?c=%26"}, []string{"http://h.test/?next=%2fb"}},
		"/tmp/**": {
			[]string{"/tmp/", "/tmp/a/b", "/tmp/a..b"},
			[]string{"/tmp/../etc", "/tmp/a/..", `/tmp/x\..\y`, "/tmp/%2e%2e/x", "/tmp/x%2f..", "/tmp/%25252e", "/tmp/...", "/tmp/..;/x"},
		},
		// What some program reads as two dots, a slash or a backslash.
		"/data/**": {
			[]string{"/data/a…", "/data/a‥b", "/data/‥a", "/data/100%", "/data/100%25", "/data/%zz", "/data/a%20b", "/data/%C3%A4", "/data/№1", "/data/é/x", "/data/.a", "/data/a:b", "/data/%u00e4", "/data/C:/x"},
			[]string{
				"/data/‥/etc", "/data/‥", "/data/…/x", "/data/‥∕etc", "/data/․․/etc", "/data/.․/etc", "/data/︰/etc", "/data/﹒﹒/etc", "/data/｡｡/etc", "/data/。。/etc",
				"/data/%e2%80%a5/etc", "/data/%E2%80%A4%e2%80%a4/etc", "/data/%ef%bc%8e%ef%bc%8e/etc", "/data/％2e％2e/etc", "/data/%２e%2E/etc",
				"/data/%c0%ae%c0%ae/etc", "/data/%c0%ae./etc", "/data/%C0%AE%C0%AE%c0%af", "/data/%e0%80%ae%e0%80%ae/etc", "/data/%f0%80%80%ae%f0%80%80%ae/etc", "/data/x%c0%af..%c1%9cetc",
				"/data/%u002e%u002e/etc", "/data/%U002E./etc", "/data/%u2025/etc", "/data/x%u2215../etc", "/data/%25u002e%25u002e/etc", "/data/%25c0%25ae./etc",
				"/data/x⧵../y", "/data/x∖..", "/data/x﹨..", "/data/x⧸..", "/data/x¥..", "/data/x₩..",
				"/data/..%00/etc", "/data/..%e2%80%8b/etc", "/data/.%e2%80%8b./etc", "/data/..\u0301/etc", "/data/.%ef%b8%8f./x", "/data/..%20/etc", "/data/.. ./etc", "/data/..\u00a0/x",
				"/data/..::$INDEX_ALLOCATION/x", "/data/C:..", "/data/x?f=../y", "/data/x?f=%2e%2e", "/data/x?f=a&..",
			},
		},
		"https://*.example.com/**": {
			[]string{"https://a.example.com/", "https://a.b.example.com/x?y=1#z@w", "https://ä.example.com/100%25", "https://a.example.com/％"},
			[]string{
				"https://evil.test?.example.com/", "https://evil.test#.example.com/x", "https://evil.test／.example.com/", "https://evil.test℀.example.com/", "https://evil.test%2f.example.com/",
				"https://evil.test？.example.com/", "https://evil.test＃.example.com/", "https://evil.test:1@x.example.com/",
			},
		},
		"https://**":            {[]string{"https://a.test", "https://a.test/x/y?z#1"}, []string{"http://a.test", "https://a.test/x/../y"}},
		"https://*":             {[]string{"https://a.test"}, []string{"https://a.test/x"}},
		"https://good.com**":    {[]string{"https://good.com", "https://good.com:80"}, []string{"https://good.com@evil.test", "https://good.com/x"}},
		`https://good.com\?q=*`: {[]string{"https://good.com?q=a%20@b"}, []string{"https://good.comxq=a", "https://good.com?q=a/b"}},
		"http?://good.com/*":    {[]string{"https://good.com/a?b#c@d"}, []string{"https://good.com/a／b", "https://good.com/a＼b"}},
		"/日本／*":                 {[]string{"/日本／x"}, []string{"/日本/x"}},
		"?x":                    {[]string{"ax", "äx"}, []string{"x", "/x", `\x`, "aax"}},
		`\*[a]`:                 {[]string{"*[a]"}, []string{"a", "x[a]"}},
		"../*":                  {[]string{"../*"}, []string{"../x"}},
		"":                      {[]string{""}, []string{"a"}},
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
	up, _ := argglob.Compile("/data/**")
	for _, text := range []string{"/data/.." + strings.Repeat("%e2%80%8b", 100) + "/etc", "/data/%c0", "/data/%", "/data/%u00", "/data/%fc%80%80%80%80%ae./x", "/data/.%c0%2e/x"} {
		if fits := up.Match(text); fits != !strings.Contains(text[6:], "/") {
			t.Errorf("%s fits: %v", text, fits)
		}
	}
	for _, glob := range []string{"\xff", strings.Repeat("a", argglob.MaxLen+1)} {
		if _, err := argglob.Compile(glob); err == nil {
			t.Errorf("%.20q is a glob", glob)
		}
	}
}

func TestUnseen(t *testing.T) {
	for text, want := range map[string]rune{
		"a\x00": 0, "a\nb": '\n', "\u202e": '\u202e', "a\u200b": '\u200b', "\u2028": '\u2028', "\xff": '\ufffd', "\x7f": '\x7f',
		"/data/x\ufe0fy": '\ufe0f', "\ufe00": '\ufe00', "\u3164": '\u3164', "\u2800": '\u2800', "\u115f": '\u115f', "\u1160": '\u1160', "\uffa0": '\uffa0',
		"\u034f": '\u034f', "\u180b": '\u180b', "\u17b4": '\u17b4', "\U000e0100": '\U000e0100', "\U000e0041": '\U000e0041', "\u2065": '\u2065', "\ue000": '\ue000',
	} {
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
