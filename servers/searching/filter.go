package searching

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/scrape"
)

// A sieve holds back what an operator does not want to be seen.
type sieve struct {
	policy               *scrape.Policy
	snippets, graph, box bool     // to leave out
	secrets              []string // what no answer holds
}

// results makes the answer of a search of that of a service.
func (s *sieve) results(answer object, hits string, notes []string) (string, any, error) {
	answer = slices.DeleteFunc(answer, func(m member) bool { return m.value == nil })
	for i := range answer {
		change := func(t string) string { return unescape(s.hide(clean(t))) }
		if answer[i].key == "searchParameters" { // as they were sent
			change = func(t string) string { return s.hide(clean(t)) }
		}
		answer[i].value = texts(answer[i].value, change)
	}
	answer, dropped := s.filter(answer) // of the texts as they will be read
	notes = append(notes, dropped...)
	if _, ok := answer.get(hits).([]any); !ok {
		answer = answer.with(hits, []any{})
	}
	if len(answer.list(hits)) == 0 {
		notes = append(notes, nothingFound)
	}
	return fit(answer, hits, notes)
}

// nothingFound is what is said of a search without results.
const nothingFound = "no page was found: search for fewer or more common words, without quotes and operators such as site:, in another language, or without a bound on the age; " +
	"of a further page it means that there are no more results"

// hide takes secrets out of a text.
func (s *sieve) hide(t string) string {
	for _, secret := range s.secrets {
		if secret != "" {
			t = strings.ReplaceAll(t, secret, "[key]")
		}
	}
	return t
}

// filter takes out of an answer what the operator does not want there. It returns
// what it did.
func (s *sieve) filter(answer object) (object, []string) {
	if s.graph {
		answer = answer.without("knowledgeGraph")
	}
	if s.box {
		answer = answer.without("answerBox")
	}
	if s.snippets {
		for _, key := range []string{"organic", "peopleAlsoAsk"} {
			for i, item := range answer.list(key) {
				if o, ok := item.(object); ok {
					answer.list(key)[i] = o.without("snippet")
				}
			}
		}
	}
	dropped := 0
	for i := range answer {
		m := &answer[i]
		if m.key == "searchParameters" { // what was asked, not what was found
			continue
		}
		if list, ok := m.value.([]any); ok {
			var n int
			m.value, n = s.permitted(list, maxDepth)
			dropped += n
		} else if s.blocks(m.key, m.value, maxDepth) {
			m.value = object{}
			dropped++
		}
	}
	for _, key := range []string{"knowledgeGraph", "answerBox"} {
		if o, ok := answer.get(key).(object); ok && len(o) == 0 {
			answer = answer.without(key)
		}
	}
	if dropped == 0 {
		return answer, nil
	}
	return answer, []string{fmt.Sprintf("left out for the operator's list of blocked addresses: %d", dropped)}
}

// permitted returns the items of a list that lead to no blocked address.
func (s *sieve) permitted(list []any, depth int) (kept []any, dropped int) {
	kept = make([]any, 0, len(list))
	for _, item := range list {
		if inner, ok := item.([]any); ok && depth > 0 {
			var n int
			item, n = s.permitted(inner, depth-1)
			dropped += n
		}
		if s.blocks("", item, depth) {
			dropped++
			continue
		}
		kept = append(kept, item)
	}
	return kept, dropped
}

// addresses are the members that lead somewhere, whatever their text looks like.
var addresses = map[string]bool{"link": true, "url": true, "website": true, "descriptionLink": true, "href": true}

// blocks reports whether a member leads to a blocked address. A list in it is thinned
// in its own right.
func (s *sieve) blocks(key string, v any, depth int) bool {
	switch v := v.(type) {
	case string:
		return (addresses[key] || strings.HasPrefix(strings.ToLower(v), "http")) && s.policy.Check(v) != nil
	case object:
		for i := range v {
			if list, ok := v[i].value.([]any); ok && depth > 0 {
				v[i].value, _ = s.permitted(list, depth-1)
			} else if depth > 0 && s.blocks(v[i].key, v[i].value, depth-1) {
				return true
			}
		}
	}
	return false
}

// extras are what is left out first where an answer is too long, before its hits
// are.
var extras = []string{"relatedSearches", "peopleAlsoAsk", "images", "videos", "places", "topStories"}

// fit makes the text and the data of an answer, and leaves out what would make it
// too long, the least important first.
func fit(answer object, hits string, notes []string) (string, any, error) {
	have := len(answer.list(hits))
	var gone []string
	for {
		all := notes
		if len(gone) > 0 {
			all = append(slices.Clip(notes), fmt.Sprintf("left out for the length of the answer: %s", strings.Join(gone, ", ")))
		}
		if n := len(answer.list(hits)); n < have {
			all = append(slices.Clip(all), fmt.Sprintf("only the first %d of %d results are shown, for their length: ask for fewer, or for the next page", n, have))
		}
		if len(all) > 0 {
			answer = answer.with("notes", all)
		}
		t, err := text(answer)
		if err != nil {
			return "", nil, err
		}
		if len([]rune(t)) <= searchChars {
			return t, answer, nil
		}
		smaller, left := answer.shrink(hits)
		if left != "" {
			gone = append(gone, left)
		}
		if answer = smaller; answer == nil {
			short, _ := cut(t, searchChars)
			return short, object{{hits, []any{}}, {"notes", []string{"the answer is too long even without results"}}}, nil
		}
	}
}

// shrink leaves one thing out of an answer, and returns its name where it is no hit;
// nil where nothing can be left out.
func (o object) shrink(hits string) (smaller object, gone string) {
	for _, key := range extras {
		if o.get(key) != nil {
			return o.without(key), key
		}
	}
	if list := o.list(hits); len(list) > 1 {
		return o.with(hits, list[:len(list)-1]), ""
	}
	for _, key := range []string{"knowledgeGraph", "answerBox"} {
		if o.get(key) != nil {
			return o.without(key), key
		}
	}
	return nil, ""
}
