package argglob_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/argglob"
)

// FuzzGlob compiles globs: each fits itself, one without signs fits nothing else, and
// none lets a text climb.
func FuzzGlob(f *testing.F) {
	f.Add("/srv/**/a?.txt", "/srv/x/../ab.txt")
	f.Add(`a\*b[c]`, "a*b[c]")
	f.Fuzz(func(t *testing.T, glob, text string) {
		g, err := argglob.Compile(glob)
		if err != nil {
			return
		}
		if !g.Match(glob) {
			t.Errorf("%q does not fit itself", glob)
		}
		if fits := g.Match(text); fits && text != glob && (!strings.ContainsAny(glob, `*?\`) || strings.Contains(text, "/../")) {
			t.Errorf("%q fits %q", glob, text)
		}
		_, _ = argglob.Unseen(text, "\n")
	})
}
