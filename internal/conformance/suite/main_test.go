package main

import (
	"io"
	"testing"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// TestResultsAreHeldAgainstWhatIsExpected: a run fails for what fails, for what
// passes against the list, and for a sum below the goal; for nothing else.
func TestResultsAreHeldAgainstWhatIsExpected(t *testing.T) {
	passes := conformance.Outcome{Scenario: "a", Scored: true, OK: true}
	fails := conformance.Outcome{Scenario: "a", Scored: true}
	for _, c := range []struct {
		name     string
		outcome  conformance.Outcome
		goal     int
		expected map[string]string
		wrong    bool
	}{
		{"passes", passes, 1, nil, false},
		{"fails", fails, 0, nil, true},
		{"fails as expected", fails, 0, map[string]string{"cell a": "known"}, false},
		{"fails as expected of another cell", fails, 0, map[string]string{"other a": "known"}, true},
		{"passes against the list", passes, 1, map[string]string{"cell a": "known"}, true},
		{"below the goal", fails, 1, map[string]string{"cell a": "known"}, true},
		{"fails, but nobody requires it", conformance.Outcome{Scenario: "a"}, 0, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all table
			all.add(cell{name: "cell", goal: c.goal}, conformance.Sheet{c.outcome})
			if err := all.compare(io.Discard, c.expected); (err != nil) != c.wrong {
				t.Errorf("error: %v", err)
			}
		})
	}
}

func TestExpectedFailuresCanBeRead(t *testing.T) {
	if _, err := parse(expectedText); err != nil {
		t.Error(err)
	}
	if _, err := parse("cell scenario\n"); err == nil {
		t.Error("a line without a reason is taken")
	}
}
