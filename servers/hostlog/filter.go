package hostlog

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/expression"
	text "github.com/tenon-mcp/tenon/servers/hostlog/plain"
)

// levelNames are the levels of syslog, the most severe one first, and behind them
// what has none.
var levelNames = [...]string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug", "unknown"}

// An entry is what was logged once, wherever it was.
type entry struct {
	at      time.Time
	level   int
	host    string
	unit    string // systemd's
	about   string // the unit that the manager speaks about
	program string
	pid     string
	text    string
	source  string
	cut     bool
}

// who returns the unit, else the program.
func (e *entry) who() string {
	for _, s := range []string{e.unit, e.program} {
		if s != "" {
			return s
		}
	}
	return ""
}

// writer returns the unit or program, else the log that it stands in.
func (e *entry) writer() string {
	if name := e.who(); name != "" {
		return name
	}
	return "in " + unrotated(shortSource(e.source))
}

// A Scope is what all tools that read entries are asked with.
type Scope struct {
	Source      string `json:"source,omitempty" jsonschema:"what to read: journal, all, unified (macOS), or a path of list_log_sources, such as /var/log/syslog with its rotated files; default: the journal where there is one, else all log files"`
	Level       string `json:"level,omitempty" jsonschema:"least severe level to return: emergency, alert, critical, error, warning, notice, info or debug; default: everything, also what has no level"`
	LastMinutes int    `json:"last_minutes,omitempty" jsonschema:"how far to look back, 1 to 525600; not used where start is given"`
	Start       string `json:"start,omitempty" jsonschema:"earliest time, such as 2026-01-02T15:04:05Z or 2026-01-02 15:04"`
	End         string `json:"end,omitempty" jsonschema:"latest time, in the same form; default: now"`
	Unit        string `json:"unit,omitempty" jsonschema:"only what this systemd unit or program wrote, such as nginx.service, nginx or sshd"`
	Host        string `json:"host,omitempty" jsonschema:"only what this host wrote"`
	Text        string `json:"text,omitempty" jsonschema:"only entries that contain this text, in any case"`
	Grep        string `json:"grep,omitempty" jsonschema:"only entries that match this regular expression (RE2), of up to 500 characters, such as (?i)oom|killed"`
}

const mostMinutes = 525600 // a year

// A query is a scope that was understood.
type query struct {
	source     string
	start, end time.Time
	level      int // 8: everything
	unit, host string
	text       string // in lower case
	grep       *expression.Expression
	literal    string // what is in all that grep matches, without the mask
}

func (s *server) understand(in Scope) (query, error) {
	q := query{source: in.Source, level: text.Unknown, unit: in.Unit, host: strings.ToLower(in.Host), text: strings.ToLower(in.Text), end: s.now()}
	for name, v := range map[string]string{"unit": in.Unit, "host": in.Host, "text": in.Text, "grep": in.Grep, "level": in.Level, "start": in.Start, "end": in.End} {
		if len(v) > 500 {
			return q, fmt.Errorf("%s is longer than 500 characters. Ask for a part of it", name)
		}
	}
	if in.Level != "" && !strings.EqualFold(in.Level, "all") {
		if q.level = text.LevelOf(strings.TrimSpace(in.Level)); q.level == text.Unknown {
			return q, fmt.Errorf("level %s is none of %s", plain(in.Level, 40), strings.Join(levelNames[:8], ", "))
		}
	}
	var err error
	if in.Grep != "" {
		if q.grep, err = expression.Foreign(in.Grep); err != nil {
			return q, fmt.Errorf("grep %s. For a plain text use text", plain(err.Error(), 500))
		}
		q.literal = literal(q.grep)
	}
	if in.End != "" {
		if q.end, err = s.parseTime("end", in.End); err != nil {
			return q, err
		}
	}
	q.start = q.end.Add(-time.Duration(clamp(in.LastMinutes, 60, mostMinutes)) * time.Minute)
	if in.Start != "" {
		if q.start, err = s.parseTime("start", in.Start); err != nil {
			return q, err
		}
	}
	if q.start.After(q.end) {
		return q, errors.New("start is later than end")
	}
	return q, nil
}

func (s *server) parseTime(name, v string) (time.Time, error) {
	v = strings.TrimSpace(v)
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, v, s.zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %s is no time. Give one such as 2026-01-02T15:04:05Z or 2026-01-02 15:04", name, plain(v, 60))
}

// matches reports whether an entry is asked for, its time aside.
func (q *query) matches(e *entry) bool {
	if q.level != text.Unknown && e.level > q.level || q.host != "" && strings.ToLower(e.host) != q.host || q.unit != "" && !q.from(e) {
		return false
	}
	return q.text == "" && q.grep == nil || q.contains(e.text)
}

// What of an entry is looked at for a text.
const searched = 8 << 10

// contains reports whether a text holds what is asked for. It is the masked text alone
// that is looked at, as answers have it: what is masked there could be guessed else, a
// letter at a time.
func (q *query) contains(s string) bool {
	s = clean(s, searched+1024)
	// What the masked text holds of words without the mask, the text holds too.
	if q.text != "" && !strings.ContainsAny(q.text, cmdmask.Masked) && !strings.Contains(strings.ToLower(s), q.text) {
		return false
	}
	if q.grep != nil && !strings.Contains(s, q.literal) {
		return false
	}
	s = cmdmask.Text(s)
	s = s[:min(len(s), searched)]
	return (q.text == "" || strings.Contains(strings.ToLower(s), q.text)) && (q.grep == nil || q.grep.MatchString(s))
}

// literal returns a text that is in all that an expression matches.
func literal(e *expression.Expression) string {
	if s := required(e.Syntax); !strings.ContainsAny(s, cmdmask.Masked) {
		return s
	}
	return ""
}

// required returns the longest text that is in all that an expression matches, as far
// as that is plain to see.
func required(e *syntax.Regexp) string {
	switch {
	case e.Op == syntax.OpLiteral && e.Flags&syntax.FoldCase == 0:
		return string(e.Rune)
	case e.Op == syntax.OpConcat, e.Op == syntax.OpCapture, e.Op == syntax.OpPlus, e.Op == syntax.OpRepeat && e.Min > 0:
		longest := ""
		for _, sub := range e.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// from reports whether the unit or program of an entry is the one that is asked for.
func (q *query) from(e *entry) bool {
	for _, name := range []string{e.unit, e.program, e.about} {
		if name != "" && (strings.EqualFold(name, q.unit) || strings.EqualFold(strings.TrimSuffix(name, ".service"), strings.TrimSuffix(q.unit, ".service"))) {
			return true
		}
	}
	return false
}

// between prints the time that a query is about.
func (s *server) between(q query) string {
	const form = "2006-01-02 15:04:05 -07:00"
	return q.start.In(s.zone).Format(form) + " to " + q.end.In(s.zone).Format(form)
}

// ended returns the error of a caller that gave up; a deadline of our own is none.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.New("canceled")
	}
	return nil
}
