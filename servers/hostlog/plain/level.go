package plain

import "strings"

// levels are the words for levels, and what follows the brackets of nginx and Apache.
var levels = map[string]int{
	"emerg": 0, "emergency": 0, "alert": 1,
	"crit": 2, "critical": 2, "fatal": 2, "panic": 2, "fault": 2,
	"error": 3, "err": 3, "severe": 3, "eror": 3,
	"warn": 4, "warning": 4, "wrn": 4,
	"notice": 5,
	"info":   6, "information": 6, "informational": 6, "inf": 6, "default": 6, "log": 6,
	"debug": 7, "dbg": 7, "trace": 7, "verbose": 7, "fine": 7, "finer": 7, "finest": 7, "trc": 7, "ftl": 2,
	"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7,
	"30": 6, "40": 4, "50": 3, "60": 2, "20": 7, "10": 7, // of bunyan and pino
}

// LevelOf returns the level that a word names in any case, or Unknown.
func LevelOf(word string) int {
	if len(word) == 0 || len(word) > 13 {
		return Unknown
	}
	if level, ok := levels[strings.ToLower(word)]; ok {
		return level
	}
	return Unknown
}

// levelIn returns the level that a word of a text names, perhaps in brackets. A
// number is none there.
func levelIn(word string) int {
	word = strings.Trim(word, "[]()<>:,-|*")
	if i := strings.LastIndexByte(word, ':'); i >= 0 {
		word = word[i+1:] // core:error
	}
	if word == "" || isDigit(word[0]) {
		return Unknown
	}
	return LevelOf(word)
}

// apart reports whether a sign stands between words. One within a name, a path or a
// setting does not: libgpg-error0 is no error, and Timeout=120 none that ran out.
func apart(r rune) bool {
	return r < 128 && (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._/=@+", r)
}

// guess returns the level that the words of a text speak of.
func guess(text string) int {
	text = strings.ToLower(text[:min(len(text), 300)])
	best := Unknown
	for word := range strings.FieldsFuncSeq(text, apart) {
		switch strings.TrimRight(word, ".") {
		case "panic", "fatal", "emergency", "critical", "crit":
			return 2
		case "error", "err", "failed", "failure", "exception", "traceback", "segfault", "denied", "errors":
			best = min(best, 3)
		case "warning", "warn", "deprecated", "timeout", "refused":
			best = min(best, 4)
		}
	}
	return best
}
