package answer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// TestSeen leaves out what nobody sees, and keeps what writing needs.
func TestSeen(t *testing.T) {
	for s, want := range map[string]string{
		"plain, text\twith\r\nends": "plain, text\twith\r\nends", "größe 磁盘 日本語": "größe 磁盘 日本語", "": "",
		"pass\u200bword": "password", "\ufeffa\ufeffb": "ab", "a\u2060b\u200bc": "abc", "a\u202egnp\u202c.b": "agnp.b", "\u2066x\u2069\u200e\u200f\u061c": "x",
		"hi\U000E0001\U000E0068\U000E0069\U000E007F": "hi", "a\U000E0100\U000E01EFb": "ab", "x\ufe0f\ufe01y": "xy", "a\u3164\u115f\uffa0b\u034f": "ab",
		"a\x00b\x1b[31mc\u009bd\x7f": "ab[31mcd", "one\u2028two\u2029three\u0085four": "one two three four", "co\u00adoperate": "cooperate", "f\u2061x\u2062y": "fxy",
		"a\u200db\u200cc": "abc", "\u200c\u200d": "", "می\u200cخواهم": "می\u200cخواهم", "می\u200c\u200c\u200dخواهم": "می\u200cخواهم", "क्\u200dष र्\u200dय": "क्\u200dष र्\u200dय", "ന്\u200d": "ന്\u200d",
		"👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f⃣ ☎\ufe0e": "👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f⃣ ☎\ufe0e", "👩\u200d\u200d\u200d💻": "👩\u200d💻",
	} {
		got, hidden := answer.Seen(s)
		if got != want {
			t.Errorf("%+q: %+q, want %+q", s, got, want)
		}
		if gone := utf8.RuneCountInString(s) - utf8.RuneCountInString(want) - strings.Count(s, "\u00ad") - strings.Count(s, "\u2061") - strings.Count(s, "\u2062"); hidden != gone {
			t.Errorf("%+q: %d are said to be hidden, want %d", s, hidden, gone)
		}
	}
	var e answer.Eye
	if got := e.Seen("می") + e.Seen("\u200cخ\u200b") + e.Seen("") + e.Seen("\u200cx"); got != "می\u200cخ\u200cx" || e.Hidden != 1 {
		t.Errorf("in pieces: %+q, %d hidden", got, e.Hidden)
	}
}

// FuzzSeen looks that what was seen is seen again, whatever the pieces.
func FuzzSeen(f *testing.F) {
	f.Add("a\u200bb👩\u200d💻", 3)
	f.Add("می\u200cخواهم\U000E0041", 2)
	f.Fuzz(func(t *testing.T, s string, at int) {
		s = strings.ToValidUTF8(s, "")
		whole, n := answer.Seen(s)
		if again, m := answer.Seen(whole); again != whole || m != 0 {
			t.Fatalf("%+q becomes %+q, and then %+q", s, whole, again)
		}
		r := []rune(s)
		at = min(max(at, 0), len(r))
		var e answer.Eye
		if got := e.Seen(string(r[:at])) + e.Seen(string(r[at:])); got != whole || e.Hidden != n {
			t.Fatalf("%+q in pieces: %+q with %d, and as a whole %+q with %d", s, got, e.Hidden, whole, n)
		}
	})
}
