package schema

import "github.com/tenon-mcp/tenon/internal/expression"

// A pattern is a regular expression that knows what a match costs. The schema is that of
// somebody else, and so is the text.
type pattern struct{ *expression.Expression }

// compilePattern returns an error for what Go does not have, such as a look-ahead.
func compilePattern(text string) (*pattern, error) {
	e, err := expression.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{e}, nil
}

// perStep is how many instructions are looked at in about the time of a step.
const perStep = 128

// cost returns how many steps the match of a text of n bytes takes at most.
func (p *pattern) cost(n int) int { return 1 + n*p.Size/perStep }
