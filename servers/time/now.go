package clock

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
)

type nowInput struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone name, such as Asia/Shanghai or UTC, or an offset such as +08:00; left out: the zone that this server is set to, mostly that of this machine"`
}

// A moment is a point in time as a program wants it.
type moment struct {
	Time     string `json:"time" jsonschema:"ISO 8601 with offset, to the second"`
	Timezone string `json:"timezone" jsonschema:"zone of the time; Local where it is the zone of this machine"`
	Weekday  string `json:"weekday" jsonschema:"day of the week, in English"`
	Unix     int64  `json:"unix" jsonschema:"seconds since 1970-01-01T00:00:00Z"`
}

func momentOf(t time.Time) moment {
	return moment{
		Time: t.Format(time.RFC3339), Timezone: t.Location().String(),
		Weekday: t.Weekday().String(), Unix: t.Unix(),
	}
}

func (s *server) addNow(srv *mcp.Server) {
	typed.Add(srv, typed.Spec{
		Name: "get_current_time", Title: "Current time",
		Description: "Returns the current date and time with its UTC offset and weekday, in the given time zone. Call it whenever an answer depends on what time it is now.",
	}, func(_ context.Context, in nowInput) (string, moment, error) {
		loc, err := s.zone(in.Timezone)
		if err != nil {
			return "", moment{}, err
		}
		now := time.Now().In(loc)
		return sentence(now), momentOf(now), nil
	})
}

// sentence returns a time for a reader: ISO 8601, zone, abbreviation, weekday.
func sentence(t time.Time) string {
	zone := t.Location().String()
	if abbr := t.Format("MST"); abbr != zone && abbr[0] != '+' && abbr[0] != '-' {
		zone += " " + abbr
	}
	return fmt.Sprintf("%s (%s, %s)", t.Format(time.RFC3339), zone, t.Weekday())
}
