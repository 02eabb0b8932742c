package arch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// changelog: there is one, with a place for what is not released yet.
func changelog(t *Tree) []Finding {
	text, ok := t.texts["CHANGELOG.md"]
	if !ok {
		return []Finding{{"CHANGELOG.md", "missing", "add it: what a user notices, newest first"}}
	}
	if !strings.Contains(text, "\n## Unreleased\n") {
		return []Finding{{"CHANGELOG.md", "no section \"## Unreleased\"", "add it above the newest release"}}
	}
	return nil
}

// elsewhere are texts that name one machine or one network: a path outside the
// repository, or the host of a registry, which a mirror or a proxy replaces. They
// are put together here, so that this file does not name them either.
var elsewhere = []string{
	"/wor" + "k/", "../sha" + "red",
	"proxy." + "golang.org", "registry." + "npmjs.org", "deb." + "debian.org",
}

// outside: no file names a place outside the repository.
func outside(t *Tree) []Finding {
	var found []Finding
	for _, name := range sorted(t.texts) {
		n := 0
		for line := range strings.Lines(t.texts[name]) {
			n++
			for _, words := range elsewhere {
				if strings.Contains(line, words) {
					found = append(found, Finding{
						fmt.Sprintf("%s:%d", name, n), "names " + words,
						"take it from the environment, or leave the tool's own default in place",
					})
				}
			}
		}
	}
	return found
}

var (
	fence   = regexp.MustCompile("(?ms)^ *(```|~~~).*?^ *(```|~~~) *$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)(?: "[^"]*")?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links: a link from one Markdown file to a file, folder or heading of the
// repository leads somewhere.
func links(t *Tree) []Finding {
	var found []Finding
	for _, name := range sorted(t.texts) {
		if path.Ext(name) != ".md" || ignoredByGo(name) {
			continue
		}
		text := code.ReplaceAllString(fence.ReplaceAllString(t.texts[name], ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if !t.exists(target) {
				found = append(found, Finding{name, "links to " + m[1] + ", which does not exist", "correct the link, or add the file"})
			} else if anchor != "" && path.Ext(target) == ".md" && !slices.Contains(anchors(t.texts[target]), anchor) {
				found = append(found, Finding{name, "links to " + m[1] + ": no such heading", "correct the link after #"})
			}
		}
	}
	return found
}

// exists reports whether the repository holds a text file, or a folder with one.
func (t *Tree) exists(name string) bool {
	if _, ok := t.texts[name]; ok || name == "." {
		return true
	}
	for have := range t.texts {
		if strings.HasPrefix(have, name+"/") {
			return true
		}
	}
	return false
}

// anchors returns what the headings of a Markdown text are linked by, as code
// hosting sites make it: lower case, hyphens for spaces, no punctuation.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}
