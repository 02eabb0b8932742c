package conformance

import "testing"

// TestTheSuiteHasTheLastWord: a scenario whose checks all passed has not passed where the
// suite says so, of warnings or of a client that failed.
func TestTheSuiteHasTheLastWord(t *testing.T) {
	for out, want := range map[string]bool{
		"Passed: 2/2, 0 failed, 0 warnings\n\n✅ OVERALL: PASSED\n":             true,
		"Passed: 2/2, 0 failed, 1 warnings\n\n❌ OVERALL: FAILED\n":             false,
		"=== SUMMARY ===\n✓ auth/one: 2 passed, 0 failed\n":                    true,
		"=== SUMMARY ===\n✗ auth/one: 2 passed, 0 failed\nOVERALL: whatever\n": false,
	} {
		got := judge(Sheet{{Scenario: "auth/one", Scored: true, Passed: 2, OK: true}}, out)
		if len(got) != 1 || got[0].OK != want {
			t.Errorf("%q: %+v, want %v", out, got, want)
		}
		if len(got) == 1 && !got[0].OK && out[0] == 'P' && got[0].Why == "" {
			t.Errorf("%q: nobody is told why", out)
		}
	}
}
