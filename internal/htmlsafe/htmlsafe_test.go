package htmlsafe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

func bold(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b id=%d>", i)
	}
	return b.String()
}

// attributes returns n of them, none twice.
func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d", i)
	}
	return b.String()
}

// TestBuilt gives pages that are small, and whose trees are not.
func TestBuilt(t *testing.T) {
	wide := " " + attributes(900)
	for name, page := range map[string]string{
		"behind an end": "<p>" + bold(400) + "<object>" + strings.Repeat("</b>", 400) + "</object>" + strings.Repeat("<p>x", 21_000),
		"in a drawing":  "<p><svg><style>" + bold(400) + "</style></svg>" + strings.Repeat("<p>x", 21_000),
		"up and down":   strings.Repeat("<p>"+bold(100)+strings.Repeat("<p>x", 100)+strings.Repeat("</b>", 100), 400),
		"attributes":    "<p " + attributes(300_000) + ">",
		"clones":        "<p><b" + wide + "><i" + wide + "><u" + wide + ">" + strings.Repeat("<p>x", 8_000),
		"nodes":         strings.Repeat("<p>", 2_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := htmlsafe.String(t.Context(), page)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, htmlsafe.ErrBuilt) {
				t.Errorf("%d bytes: %v", len(page), err)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 700<<20 {
				t.Errorf("%d bytes took %d MiB", len(page), made>>20)
			}
		})
	}
}

// TestSame reads what is no trap as the parser alone does.
func TestSame(t *testing.T) {
	for _, page := range []string{
		"", "text", "<p>a<b>b<p>c</b>d", "<title>t</title><table><b>x<td>y</table>",
		strings.Repeat("<p>one <a href=x class=y>two</a> <b>three</b>\n", 20_000),
		"<script>" + strings.Repeat("if (a<b) x();\n", 200_000) + "</script><p>end",
		"<img src=data:" + strings.Repeat("A", 8<<20) + "><p>" + bold(40) + strings.Repeat("<p>x", 400),
	} {
		want, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		got, err := htmlsafe.String(t.Context(), page)
		if err != nil {
			t.Errorf("%.40q: %v", page, err)
			continue
		}
		var a, b bytes.Buffer
		if html.Render(&a, want) != nil || html.Render(&b, got) != nil || a.String() != b.String() {
			t.Errorf("%.40q is another page", page)
		}
	}
}

// endless is a page without an end.
type endless struct{ stop func() }

func (e *endless) Read(b []byte) (int, error) { e.stop(); return copy(b, "<p>x"), nil }

func TestStops(t *testing.T) {
	if _, err := htmlsafe.String(t.Context(), strings.Repeat("<div>", 600)); !errors.Is(err, htmlsafe.ErrDeep) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := htmlsafe.Parse(ctx, &endless{cancel}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := htmlsafe.Parse(t.Context(), io.MultiReader(strings.NewReader("<p>"), errReader{broken})); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
