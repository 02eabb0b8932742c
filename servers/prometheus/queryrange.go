package prometheus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// Bounds on the answers.
const (
	rangeChars  = 8000
	rangeSeries = 6
	rangePoints = 12
	// maxPoints bounds the points of a series that are asked for. Servers refuse
	// 11,000; a picture of 480 pixels shows no more than these.
	maxPoints   = 1000
	maxLookback = 400 * 24 * 3600 // seconds
)

type rangeInput struct {
	PromQL   string  `json:"promql" jsonschema:"query in PromQL, such as rate(node_cpu_seconds_total[5m])"`
	Lookback float64 `json:"lookback_seconds,omitempty" jsonschema:"how far to look back, in seconds, at least 60"`
	Step     float64 `json:"step_seconds,omitempty" jsonschema:"seconds between two points, at least 5; raised where a series would get more than 1000 points"`
	End      string  `json:"end,omitempty" jsonschema:"where the range ends: RFC 3339, seconds since 1970, or an age such as 1h; left out: now"`
}

// A line is one series of the answer of prom_query_range.
type line struct {
	Metric    labels    `json:"metric,omitempty"`
	Points    int       `json:"points"`
	Min       string    `json:"min,omitempty"`
	Max       string    `json:"max,omitempty"`
	Average   string    `json:"average,omitempty"`
	First     string    `json:"first,omitempty"`
	Last      string    `json:"last,omitempty"`
	Sparkline string    `json:"sparkline,omitempty"`
	LastOnes  []instant `json:"last_points"`
}

type rangeOutput struct {
	Query  string   `json:"query" jsonschema:"the query that was asked"`
	Start  string   `json:"start" jsonschema:"beginning of the range"`
	End    string   `json:"end" jsonschema:"end of the range"`
	Step   float64  `json:"step_seconds" jsonschema:"seconds between two points, as it was asked"`
	Total  int      `json:"total" jsonschema:"how many series matched"`
	Series []line   `json:"series" jsonschema:"the first six series with figures over the whole range, a sparkline, and their last twelve points"`
	Hints  []string `json:"hints,omitempty" jsonschema:"why the answer may be empty, and where the step was changed"`
	notes
}

func (s *server) addRange(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_query_range", Title: "PromQL range query",
		Description: "Evaluates a PromQL expression over a time that ends now and returns, for at most 6 series, lowest, highest, average and last value, a sparkline and the last 12 points as value@time, with a picture of the curves. Answers how something developed. The step is raised where the range is long.",
		Defaults:    map[string]any{"lookback_seconds": 600, "step_seconds": 30},
		Bounds:      map[string][2]int{"lookback_seconds": {60, maxLookback}, "step_seconds": {5, maxLookback}},
	}, s.queryRange)
}

func (s *server) queryRange(ctx context.Context, in rangeInput) (reply, rangeOutput, error) {
	if err := checkQuery(in.PromQL); err != nil {
		return reply{}, rangeOutput{}, err
	}
	end, err := s.when("end", in.End)
	if err != nil {
		return reply{}, rangeOutput{}, err
	}
	if end.IsZero() {
		end = s.now()
	}
	lookback, step, hint := steps(in.Lookback, in.Step)
	start := end.Add(-time.Duration(lookback * float64(time.Second)))
	if start.Before(time.Unix(0, 0)) {
		return reply{}, rangeOutput{}, errors.New("the range begins before 1970. Give a smaller lookback_seconds, or a later end")
	}
	params := s.bounds(url.Values{
		"query": {in.PromQL}, "start": {seconds(start)}, "end": {seconds(end)},
		"step": {strconv.FormatFloat(step, 'f', -1, 64)},
	})
	var r result
	n, err := s.client.get(ctx, "query_range", params, &r)
	if err != nil {
		return reply{}, rangeOutput{}, position(in.PromQL, err)
	}
	out := rangeOutput{Query: answer.Line(in.PromQL, 1000), Start: stamp(start), End: stamp(end), Step: step, Total: len(r.Series), Series: []line{}, notes: n}
	if hint != "" {
		out.Hints = append(out.Hints, hint)
	}
	p := answer.NewPage(rangeChars)
	addTitle(p, in.PromQL)
	p.Line("- range: %s to %s, a point each %s s", out.Start, out.End, strconv.FormatFloat(step, 'f', -1, 64))
	p.Line("- series: %d", out.Total)
	addNotes(p, n)
	if out.Total == 0 {
		out.Hints = append(out.Hints, s.client.hints(ctx, in.PromQL, end)...)
		p.Line("\nNothing matched in this range.")
	}
	for _, h := range out.Hints {
		p.Line("- %s", h)
	}
	picture := lines(p, r.Series, &out, end)
	if s.noImage || out.Total == 0 {
		picture = nil
	}
	return reply{p.String(), picture}, out, nil
}

// steps returns the range and the step to ask for, in seconds, and says where the
// step is another one than was wanted.
func steps(lookback, step float64) (float64, float64, string) {
	if math.IsNaN(lookback) || math.IsNaN(step) {
		lookback, step = 600, 30
	}
	lookback, step = clamp(lookback, 60, maxLookback), clamp(step, 5, maxLookback)
	if lookback/step <= maxPoints {
		return lookback, step, ""
	}
	least := lookback / maxPoints
	better := math.Ceil(least/86400) * 86400
	for _, nice := range []float64{5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200} {
		if nice >= least {
			better = nice
			break
		}
	}
	return lookback, better, fmt.Sprintf("the step was raised from %s to %s seconds, so that a series has at most %d points; a range selector such as [5m] should span at least two steps",
		number(step), number(better), maxPoints)
}

// lines writes the series of a range and returns their picture.
func lines(p *answer.Page, all []series, out *rangeOutput, end time.Time) []byte {
	var curves [][]point
	shown := p.Rows(min(len(all), rangeSeries), func(i int) string {
		one := all[i]
		points := one.points()
		l := figures(points)
		l.Metric = one.Metric.bounded()
		out.Series = append(out.Series, l)
		curves = append(curves, points)
		return lineText(one.Metric, l, points, i, end)
	})
	out.Series, curves = out.Series[:shown], curves[:shown]
	if rest := out.Total - shown; rest > 0 {
		p.Line("\n%d more series are left out. Narrow the selector, aggregate with sum by (…), or take topk(5, …).", rest)
	}
	return draw(curves)
}

func lineText(metric labels, l line, points []point, i int, end time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n", answer.Cell(metric.String(), 240))
	if l.Sparkline != "" {
		fmt.Fprintf(&b, "`%s` (%s)\n\n", l.Sparkline, colours[i%len(colours)].name)
		fmt.Fprintf(&b, "- min %s, max %s, average %s, first %s, last %s, of %d points\n", l.Min, l.Max, l.Average, rounded(l.First), rounded(l.Last), l.Points)
	}
	shown := points[max(0, len(points)-rangePoints):]
	layout := "15:04:05"
	if len(shown) > 0 && end.Sub(moment(shown[0].at)) >= 20*time.Hour { // a time alone would be taken for one of the last day
		layout = "2006-01-02T15:04:05"
	}
	list := make([]string, 0, len(shown))
	for _, q := range shown {
		list = append(list, rounded(answer.Line(q.value, 60))+"@"+moment(q.at).Format(layout))
	}
	fmt.Fprintf(&b, "- last: %s", strings.Join(list, " "))
	return b.String()
}

// figures returns what can be said of a series in a few numbers.
func figures(points []point) line {
	l := line{Points: len(points), LastOnes: instants(points[max(0, len(points)-rangePoints):])}
	low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for _, p := range points {
		v, err := p.float()
		if err != nil || math.IsNaN(v) {
			continue
		}
		low, high, sum, n = min(low, v), max(high, v), sum+v, n+1
	}
	if n == 0 {
		return l
	}
	l.Min, l.Max, l.Average = number(low), number(high), number(sum/float64(n))
	l.First, l.Last = answer.Line(points[0].value, 60), answer.Line(points[len(points)-1].value, 60)
	l.Sparkline = sparkline(points, 40)
	return l
}
