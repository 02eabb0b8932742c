package chunk_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/servers/knowledge/chunk"
)

const manual = `---
title: x
---
Before any heading.

# Runbook

Intro.

## Disk full

See [the page](http://example.com/a b "t"). Look at ` + "`df -h`" + ` first! Then clean.

` + "```sh\n# not a heading\ndf -h | sort\n\n\nrm x\n```" + `

| mount | size |
| --- | --- |
| / | 20 |
| /var | 30 |

### Inodes

Also count them.

#### Deep

Stays with its section.

网络故障
--------

先检查网络。再看日志！
`

func TestSections(t *testing.T) {
	got := chunk.Sections(manual, 2400)
	var paths []string
	var all strings.Builder
	for _, s := range got {
		paths = append(paths, s.Path)
		all.WriteString(s.Text)
	}
	if all.String() != manual {
		t.Errorf("the sections are not the document:\n%s", all.String())
	}
	want := []string{"", "Runbook", "Runbook › Disk full", "Runbook › Disk full › Inodes", "Runbook › 网络故障"}
	if !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
	if !strings.Contains(got[3].Text, "#### Deep") || !strings.Contains(got[2].Text, "# not a heading") {
		t.Errorf("sections %q", got)
	}
}

// TestNoCutWhereNoneMayBe cuts so finely that everything that can be cut is.
func TestNoCutWhereNoneMayBe(t *testing.T) {
	code := "```go\nfunc f() {\n\n\treturn\n}\n```\n"
	table := "| a | b |\n| --- | --- |\n| one cell | two |\n| three | four |\n"
	formula := "$$\nE = mc^2\n\\sum x\n$$\n"
	link := "[a long text of a link](https://example.com/with (brackets)/and more)"
	image := "![what is seen](pictures/one two.png \"title\")"
	inline := "`a command --with many --flags`"
	math := "$a + b = c$"
	doc := "Some words before it. " + link + " and " + image + " then " + inline + " or " + math + " at last.\n\n" +
		code + "\nBetween.\n\n" + table + "\n" + formula + "\nEnd\n"
	for _, most := range []int{1, 5, 10, 30, 80} {
		for name, pieces := range map[string][]string{
			"sections": texts(chunk.Sections(doc, most)), "passages": chunk.Passages(doc, most, most/3),
		} {
			for _, uncut := range []string{code, table, formula, link, image, inline, math} {
				if !slices.ContainsFunc(pieces, func(p string) bool { return strings.Contains(p, strings.TrimSpace(uncut)) }) {
					t.Errorf("%s of %d: cut %q\n%q", name, most, uncut, pieces)
				}
			}
		}
		if all := strings.Join(texts(chunk.Sections(doc, most)), ""); all != doc {
			t.Errorf("sections of %d lose something:\n%s", most, all)
		}
	}
}

// TestNoHeadingAlone: a section of headings alone is found, and says nothing.
func TestNoHeadingAlone(t *testing.T) {
	doc := "# Manual\n\n## Brakes\n\n### Pads\n\nChange them.\n\n## Engine\n\nLook at it.\n"
	var paths []string
	for _, s := range chunk.Sections(doc, 2400) {
		paths = append(paths, s.Path)
	}
	if want := []string{"Manual › Brakes › Pads", "Manual › Engine"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
}

func TestHeadings(t *testing.T) {
	for line, want := range map[string]string{"# On C#": "On C#", "## Closed ##": "Closed", "#": "", "#hashtag": "", "####### seven": "", "    # code": ""} {
		if got := chunk.Sections(line+"\ntext\n", 2400)[0].Path; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestPassages(t *testing.T) {
	text := strings.Repeat("A sentence of about forty characters. ", 40)
	got := chunk.Passages(text, 300, 50)
	for i, p := range got {
		if n := utf8.RuneCountInString(p); n > 300 || n < 150 && i < len(got)-1 {
			t.Errorf("passage %d has %d characters", i, n)
		}
		if i > 0 && !strings.HasPrefix(p, "A sentence") {
			t.Errorf("passage %d is cut in a sentence: %.40q", i, p)
		}
	}
	if overlap := len(strings.Join(got, "")) - len(text); overlap < 30*(len(got)-1)-200 {
		t.Errorf("%d passages overlap by %d in all", len(got), overlap)
	}
	chinese := chunk.Passages(strings.Repeat("先检查磁盘空间，再看日志。", 60), 300, 50)
	for _, p := range chinese {
		if !strings.HasSuffix(p, "。") {
			t.Errorf("cut within a sentence: %q", p)
		}
	}
	if got := chunk.Passages(strings.Repeat("x", 1000), 300, 50); len(got) != 4 {
		t.Errorf("a word of 1,000 letters gives %d passages", len(got))
	}
	if got := chunk.Passages(" \n\n", 300, 50); got != nil {
		t.Errorf("nothing gives %q", got)
	}
}

// TestLongBlocks: a block that nobody reads whole is cut at its lines.
func TestLongBlocks(t *testing.T) {
	log := "```\n" + strings.Repeat("2026-11-30 a line of a log\n", 10_000) + "```\n"
	got := chunk.Sections("# Log\n\n"+log, 2400)
	if len(got) < 50 {
		t.Errorf("%d sections", len(got))
	}
	for _, s := range got {
		if !strings.HasSuffix(s.Text, "\n") || s.Path != "Log" {
			t.Errorf("cut in a line: %q of %q", s.Text[len(s.Text)-20:], s.Path)
		}
	}
}

// TestHostile: marks that open and never close cost no time.
func TestHostile(t *testing.T) {
	for _, mark := range []string{"[", "`a", "![", "$a", "<a", "$$", "```", "| |\n", "[x](", "#\n", "http://", "\\"} {
		text := strings.Repeat(mark, 100_000/len(mark))
		began := time.Now()
		var n int
		for _, s := range chunk.Sections(text, 2400) {
			n += len(s.Text)
			chunk.Passages(s.Text, 300, 50)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q: %s", mark, took)
		}
		if n != len(text) {
			t.Errorf("%q: %d of %d bytes", mark, n, len(text))
		}
	}
}

func FuzzSections(f *testing.F) {
	f.Add(manual, 100, 10)
	f.Add("[a](b", 3, 1)
	f.Add("```\n|", 1, 0)
	f.Fuzz(func(t *testing.T, doc string, most, overlap int) {
		most = most%3000 + 1
		sections := chunk.Sections(doc, most)
		if got := strings.Join(texts(sections), ""); got != doc {
			t.Fatalf("%q became %q", doc, got)
		}
		for _, s := range sections {
			chunk.Passages(s.Text, most/8, overlap)
		}
	})
}

func BenchmarkSections(b *testing.B) {
	readme, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(readme)))
	for b.Loop() {
		for _, s := range chunk.Sections(string(readme), 2400) {
			chunk.Passages(s.Text, 300, 50)
		}
	}
}

func texts(sections []chunk.Section) []string {
	var t []string
	for _, s := range sections {
		t = append(t, s.Text)
	}
	return t
}
