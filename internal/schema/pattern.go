package schema

import (
	"regexp"
	"regexp/syntax"
)

// A pattern is a regular expression that knows what a match costs. A counted repetition
// is written out in its program, so a few letters of a schema can be thousands of
// instructions, and Go looks at each of them for each byte of a text.
type pattern struct {
	*regexp.Regexp
	size int // instructions
}

// compilePattern returns an error for what Go does not have, such as a look-ahead.
func compilePattern(text string) (*pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{re, len(program.Inst)}, nil
}

// perStep is how many instructions are looked at in about the time of a step.
const perStep = 128

// cost returns how many steps the match of a text of n bytes takes at most.
func (p *pattern) cost(n int) int { return 1 + n*p.size/perStep }
