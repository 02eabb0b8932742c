package draft_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

// TestEnough ends a conversion of which far more is made than is kept: by characters,
// or by time.
func TestEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		out := draft.NewOut(t.Context(), &b, draft.Options{MaxChars: 10}, nil)
		out.Block("0123456789 and more")
		out.Heading(2, "beyond")
		if out.Err() != nil || b.String() != "0123456789" || len(out.Report.Outline) != 1 {
			t.Fatalf("%q, %v, %v", b.String(), out.Err(), out.Report.Outline)
		}
		time.Sleep(6 * time.Second)
		if out.Block("late"); !errors.Is(out.Err(), draft.ErrEnough) {
			t.Errorf("after 6 s: %v", out.Err())
		}
		out = draft.NewOut(t.Context(), &b, draft.Options{MaxChars: 10}, nil)
		for range 11 {
			out.Block(strings.Repeat("x", 1_000_000))
		}
		if !errors.Is(out.Err(), draft.ErrEnough) {
			t.Errorf("after 11 million characters: %v", out.Err())
		}
	})
}

// TestPages reads lists of pages.
func TestPages(t *testing.T) {
	p, err := draft.ParsePages(" 2, 4-5,9- ")
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[int]bool{1: false, 2: true, 3: false, 4: true, 5: true, 6: false, 9: true, 1000: true} {
		if p.Has(page) != want {
			t.Errorf("page %d: %v", page, p.Has(page))
		}
	}
	if all, err := draft.ParsePages(""); err != nil || !all.Has(7) {
		t.Errorf("no list: %v, %v", all, err)
	}
}
