package hostlog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/spelling"
)

const mostWriters = 200

// Contents is what there is in logs, for those who ask for what is not there.
type contents struct {
	writers map[string]bool // units and programs, where one is asked for; not all where they are many
	oldest  time.Time       // as far as files tell without being read
	newest  time.Time
}

// wrote remembers a unit or program.
func (c *contents) wrote(who string) {
	if c.writers == nil {
		c.writers = map[string]bool{}
	}
	if who != "" && len(c.writers) < mostWriters {
		c.writers[who] = true
	}
}

// spans remembers from when to when a file has entries; a zero time is not known.
func (c *contents) spans(first, last time.Time) {
	if !first.IsZero() && (c.oldest.IsZero() || first.Before(c.oldest)) {
		c.oldest = first
	}
	if last.After(c.newest) {
		c.newest = last
	}
}

// writersLike names those who wrote there: those whose names are like this one, else some.
func (c *contents) writersLike(unit string) string {
	const most = 10
	short := map[string]string{} // the names without what every service ends in
	for name := range c.writers {
		short[strings.TrimSuffix(name, ".service")] = name
	}
	names := slices.Sorted(maps.Keys(short))
	if near := spelling.Nearest(strings.TrimSuffix(unit, ".service"), names, most); len(near) > 0 {
		names = near
	}
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, plain(short[name], 80))
	}
	if more := len(c.writers) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// known reports whether the unit that is asked for has written at all.
func (c *contents) known(q query) bool {
	for name := range c.writers {
		if q.from(&entry{unit: name}) {
			return true
		}
	}
	return false
}
