package wiki_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/searching/wiki"
)

func TestSplit(t *testing.T) {
	intro, sections := wiki.Split("Intro with a == b.\n\n\n== One ==\ntext\n\n\n=== Two = 2 ===\n\n\n== Three==\nend")
	if intro != "Intro with a == b." || len(sections) != 3 {
		t.Fatalf("%q %+v", intro, sections)
	}
	for i, want := range []wiki.Section{{Level: 2, Title: "One", Text: "text"}, {Level: 3, Title: "Two = 2"}, {Level: 2, Title: "Three", Text: "end"}} {
		if sections[i] != want {
			t.Errorf("%+v, want %+v", sections[i], want)
		}
	}
}

// FuzzSplit: nothing of a text but its marks of headings is lost.
func FuzzSplit(f *testing.F) {
	f.Add("a\n== b ==\nc\n==\n=====\n")
	f.Fuzz(func(t *testing.T, text string) {
		intro, sections := wiki.Split(text)
		all := intro
		for _, s := range sections {
			if s.Level < 2 || s.Level > 6 {
				t.Errorf("level %d", s.Level)
			}
			all += s.Title + s.Text
		}
		count := func(s string) int { return strings.Count(s, "a") + strings.Count(s, "b") + strings.Count(s, "é") }
		if count(all) != count(text) {
			t.Errorf("%q became %q %+v", text, intro, sections)
		}
	})
}

// FuzzMeanings: no page makes the reader of meanings panic, or name what is no article.
func FuzzMeanings(f *testing.F) {
	f.Add(`<ul><li><a href="/wiki/A" title="A">A</a>, a <b>b</b><ul><li><a href="/wiki/Help:B" title="Help:B">x</a></li></ul></li></ul>`)
	f.Add(`<li><li><a href=/wiki/X title=Y><table><li>`)
	f.Fuzz(func(t *testing.T, page string) {
		list, err := wiki.Meanings(page)
		if err != nil {
			return
		}
		for _, o := range list {
			if o.Title == "" || len([]rune(o.Description)) > 200 {
				t.Errorf("%+v", o)
			}
		}
	})
}
