package sandbox_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// TestClipIsResized keeps what there is whole where it was whole, and goes on where
// something was left out already.
func TestClipIsResized(t *testing.T) {
	const gap = "\n[… the middle is left out …]\n"
	many := strings.Repeat("x", 60)
	for _, c := range []struct {
		first       int
		before      string
		then        int
		after, want string
		left        int64
	}{
		{10, "before ", 200, many, "before " + many, 0},
		{200, many, 10, "12345", "xxxxx" + gap + "12345", 55},
		{10, "abcde" + many[:20], 200, "end", "abcde" + gap + "xxxxxend", 15},
	} {
		clip := sandbox.NewClip(c.first)
		_, _ = clip.Write([]byte(c.before))
		clip.Resize(c.then)
		_, _ = clip.Write([]byte(c.after))
		if text, left := clip.Text(); text != c.want || left != c.left {
			t.Errorf("%d, then %d: %q with %d left out; want %q with %d", c.first, c.then, text, left, c.want, c.left)
		}
	}
}
