package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// Clean looks at the answer of t, an MCP CallToolResult. It returns a refusal
// where the answer says that it comes from an address that must not be reached, as
// after a redirect: then nothing of it may be given on. Else it returns the answer
// without links to such addresses where t is a search tool, and a note that says
// how many there were; without any it returns the very answer, and no note.
func (r *Rules) Clean(t *tool.Tool, answer tool.Bytes) (cleaned tool.Bytes, note, refusal string) {
	if r == nil {
		return answer, "", ""
	}
	s := r.scope(t)
	if s.before == nil || !r.needles.in(answer) {
		return answer, "", ""
	}
	raw := answer.Join()
	if !s.whole {
		if hit := r.stated(raw, s.before); hit.found() {
			return answer, "", r.refusal(hit)
		}
	}
	if s.after == nil {
		return answer, "", ""
	}
	e := editor{rules: r, in: s.after, src: raw}
	text, structured, err := e.result()
	if err != nil || len(text)+len(structured) == 0 {
		return answer, "", "" // what is no result has no links either
	}
	e.edits = slices.Concat(text, structured)
	return tool.OneOf(e.apply()), r.note(text, structured), ""
}

// note says how many links were taken out, by rule. Text and structured content
// say the same most often, so a link in both is one.
func (r *Rules) note(text, structured []edit) string {
	var parts []string
	for i := range r.list {
		n := max(count(text, i), count(structured, i))
		if n == 1 {
			parts = append(parts, fmt.Sprintf("1 link that rule %q forbids", r.list[i].Name))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d links that rule %q forbids", n, r.list[i].Name))
		}
	}
	return "removed " + strings.Join(parts, " and ")
}

func count(edits []edit, rule int) int {
	n := 0
	for _, e := range edits {
		n += e.links[rule]
	}
	return n
}

// An edit replaces src[start:end].
type edit struct {
	start, end int
	with       []byte
	links      map[int]int // how many links of each rule that takes out
}

// An editor takes links out of a JSON text. What it does not edit keeps its bytes.
type editor struct {
	rules *Rules
	in    []bool
	src   []byte
	edits []edit
	depth int
	inner int // how many texts this one lies within
}

const (
	maxDepth = 200 // of the JSON in an answer
	maxInner = 3   // of JSON in the strings of JSON
)

// apply returns the edited text.
func (e *editor) apply() []byte {
	slices.SortFunc(e.edits, func(a, b edit) int { return a.start - b.start })
	out := make([]byte, 0, len(e.src))
	at := 0
	for _, d := range e.edits {
		out = append(append(out, e.src[at:d.start]...), d.with...)
		at = d.end
	}
	return append(out, e.src[at:]...)
}

// drop returns the edit that takes out the links of m.
func drop(start, end int, m match) edit {
	return edit{start: start, end: end, links: map[int]int{m.rule: 1}}
}

// placeholder stands where a link stood that nothing else can be left out with.
func (e *editor) placeholder(m match) string {
	return fmt.Sprintf("[removed by rule %s]", e.rules.list[m.rule].Name)
}

// link returns the match of a string that is an address as a whole.
func (e *editor) link(text string) match {
	if !e.rules.needles.inText(text) || !isAddress(text) {
		return match{}
	}
	return e.rules.find(text, e.in, links)
}

// text returns the new text of a string, and the links that were taken out.
func (e *editor) text(s string) (string, map[int]int) {
	if !e.rules.needles.inText(s) {
		return s, nil
	}
	if trimmed := strings.TrimLeft(s, " \t\r\n"); e.inner < maxInner && trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		in := editor{rules: e.rules, in: e.in, src: []byte(s), inner: e.inner + 1}
		if end, _, err := in.value(0, false); err == nil && strings.TrimSpace(s[end:]) == "" {
			all := map[int]int{}
			for _, d := range in.edits {
				for rule, n := range d.links {
					all[rule] += n
				}
			}
			return string(in.apply()), all
		}
	}
	return e.prose(s)
}

// prose replaces the links in a text that people read.
func (e *editor) prose(s string) (string, map[int]int) {
	var b strings.Builder
	all := map[int]int{}
	for s != "" {
		end := strings.IndexFunc(s, partsWords)
		if end == 0 {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], ".,;:!?*_~")
		hit := match{}
		if e.rules.needles.inText(word) {
			hit = e.rules.find(word, e.in, links)
		}
		if hit.found() {
			all[hit.rule]++
			b.WriteString(e.placeholder(hit))
			b.WriteString(s[len(word):end])
		} else {
			b.WriteString(s[:end])
		}
		s = s[end:]
	}
	return b.String(), all
}

// partsWords tells whether a character, all of ASCII, parts two links of a text:
// in prose, in Markdown, in HTML.
func partsWords(r rune) bool {
	return r <= ' ' || r < 0x7f && strings.ContainsRune("\"'<>`|()[]{}", r)
}

// isAddress tells whether a string is an address as a whole, so that words to
// search for are none: site:huggingface.co/datasets, what is huggingface.co?
func isAddress(s string) bool {
	s = withoutBreaks(s)
	if s == "" || s[0] == '[' || strings.ContainsAny(s, "\"{}<>`") || strings.IndexFunc(s, isBlank) >= 0 {
		return false // a sentence, JSON, Markdown, HTML
	}
	s = unescapeAll(s)
	if strings.Contains(s, "//") || strings.Contains(s, `\\`) {
		return true
	}
	return mayHaveDot(s[:runEnd(s, 0)])
}

// quoted returns a text as JSON.
func quoted(s string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string and a Builder do not fail
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
