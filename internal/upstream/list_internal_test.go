package upstream

import (
	"testing"
	"time"
)

// TestOldWordsHaveTheirAge: what a server wrote long before it failed is not told as the
// cause of that.
func TestOldWordsHaveTheirAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0:                            "its last words",
		9 * time.Second:              "its last words",
		29*time.Second + 5e8:         "its last words, 29s before",
		3 * time.Minute:              "its last words, 3m before, so perhaps of something else",
		49*time.Hour + 3*time.Minute: "its last words, 49h3m before, so perhaps of something else",
	} {
		if got := lastWords(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
}
