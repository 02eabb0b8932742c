package unseen_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

func TestIs(t *testing.T) {
	for _, r := range []rune{
		0, '\n', '\t', 0x7f, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180e, 0x180f, 0x200b, 0x200c, 0x200d, 0x200e,
		0x2028, 0x2029, 0x202e, 0x2060, 0x2064, 0x2065, 0x2066, 0x206f, 0x2800, 0x3164, 0xe000, 0xfe00, 0xfe0e, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff9,
		0xfffc, 0xfffe, 0x1bca0, 0x1d159, 0x1d173, 0xe0000, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0xe0fff, 0xf0000, 0x10ffff, 0xfdd0,
	} {
		if !unseen.Is(r) {
			t.Errorf("%U is seen", r)
		}
		if got, ok := unseen.In("a" + string(r) + "b"); !ok || got != r {
			t.Errorf("%U is not found: %U", r, got)
		}
	}
	for _, r := range "aZ09 ~\u00a0éßſK\u0301\u0338\u3000漢한あא١กिმ❤🙂👍🏽€⠁𝒳𓀀\U000e1000" {
		if unseen.Is(r) {
			t.Errorf("%U is not seen", r)
		}
	}
	if r, ok := unseen.In("né 漢 🙂"); ok {
		t.Errorf("%U", r)
	}
}

// All that Unicode says is to be ignored where it is not known is covered.
func TestNothingIgnorableIsSeen(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == 0x20000 { // ideographs, up to the last plane but two
			r = 0xe0000
		}
		if r == 0xe2000 {
			break
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) && !unseen.Is(r) {
			t.Errorf("%U is seen", r)
		}
		if unseen.Is(r) && unicode.In(r, unicode.Zs, unicode.N, unicode.P, unicode.Sm, unicode.Sc, unicode.Sk) {
			t.Errorf("%U is not seen", r)
		}
	}
}

func TestMark(t *testing.T) {
	const text, want = "é \x1b[31m\n\t\x85\u00ad\u202e\u200b\u3164\u2800\ue000\U000e0041\xff漢⚠\ufe0f b\U000e0100", "é ?[31m??" + "?????" + "???" + "?漢⚠ b"
	if got := strings.Map(unseen.Mark, text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
