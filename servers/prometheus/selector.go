package prometheus

import (
	"slices"
	"strconv"
	"strings"
)

// A selector is a metric that a query names, with its matchers.
type selector struct {
	name     string
	matchers []matcher
}

type matcher struct{ label, op, value string }

// words of PromQL that are no metrics. The second ones are followed by a list of
// labels.
var (
	keywords  = []string{"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan", "start", "end"}
	labelLike = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
)

// A scanner walks through a query. It understands enough of the language to find
// the selectors in what a server took for right, and nothing goes wrong where it
// misses one: they are for hints alone.
type scanner struct {
	s     string
	at    int
	found []selector
}

// selectors returns the metrics that a query names, each once.
func selectors(promql string) []selector {
	sc := scanner{s: promql}
	for sc.at < len(sc.s) {
		c := sc.s[sc.at]
		switch {
		case c == '"' || c == '\'' || c == '`':
			sc.text()
		case c == '#':
			sc.skipTo('\n')
		case c == '[':
			sc.skipTo(']')
		case c == '{':
			sc.add(selector{matchers: sc.matchers()})
		case nameStart(c):
			sc.word()
		case c >= '0' && c <= '9' || c == '.':
			for sc.at < len(sc.s) && (nameStart(sc.s[sc.at]) || sc.s[sc.at] >= '0' && sc.s[sc.at] <= '9' || sc.s[sc.at] == '.') {
				sc.at++
			}
		default:
			sc.at++
		}
	}
	return sc.found
}

func (sc *scanner) add(sel selector) {
	for _, m := range sel.matchers {
		if m.label == "__name__" && m.op == "=" {
			sel.name = m.value
		}
	}
	if sel.name == "" || slices.ContainsFunc(sc.found, func(f selector) bool { return f.name == sel.name }) {
		return
	}
	sc.found = append(sc.found, sel)
}

// word reads a name and decides what it is by what follows.
func (sc *scanner) word() {
	name := sc.name()
	sc.spaces()
	next := byte(0)
	if sc.at < len(sc.s) {
		next = sc.s[sc.at]
	}
	lower := strings.ToLower(name)
	switch {
	case slices.Contains(labelLike, lower):
		if next == '(' {
			sc.skipTo(')')
		}
	case next == '(' || slices.Contains(keywords, lower):
	case next == '{':
		sc.add(selector{name: name, matchers: sc.matchers()})
	default:
		// An aggregation may have its labels first: sum by (job) (x).
		rest := strings.ToLower(sc.s[sc.at:min(len(sc.s), sc.at+8)])
		if strings.HasPrefix(rest, "by") || strings.HasPrefix(rest, "without") {
			return
		}
		sc.add(selector{name: name})
	}
}

func nameStart(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (sc *scanner) name() string {
	from := sc.at
	for sc.at < len(sc.s) && (nameStart(sc.s[sc.at]) || sc.s[sc.at] >= '0' && sc.s[sc.at] <= '9') {
		sc.at++
	}
	return sc.s[from:sc.at]
}

func (sc *scanner) spaces() {
	for sc.at < len(sc.s) && strings.IndexByte(" \t\r\n", sc.s[sc.at]) >= 0 {
		sc.at++
	}
}

func (sc *scanner) skipTo(c byte) {
	i := strings.IndexByte(sc.s[sc.at:], c)
	if i < 0 {
		sc.at = len(sc.s)
		return
	}
	sc.at += i + 1
}

// text reads a quoted text.
func (sc *scanner) text() string {
	quote, from := sc.s[sc.at], sc.at
	for sc.at++; sc.at < len(sc.s) && sc.s[sc.at] != quote; sc.at++ {
		if sc.s[sc.at] == '\\' && quote != '`' {
			sc.at++
		}
	}
	sc.at = min(sc.at+1, len(sc.s))
	raw := sc.s[from:sc.at]
	if quote == '\'' && len(raw) > 1 {
		raw = `"` + strings.NewReplacer(`\'`, "'", `"`, `\"`).Replace(raw[1:len(raw)-1]) + `"`
	}
	v, err := strconv.Unquote(raw)
	if err != nil {
		return strings.Trim(raw, string(quote))
	}
	return v
}

// matchers reads what stands in braces.
func (sc *scanner) matchers() []matcher {
	var out []matcher
	sc.at++
	for sc.at < len(sc.s) {
		sc.spaces()
		if sc.at >= len(sc.s) {
			break
		}
		switch c := sc.s[sc.at]; {
		case c == '}':
			sc.at++
			return out
		case c == '"' || c == '\'' || c == '`':
			out = append(out, sc.matcher(sc.text()))
		case nameStart(c):
			out = append(out, sc.matcher(sc.name()))
		default:
			sc.at++
		}
	}
	return out
}

// matcher reads what follows a label. A quoted name alone is that of a metric.
func (sc *scanner) matcher(label string) matcher {
	sc.spaces()
	from := sc.at
	for sc.at < len(sc.s) && strings.IndexByte("=!~", sc.s[sc.at]) >= 0 {
		sc.at++
	}
	op := sc.s[from:sc.at]
	if op == "" {
		return matcher{"__name__", "=", label}
	}
	sc.spaces()
	if sc.at < len(sc.s) && strings.IndexByte("\"'`", sc.s[sc.at]) >= 0 {
		return matcher{label, op, sc.text()}
	}
	return matcher{label, op, ""}
}

// compares reports whether a query drops series by a comparison: one outside of
// braces and texts.
func compares(promql string) bool {
	sc := scanner{s: promql}
	for sc.at < len(sc.s) {
		switch c := sc.s[sc.at]; {
		case c == '"' || c == '\'' || c == '`':
			sc.text()
		case c == '{':
			sc.matchers()
		case c == '<' || c == '>':
			return true
		case (c == '=' || c == '!') && sc.at+1 < len(sc.s) && sc.s[sc.at+1] == '=':
			return true
		default:
			sc.at++
		}
	}
	return false
}
