package logs

import (
	"regexp"
	"strings"
	"sync"
)

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
	"trace": Debug, "debug": Debug, "dbg": Debug, "verbose": Debug, "fine": Debug,
	"info": Info, "inf": Info, "information": Info, "notice": Info, "log": Info,
	"warn": Warn, "warning": Warn, "wrn": Warn,
	"error": Error, "err": Error, "severe": Error, "fatal": Error, "critical": Error, "crit": Error,
	"alert": Error, "emerg": Error, "emergency": Error, "panic": Error,
}

var (
	// named matches level=error, "severity": "ERROR", lvl:warn and "level":50.
	named = lazily(`(?i)(?:^|[^a-z])(?:level|lvl|severity|levelname)["']?\s*[=:]\s*["']?([a-z]+|[1-6]0\b)`)
	// shouted matches a level in capitals, or in brackets, or before a colon.
	shouted = lazily(`(?:^|[^A-Za-z0-9_])(?:(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|SEVERE|FATAL|CRITICAL|CRIT|ALERT|EMERG|PANIC)(?:[^A-Za-z0-9_]|$)` +
		`|[\[<(]\s*([A-Za-z]+)\s*[\])>]|(?i:(debug|info|notice|warning|warn|error|fatal|panic|critical))[:|]\s)`)
	// klog matches the first field of lines such as E0102 15:04:05.
	klog = lazily(`^([IWEF])[0-9]{4} [0-9]{2}:`)
	// fatal matches how runtimes begin to tell that a program failed.
	fatal = lazily(`^(?:Traceback \(most recent call last\)|Exception in thread|Unhandled exception|Uncaught |goroutine [0-9]+ \[running\]|[A-Za-z_.]+(?:Error|Exception): )`)
)

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// looked is how far into a line a level is looked for.
const looked = 300

// LevelOf returns the level that a line names for itself: as a member of JSON or
// logfmt, as a word in capitals or in brackets near its beginning, as klog does,
// or by the first words of a failure of a well-known runtime.
func LevelOf(line string) Level {
	if len(line) > looked {
		line = strings.ToValidUTF8(line[:looked], "")
	}
	if m := klog().FindStringSubmatch(line); m != nil {
		return map[string]Level{"I": Info, "W": Warn, "E": Error, "F": Error}[m[1]]
	}
	if m := named().FindStringSubmatch(line); m != nil {
		if l := word(m[1]); l != Unknown {
			return l
		}
	}
	for _, m := range shouted().FindAllStringSubmatch(line, 8) {
		if l := word(m[1] + m[2] + m[3]); l != Unknown {
			return l
		}
	}
	if fatal().MatchString(line) {
		return Error
	}
	return Unknown
}

// word returns the level of a word, or of a number as pino and bunyan write it.
func word(s string) Level {
	if len(s) == 2 && s[1] == '0' {
		return [...]Level{Debug, Debug, Info, Warn, Error, Error}[s[0]-'1']
	}
	return words[strings.ToLower(s)]
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
