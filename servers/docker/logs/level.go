package logs

import "strings"

// A Level is how much a line matters.
type Level int

// The levels, in their order. Unknown is what a line has that names none.
const (
	Unknown Level = iota
	Debug
	Info
	Warn
	Error
)

// ParseLevel returns the level of that name.
func ParseLevel(s string) (Level, bool) {
	l := words[strings.ToLower(s)]
	return l, l != Unknown
}

// String returns the level's name, "" for Unknown.
func (l Level) String() string { return [...]string{"", "debug", "info", "warn", "error"}[l] }

// words are the names of levels in logs, in lower case.
var words = map[string]Level{
	"trace": Debug, "debug": Debug, "dbg": Debug, "verbose": Debug,
	"info": Info, "inf": Info, "information": Info, "notice": Info,
	"warn": Warn, "warning": Warn, "wrn": Warn,
	"error": Error, "err": Error, "severe": Error, "fatal": Error, "critical": Error, "crit": Error,
	"alert": Error, "emerg": Error, "emergency": Error, "panic": Error,
}

// keys are the names of the members that hold a level.
var keys = map[string]bool{"level": true, "lvl": true, "severity": true, "levelname": true}

// looked is how far into a line a level is looked for.
const looked = 300

// longest is the length of the longest of words and keys.
const longest = len("information")

// LevelOf returns the level that a line names for itself: as a member of JSON or
// logfmt, as a word in capitals, in brackets or before a colon near its beginning,
// as klog does, or by the first words of a failure of a well-known runtime. It is
// called for each of many lines, so it reads them by hand: regular expressions
// took twenty times as long.
func LevelOf(line string) Level {
	if len(line) > looked {
		line = line[:looked]
	}
	if l := klog(line); l != Unknown {
		return l
	}
	first := Unknown
	for i := 0; i < len(line); {
		if !letter(line[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(line) && (letter(line[end]) || digit(line[end]) || line[end] == '_') {
			end++
		}
		if end-i <= longest {
			if l, named := wordAt(line, i, end); named {
				return l
			} else if first == Unknown {
				first = l
			}
		}
		i = end
	}
	if first == Unknown && fails(line) {
		return Error
	}
	return first
}

// wordAt returns the level that the word line[i:end] tells; named is set where it
// is the key of a member that holds one.
func wordAt(line string, i, end int) (l Level, named bool) {
	var buf [longest]byte
	upper := true
	for n := i; n < end; n++ {
		c := line[n]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		} else {
			upper = false
		}
		buf[n-i] = c
	}
	word := buf[:end-i]
	if keys[string(word)] {
		if l := valueAt(line[end:]); l != Unknown {
			return l, true
		}
		return Unknown, false
	}
	l = words[string(word)]
	if l == Unknown || i > 0 && (digit(line[i-1]) || line[i-1] == '_') {
		return Unknown, false
	}
	if upper || bracketed(line[:i], line[end:]) || introduces(line[end:]) {
		return l, false
	}
	return Unknown, false
}

// valueAt returns the level that follows a key, as in ="warn" or ": 50.
func valueAt(s string) Level {
	rest := strings.TrimLeft(s, `"' `)
	if rest == "" || rest[0] != '=' && rest[0] != ':' {
		return Unknown
	}
	rest = strings.TrimLeft(rest[1:], `"' `)
	n := 0
	for n < len(rest) && letter(rest[n]) {
		n++
	}
	if n > 0 {
		return words[strings.ToLower(rest[:min(n, longest)])]
	}
	// pino and bunyan write numbers.
	if len(rest) >= 2 && '1' <= rest[0] && rest[0] <= '6' && rest[1] == '0' && (len(rest) == 2 || !digit(rest[2])) {
		return [...]Level{Debug, Debug, Info, Warn, Error, Error}[rest[0]-'1']
	}
	return Unknown
}

// bracketed reports whether brackets stand around a word.
func bracketed(before, after string) bool {
	before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
	if before == "" || after == "" {
		return false
	}
	return strings.IndexByte("[<(", before[len(before)-1]) >= 0 && strings.IndexByte("])>", after[0]) >= 0
}

// introduces reports whether a word stands before a colon or a bar, and a space.
func introduces(after string) bool {
	return len(after) >= 2 && (after[0] == ':' || after[0] == '|') && (after[1] == ' ' || after[1] == '\t')
}

// klog returns the level of lines such as E0102 15:04:05.
func klog(s string) Level {
	if len(s) < 8 || s[5] != ' ' || !digit(s[1]) || !digit(s[2]) || !digit(s[3]) || !digit(s[4]) || !digit(s[6]) {
		return Unknown
	}
	switch s[0] {
	case 'I':
		return Info
	case 'W':
		return Warn
	case 'E', 'F':
		return Error
	}
	return Unknown
}

// fails reports whether a line is how a runtime begins to tell that a program
// failed.
func fails(s string) bool {
	for _, p := range []string{"Traceback (most recent call last)", "Exception in thread", "Unhandled exception", "Uncaught ", "npm ERR!"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	if strings.HasPrefix(s, "goroutine ") {
		return strings.Contains(s, " [running]")
	}
	name, _, ok := strings.Cut(s, ": ")
	return ok && !strings.Contains(name, " ") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception"))
}

// Continues reports whether a line goes on with the one before it, as those of a
// stack trace do.
func Continues(line string) bool {
	switch {
	case line == "":
		return true
	case line[0] == ' ' || line[0] == '\t' || line[0] == '}' || line[0] == ')':
		return true
	}
	return strings.HasPrefix(line, "Caused by: ") || strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "... ")
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }
