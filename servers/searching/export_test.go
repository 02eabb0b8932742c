package searching

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/scrape"
)

// NewFast is NewIn where waits are short and now is a day.
func NewFast(o Options, getenv func(string) string, now time.Time) (*mcp.Server, error) {
	wait := make([]time.Duration, 4)
	for i := range wait {
		wait[i] = time.Millisecond
	}
	s, err := build(o, getenv, pace{wait, wait, wait[:2], wait[:2], wait[:2], func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

// Unescape is what is done to addresses.
func Unescape(s string) string { return unescape(s) }

// Sentences returns the first n sentences.
func Sentences(s string, n int) string { return sentences(s, n) }

// An Operators narrows a query.
type Operators = operators

// Query returns words with operators.
func Query(o Operators, words string) (string, error) { return o.query(words) }

// Clamp returns a date moved into its range, with the notes.
func Clamp(year, month, day, first int, now time.Time) (y, m, d int, notes []string) {
	t := date{year: year, month: month, day: day}
	t.clamp(first, now)
	return t.year, t.month, t.day, t.notes
}

// Results makes an answer of what a service said; ok is false where that is no object.
func Results(body []byte) (text string, data any, ok bool) {
	answer, err := parse(body)
	if err != nil {
		return "", nil, false
	}
	policy, err := scrape.NewPolicy(nil)
	if err != nil {
		panic(err)
	}
	s := &sieve{policy: policy, snippets: true, graph: true, secrets: []string{"a-secret"}}
	text, data, err = s.results(answer, "organic", nil)
	return text, data, err == nil
}
