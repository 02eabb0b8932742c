package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

func nearCatalog(tb testing.TB) *catalog.Snapshot {
	tb.Helper()
	c := newCatalog(tb, catalog.Options{Servers: []string{"docker", "google-calendar", "ms365", "查询"}})
	c.Set("docker", named(tb, "docker_ps", "docker_stats", "docker_logs", "docker_inspect", "docker_restart"))
	c.Set("google-calendar", named(tb, "list-calendars", "list-events", "create-event", "getHTTPStatus"))
	c.Set("ms365", named(tb, "list-calendars", "create_calendar", "send-mail"))
	c.Set("查询", named(tb, "查询天气"))
	return c.Snapshot()
}

func TestNearTools(t *testing.T) {
	s := nearCatalog(t)
	cases := []struct {
		about, server, name string
		want                []string // the first ones
	}{
		{"another case", "google-calendar", "listCalendars", []string{"google-calendar/list-calendars", "ms365/list-calendars"}},
		{"another separator", "ms365", "list_calendars", []string{"ms365/list-calendars", "google-calendar/list-calendars"}},
		{"no separator", "", "LISTCALENDARS", []string{"google-calendar/list-calendars", "ms365/list-calendars"}},
		{"a typing error", "docker", "docker_restrat", []string{"docker/docker_restart"}},
		{"another order", "ms365", "calendars_list", []string{"ms365/list-calendars", "google-calendar/list-calendars"}},
		{"a name of the same kind", "docker", "docker_list", []string{"docker/docker_ps"}},
		{"an abbreviation in capitals", "", "get_http_status", []string{"google-calendar/getHTTPStatus"}},
		{"a server that is only alike", "ms-365", "list-calendar", []string{"ms365/list-calendars", "google-calendar/list-calendars"}},
		{"Chinese", "", "查询天汽", []string{"查询/查询天气"}},
		{"nothing like it", "docker", "zzzzqqqq", nil},
		{"no letters at all", "docker", "--", nil},
		{"nothing", "", "", nil},
	}
	for _, tc := range cases {
		t.Run(tc.about, func(t *testing.T) {
			var got []string
			for _, id := range s.NearTools(tc.server, tc.name, 5) {
				got = append(got, id.String())
			}
			if len(got) < len(tc.want) || !slices.Equal(got[:len(tc.want)], tc.want) || tc.want == nil && got != nil {
				t.Errorf("near %s/%s: %q, want first %q", tc.server, tc.name, got, tc.want)
			}
		})
	}
	for _, n := range []int{-1, 0} {
		if near := s.NearTools("docker", "docker_ps", n); len(near) != 0 {
			t.Errorf("%d near tools are %v", n, near)
		}
	}
	if near := s.NearTools("docker", "docker_p", 2); len(near) != 2 {
		t.Errorf("2 near tools are %v", near)
	}
}

// What differs only in case and separators is nearer than what differs in a
// letter, wherever it stands.
func TestFoldedNamesAreTheSame(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"s"}})
	c.Set("s", named(t, "listcalendarsx", "list-calendars"))
	for _, name := range []string{"listcalendars", "LISTCALENDARS", "list.calendars", "listCalendars"} {
		near := c.Snapshot().NearTools("s", name, 1)
		if len(near) != 1 || near[0].Name != "list-calendars" {
			t.Errorf("near %q: %v, want list-calendars", name, near)
		}
	}
}

func TestNearServers(t *testing.T) {
	s := nearCatalog(t)
	cases := []struct {
		name string
		want []string
	}{
		{"Docker", []string{"docker"}},
		{"googleCalendar", []string{"google-calendar"}},
		{"calendar-google", []string{"google-calendar"}},
		{"ms364", []string{"ms365"}},
		{"tool-docker", []string{"docker"}},
		{"kubernetes", nil},
	}
	for _, tc := range cases {
		if got := s.NearServers(tc.name, 1); !slices.Equal(got, tc.want) {
			t.Errorf("NearServers(%q) = %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The bit-parallel distance must order names as the table of distances does.
func TestNearnessIsEditDistance(t *testing.T) {
	letters := rapid.StringMatching(`[abc]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		asked := letters.Draw(t, "asked")
		names := rapid.SliceOfNDistinct(letters, 1, 8, rapid.ID).Draw(t, "names")
		c, err := catalog.New(catalog.Options{Servers: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		tools := make([]tool.Tool, len(names))
		for i, name := range names {
			tools[i].Name = name
		}
		c.Set("s", tools)
		likeness := func(name string) float64 {
			return 1 - float64(editDistance(asked, name))/float64(max(len(asked), len(name)))
		}
		near := c.Snapshot().NearTools("s", asked, len(names))
		last := 1.0
		for _, id := range near {
			if l := likeness(id.Name); l > last || l < 0.5 {
				t.Fatalf("near %q: %v; %q is %.2f alike, after %.2f", asked, near, id.Name, l, last)
			} else {
				last = l
			}
		}
		for _, name := range names {
			if likeness(name) >= 0.5 && !slices.Contains(near, tool.ID{Server: "s", Name: name}) {
				t.Fatalf("near %q: %v lacks %q", asked, near, name)
			}
		}
	})
}

// editDistance is the textbook's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func TestNearNamesOfAnyLength(t *testing.T) {
	c := newCatalog(t, catalog.Options{Servers: []string{"s"}})
	long := strings.Repeat("ab_", 100)
	c.Set("s", named(t, long, "x"))
	if near := c.Snapshot().NearTools("s", strings.Repeat("ab_", 1_000_000), 1); len(near) != 1 || near[0].Name != long {
		t.Errorf("near a name of 3 MB: %v, want the long one", near)
	}
}
