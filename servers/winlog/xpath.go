package winlog

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

// maxTerms bounds a query: the service refuses larger ones, from about 23 conditions.
const maxTerms = 20

// xpath returns the query for the event log service that asks for what f means. Each
// event is judged by f again, so that the query may let too much through, as where it
// would grow too large, but never too little. provider is the name as the system
// writes it.
func xpath(f *filter, provider string) string {
	var terms []string
	count := 0
	put := func(n int, term string) {
		if count+n > maxTerms {
			return
		}
		count += n
		terms = append(terms, term)
	}
	if f.record != 0 {
		put(1, fmt.Sprintf("EventRecordID=%d", f.record))
	}
	switch l := f.level; {
	case l.all:
	case l.audit != 0:
		put(1, fmt.Sprintf("band(Keywords,%d)", l.audit))
	default:
		var or []string
		if l.zero {
			or = append(or, "Level=0")
		}
		for n := evtx.Critical; n <= l.most; n++ {
			or = append(or, fmt.Sprintf("Level=%d", n))
		}
		put(len(or), anyOf(or))
	}
	put(timeTerm(f))
	if provider != "" {
		if quote, ok := quoteFor(provider); ok {
			put(1, "Provider[@Name="+quote+provider+quote+"]")
		}
	}
	if len(f.ids) > 0 {
		n, or := idTerms(f.ids)
		put(n, anyOf(or))
	}
	if len(f.not) > 0 {
		n, or := idTerms(f.not)
		put(n, "not("+strings.Join(or, " or ")+")")
	}
	var and []string
	for _, t := range terms {
		if t != "" {
			and = append(and, t)
		}
	}
	if len(and) == 0 {
		return "*"
	}
	return "*[System[" + strings.Join(and, " and ") + "]]"
}

// timeTerm asks for the time, to the millisecond that the service keeps apart: its
// bounds are a little wide.
func timeTerm(f *filter) (int, string) {
	const layout = "2006-01-02T15:04:05.000Z"
	var and []string
	if !f.from.IsZero() {
		and = append(and, "@SystemTime>='"+f.from.UTC().Truncate(time.Millisecond).Format(layout)+"'")
	}
	if !f.to.IsZero() {
		and = append(and, "@SystemTime<='"+f.to.UTC().Add(time.Millisecond).Truncate(time.Millisecond).Format(layout)+"'")
	}
	if and == nil {
		return 0, ""
	}
	return len(and), "TimeCreated[" + strings.Join(and, " and ") + "]"
}

func idTerms(list []idRange) (int, []string) {
	n := 0
	var or []string
	for _, r := range list {
		if r.low == r.high {
			n++
			or = append(or, fmt.Sprintf("EventID=%d", r.low))
			continue
		}
		n += 2
		or = append(or, fmt.Sprintf("(EventID>=%d and EventID<=%d)", r.low, r.high))
	}
	return n, or
}

func anyOf(or []string) string {
	if len(or) == 1 {
		return or[0]
	}
	return "(" + strings.Join(or, " or ") + ")"
}

// quoteFor returns the quotation mark that a text can stand in: XPath 1.0 cannot
// escape any. It returns false where there is none, or where the text has what no
// name of a provider has.
func quoteFor(s string) (string, bool) {
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return "", false
		}
	}
	switch {
	case !strings.Contains(s, "'"):
		return "'", true
	case !strings.Contains(s, `"`):
		return `"`, true
	}
	return "", false
}
