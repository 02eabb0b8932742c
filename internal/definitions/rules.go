package definitions

import (
	_ "embed" // of rulesText
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// rulesText has the words and the rules: see its head.
//
//go:embed rules.txt
var rulesText string

// A class is what a word may mean. A word has some.
type class uint64

// The classes that the program itself asks for. The others have bits of their own too.
const (
	cMixed   class = 1 << iota // has letters of several scripts
	cAddress                   // an address of the web or of mail
	cServer
	cUse
	cNot
	cMust
	cAlways
	cInstead
)

// A rule is a sequence of words within one sentence that no honest definition is
// expected to have.
type rule struct {
	name      string
	severity  Severity
	why       string
	parameter bool // holds within a parameter only
	steps     []ruleStep
	needs     class // the classes of the steps that have just one
}

// A ruleStep is the next word of a rule: one of these classes, within so many words,
// and none of those between.
type ruleStep struct {
	any    class
	within int
	not    class
}

// A widePhrase is a phrase of a language without spaces.
type widePhrase struct {
	rule
	first string
	then  []string // one of them, soon after; none is any
}

// A lexicon is what a Scanner knows of words. It is made when the first one is.
type lexicon struct {
	words  map[string]class
	dotted map[string]class  // names of files with secrets behind a dot
	pairs  map[string][]pair // by the second word
	why    map[string]string // by the name in the text
	class  map[string]class  // by its name
	rules  []rule
	phrase []widePhrase
}

type pair struct {
	first string
	class class
}

var theLexicon = sync.OnceValue(func() *lexicon {
	l := &lexicon{
		words: make(map[string]class, 800), dotted: map[string]class{}, pairs: map[string][]pair{}, why: map[string]string{},
		class: map[string]class{
			"mixed": cMixed, "address": cAddress, "server": cServer, "use": cUse, "not": cNot, "must": cMust,
			"always": cAlways, "instead": cInstead,
		},
	}
	for line := range strings.Lines(strings.ReplaceAll(rulesText, "\n  ", " ")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := l.read(line); err != nil {
			panic(fmt.Sprintf("rules.txt: %q: %v", line, err)) // a test reads it
		}
	}
	return l
})

// named returns the class of a name, a new one where it is new.
func (l *lexicon) named(name string) class {
	if l.class[name] == 0 {
		if len(l.class) == 64 {
			panic("rules.txt: more than 64 classes") // a test reads it
		}
		l.class[name] = 1 << len(l.class)
	}
	return l.class[name]
}

// read takes one line.
func (l *lexicon) read(line string) error {
	head, body, _ := strings.Cut(line, ": ")
	words := strings.Fields(head)
	switch words[0] {
	case "why":
		l.why[words[1]] = body
	case "words":
		for w := range strings.FieldsSeq(body) {
			l.words[w] |= l.named(words[1])
		}
	case "dotted":
		for w := range strings.FieldsSeq(body) {
			l.dotted[w] |= l.named(words[1])
		}
	case "pairs":
		for p := range strings.SplitSeq(body, ", ") {
			first, second, _ := strings.Cut(p, " ")
			l.pairs[second] = append(l.pairs[second], pair{first, l.named(words[1])})
		}
	case "rule":
		r, err := l.rule(words, body)
		if err != nil {
			return err
		}
		l.rules = append(l.rules, r)
	case "wide":
		first, then, _ := strings.Cut(body, "…")
		r := rule{name: words[1], severity: Severity(words[2]), why: l.why[words[3]]}
		l.phrase = append(l.phrase, widePhrase{r, strings.TrimSpace(first), strings.Fields(then)})
	default:
		return fmt.Errorf("%q is not known", words[0])
	}
	return nil
}

func (l *lexicon) rule(words []string, body string) (rule, error) {
	r := rule{name: words[1], severity: Severity(words[2]), why: l.why[words[3]], parameter: strings.HasSuffix(strings.Join(words, " "), " in parameters")}
	if r.why == "" {
		return r, fmt.Errorf("there is no why %q", words[3])
	}
	for text := range strings.SplitSeq(body, ", ") {
		classes, within, _ := strings.Cut(text, " ")
		var s ruleStep
		s.within, _ = strconv.Atoi(within) // the first has none
		classes, not, _ := strings.Cut(classes, "!")
		for name := range strings.SplitSeq(classes, "|") {
			if l.class[name] == 0 {
				return r, fmt.Errorf("there is no class %q", name)
			}
			s.any |= l.class[name]
		}
		s.not = l.class[not]
		if s.any&(s.any-1) == 0 {
			r.needs |= s.any
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}
