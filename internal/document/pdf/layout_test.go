package pdf_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/document/pdf"
)

// FuzzLayout lays out text that stands anywhere.
func FuzzLayout(f *testing.F) {
	f.Add([]byte("\x10\x10\x10\x10\x20\x00\x05hello\x10\x50\x10\x10\x20\x01\x05world\x10\x10\x10\x20\x20\x00\x02ab\x10\x50\x10\x20\x20\x00\x02cd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := pdf.Layout(b); n > 4*len(b)+4 {
			t.Fatalf("%d blocks of %d bytes", n, len(b))
		}
	})
}
