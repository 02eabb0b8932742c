package clock

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/spelling"
)

// zoneNames are the names of the IANA database, one a line. The standard library
// can load a zone by name but cannot list the names.
//
//go:embed zones.txt
var zoneNames string

// nicknames are what people write in place of a zone's name: abbreviations that
// several zones share, and large cities that lend their time to none.
var nicknames = map[string][]string{
	"pst": {"America/Los_Angeles"}, "pdt": {"America/Los_Angeles"}, "pacific": {"America/Los_Angeles"},
	"mdt": {"America/Denver"}, "cdt": {"America/Chicago"}, "edt": {"America/New_York"}, "eastern": {"America/New_York"},
	"cst": {"Asia/Shanghai", "America/Chicago"}, "ist": {"Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"},
	"bst": {"Europe/London", "Asia/Dhaka"}, "cest": {"Europe/Berlin", "Europe/Paris"}, "jst": {"Asia/Tokyo"},
	"kst": {"Asia/Seoul"}, "hkt": {"Asia/Hong_Kong"}, "sgt": {"Asia/Singapore"}, "msk": {"Europe/Moscow"},
	"aest": {"Australia/Sydney", "Australia/Brisbane"}, "aedt": {"Australia/Sydney"}, "brt": {"America/Sao_Paulo"},
	"beijing": {"Asia/Shanghai"}, "shenzhen": {"Asia/Shanghai"}, "guangzhou": {"Asia/Shanghai"}, "china": {"Asia/Shanghai"},
	"mumbai": {"Asia/Kolkata"}, "delhi": {"Asia/Kolkata"}, "bangalore": {"Asia/Kolkata"}, "india": {"Asia/Kolkata"},
	"san francisco": {"America/Los_Angeles"}, "seattle": {"America/Los_Angeles"}, "washington": {"America/New_York"},
	"boston": {"America/New_York"}, "montreal": {"America/Toronto"}, "munich": {"Europe/Berlin"}, "frankfurt": {"Europe/Berlin"},
	"germany": {"Europe/Berlin"}, "france": {"Europe/Paris"}, "geneva": {"Europe/Zurich"}, "barcelona": {"Europe/Madrid"},
	"milan": {"Europe/Rome"}, "osaka": {"Asia/Tokyo"}, "abu dhabi": {"Asia/Dubai"}, "rio": {"America/Sao_Paulo"},
}

var offsetPattern = regexp.MustCompile(`^(?i:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?$`)

// zone returns the zone of that name, and the server's own for an empty one and for
// local: whoever set one meant it.
func (s *server) zone(name string) (*time.Location, error) {
	if name = strings.TrimSpace(name); name == "" || strings.EqualFold(name, "local") {
		return s.home, nil
	}
	return findZone(name)
}

// findZone returns the zone that name means: a name of the IANA database in any
// case, or an offset from UTC. The error for any other names up to three near ones.
// It stays under 200 characters, the bound on an answer of get_current_time.
func findZone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if strings.EqualFold(name, "local") {
		return time.Local, nil
	}
	if m := offsetPattern.FindStringSubmatch(name); m != nil {
		return fixedZone(m[1], m[2], m[3])
	}
	spaced := strings.ReplaceAll(name, " ", "_")
	for n := range strings.Lines(zoneNames) {
		if n = strings.TrimSpace(n); strings.EqualFold(n, spaced) {
			return time.LoadLocation(n)
		}
	}
	if strings.EqualFold(name, "z") {
		return time.UTC, nil
	}
	shown := name
	if r := []rune(name); len(r) > 40 {
		shown = string(r[:40]) + "…"
	}
	near := nearZones(name)
	if len(near) == 0 {
		return nil, fmt.Errorf("unknown time zone %q. Use an IANA name such as Europe/Berlin, or an offset such as +02:00", shown)
	}
	return nil, fmt.Errorf("unknown time zone %q. Near: %s. Call again with an IANA name", shown, strings.Join(near, ", "))
}

func fixedZone(sign, hours, minutes string) (*time.Location, error) {
	h, _ := strconv.Atoi(hours)   // the pattern lets digits through only
	m, _ := strconv.Atoi(minutes) // and "" is 0
	if h > 14 || m > 59 {
		return nil, errors.New("an offset from UTC is between -12:00 and +14:00")
	}
	seconds := h*3600 + m*60
	if sign == "-" {
		seconds = -seconds
	}
	return time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", sign, h, m), seconds), nil
}

// nearZones returns up to three names of zones that someone who wrote name may
// have meant, best first.
func nearZones(name string) []string {
	name = strings.ToLower(strings.TrimSpace(name))
	if n, ok := nicknames[strings.ReplaceAll(name, "_", " ")]; ok {
		return n
	}
	city := lastPart(name)
	if n, ok := nicknames[strings.ReplaceAll(city, "_", " ")]; ok {
		return n
	}
	if len(name) > 64 { // no zone is that long; spare the comparison
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for n := range strings.Lines(zoneNames) {
		n = strings.TrimSpace(n)
		lower := strings.ToLower(n)
		d := min(spelling.Distance(name, lower), spelling.Distance(strings.ReplaceAll(city, " ", "_"), lastPart(lower)))
		if part := strings.ReplaceAll(lastPart(lower), "_", " "); len(city) >= 4 && strings.Contains(lower, city) ||
			len(part) >= 4 && strings.Contains(strings.ReplaceAll(city, "_", " "), part) {
			d = min(d, 1)
		}
		if d <= max(1, len(city)/3) {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	near := make([]string, 0, 3)
	for _, c := range found[:min(3, len(found))] {
		near = append(near, c.name)
	}
	return near
}

func lastPart(zone string) string { return zone[strings.LastIndexByte(zone, '/')+1:] }
