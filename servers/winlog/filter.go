package winlog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// What a filter may hold.
const (
	maxRanges = 100
	maxNeedle = 200 // characters of a text or a provider
)

// A filter says which events are meant.
type filter struct {
	level    level
	from, to time.Time // both included; the zero time is no bound
	ids      []idRange // none: all
	not      []idRange
	provider string // whole name, whatever its case
	text     string // lower case
	record   uint64 // one record, by its number; 0 is none
	brief    bool   // what all events have is enough
}

// A level is one of those that a call may name.
type level struct {
	name  string
	most  int    // events of level 1 to this one
	zero  bool   // and those of level 0, which Windows shows as Information
	all   bool   // and all others
	audit uint64 // or only those with this keyword
}

// levels are in the order in which errors list them.
var levels = []level{
	{name: "Critical", most: evtx.Critical},
	{name: "Error", most: evtx.Error},
	{name: "Warning", most: evtx.Warning},
	{name: "Information", most: evtx.Information, zero: true},
	{name: "Verbose", all: true},
	{name: "AuditFailure", audit: evtx.AuditFailure},
	{name: "AuditSuccess", audit: evtx.AuditSuccess},
}

// findLevel returns the level of that name. A name that is none is Error, with a note.
func findLevel(name string) (level, string) {
	bare := strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.TrimSpace(name)))
	for alias, of := range map[string]string{
		"": "error", "info": "information", "warn": "warning", "debug": "verbose", "all": "verbose", "any": "verbose", "fatal": "critical",
		"failure": "auditfailure", "success": "auditsuccess", "1": "critical", "2": "error", "3": "warning", "4": "information", "5": "verbose",
	} {
		if bare == alias {
			bare = of
			break
		}
	}
	for _, l := range levels {
		if bare == strings.ToLower(l.name) {
			return l, ""
		}
	}
	return levels[1], fmt.Sprintf("There is no level %s; Error was taken. Levels: %s.", quoted(name), levelNames())
}

func levelNames() string {
	names := make([]string, 0, len(levels))
	for _, l := range levels {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// String says what the level lets through.
func (l level) String() string {
	switch {
	case l.all:
		return "all levels"
	case l.audit == evtx.AuditFailure:
		return "audit failures"
	case l.audit == evtx.AuditSuccess:
		return "audit successes"
	case l.most == evtx.Critical:
		return "Critical"
	}
	return l.name + " and worse"
}

func (l level) matches(s *evtx.System) bool {
	switch {
	case l.all:
		return true
	case l.audit != 0:
		return s.Keywords&l.audit != 0
	case s.Level == evtx.LogAlways:
		return l.zero
	}
	return s.Level >= evtx.Critical && s.Level <= l.most
}

// isAudit reports whether an event is that of an audit, which has no level.
func isAudit(s *evtx.System) bool {
	return s.Level == evtx.LogAlways && s.Keywords&(evtx.AuditFailure|evtx.AuditSuccess) != 0
}

// levelName is how people know the level of an event.
func levelName(s *evtx.System) string {
	switch {
	case s.Level == evtx.LogAlways && s.Keywords&evtx.AuditFailure != 0:
		return "AuditFailure"
	case s.Level == evtx.LogAlways && s.Keywords&evtx.AuditSuccess != 0:
		return "AuditSuccess"
	case s.Level == evtx.LogAlways:
		return "Information"
	case s.Level >= evtx.Critical && s.Level <= evtx.Verbose:
		return levels[s.Level-1].name
	}
	return "Level" + strconv.Itoa(s.Level)
}

// inTime reports whether a time is one that is asked for.
func (f *filter) inTime(t time.Time) bool {
	return (f.from.IsZero() || !t.Before(f.from)) && (f.to.IsZero() || !t.After(f.to))
}

// matches reports whether an event is meant, but for its text.
func (f *filter) matches(s *evtx.System) bool {
	return f.level.matches(s) && f.inTime(s.Time) && f.hasID(s.EventID) &&
		(f.provider == "" || strings.EqualFold(f.provider, s.Provider.Name) || strings.EqualFold(f.provider, s.Provider.Source))
}

// picks reports whether events are chosen by what all have.
func (f *filter) picks() bool {
	return !f.level.all || f.record != 0 || f.provider != "" || len(f.ids)+len(f.not) > 0
}

func (f *filter) hasID(id uint32) bool {
	in := func(r idRange) bool { return id >= r.low && id <= r.high }
	return (len(f.ids) == 0 || slices.ContainsFunc(f.ids, in)) && !slices.ContainsFunc(f.not, in)
}

// anyLevel returns the same filter for events of all levels.
func (f *filter) anyLevel() *filter {
	all := *f
	all.level = level{all: true}
	return &all
}

// hasText reports whether the text is in what the event says. The message is that of
// the provider, where the event does not bring it.
func (f *filter) hasText(e *evtx.Event, message string) bool {
	if f.text == "" {
		return true
	}
	// What the masked event says of words without the mask, the event says too.
	if !strings.ContainsAny(f.text, cmdmask.Masked) && !f.says(e, message) {
		return false
	}
	m := masked(found{event: e, message: message})
	return f.says(m.event, m.message)
}

func (f *filter) says(e *evtx.Event, message string) bool {
	if message == "" {
		message = messageOf(e)
	}
	s := &e.System
	for _, t := range []string{message, s.Provider.Name, s.Computer, s.UserSID} {
		if strings.Contains(strings.ToLower(t), f.text) {
			return true
		}
	}
	return slices.ContainsFunc(e.Data, func(d evtx.Field) bool {
		return strings.Contains(strings.ToLower(d.Value), f.text) || strings.Contains(strings.ToLower(d.Name), f.text)
	})
}

// An idRange is some event ids.
type idRange struct{ low, high uint32 }

var errIDs = errors.New("event_ids is a list such as 4624,4625,7030-7040,-7036, where a number or a range with a minus before it is left out")

// parseIDs reads the form that Windows' own event viewer takes.
func parseIDs(s string) (ids, not []idRange, err error) {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\n' || r == '\t' }) {
		bare, out := strings.CutPrefix(part, "-")
		if !out {
			bare, out = strings.CutPrefix(part, "!")
		}
		low, high, isRange := strings.Cut(bare, "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.ParseUint(low, 10, 32)
		b, err2 := strconv.ParseUint(high, 10, 32)
		if err1 != nil || err2 != nil || a > b {
			return nil, nil, fmt.Errorf("%s is no event id. %w", quoted(part), errIDs)
		}
		r := idRange{uint32(a), uint32(b)}
		if out {
			not = append(not, r)
		} else {
			ids = append(ids, r)
		}
		if len(ids)+len(not) > maxRanges {
			return nil, nil, fmt.Errorf("event_ids has more than %d entries. Use ranges", maxRanges)
		}
	}
	return ids, not, nil
}

// needle checks a text that is looked for.
func needle(name, s string) (string, error) {
	s = strings.TrimSpace(s)
	if len([]rune(s)) > maxNeedle {
		return "", fmt.Errorf("%s is longer than %d characters. Look for a part of it", name, maxNeedle)
	}
	return s, nil
}

// span reads the time of a call: start and end where one is given, else the last
// minutes. It returns how people call that span.
func span(now time.Time, minutes, most int, start, end string) (from, to time.Time, said string, notes []string, err error) {
	if strings.TrimSpace(start) != "" || strings.TrimSpace(end) != "" {
		if from, err = moment("start", start, false); err != nil {
			return from, to, "", nil, err
		}
		if to, err = moment("end", end, true); err != nil {
			return from, to, "", nil, err
		}
		switch {
		case to.IsZero():
			said = "since " + stamp(from)
		case from.IsZero():
			said = "until " + stamp(to)
		case to.Before(from):
			return from, to, "", nil, errors.New("end lies before start. Exchange them")
		default:
			said = stamp(from) + " to " + stamp(to)
		}
		return from, to, said, nil, nil
	}
	wanted := minutes
	minutes = min(max(minutes, 1), most)
	if minutes != wanted {
		notes = append(notes, fmt.Sprintf("last_minutes is between 1 and %d; %d was taken. For an earlier time give start and end.", most, minutes))
	}
	return now.Add(-time.Duration(minutes) * time.Minute), time.Time{}, fmt.Sprintf("last %d min", minutes), notes, nil
}

// moment reads a time; one without an offset is in UTC. An end that names a day, a
// minute or a second is the last moment of it.
func moment(name, s string, end bool) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, nil
	}
	for _, l := range []struct {
		layout string
		length time.Duration
	}{
		{time.RFC3339Nano, 0},
		{"2006-01-02T15:04Z07:00", time.Minute},
		{"2006-01-02T15:04:05.999999999", 0},
		{"2006-01-02 15:04:05.999999999", 0},
		{"2006-01-02T15:04", time.Minute},
		{"2006-01-02 15:04", time.Minute},
		{"2006-01-02", 24 * time.Hour},
	} {
		t, err := time.Parse(l.layout, s)
		if err != nil {
			continue
		}
		if end {
			length := l.length
			if length == 0 && t.Nanosecond() == 0 {
				length = time.Second
			}
			if length > 0 {
				t = t.Add(length - time.Nanosecond)
			}
		}
		return t.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%s %s is no time. Write 2026-03-01, 2026-03-01 14:30 or 2026-03-01T14:30:00Z; without an offset it is UTC", name, quoted(s))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// bounds are those of the time asked for; an empty one is none.
func (f *filter) bounds() (from, to string) {
	if !f.from.IsZero() {
		from = f.from.UTC().Format(time.RFC3339)
	}
	if !f.to.IsZero() {
		to = f.to.UTC().Format(time.RFC3339)
	}
	return from, to
}
