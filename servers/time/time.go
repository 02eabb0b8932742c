// Package clock is the bundled server "time": what the time is, anywhere, and
// what a time in one zone is in another. It needs no network and no key.
//
//	srv, err := clock.New(clock.Options{Timezone: "Europe/Berlin"})
//
// The package carries its own copy of the IANA time zone database, so that it
// answers the same in an empty container and on Windows. It is called clock
// because a package time would hide the standard library's; the folder bears
// the server's name.
//
// Zones are found in zone.go, which also names near ones for a name that does
// not exist; times that people write are read in parse.go.
package clock

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones where the system has none

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value is useful.
type Options struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone to use where a call names none, such as Europe/Berlin; default: the zone of this machine"`
}

type server struct {
	home *time.Location // where a call names no zone
}

// New returns the server. It fails where the option timezone is no zone.
func New(o Options) (*mcp.Server, error) {
	s := &server{home: time.Local}
	if o.Timezone != "" {
		loc, err := findZone(o.Timezone)
		if err != nil {
			return nil, fmt.Errorf("option timezone: %w", err)
		}
		s.home = loc
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-time", Title: "Time", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addNow(srv)
	s.addConvert(srv)
	return srv, nil
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := tool.Meta{
		Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
		SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow,
	}
	now, convert := m, m
	now.MaxResultChars, now.SearchHint = 200, "current time now date today clock timezone weekday 当前时间 日期 时区"
	convert.MaxResultChars, convert.SearchHint = 800, "convert time timezone difference offset epoch unix timestamp daylight saving 时间换算 时区转换"
	return map[string]tool.Meta{"get_current_time": now, "convert_time": convert}
}
