package plain

import (
	"strconv"
	"strings"
	"time"
)

// A cursor reads a line from its beginning.
type cursor struct {
	s    string
	zone *time.Location
	ref  time.Time
}

// digits reads exactly n digits.
func (c *cursor) digits(n int) (int, bool) {
	if len(c.s) < n {
		return 0, false
	}
	v := 0
	for i := range n {
		d := c.s[i] - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + int(d)
	}
	c.s = c.s[n:]
	return v, true
}

func (c *cursor) one(of string) bool {
	if c.s == "" || strings.IndexByte(of, c.s[0]) < 0 {
		return false
	}
	c.s = c.s[1:]
	return true
}

// clock reads 15:04:05 with a fraction behind a dot or a comma.
func (c *cursor) clock() (h, m, s, ns int, ok bool) {
	if h, ok = c.digits(2); !ok || !c.one(":") {
		return 0, 0, 0, 0, false
	}
	if m, ok = c.digits(2); !ok {
		return 0, 0, 0, 0, false
	}
	if len(c.s) > 0 && c.s[0] == ':' {
		c.s = c.s[1:]
		if s, ok = c.digits(2); !ok {
			return 0, 0, 0, 0, false
		}
	}
	if len(c.s) > 1 && (c.s[0] == '.' || c.s[0] == ',') && isDigit(c.s[1]) {
		c.s = c.s[1:]
		unit := 100_000_000
		for len(c.s) > 0 && isDigit(c.s[0]) {
			ns += int(c.s[0]-'0') * unit
			unit /= 10
			c.s = c.s[1:]
		}
	}
	return h, m, s, ns, h < 24 && m < 60 && s < 61
}

// offset reads Z, +01:00, +0100 or +01, perhaps behind a space.
func (c *cursor) offset() *time.Location {
	s := strings.TrimPrefix(c.s, " ")
	if s == "" {
		return c.zone
	}
	if s[0] == 'Z' && (len(s) == 1 || s[1] == ' ' || s[1] == ']' || s[1] == '"') {
		c.s = s[1:]
		return time.UTC
	}
	if s[0] != '+' && s[0] != '-' {
		if strings.HasPrefix(s, "UTC") {
			c.s = s[3:]
			return time.UTC
		}
		return c.zone
	}
	o := cursor{s: s[1:]}
	h, ok := o.digits(2)
	if !ok || h > 14 {
		return c.zone
	}
	m := 0
	rest := o.s
	o.one(":")
	if m, ok = o.digits(2); !ok {
		m, o.s = 0, rest
	}
	if o.s != "" && o.s[0] != ' ' && o.s[0] != ']' && o.s[0] != ':' && o.s[0] != '"' {
		return c.zone // - belonged to something else
	}
	c.s = o.s
	seconds := (h*60 + m) * 60
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds)
}

// iso reads 2026-01-02T15:04:05.000+01:00 and what is like it: with a space in place
// of T, slashes in place of hyphens, no zone, no seconds.
func (c *cursor) iso() (time.Time, bool) {
	save := c.s
	y, ok := c.digits(4)
	if !ok || !c.one("-/") {
		c.s = save
		return time.Time{}, false
	}
	mon, ok1 := c.digits(2)
	ok2 := c.one("-/")
	d, ok3 := c.digits(2)
	ok4 := c.one("T _")
	h, m, s, ns, ok5 := c.clock()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || mon < 1 || mon > 12 || d < 1 || d > 31 {
		c.s = save
		return time.Time{}, false
	}
	return time.Date(y, time.Month(mon), d, h, m, s, ns, c.offset()), true
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

func (c *cursor) month() (time.Month, bool) {
	if len(c.s) < 3 {
		return 0, false
	}
	i := strings.Index(months, c.s[:3])
	if i < 0 || i%3 != 0 {
		return 0, false
	}
	c.s = c.s[3:]
	return time.Month(i/3 + 1), true
}

// day reads a day of one or two digits behind spaces.
func (c *cursor) day() (int, bool) {
	c.s = strings.TrimLeft(c.s, " ")
	if len(c.s) > 1 && isDigit(c.s[1]) {
		return c.digits(2)
	}
	return c.digits(1)
}

// bsd reads Jan  2 15:04:05, with a year behind it or without.
func (c *cursor) bsd() (time.Time, bool) {
	save := c.s
	mon, ok1 := c.month()
	ok2 := c.one(" ")
	d, ok3 := c.day()
	ok4 := c.one(" ")
	h, m, s, ns, ok5 := c.clock()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		c.s = save
		return time.Time{}, false
	}
	year := cursor{s: strings.TrimPrefix(c.s, " ")}
	if y, ok := year.digits(4); ok && y > 1970 && y < 2200 && (year.s == "" || year.s[0] == ' ' || year.s[0] == ']') {
		c.s = year.s
		return time.Date(y, mon, d, h, m, s, ns, c.zone), true
	}
	return c.withoutYear(mon, d, h, m, s, ns)
}

// withoutYear gives a date the latest year in which it is not later than the
// reference, but for a day of tolerance.
func (c *cursor) withoutYear(mon time.Month, d, h, m, s, ns int) (time.Time, bool) {
	if mon < 1 || mon > 12 || d < 1 || d > 31 {
		return time.Time{}, false
	}
	latest := c.ref.AddDate(0, 0, 1)
	for y := latest.In(c.zone).Year(); y > latest.Year()-9; y-- {
		t := time.Date(y, mon, d, h, m, s, ns, c.zone)
		if t.Day() == d && !t.After(latest) { // February 29 is in one year of four
			return t, true
		}
	}
	return time.Time{}, false
}

// common reads 02/Jan/2026:15:04:05 +0100.
func (c *cursor) common() (time.Time, bool) {
	d, ok1 := c.digits(2)
	ok2 := c.one("/")
	mon, ok3 := c.month()
	ok4 := c.one("/")
	y, ok5 := c.digits(4)
	ok6 := c.one(":")
	h, m, s, ns, ok7 := c.clock()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 || d < 1 || d > 31 {
		return time.Time{}, false
	}
	return time.Date(y, mon, d, h, m, s, ns, c.offset()), true
}

// epoch reads a number of seconds, milliseconds, microseconds or nanoseconds.
func epoch(s string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 1e8 {
		return time.Time{}, false
	}
	switch {
	case n < 1e11:
		ns, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64) // no digits are no fraction
		return time.Unix(n, ns), true
	case n < 1e14:
		return time.UnixMilli(n), true
	case n < 1e17:
		return time.UnixMicro(n), true
	}
	return time.Unix(0, n), true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
