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
	move := func(what string, value *int, low, high int, below, above string) {
		to, why := min(max(*value, low), high), ""
		switch {
		case *value < low:
			why = below
		case *value > high:
			why = above
		default:
			return
		}
		d.notes = append(d.notes, fmt.Sprintf("%s adjusted from %d to %d%s", what, *value, to, why))
		*value = to
	}
	move("Year", &d.year, first, now.Year(), " (minimum supported)", " (current year)")
	move("Month", &d.month, 1, 12, "", "")
	if d.year == now.Year() {
		move("Month", &d.month, 1, int(now.Month()), "", " (current month)")
	}
	move("Day", &d.day, 1, time.Date(d.year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day(), "", "")
}

// told returns the sentence that says what was moved, or nothing.
func (d *date) told(used string) string {
	if len(d.notes) == 0 {
		return ""
	}
	return fmt.Sprintf("Date auto-adjusted: %s. Using %s instead.\n\n", strings.Join(d.notes, "; "), used)
}
