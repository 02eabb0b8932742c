package htmlsafe_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

// FuzzString parses pages: each comes back, soon, as a tree or an error.
func FuzzString(f *testing.F) {
	f.Add("<p>a<b>b<table><tr><td>c<svg><title>d</svg>")
	f.Add("<b><b><b></p></b><i><a><table><a>x<select><option><template><col>")
	f.Fuzz(func(t *testing.T, page string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		doc, err := htmlsafe.String(ctx, page)
		if ctx.Err() != nil || (doc == nil) == (err == nil) {
			t.Fatalf("%v, %v", doc, err)
		}
	})
}
