package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// Bounds on the answers.
const (
	queryChars = 6000
	queryRows  = 25
	maxQuery   = 16 << 10 // bytes of a query
)

type queryInput struct {
	PromQL string `json:"promql" jsonschema:"query in PromQL, such as sum by (job) (rate(http_requests_total[5m]))"`
	Time   string `json:"time,omitempty" jsonschema:"when to evaluate it: RFC 3339, seconds since 1970, or an age such as 1h or 30m; left out: now"`
}

// A point is one value of a series.
type point struct {
	at    float64
	value string
}

// UnmarshalJSON reads [seconds, "value"].
func (p *point) UnmarshalJSON(b []byte) error {
	var two []json.RawMessage
	if err := json.Unmarshal(b, &two); err != nil {
		return err
	}
	if len(two) != 2 {
		return errors.New("a point must be a time and a value")
	}
	if err := json.Unmarshal(two[0], &p.at); err != nil {
		return err
	}
	if json.Unmarshal(two[1], &p.value) == nil {
		return nil
	}
	var h struct { // a native histogram
		Count   string            `json:"count"`
		Sum     string            `json:"sum"`
		Buckets []json.RawMessage `json:"buckets"`
	}
	if err := json.Unmarshal(two[1], &h); err != nil {
		return err
	}
	p.value = fmt.Sprintf("histogram count=%s sum=%s buckets=%d", h.Count, h.Sum, len(h.Buckets))
	return nil
}

func (p point) float() (float64, error) { return strconv.ParseFloat(p.value, 64) }

// A series is one of a vector or a matrix.
type series struct {
	Metric     labels  `json:"metric"`
	Value      *point  `json:"value"`
	Histogram  *point  `json:"histogram"`
	Values     []point `json:"values"`
	Histograms []point `json:"histograms"`
}

func (s series) points() []point {
	switch {
	case s.Value != nil:
		return []point{*s.Value}
	case s.Histogram != nil:
		return []point{*s.Histogram}
	case len(s.Values) > 0:
		return s.Values
	}
	return s.Histograms
}

// A result is what a query gives, whatever its type.
type result struct {
	Type   string
	Series []series
}

// UnmarshalJSON reads the data of an answer to a query.
func (r *result) UnmarshalJSON(b []byte) error {
	var raw struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	r.Type = answer.Line(raw.ResultType, 20)
	switch raw.ResultType {
	case "vector", "matrix":
		return json.Unmarshal(raw.Result, &r.Series)
	case "scalar", "string":
		var p point
		if err := json.Unmarshal(raw.Result, &p); err != nil {
			return err
		}
		r.Series = []series{{Value: &p}}
		return nil
	}
	return errors.New("unknown type of result")
}

// A sample is one row of the answer of prom_query.
type sample struct {
	Metric labels    `json:"metric,omitempty"`
	Value  string    `json:"value,omitempty"`
	Time   string    `json:"time,omitempty"`
	Points []instant `json:"points,omitempty"`
}

// An instant is a value with its time; the value is a text, for it may be NaN.
type instant struct {
	Time  string `json:"time"`
	Value string `json:"value"`
}

type queryOutput struct {
	Query  string   `json:"query" jsonschema:"the query that was asked"`
	Type   string   `json:"result_type" jsonschema:"vector, scalar, string or matrix"`
	Total  int      `json:"total" jsonschema:"how many series matched"`
	Series []sample `json:"series" jsonschema:"the series shown, with labels, value and time; values are texts, for they may be NaN or +Inf; of a range vector, the last points"`
	Hints  []string `json:"hints,omitempty" jsonschema:"why the answer may be empty"`
	notes
}

func (s *server) addQuery(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_query", Title: "PromQL query",
		Description: "Evaluates a PromQL expression at one moment and returns a table of at most 25 series with their values. Answers what a value is now. Aggregate (sum by, topk) where there are many series. An empty answer says which metric names come near, or which label does not match.",
	}, s.query)
}

func (s *server) query(ctx context.Context, in queryInput) (reply, queryOutput, error) {
	if err := checkQuery(in.PromQL); err != nil {
		return reply{}, queryOutput{}, err
	}
	at, err := s.when("time", in.Time)
	if err != nil {
		return reply{}, queryOutput{}, err
	}
	params := s.bounds(url.Values{"query": {in.PromQL}})
	if at.IsZero() {
		at = s.now()
	} else {
		params.Set("time", seconds(at))
	}
	var r result
	n, err := s.client.get(ctx, "query", params, &r)
	if err != nil {
		return reply{}, queryOutput{}, position(in.PromQL, err)
	}
	out := queryOutput{Query: answer.Line(in.PromQL, 1000), Type: r.Type, Total: len(r.Series), Series: []sample{}, notes: n}
	p := answer.NewPage(queryChars)
	addTitle(p, in.PromQL)
	p.Line("- type: %s", r.Type)
	p.Line("- series: %d", out.Total)
	addNotes(p, n)
	if len(r.Series) == 0 {
		out.Hints = s.client.hints(ctx, in.PromQL, at)
		p.Line("\nNothing matched.")
		for _, h := range out.Hints {
			p.Line("- %s", h)
		}
		return reply{text: p.String()}, out, nil
	}
	samples(p, r, &out)
	return reply{text: p.String()}, out, nil
}

// samples writes the series of an answer as a table, and into out.
func samples(p *answer.Page, r result, out *queryOutput) {
	p.Line("\n| metric | value | timestamp |\n| --- | --- | --- |")
	shown := p.Rows(min(len(r.Series), queryRows), func(i int) string {
		points := r.Series[i].points()
		if len(points) == 0 {
			return fmt.Sprintf("| %s | - | - |", answer.Cell(r.Series[i].Metric.String(), 200))
		}
		last := points[len(points)-1]
		name := r.Series[i].Metric.String()
		if r.Type == "scalar" || r.Type == "string" {
			name = r.Type
		}
		return fmt.Sprintf("| %s | %s | %s |", answer.Cell(name, 200), answer.Cell(pointsText(points), 300), stamp(moment(last.at)))
	})
	for _, one := range r.Series[:shown] {
		points := one.points()
		row := sample{Metric: one.Metric.bounded()}
		if r.Type != "matrix" && len(points) > 0 {
			row.Value, row.Time = answer.Line(points[0].value, 200), stamp(moment(points[0].at))
		}
		if r.Type == "matrix" {
			row.Points = instants(points[max(0, len(points)-rangePoints):])
		}
		out.Series = append(out.Series, row)
	}
	if rest := out.Total - shown; rest > 0 {
		p.Line("\n%d more series are left out. Narrow the selector, aggregate with sum by (…), or take topk(10, …).", rest)
	}
}

// pointsText returns the points of a series for one cell: the last ones where there are many.
func pointsText(points []point) string {
	if len(points) == 1 {
		return points[0].value
	}
	var list []string
	for _, p := range points[max(0, len(points)-rangePoints):] {
		list = append(list, p.value)
	}
	return fmt.Sprintf("%s (of %d points)", strings.Join(list, " "), len(points))
}

func instants(points []point) []instant {
	out := make([]instant, 0, len(points))
	for _, p := range points {
		out = append(out, instant{stamp(moment(p.at)), answer.Line(p.value, 200)})
	}
	return out
}

// bounds adds how long the server may work on a query: it need not go on when
// nobody waits.
func (s *server) bounds(params url.Values) url.Values {
	params.Set("timeout", strconv.FormatFloat(s.timeout.Seconds(), 'f', -1, 64)+"s")
	return params
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

func checkQuery(promql string) error {
	switch {
	case strings.TrimSpace(promql) == "":
		return errors.New("promql is empty. Give a query such as up")
	case len(promql) > maxQuery:
		return fmt.Errorf("promql has %d bytes; at most %d are taken", len(promql), maxQuery)
	case !utf8.ValidString(promql) || strings.ContainsRune(promql, 0):
		return errors.New("promql is no text")
	}
	return nil
}

// when reads a time that a model wrote; zero is now.
func (s *server) when(name, v string) (time.Time, error) {
	v = strings.TrimSpace(v)
	if v == "" || v == "now" {
		return time.Time{}, nil
	}
	if len(v) <= 40 {
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t, nil
		}
		if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 && n < 1e11 {
			return moment(n), nil
		}
		if d, ok := age(strings.TrimPrefix(v, "-")); ok {
			return s.now().Add(-d), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %q is no time. Give RFC 3339 such as 2026-01-31T12:00:00Z, seconds since 1970, or an age such as 1h", name, answer.Line(v, 40))
}

// age reads a duration with a unit of PromQL: also days and weeks.
func age(v string) (time.Duration, bool) {
	if len(v) > 1 {
		unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour, 'y': 365 * 24 * time.Hour}[v[len(v)-1]]
		if n, err := strconv.ParseFloat(v[:len(v)-1], 64); err == nil && unit > 0 && n >= 0 && n < 10_000 {
			return time.Duration(n * float64(unit)), true
		}
	}
	d, err := time.ParseDuration(v)
	return d, err == nil && d >= 0
}
