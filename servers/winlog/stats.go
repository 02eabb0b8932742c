package winlog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxStatMinutes = 43_200 // 30 days
	maxRows        = 20
	maxKeys        = 10_000 // kinds that are counted apart
	maxBuckets     = 48
)

type statsInput struct {
	LogName     string `json:"log_name,omitempty" jsonschema:"log to count, as query_windows_event takes it"`
	Level       string `json:"level,omitempty" jsonschema:"lowest level, as query_windows_event takes it; by default everything"`
	LastMinutes int    `json:"last_minutes,omitempty" jsonschema:"how far back from now, 1 to 43200 (30 days); ignored where start or end is given"`
	Start       string `json:"start,omitempty" jsonschema:"first moment, such as 2026-03-01 or 2026-03-01T14:30:00Z; without an offset it is UTC; needed for older files"`
	End         string `json:"end,omitempty" jsonschema:"last moment, written like start"`
	EventIDs    string `json:"event_ids,omitempty" jsonschema:"event ids, such as 4624,4625,7030-7040,-7036"`
	Provider    string `json:"provider,omitempty" jsonschema:"provider (source) of the events, whole name"`
	Text        string `json:"text,omitempty" jsonschema:"text that an event must contain, whatever its case"`
}

type statsOutput struct {
	Log     string   `json:"log" jsonschema:"the log that was counted"`
	From    string   `json:"from,omitempty" jsonschema:"first moment that was asked for, in UTC"`
	To      string   `json:"to,omitempty" jsonschema:"last moment that was asked for; left out: until now"`
	Total   int      `json:"total" jsonschema:"how many events there are"`
	First   string   `json:"first,omitempty" jsonschema:"time of the oldest of them, in UTC"`
	Last    string   `json:"last,omitempty" jsonschema:"time of the newest of them, in UTC"`
	ByLevel []tally  `json:"by_level" jsonschema:"how many of each level"`
	ByID    []tally  `json:"by_event_id" jsonschema:"how many of each provider and event id, the most frequent ones"`
	ByProv  []tally  `json:"by_provider" jsonschema:"how many of each provider, the most frequent ones"`
	ByTime  []tally  `json:"by_time" jsonschema:"how many in each hour, or each day where the time is longer than two days; UTC"`
	Damage  []string `json:"damage,omitempty" jsonschema:"what is wrong with the files, and what could not be read"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what to know about this answer"`
}

// A tally is how often something is there.
type tally struct {
	Key    string `json:"key" jsonschema:"what was counted"`
	Count  int    `json:"count" jsonschema:"how many events"`
	Errors int    `json:"errors" jsonschema:"how many of them are errors or critical"`
	Last   string `json:"last,omitempty" jsonschema:"time of the newest one, in UTC"`
	last   time.Time
}

func (s *server) addStats(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "event_statistics", Title: "Statistics of Windows events",
		Description: "Counts the events of a Windows event log by level, by provider and event id, and by hour. Answers what a log is full of, when it began and what is rare, " +
			"before query_windows_event looks at single events. By default all levels of the log System in the last day; old log files need start.",
		Defaults: map[string]any{"log_name": "System", "level": "Verbose", "last_minutes": 1440},
	}, s.stats)
}

func (s *server) stats(ctx context.Context, in statsInput) (string, statsOutput, error) {
	log, err := logName(in.LogName)
	if err != nil {
		return "", statsOutput{}, err
	}
	f, _, notes, err := s.filterOf(queryInput{
		Level: cmp.Or(in.Level, "Verbose"), EventIDs: in.EventIDs, Provider: in.Provider, Text: in.Text,
	})
	if err != nil {
		return "", statsOutput{}, err
	}
	var said string
	var more []string
	if f.from, f.to, said, more, err = span(s.now(), cmp.Or(in.LastMinutes, 1440), maxStatMinutes, in.Start, in.End); err != nil {
		return "", statsOutput{}, err
	}
	f.brief = f.text == ""
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := counter{level: map[string]*tally{}, id: map[string]*tally{}, provider: map[string]*tally{}, hour: map[string]*tally{}, day: map[string]*tally{}}
	res, err := s.source.scan(inTime, log, f, func(e found) bool {
		c.count(e)
		return true
	})
	if err := gone(ctx, err); err != nil {
		return "", statsOutput{}, err
	}
	out := c.output()
	out.Log, out.Damage = plain(log, 256), damageLines(res.damages)
	out.From, out.To = f.bounds()
	out.Notes = slices.Concat(out.Notes, notes, more, s.notesOf(log, f, out.Total, res))
	if len(res.files) > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("Counted in %d files; what two of them hold is counted twice.", len(res.files)))
	}
	return statsText(&out, f.level, said), out, nil
}

// A counter counts events.
type counter struct {
	total, other                   int
	first, last                    time.Time
	level, id, provider, hour, day map[string]*tally
}

func (c *counter) count(f found) {
	s := &f.event.System
	c.total++
	if c.first.IsZero() || s.Time.Before(c.first) {
		c.first = s.Time
	}
	if s.Time.After(c.last) {
		c.last = s.Time
	}
	provider := cmp.Or(plain(s.Provider.Name, 120), "?")
	for _, e := range []struct {
		in  map[string]*tally
		key string
	}{
		{c.level, levelName(s)},
		{c.provider, provider},
		{c.id, fmt.Sprintf("%s %d", provider, s.EventID)},
		{c.hour, s.Time.UTC().Format("2006-01-02 15:00")},
		{c.day, s.Time.UTC().Format("2006-01-02")},
	} {
		t := e.in[e.key]
		if t == nil {
			if len(e.in) >= maxKeys {
				c.other++
				continue
			}
			t = &tally{Key: e.key}
			e.in[e.key] = t
		}
		t.Count++
		if isError(s) {
			t.Errors++
		}
		if s.Time.After(t.last) {
			t.last = s.Time
		}
	}
}

func (c *counter) output() statsOutput {
	out := statsOutput{Total: c.total, ByLevel: top(c.level), ByID: top(c.id), ByProv: top(c.provider)}
	buckets := c.hour
	if c.last.Sub(c.first) > maxBuckets*time.Hour {
		buckets = c.day
	}
	out.ByTime = values(buckets)
	slices.SortFunc(out.ByTime, func(a, b tally) int { return cmp.Compare(a.Key, b.Key) })
	if n := len(out.ByTime); n > maxBuckets {
		out.ByTime = out.ByTime[n-maxBuckets:]
		out.Notes = append(out.Notes, fmt.Sprintf("Days before the last %d with events are not shown one by one.", maxBuckets))
	}
	if c.total > 0 {
		out.First, out.Last = c.first.UTC().Format(timeLayout), c.last.UTC().Format(timeLayout)
	}
	return out
}

func values(m map[string]*tally) []tally {
	list := []tally{}
	for t := range maps.Values(m) {
		t.Last = t.last.UTC().Format(timeLayout)
		list = append(list, *t)
	}
	return list
}

// top returns the largest tallies.
func top(m map[string]*tally) []tally {
	list := values(m)
	slices.SortFunc(list, func(a, b tally) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key)) })
	return list[:min(len(list), maxRows)]
}

func statsText(out *statsOutput, l level, said string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %d events (%s, %s)\n", shown(out.Log, 120), out.Total, said, l)
	if out.Total > 0 {
		fmt.Fprintf(&b, "\nFrom %s to %s UTC.\n", out.First, out.Last)
	}
	for _, t := range []struct {
		title string
		list  []tally
	}{{"Level", out.ByLevel}, {"Provider and event id", out.ByID}, {"Provider", out.ByProv}, {"Time (UTC)", out.ByTime}} {
		if len(t.list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n| %s | events | errors | last |\n| --- | --- | --- | --- |\n", t.title)
		for _, row := range t.list {
			fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", shown(row.Key, 140), row.Count, row.Errors, row.Last)
		}
	}
	writeNotes(&b, out.Notes)
	writeDamages(&b, out.Damage)
	return b.String()
}
