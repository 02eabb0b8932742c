package clock

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// withOffset are the layouts of a time that says its own offset.
var withOffset = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04Z07:00", time.RFC1123Z,
}

// wallClock are the layouts of a time that a zone must be added to.
var wallClock = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
}

// timeOfDay are the layouts of a time today.
var timeOfDay = []string{"15:04", "15:04:05", "3:04PM", "3:04 PM", "3PM", "3 PM"}

// parseTime reads a time that somebody wrote: where it has no offset of its own
// it is meant in loc. The notes say what is doubtful about it.
func parseTime(s string, loc *time.Location, now time.Time) (t time.Time, notes []string, err error) {
	s = strings.TrimSpace(s)
	if s == "" || strings.EqualFold(s, "now") {
		return now.In(loc), nil, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) > 4 {
		return unixTime(n, loc)
	}
	for _, layout := range withOffset {
		if t, err := time.Parse(layout, s); err == nil {
			_, seconds := t.Zone()
			if seconds == 0 {
				return t.UTC(), nil, nil
			}
			return t.In(time.FixedZone("UTC"+t.Format("-07:00"), seconds)), nil, nil
		}
	}
	for _, layout := range wallClock {
		if wall, err := time.Parse(layout, s); err == nil {
			t, notes = onWall(wall, loc)
			return t, notes, nil
		}
	}
	for _, layout := range timeOfDay {
		if wall, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			y, m, d := now.In(loc).Date()
			t, notes = onWall(time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC), loc)
			return t, notes, nil
		}
	}
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return time.Time{}, nil, fmt.Errorf("cannot read the time %q. Write now, 14:30, 2026-03-29 02:30, 2026-03-29T02:30:00+01:00, or Unix seconds", s)
}

// unixTime reads seconds, or milliseconds where seconds would be past the year 5138.
func unixTime(n int64, loc *time.Location) (time.Time, []string, error) {
	const seconds, millis = 100_000_000_000, 100_000_000_000_000
	switch {
	case n > -seconds && n < seconds:
		return time.Unix(n, 0).In(loc), nil, nil
	case n > -millis && n < millis:
		return time.UnixMilli(n).In(loc), []string{"read as Unix milliseconds"}, nil
	}
	return time.Time{}, nil, fmt.Errorf("the Unix time %d is too large. Give seconds or milliseconds since 1970", n)
}

// onWall returns the moment at which clocks in loc show what wall shows. Where
// clocks are put back there are two such moments, and the first is taken; where
// they are put forward there may be none, and clocks then show a later time.
func onWall(wall time.Time, loc *time.Location) (time.Time, []string) {
	var found []time.Time
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, seconds := wall.Add(around).In(loc).Zone()
		t := wall.Add(-time.Duration(seconds) * time.Second).In(loc)
		if sameWall(t, wall) && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 2:
		first, second := found[0], found[1]
		if second.Before(first) {
			first, second = second, first
		}
		return first, []string{fmt.Sprintf("clocks in %s show this time twice that day; this is the first (%s), the second is %s",
			loc, first.Format("-07:00"), second.Format(time.RFC3339))}
	}
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	return t, []string{fmt.Sprintf("clocks in %s skip %s that day; taken as %s", loc, wall.Format("15:04"), t.Format("15:04 -07:00"))}
}

func sameWall(a, b time.Time) bool {
	const layout = "2006-01-02 15:04:05.999999999"
	return a.Format(layout) == b.Format(layout)
}
