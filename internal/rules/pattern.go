package rules

import (
	"errors"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A target is one address pattern, compiled.
type target struct {
	rule      int    // index of the rule
	scheme    string // such as hf, where only that scheme counts; else ""
	host      string // in its normal form
	below     bool   // names below the host count too
	path      []string
	sensitive bool // the case of the path counts
}

// maxSegments is how many segments of a path a pattern may name.
const maxSegments = 16

// CheckAddress tells what is wrong with an address pattern, or nil. A pattern is
// a host and the first segments of a path, without scheme and port:
//
//	example.com             the host, whatever the path
//	*.example.com           the host and every name below it
//	example.com/answers     /answers and all beneath it, not /answers-2
//	example.com/*/answers   any one segment, then that; * also stands within one
//	hf://datasets           for schemes other than those of the web
//
// The error reads on after the pattern.
func CheckAddress(pattern string) error {
	_, err := parseTarget(pattern)
	return err
}

func parseTarget(pattern string) (*target, error) {
	t := &target{}
	rest := pattern
	if scheme, after, ok := strings.Cut(pattern, "://"); ok {
		switch strings.ToLower(scheme) {
		case "http", "https":
		default:
			if !isScheme(scheme) {
				return nil, errors.New("has a scheme that is none")
			}
			t.scheme = strings.ToLower(scheme)
		}
		rest = after
	}
	host, tail, _ := strings.Cut(rest, "/")
	host, t.below = strings.CutPrefix(host, "*.")
	switch {
	case strings.ContainsAny(rest, "?#\\%") || strings.ContainsFunc(rest, isBlank):
		return nil, errors.New("holds what no address pattern has: a query, an escape, a space or a backslash")
	case strings.Contains(host, ":"):
		return nil, errors.New("names a port: a rule is for all ports")
	case strings.Contains(host, "@"):
		return nil, errors.New("names a user")
	case strings.Contains(host, "*"):
		return nil, errors.New("has a * within its host: only *. before it has a meaning")
	}
	t.host = foldHost(host)
	if t.host == "" || !isHost(t.host) {
		return nil, errors.New("names no host")
	}
	for seg := range strings.SplitSeq(tail, "/") {
		if seg != "" {
			t.path = append(t.path, seg)
		}
	}
	if n := len(t.path); n > 0 && t.path[n-1] == "**" {
		t.path = t.path[:n-1] // what lies beneath counts anyway
	}
	switch {
	case slices.Contains(t.path, "**"):
		return nil, errors.New("has ** before its end: * stands for one segment")
	case slices.ContainsFunc(t.path, isDots):
		return nil, errors.New("has a segment of dots")
	case len(t.path) > maxSegments:
		return nil, errors.New("has more than 16 segments")
	}
	return t, nil
}

func isScheme(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+.-", r)
	})
}

// isHost tells whether a folded host holds nothing but what a run may hold.
func isHost(host string) bool {
	return runEnd(host, 0) == len(host)
}

// matches tells whether the first segments of a path are those of the pattern.
func (t *target) matches(segments []string) bool {
	if len(segments) < len(t.path) {
		return false
	}
	for i, p := range t.path {
		if !t.segment(p, segments[i]) && !t.segment(p, softCut(segments[i])) {
			return false
		}
	}
	return true
}

func (t *target) segment(pattern, s string) bool {
	if !t.sensitive {
		pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	}
	return star(pattern, s)
}

// star matches a pattern in which * stands for any text. It goes back only to
// the last star, so it is linear in practice and quadratic at worst.
func star(pattern, s string) bool {
	p, i, back, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			back, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case back >= 0:
			mark++
			p, i = back+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchAny tells whether one of the patterns names the tool. A star in them also
// covers slashes, as everywhere in the configuration.
func matchAny(patterns []tool.ID, id tool.ID) bool {
	return slices.ContainsFunc(patterns, func(p tool.ID) bool {
		return glob.MatchID(p, id)
	})
}
