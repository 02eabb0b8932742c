package expression_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/expression"
)

func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		`(?i)timed? out.{0,100}\d+ms`:   "",
		strings.Repeat("a", 900):        "",
		strings.Repeat("a", 1001):       "is longer than 1000 bytes",
		"(":                             "is no regular expression of RE2: missing closing ): `(`.",
		`(?=x)`:                         "Look-arounds",
		`.{0,1000}`:                     "is too costly: it becomes 2002 steps",
		strings.Repeat(`.{0,1000}x`, 9): "is too costly",
		`\pL{500}\pN{500}`:              "is too costly",
		"((((x{10}){10}){10}){10}){10}": "invalid repeat count",
		strings.Repeat("(", 400) + "x":  "is no regular expression",
	} {
		e, err := expression.Foreign(text)
		if want == "" && (err != nil || e == nil || e.Size == 0 || e.Syntax == nil) {
			t.Errorf("%.40q: %+v, %v", text, e, err)
		} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

// TestCompile has no bound: who asks counts by the size.
func TestCompile(t *testing.T) {
	e, err := expression.Compile(`^.{0,1000}$`)
	if err != nil || e.Size < 2000 || !e.MatchString(strings.Repeat("x", 1000)) || e.MatchString(strings.Repeat("x", 1001)) {
		t.Errorf("got %+v, %v", e, err)
	}
}
