package clock_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	clock "github.com/tenon-mcp/tenon/servers/time"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call calls a tool of a new server and returns the text of its answer.
func call(t *testing.T, o clock.Options, tool, arguments string) (text string, isError bool, res *mcp.CallToolResult) {
	t.Helper()
	srv, err := clock.New(o)
	if err != nil {
		t.Fatal(err)
	}
	res, err = testenv.Client(t, srv).CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	content, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("no text: %T", res.Content[0])
	}
	return content.Text, res.IsError, res
}

func TestCurrentTimeHonoursTheZone(t *testing.T) {
	before := time.Now().Truncate(time.Second)
	text, isError, res := call(t, clock.Options{}, "get_current_time", `{"timezone": "asia/kolkata"}`)
	if isError {
		t.Fatal(text)
	}
	stamp, rest, _ := strings.Cut(text, " ")
	got, err := time.Parse(time.RFC3339, stamp)
	if err != nil || got.Before(before) || time.Since(got) > time.Minute {
		t.Fatalf("%q is not now: %v", stamp, err)
	}
	if !strings.HasSuffix(stamp, "+05:30") || !strings.HasPrefix(rest, "(Asia/Kolkata IST, ") {
		t.Errorf("got %q", text)
	}
	b, _ := json.Marshal(res.StructuredContent)
	var m struct {
		Time, Timezone, Weekday string
		Unix                    int64
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Time != stamp || m.Timezone != "Asia/Kolkata" || m.Unix != got.Unix() {
		t.Errorf("structured content %s, %v", b, err)
	}
}

func TestCurrentTimeWithoutZoneTakesTheOption(t *testing.T) {
	text, _, _ := call(t, clock.Options{Timezone: "Asia/Tokyo"}, "get_current_time", `{}`)
	if !strings.Contains(text, "+09:00 (Asia/Tokyo JST") {
		t.Errorf("got %q", text)
	}
	text, _, _ = call(t, clock.Options{}, "get_current_time", `{"timezone": ""}`)
	if want := time.Now().Format("-07:00"); !strings.Contains(text, want) && !strings.Contains(text, "Z (") {
		t.Errorf("got %q, want the offset of this machine, %s", text, want)
	}
}

func TestUnknownZoneNamesNearOnes(t *testing.T) {
	for zone, want := range map[string]string{
		"Asia/Shangai":           "Asia/Shanghai",
		"Beijing":                "Asia/Shanghai",
		"Asia/Beijing":           "Asia/Shanghai",
		"America/New York City":  "America/New_York",
		"Berlin":                 "Europe/Berlin",
		"PST":                    "America/Los_Angeles",
		"Europe/Londn":           "Europe/London",
		"../../etc/passwd":       "",
		"+99:00":                 "between -12:00 and +14:00",
		strings.Repeat("x", 999): "Europe/Berlin", // the example
		"“‘‘⁄😀":                  "IANA name",
	} {
		b, _ := json.Marshal(map[string]string{"timezone": zone})
		text, isError, _ := call(t, clock.Options{}, "get_current_time", string(b))
		if !isError || !strings.Contains(text, want) {
			t.Errorf("%q: got %q, want %q in an error", zone, text, want)
		}
		if n := len([]rune(text)); n > 200 {
			t.Errorf("%q: the error has %d characters and would be cut at 200: %s", zone, n, text)
		}
	}
}

func TestOptionTimezoneIsChecked(t *testing.T) {
	_, err := clock.New(clock.Options{Timezone: "Europe/Pari"})
	if err == nil || !strings.Contains(err.Error(), "option timezone") || !strings.Contains(err.Error(), "Europe/Paris") {
		t.Errorf("got %v", err)
	}
}

func TestConvertTime(t *testing.T) {
	for _, tt := range []struct{ name, arguments, want string }{
		{
			"winter", `{"time": "2026-01-15 12:00", "from_timezone": "America/New_York", "to_timezone": "Asia/Shanghai"}`,
			"2026-01-15T12:00:00-05:00 (America/New_York EST, Thursday)\n= 2026-01-16T01:00:00+08:00 (Asia/Shanghai CST, Friday)\nDifference: +13h",
		},
		{
			"summer", `{"time": "2026-07-15T12:00:00", "from_timezone": "America/New_York", "to_timezone": "Asia/Shanghai"}`,
			"2026-07-15T12:00:00-04:00 (America/New_York EDT, Wednesday)\n= 2026-07-16T00:00:00+08:00 (Asia/Shanghai CST, Thursday)\nDifference: +12h",
		},
		{
			"half hours, westward", `{"time": "2026-01-01 00:00", "from_timezone": "Asia/Kathmandu", "to_timezone": "UTC"}`,
			"2026-01-01T00:00:00+05:45 (Asia/Kathmandu, Thursday)\n= 2025-12-31T18:15:00Z (UTC, Wednesday)\nDifference: -5h45m",
		},
		{
			"its own offset wins", `{"time": "2026-03-29T02:30:00+01:00", "from_timezone": "Asia/Tokyo", "to_timezone": "UTC"}`,
			"2026-03-29T02:30:00+01:00 (UTC+01:00, Sunday)\n= 2026-03-29T01:30:00Z (UTC, Sunday)\nDifference: -1h",
		},
		{
			"seconds", `{"time": "1700000000", "from_timezone": "UTC", "to_timezone": "+02:00"}`,
			"2023-11-14T22:13:20Z (UTC, Tuesday)\n= 2023-11-15T00:13:20+02:00 (UTC+02:00, Wednesday)\nDifference: +2h",
		},
		{
			"milliseconds", `{"time": "1700000000123", "from_timezone": "UTC", "to_timezone": "UTC"}`,
			"2023-11-14T22:13:20Z (UTC, Tuesday)\n= 2023-11-14T22:13:20Z (UTC, Tuesday)\nDifference: +0h\nNote: read as Unix milliseconds",
		},
		{
			"skipped", `{"time": "2026-03-29 02:30", "from_timezone": "Europe/Berlin", "to_timezone": "UTC"}`,
			"2026-03-29T03:30:00+02:00 (Europe/Berlin CEST, Sunday)\n= 2026-03-29T01:30:00Z (UTC, Sunday)\nDifference: -2h\nNote: clocks in Europe/Berlin skip 02:30 that day; taken as 03:30 +02:00",
		},
		{
			"twice", `{"time": "2026-10-25 02:30", "from_timezone": "Europe/Berlin", "to_timezone": "UTC"}`,
			"2026-10-25T02:30:00+02:00 (Europe/Berlin CEST, Sunday)\n= 2026-10-25T00:30:00Z (UTC, Sunday)\nDifference: -2h\nNote: clocks in Europe/Berlin show this time twice that day; this is the first (+02:00), the second is 2026-10-25T02:30:00+01:00",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, isError, _ := call(t, clock.Options{}, "convert_time", tt.arguments)
			if isError || text != tt.want {
				t.Errorf("got\n%s\nwant\n%s", text, tt.want)
			}
		})
	}
}

func TestConvertTimeOfDayIsToday(t *testing.T) {
	day := func() string { return time.Now().UTC().Format("2006-01-02") + "T14:30:00Z" }
	before := day() // which may end meanwhile
	text, _, _ := call(t, clock.Options{Timezone: "UTC"}, "convert_time", `{"time": "2:30 pm", "to_timezone": "UTC"}`)
	if after := day(); !strings.HasPrefix(text, before) && !strings.HasPrefix(text, after) {
		t.Errorf("got %q, want %s", text, after)
	}
}

func TestConvertTimeSaysWhatIsWrong(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"time": "half past nine", "to_timezone": "UTC"}`:    `cannot read the time "half past nine"`,
		`{"time": "99999999999999999", "to_timezone": "UTC"}`: "too large",
		`{"to_timezone": "Mars/Base"}`:                        "to_timezone: unknown time zone",
		`{"from_timezone": "Nowhere", "to_timezone": "UTC"}`:  "from_timezone: unknown time zone",
		`{"time": "now"}`: `to_timezone`,
	} {
		if text, isError, _ := call(t, clock.Options{}, "convert_time", arguments); !isError || !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %q", arguments, text, want)
		}
	}
}

// FuzzConvertTime feeds the readers of times and zones: whatever comes in, there
// is an answer or an error text.
func FuzzConvertTime(f *testing.F) {
	f.Add("2026-03-29 02:30", "Europe/Berlin", "UTC")
	f.Add("1700000000", "", "+08:00")
	f.Add("3PM", "UTC-3", "asia/tokyo")
	f.Fuzz(func(t *testing.T, when, from, to string) {
		b, err := json.Marshal(map[string]string{"time": when, "from_timezone": from, "to_timezone": to})
		if err != nil {
			return
		}
		if text, _, _ := call(t, clock.Options{}, "convert_time", string(b)); text == "" || len(text) > 800 {
			t.Errorf("answer of %d bytes: %q", len(text), text)
		}
	})
}

// TestEveryZoneLoads holds the list of names to the database that is linked in.
func TestEveryZoneLoads(t *testing.T) {
	zones := clock.ZoneNames()
	if len(zones) < 500 {
		t.Fatalf("only %d zones", len(zones))
	}
	for _, z := range zones {
		if _, err := time.LoadLocation(z); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalIsTheServersZone holds that local is the zone that the server was set to, as
// where a call names none.
func TestLocalIsTheServersZone(t *testing.T) {
	tokyo := clock.Options{Timezone: "Asia/Tokyo"}
	for _, arguments := range []string{`{}`, `{"timezone": "Local"}`, `{"timezone": " local "}`} {
		if text, _, _ := call(t, tokyo, "get_current_time", arguments); !strings.Contains(text, "+09:00 (Asia/Tokyo JST, ") {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	if text, _, _ := call(t, tokyo, "convert_time", `{"time": "2026-01-02T00:00:00Z", "to_timezone": "local"}`); !strings.Contains(text, "= 2026-01-02T09:00:00+09:00 (Asia/Tokyo JST") {
		t.Error(text)
	}
	if text, isError, _ := call(t, clock.Options{Timezone: "local"}, "get_current_time", `{}`); isError || !strings.Contains(text, "(Local ") {
		t.Errorf("the machine's: %s", text)
	}
}
