package searching

import (
	"fmt"
	"strings"
	"time"
)

// A date is a day that a model named, brought into a range.
type date struct {
	year, month, day int
	notes            []string
}

// clamp moves the date into the years from first to now, and to a day that there is.
func (d *date) clamp(first int, now time.Time) {
	move := func(what string, value *int, low, high int, why string) {
		to := min(max(*value, low), high)
		if to == *value {
			return
		}
		reason := why
		if to == low {
			reason = ""
		}
		d.notes = append(d.notes, fmt.Sprintf("%s adjusted from %d to %d%s", what, *value, to, reason))
		*value = to
	}
	if d.year < first {
		d.notes = append(d.notes, fmt.Sprintf("Year adjusted from %d to %d (minimum supported)", d.year, first))
		d.year = first
	}
	move("Year", &d.year, first, now.Year(), " (current year)")
	last := 12
	if d.year == now.Year() && d.month <= 12 {
		last = int(now.Month())
	}
	move("Month", &d.month, 1, last, "")
	if d.year == now.Year() {
		move("Month", &d.month, 1, int(now.Month()), "")
	}
	move("Day", &d.day, 1, time.Date(d.year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day(), "")
}

// told returns the sentence that says what was moved, or nothing.
func (d *date) told(used string) string {
	if len(d.notes) == 0 {
		return ""
	}
	return fmt.Sprintf("Date auto-adjusted: %s. Using %s instead.\n\n", strings.Join(d.notes, "; "), used)
}
