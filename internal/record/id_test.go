package record_test

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/record"
)

func TestNewIDHasItsForm(t *testing.T) {
	form := regexp.MustCompile(`^c_[0-9a-hjkmnp-tv-z]{26}$`)
	seen := make(map[string]bool)
	for range 10_000 {
		id := record.NewID()
		if !form.MatchString(id) {
			t.Fatalf("ID %q is not of the form %s", id, form)
		}
		if seen[id] {
			t.Fatalf("ID %q came twice", id)
		}
		seen[id] = true
	}
}

func TestNewIDSortsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := ""
		for range 2000 {
			id := record.NewID()
			if id <= last {
				t.Fatalf("ID %q comes after %q but sorts before it", id, last)
			}
			last = id
			time.Sleep(37 * time.Microsecond)
		}
	})
}

// Every digit of the random part must take every value, else the IDs have fewer
// possibilities than they seem to have.
func TestNewIDUsesAllItsDigits(t *testing.T) {
	const first, digits = 2 + 11, 32
	var seen [28]map[byte]bool
	for range 2000 {
		id := record.NewID()
		for i := first; i < len(id); i++ {
			if seen[i] == nil {
				seen[i] = make(map[byte]bool)
			}
			seen[i][id[i]] = true
		}
	}
	for i := first; i < len(seen); i++ {
		if len(seen[i]) != digits {
			t.Errorf("digit %d has %d values, want %d", i, len(seen[i]), digits)
		}
	}
}
