package clock

import "strings"

// ZoneNames returns the zone names that suggestions come from.
func ZoneNames() []string { return strings.Fields(zoneNames) }
