package plain

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// parse reads a line that begins an entry. It reports false for any other line. ref
// is the time that it is not later than, for lines without a year.
func parse(line string, zone *time.Location, ref time.Time) (Record, bool) {
	if len(line) < 8 || line[0] == ' ' || line[0] == '\t' {
		return Record{}, false
	}
	c := &cursor{s: line, zone: zone, ref: ref}
	switch b := line[0]; {
	case b == '{':
		return fromJSON(line, c)
	case b == '<':
		return fromPriority(c)
	case b == '[':
		return fromBracket(c)
	case isDigit(b):
		return fromDigit(line, c)
	case b >= 'A' && b <= 'Z':
		return fromCapital(line, c)
	}
	return fromWord(line, c)
}

// fromDigit reads a line that begins with a time or with the address of a client.
func fromDigit(line string, c *cursor) (Record, bool) {
	if t, ok := c.iso(); ok {
		return dated(t, c.s), true
	}
	if r, ok := access(line, c); ok {
		return r, true
	}
	if word, rest, ok := strings.Cut(line, " "); ok && len(word) >= 10 {
		if t, ok := epoch(word); ok {
			return dated(t, rest), true
		}
	}
	return Record{}, false
}

// fromCapital reads a month, the letter of klog, or a level before a time.
func fromCapital(line string, c *cursor) (Record, bool) {
	if t, ok := c.bsd(); ok {
		return syslog(t, c.s, Unknown), true
	}
	c.s = line
	if r, ok := klog(c); ok {
		return r, true
	}
	c.s = line
	if len(line) > 4 && line[3] == ' ' && strings.Contains("MonTueWedThuFriSatSun", line[:3]) {
		c.s = line[4:]
		if t, ok := c.bsd(); ok {
			return dated(t, c.s), true
		}
		c.s = line
	}
	for _, before := range []string{"Start-Date: ", "Log started: "} { // of apt
		if rest, ok := strings.CutPrefix(line, before); ok {
			c.s = strings.Replace(rest, "  ", " ", 1)
			if t, ok := c.iso(); ok {
				return Record{Time: t, Level: Unknown, Program: "apt", Text: strings.TrimSpace(c.s)}, true
			}
		}
	}
	word, rest, _ := strings.Cut(line, " ")
	if level := levelIn(word); level != Unknown {
		c.s = strings.TrimLeft(rest, " [:-")
		if t, ok := c.iso(); ok {
			r := dated(t, c.s)
			r.Level = level
			return r, true
		}
	}
	return fromWord(line, c)
}

// fromBracket reads [time] and what Apache writes.
func fromBracket(c *cursor) (Record, bool) {
	c.s = c.s[1:]
	t, ok := c.iso()
	if !ok {
		t, ok = c.common()
	}
	if !ok && len(c.s) > 4 && c.s[3] == ' ' {
		c.s = c.s[4:] // the day of the week
		t, ok = c.bsd()
	}
	if !ok || !c.one("]") {
		return Record{}, false
	}
	return dated(t, c.s), true
}

// fromWord reads key=value, audit, and logs of clients with names.
func fromWord(line string, c *cursor) (Record, bool) {
	if strings.HasPrefix(line, "type=") {
		if _, rest, ok := strings.Cut(line, " msg=audit("); ok {
			at, _, _ := strings.Cut(rest, ":")
			if t, ok := epoch(at); ok {
				return Record{Time: t, Level: Unknown, Program: "audit", Text: line}, true
			}
		}
	}
	if i := strings.IndexByte(line, '='); i > 0 && i < 24 && !strings.ContainsAny(line[:i], " \t/:") {
		if r, ok := logfmt(line, c); ok {
			return r, true
		}
	}
	if r, ok := access(line, c); ok {
		return r, true
	}
	if program, rest, ok := strings.Cut(line, " "); ok && len(program) < 40 { // update-alternatives
		c.s = rest
		if t, ok := c.iso(); ok {
			return Record{Time: t, Level: guess(c.s), Program: program, Text: strings.TrimLeft(c.s, ": ")}, true
		}
	}
	return Record{}, false
}

// fromPriority reads syslog with a number that has level and facility, of RFC 5424
// or RFC 3164.
func fromPriority(c *cursor) (Record, bool) {
	number, rest, ok := strings.Cut(c.s[1:], ">")
	pri, err := strconv.Atoi(number)
	if !ok || err != nil || pri < 0 || pri > 191 {
		return Record{}, false
	}
	level := pri & 7
	c.s = rest
	if strings.HasPrefix(rest, "1 ") {
		c.s = rest[2:]
		t, ok := c.iso()
		fields := strings.SplitN(strings.TrimPrefix(c.s, " "), " ", 5)
		if !ok || len(fields) < 5 {
			return Record{}, false
		}
		r := Record{Time: t, Level: level, Host: unless(fields[0]), Program: unless(fields[1]), PID: unless(fields[2])}
		r.Text = strings.TrimPrefix(behindData(fields[4]), "\ufeff")
		return r, true
	}
	if t, ok := c.bsd(); ok {
		return syslog(t, c.s, level), true
	}
	if t, ok := c.iso(); ok {
		return syslog(t, c.s, level), true
	}
	return Record{}, false
}

func unless(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// behindData returns the message: structured data stays before it unless there is none.
func behindData(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return strings.TrimPrefix(rest, " ")
	}
	return s
}

// syslog reads host, program and process behind a time.
func syslog(t time.Time, s string, level int) Record {
	r := Record{Time: t, Level: level}
	s = strings.TrimLeft(s, " ")
	if host, rest, ok := strings.Cut(s, " "); ok && !strings.HasSuffix(host, ":") {
		r.Host, s = host, strings.TrimLeft(rest, " ")
	}
	r.tag(s)
	if r.Level == Unknown {
		r.Level = guess(r.Text)
	}
	return r
}

// tag takes program[pid]: from the beginning of a message.
func (r *Record) tag(s string) {
	r.Text = s
	head, rest, ok := strings.Cut(s, ":")
	if !ok || head == "" || len(head) > 80 {
		return
	}
	// com.apple.xpc.launchd[1] (com.example.job): and the like.
	name, note, _ := strings.Cut(head, " ")
	if note != "" && !strings.HasPrefix(note, "(") && !strings.HasPrefix(note, "<") {
		return
	}
	if program, pid, ok := strings.Cut(name, "["); ok && strings.HasSuffix(pid, "]") {
		name, r.PID = program, pid[:len(pid)-1]
	}
	r.Program, r.Text = name, strings.TrimPrefix(rest, " ")
}

// dated reads what stands behind a full time: host and program of syslog, or the
// level among the first words.
func dated(t time.Time, s string) Record {
	r := Record{Time: t, Level: Unknown, Text: strings.TrimLeft(s, " ]-:|")}
	rest := r.Text
	for i := range 7 {
		var word string
		rest = strings.TrimLeft(rest, " ")
		word, rest, _ = strings.Cut(rest, " ")
		if word == "" {
			break
		}
		if level := levelIn(word); level != Unknown {
			r.Level = level
			if i == 0 { // at the front the level is said twice
				r.Text = strings.TrimLeft(rest, " -:|")
			}
			return r
		}
		if i == 1 && strings.HasSuffix(word, ":") && isHost(r.Text) {
			host, tagged, _ := strings.Cut(r.Text, " ")
			r.Host = host
			r.tag(strings.TrimLeft(tagged, " "))
			break
		}
		if strings.HasSuffix(word, ":") && i > 1 {
			break
		}
	}
	r.Level = guess(r.Text)
	return r
}

// isHost reports whether the first word can be the name of a host.
func isHost(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c == ' ' {
			return i > 0
		}
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '.' && c != '_' && c != ':' {
			return false
		}
	}
	return false
}

// klog reads E0102 15:04:05.000000 1234 file.go:12] text, and with a year.
func klog(c *cursor) (Record, bool) {
	level := strings.IndexByte("F_EWI", c.s[0])
	if level < 0 || !isDigit(c.s[1]) {
		return Record{}, false
	}
	save := c.s
	c.s = c.s[1:]
	date := strings.IndexByte(c.s, ' ')
	y := 0
	if date == 8 {
		y, _ = c.digits(4)
	}
	mon, ok1 := c.digits(2)
	d, ok2 := c.digits(2)
	ok3 := c.one(" ")
	h, m, s, ns, ok4 := c.clock()
	if !ok1 || !ok2 || !ok3 || !ok4 {
		c.s = save
		return Record{}, false
	}
	t, ok := time.Date(y, time.Month(mon), d, h, m, s, ns, c.zone), mon >= 1 && mon <= 12
	if y == 0 {
		t, ok = c.withoutYear(time.Month(mon), d, h, m, s, ns)
	}
	r := Record{Time: t, Level: [...]int{2, 2, 3, 4, 6}[level], Text: strings.TrimLeft(c.s, " ")}
	if pid, rest, found := strings.Cut(r.Text, " "); found && isDigit(pid[0]) {
		r.PID, r.Text = pid, rest
	}
	return r, ok
}

// access reads a line of an access log: client, two names, [time] "request" status.
func access(line string, c *cursor) (Record, bool) {
	i := strings.IndexByte(line, '[')
	if i < 4 || i > 300 || strings.Count(line[:i], " ") < 3 {
		return Record{}, false
	}
	c.s = line[i+1:]
	t, ok := c.common()
	if !ok || !c.one("]") {
		return Record{}, false
	}
	r := Record{Time: t, Level: 6, Text: strings.TrimRight(line[:i], " ") + c.s}
	if _, rest, ok := strings.Cut(c.s, `" `); ok && len(rest) >= 3 {
		switch rest[0] {
		case '5':
			r.Level = 3
		case '4':
			r.Level = 4
		}
	}
	return r, true
}

// Names that fields of structured logs go by, in the order in which they count.
var (
	timeKeys    = []string{"time", "timestamp", "@timestamp", "ts", "t", "datetime", "date", "asctime", "eventTime"}
	levelKeys   = []string{"level", "lvl", "severity", "levelname", "loglevel", "log.level", "priority"}
	textKeys    = []string{"msg", "message", "log", "event", "text"}
	hostKeys    = []string{"host", "hostname", "node"}
	programKeys = []string{"service", "app", "program", "logger", "component", "unit", "name", "stream"}
)

// fields makes an entry of the fields of a structured line; the line itself stays
// its text where it has none, and where it says more than the text.
func fields(line string, get func(string) string, count int, c *cursor) (Record, bool) {
	first := func(keys []string) string {
		for _, k := range keys {
			if v := get(k); v != "" {
				return v
			}
		}
		return ""
	}
	at := first(timeKeys)
	t, ok := epoch(at)
	if !ok {
		c.s = at
		if t, ok = c.iso(); !ok {
			return Record{}, false
		}
	}
	text := strings.TrimRight(first(textKeys), "\r\n")
	r := Record{Time: t, Level: LevelOf(first(levelKeys)), Host: first(hostKeys), Program: first(programKeys), Text: line}
	if text != "" && count <= 4 {
		r.Text = text
	}
	if r.Level == Unknown {
		r.Level = guess(text)
	}
	return r, true
}

func fromJSON(line string, c *cursor) (Record, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &m) != nil {
		return Record{}, false
	}
	return fields(line, func(k string) string {
		raw := m[k]
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
		if len(raw) > 0 && isDigit(raw[0]) {
			return string(raw)
		}
		return ""
	}, len(m), c)
}

// logfmt reads key=value pairs, whose values may be quoted.
func logfmt(line string, c *cursor) (Record, bool) {
	m := map[string]string{}
	for s := line; s != "" && len(m) < 64; {
		s = strings.TrimLeft(s, " ")
		end := strings.IndexAny(s, "= ")
		if end <= 0 {
			break
		}
		key := s[:end]
		if s[end] == ' ' {
			s = s[end:]
			continue
		}
		s = s[end+1:]
		var value string
		if quoted, err := strconv.QuotedPrefix(s); err == nil && s[0] == '"' {
			value, _ = strconv.Unquote(quoted) // it is a quoted text
			s = s[len(quoted):]
		} else {
			value, s, _ = strings.Cut(s, " ")
		}
		if _, there := m[key]; !there {
			m[key] = value
		}
	}
	return fields(line, func(k string) string { return m[k] }, len(m), c)
}
