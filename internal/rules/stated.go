package rules

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// stated returns the match of the address that the answer of a fetcher says it
// comes from, or passed on its way. Only what says so counts: a page may have a
// link to anywhere.
func (r *Rules) stated(raw []byte, in []bool) match {
	var res struct {
		Content []struct {
			Text     string `json:"text"`
			URI      string `json:"uri"`
			Resource struct {
				URI  string `json:"uri"`
				Text string `json:"text"`
			} `json:"resource"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &res) != nil {
		return match{}
	}
	if hit := r.statedInJSON(res.Structured, in, maxStated); hit.found() {
		return hit
	}
	for _, b := range res.Content {
		for _, text := range []string{b.Text, b.Resource.Text} {
			if hit := r.statedIn(text, in); hit.found() {
				return hit
			}
		}
		for _, uri := range []string{b.URI, b.Resource.URI} {
			if hit := r.find(uri, in, links); hit.found() {
				return hit
			}
		}
	}
	return match{}
}

// statedIn looks at a text block.
func (r *Rules) statedIn(text string, in []bool) match {
	if !r.needles.inText(text) {
		return match{}
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") {
		return r.statedInJSON([]byte(trimmed), in, maxStated)
	}
	head := cutRunes(text, maxHead)
	for _, m := range statedLine().FindAllStringSubmatch(head, -1) {
		if hit := r.find(m[1], in, links); hit.found() {
			return hit
		}
	}
	for _, m := range plainLine().FindAllStringSubmatch(cutRunes(text, maxFirst), -1) {
		if hit := r.find(m[1], in, links); hit.found() {
			return hit
		}
	}
	return match{}
}

const (
	maxHead   = 16 << 10 // of a text, for lines that can mean nothing else
	maxFirst  = 600      // of a text, for lines that a page may have as well
	maxStated = 4        // objects within objects
)

// statedLine matches the ways in which fetchers say where their answer is from:
// Playwright ("- Page URL: …"), Jina ("URL Source: …"), and the bundled network
// server ("- final_url: …", "- redirect: 302 from …", "## Answer: 200 OK from …",
// "- Location: …").
var statedLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[\s>*#-]*(?:page url|final[ _-]?url|effective[ _-]?url|url source|redirect(?:ed)?(?:[ _-]?(?:url|to|\d+))?|answer|location)\**:\**\s*(\S.*)$`)
})

// plainLine matches others, that a page may hold as well.
var plainLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[\s>*#-]*(?:url|source|source url|fetched|contents of)\**:?\**\s+(\S+)`)
})

// statedKeys are the members that say it in JSON, by plainKey.
var statedKeys = map[string]bool{
	"url": true, "uri": true, "finalurl": true, "effectiveurl": true, "pageurl": true, "currenturl": true, "sourceurl": true,
	"redirecturl": true, "redirectedurl": true, "redirectedto": true, "redirect": true, "location": true,
	"redirects": true, "redirectchain": true, "hops": true, "history": true,
}

// statedInJSON looks at the members of an object and of the objects in it, but in
// lists only at those of a key that says that they are the way: any other list is
// content.
func (r *Rules) statedInJSON(raw []byte, in []bool, depth int) match {
	var members map[string]json.RawMessage
	if depth == 0 || !r.needles.inText(string(raw)) || json.Unmarshal(raw, &members) != nil {
		return match{}
	}
	for key, value := range members {
		value = bytes.TrimSpace(value)
		var hit match
		switch {
		case value[0] == '{':
			hit = r.statedInJSON(value, in, depth-1)
		case statedKeys[plainKey(key)]:
			eachString(value, func(text string) bool {
				hit = r.find(text, in, links)
				return !hit.found()
			})
		}
		if hit.found() {
			return hit
		}
	}
	return match{}
}

// cutRunes returns the start of a text, up to n bytes, and to the end of a line
// that begins within.
func cutRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for !utf8.RuneStart(text[n]) {
		n--
	}
	if end := strings.IndexByte(text[n:], '\n'); end >= 0 && end < n {
		return text[:n+end]
	}
	return text[:n]
}
