package terms_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/terms"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"listOpenIssues of the HTTPServer": "list open issu http server",
		"磁盘空间 full":                        "磁盘 盘空 空间 full",
		"盘":                                "盘",
		"nginx磁盘":                          "nginx 磁盘",
		"URLs, cats; CATS":                 "url cat cat",
		"":                                 "",
	} {
		var got []string
		for word := range terms.Words(text) {
			if term := terms.Of(word); term != "" {
				got = append(got, term)
			}
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
