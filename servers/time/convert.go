package clock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
)

type convertInput struct {
	Time         string `json:"time,omitempty" jsonschema:"the time to convert: now, 14:30 (today), 2026-03-29 02:30, 2026-03-29T02:30:00+01:00, or Unix seconds or milliseconds"`
	FromTimezone string `json:"from_timezone,omitempty" jsonschema:"IANA time zone that the time is given in; left out: the zone that this server is set to, mostly that of this machine. A time with an offset of its own, and a Unix time, need none"`
	ToTimezone   string `json:"to_timezone" jsonschema:"IANA time zone to convert to, such as America/New_York or UTC, or an offset such as -05:00"`
}

type conversion struct {
	From       moment   `json:"from" jsonschema:"the time as it was given"`
	To         moment   `json:"to" jsonschema:"the same moment in the other zone"`
	Difference string   `json:"difference" jsonschema:"how far the other zone is ahead, such as +5h30m or -6h"`
	Notes      []string `json:"notes,omitempty" jsonschema:"what was doubtful about the time, such as one that a change of clocks skips or repeats"`
}

func (s *server) addConvert(srv *mcp.Server) {
	typed.Add(srv, typed.Spec{
		Name: "convert_time", Title: "Convert time",
		Description: "Converts a time from one time zone to another, daylight saving included, and says when the given time does not exist or exists twice. Also reads Unix timestamps.",
		Defaults:    map[string]any{"time": "now"},
	}, func(_ context.Context, in convertInput) (string, conversion, error) {
		c, err := s.convert(in, time.Now())
		if err != nil {
			return "", conversion{}, err
		}
		return c.text(), c.conversion, nil
	})
}

type converted struct {
	conversion

	from, to time.Time
}

func (s *server) convert(in convertInput, now time.Time) (converted, error) {
	from, err := s.zone(in.FromTimezone)
	if err != nil {
		return converted{}, fmt.Errorf("from_timezone: %w", err)
	}
	to, err := s.zone(in.ToTimezone)
	if err != nil {
		return converted{}, fmt.Errorf("to_timezone: %w", err)
	}
	t, notes, err := parseTime(in.Time, from, now)
	if err != nil {
		return converted{}, err
	}
	c := converted{from: t, to: t.In(to)}
	_, a := c.from.Zone()
	_, b := c.to.Zone()
	c.conversion = conversion{From: momentOf(c.from), To: momentOf(c.to), Difference: offset(b - a), Notes: notes}
	return c, nil
}

func (c converted) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n= %s\nDifference: %s", sentence(c.from), sentence(c.to), c.Difference)
	for _, n := range c.Notes {
		b.WriteString("\nNote: " + n)
	}
	return b.String()
}

// offset prints a number of seconds as +5h30m.
func offset(seconds int) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	d := (time.Duration(seconds) * time.Second).String() // 5h30m0s
	d = strings.TrimSuffix(d, "0s")
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	if d == "" {
		d = "0h"
	}
	return sign + d
}
