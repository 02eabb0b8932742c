package prometheus

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/spelling"
)

const (
	hintPatience = 3 * time.Second // all hints together; an empty answer must not wait for them
	hintNames    = 3               // names of a query that are looked at
	hintRange    = 24 * time.Hour
)

// hints says why a query may have matched nothing. What it cannot find out it
// leaves out.
func (c *client) hints(ctx context.Context, promql string, at time.Time) []string {
	ctx, cancel := context.WithTimeout(ctx, hintPatience)
	defer cancel()
	span := url.Values{"start": {seconds(at.Add(-hintRange))}, "end": {seconds(at)}}
	var out []string
	for i, sel := range selectors(promql) {
		if i == hintNames {
			break
		}
		out = append(out, c.about(ctx, sel, span)...)
	}
	if compares(promql) {
		out = append(out, "a comparison drops all series that do not meet it: that nothing is left may be the answer. Ask without it to see the values")
	}
	return out
}

// about says what is wrong with one selector.
func (c *client) about(ctx context.Context, sel selector, span url.Values) []string {
	if sel.name == "" {
		return nil
	}
	quoted := fmt.Sprintf("{__name__=%s}", strconv.Quote(sel.name))
	var names []string
	if _, err := c.get(ctx, "labels", with(span, "match[]", quoted), &names); err != nil {
		return nil
	}
	if len(names) == 0 && c.existsNow(ctx, quoted) {
		return []string{sel.name + " exists now, but had no value at this time or in the day before: it may be younger, or what is so old may be deleted (prom_health says how long data is kept)"}
	}
	if len(names) == 0 {
		return c.nearMetrics(ctx, sel.name, span)
	}
	var out []string
	for _, m := range sel.matchers {
		if m.op != "=" || m.label == "__name__" || m.value == "" {
			continue
		}
		if !slices.Contains(names, m.label) {
			out = append(out, fmt.Sprintf("%s has no label %q; it has: %s", sel.name, answer.Line(m.label, 60), list(names, 15)))
			continue
		}
		var values []string
		if _, err := c.get(ctx, labelValues(m.label), with(span, "match[]", quoted), &values); err != nil || slices.Contains(values, m.value) {
			continue
		}
		out = append(out, fmt.Sprintf("%s has no series with %s=%q; %s", sel.name, answer.Line(m.label, 60), answer.Line(m.value, 60), valuesThere(m.value, values)))
	}
	if out == nil {
		out = append(out, fmt.Sprintf("%s exists, with the labels %s. Perhaps it had no value at this time, or its labels do not meet in this combination", sel.name, list(names, 15)))
	}
	return out
}

// existsNow reports whether a selector matches anything of the last day.
func (c *client) existsNow(ctx context.Context, selector string) bool {
	var names []string
	_, err := c.get(ctx, "labels", with(before(time.Now(), hintRange), "match[]", selector), &names)
	return err == nil && len(names) > 0
}

// valuesThere lists values of a label: those that are like the wanted one where there
// are many.
func valuesThere(want string, values []string) string {
	const most = 8
	if len(values) <= most {
		return "values there: " + list(values, most)
	}
	if near := spelling.Nearest(want, values, most); len(near) > 0 {
		return fmt.Sprintf("nearest of the %d values there: %s", len(values), list(near, most))
	}
	return "values there: " + list(values, most)
}

// holdsWords reports whether a text holds all words of a filter, in any order and case.
func holdsWords(text, filter string) bool {
	text = strings.ToLower(text)
	for w := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// nearMetrics names metrics whose names come near.
func (c *client) nearMetrics(ctx context.Context, name string, span url.Values) []string {
	var all []string
	if _, err := c.get(ctx, labelValues("__name__"), span, &all); err != nil {
		return nil
	}
	near := spelling.Nearest(name, all, 5)
	if len(near) == 0 {
		return []string{fmt.Sprintf("there is no metric %s. Call prom_label_values with label __name__ for the names there are", answer.Line(name, 100))}
	}
	return []string{fmt.Sprintf("there is no metric %s; nearest names: %s", answer.Line(name, 100), list(near, 5))}
}

func with(v url.Values, key, value string) url.Values {
	out := url.Values{key: {value}}
	maps.Copy(out, v)
	return out
}

// list returns at most n names on one line.
func list(names []string, n int) string {
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, answer.Line(name, 100))
	}
	s := strings.Join(out, ", ")
	if len(names) > n {
		s += fmt.Sprintf(" and %d more", len(names)-n)
	}
	return s
}
