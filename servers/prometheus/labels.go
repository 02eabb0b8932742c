package prometheus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/spelling"
)

// Bounds on the answers.
const (
	valuesChars   = 3000
	seriesChars   = 6000
	metadataChars = 6000
	valueRows     = 200
	seriesRows    = 50
	metadataRows  = 50
	defaultRange  = 24 * time.Hour // where names are looked for
)

type valuesInput struct {
	Label  string `json:"label" jsonschema:"name of the label, such as job or instance; __name__ gives the names of metrics"`
	Match  string `json:"match,omitempty" jsonschema:"only of series that this selector matches, such as up{job=\"node\"}"`
	Filter string `json:"filter,omitempty" jsonschema:"only values that hold this text, in any case"`
}

type namesInput struct {
	Match string `json:"match,omitempty" jsonschema:"only of series that this selector matches, such as node_filesystem_avail_bytes"`
}

type valuesOutput struct {
	Total  int      `json:"total" jsonschema:"how many there are"`
	Values []string `json:"values" jsonschema:"those shown, at most 200"`
	notes
}

type seriesInput struct {
	Match    []string `json:"match" jsonschema:"selectors, at least one, such as up or node_cpu_seconds_total{mode=\"idle\"}"`
	Lookback float64  `json:"lookback_seconds,omitempty" jsonschema:"how far to look back, in seconds, at least 60"`
}

type seriesOutput struct {
	Total  int            `json:"total" jsonschema:"how many series matched"`
	Series []labels       `json:"series" jsonschema:"the series shown, at most 50, as labels"`
	Labels map[string]int `json:"labels,omitempty" jsonschema:"how many values each label has among all series that matched"`
	notes
}

type metadataInput struct {
	Metric string `json:"metric,omitempty" jsonschema:"exact name of one metric; left out: all"`
	Filter string `json:"filter,omitempty" jsonschema:"only metrics whose name and help hold these words, in any order and case"`
}

type metadataRow struct {
	Metric string `json:"metric"`
	Type   string `json:"type,omitempty"`
	Help   string `json:"help,omitempty"`
	Unit   string `json:"unit,omitempty"`
}

type metadataOutput struct {
	Total   int           `json:"total" jsonschema:"how many metrics matched"`
	Metrics []metadataRow `json:"metrics" jsonschema:"the metrics shown, at most 50, with type, help and unit"`
	notes
}

func (s *server) addLabels(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_label_values", Title: "Label values",
		Description: "Returns the values of a label, at most 200, of all series of the last day or of those that a selector matches. With __name__ it returns the names of the metrics there are. Call it before a query whose names or values you would have to guess.",
		Defaults:    map[string]any{"match": ""},
	}, s.values)
	add(s, srv, spec{
		Name: "prom_label_names", Title: "Label names",
		Description: "Returns the names of the labels there are, at most 200, of all series of the last day or of those that a selector matches. Answers by what a metric can be filtered and grouped.",
	}, s.names)
	add(s, srv, spec{
		Name: "prom_series", Title: "Series",
		Description: "Returns the series that selectors match, at most 50, as sets of labels, and how many values each label has. Answers what there is to be measured, without its values.",
		Defaults:    map[string]any{"lookback_seconds": 3600},
		Bounds:      map[string][2]int{"lookback_seconds": {60, maxLookback}},
	}, s.series)
	add(s, srv, spec{
		Name: "prom_metadata", Title: "Metric metadata",
		Description: "Returns type (counter, gauge, histogram, summary), help and unit of metrics, at most 50. Answers what a metric means, and whether it wants a rate(). Filter by a text in name or help to find a metric.",
	}, s.metadata)
}

// labelValues returns the endpoint of the values of a label. Names that are no
// plain identifiers are escaped as the API wants it.
func labelValues(label string) string {
	plainName := label != ""
	var b strings.Builder
	b.WriteString("U__")
	for i, r := range label {
		switch {
		case r == '_':
			b.WriteString("__")
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			plainName = false
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	if plainName {
		return "label/" + label + "/values"
	}
	return "label/" + b.String() + "/values"
}

// before returns the parameters for the time in which names are looked for.
func before(now time.Time, lookback time.Duration) url.Values {
	return url.Values{"start": {seconds(now.Add(-lookback))}, "end": {seconds(now)}}
}

func (s *server) values(ctx context.Context, in valuesInput) (reply, valuesOutput, error) {
	if in.Label == "" || len(in.Label) > 200 || !utf8.ValidString(in.Label) {
		return reply{}, valuesOutput{}, errors.New("label must be a name of 1 to 200 bytes, such as job")
	}
	params, err := s.matching(in.Match)
	if err != nil {
		return reply{}, valuesOutput{}, err
	}
	var all []string
	n, err := s.client.get(ctx, labelValues(in.Label), params, &all)
	if err != nil {
		return reply{}, valuesOutput{}, position(in.Match, err)
	}
	if in.Filter != "" {
		want := strings.ToLower(in.Filter)
		all = slices.DeleteFunc(all, func(v string) bool { return !strings.Contains(strings.ToLower(v), want) })
	}
	r, out := shortList("Values of "+answer.Cell(in.Label, 80), all, n)
	if len(all) == 0 {
		r.text += s.noValues(ctx, in)
	}
	return r, out, nil
}

// noValues says which labels there are where one has no values.
func (s *server) noValues(ctx context.Context, in valuesInput) string {
	if in.Filter != "" {
		return "\nNo value holds the text of filter.\n"
	}
	params, err := s.matching(in.Match)
	if err != nil {
		return ""
	}
	var names []string
	if _, err := s.client.get(ctx, "labels", params, &names); err != nil || len(names) == 0 {
		return ""
	}
	if near := spelling.Nearest(in.Label, names, 5); len(near) > 0 {
		names = near
	}
	return "\nLabels there are: " + list(names, 15) + "\n"
}

func (s *server) names(ctx context.Context, in namesInput) (reply, valuesOutput, error) {
	params, err := s.matching(in.Match)
	if err != nil {
		return reply{}, valuesOutput{}, err
	}
	var all []string
	n, err := s.client.get(ctx, "labels", params, &all)
	if err != nil {
		return reply{}, valuesOutput{}, position(in.Match, err)
	}
	r, out := shortList("Label names", all, n)
	return r, out, nil
}

// matching returns the parameters of a selector that may be left out.
func (s *server) matching(match string) (url.Values, error) {
	params := before(s.now(), defaultRange)
	if strings.TrimSpace(match) == "" {
		return params, nil
	}
	if len(match) > maxQuery || !utf8.ValidString(match) {
		return nil, fmt.Errorf("match must be a selector of at most %d bytes", maxQuery)
	}
	params.Set("match[]", match)
	return params, nil
}

// shortList returns a list of names.
func shortList(title string, all []string, n notes) (reply, valuesOutput) {
	out := valuesOutput{Total: len(all), Values: []string{}, notes: n}
	p := answer.NewPage(valuesChars)
	p.Line("## %s: %d\n", title, len(all))
	addNotes(p, n)
	shown := p.Rows(min(len(all), valueRows), func(i int) string { return "- " + answer.Cell(all[i], 200) })
	for _, v := range all[:shown] {
		out.Values = append(out.Values, answer.Line(v, 300))
	}
	switch rest := len(all) - shown; {
	case len(all) == 0:
		p.Line("None.")
	case rest > 0:
		p.Line("\n%d more are left out. Narrow them down with match, or with filter where the tool has one.", rest)
	}
	return reply{text: p.String()}, out
}

func (s *server) series(ctx context.Context, in seriesInput) (reply, seriesOutput, error) {
	if len(in.Match) == 0 || len(in.Match) > 10 {
		return reply{}, seriesOutput{}, errors.New("match must hold 1 to 10 selectors, such as up")
	}
	for _, m := range in.Match {
		if strings.TrimSpace(m) == "" || len(m) > maxQuery || !utf8.ValidString(m) {
			return reply{}, seriesOutput{}, fmt.Errorf("match: each must be a selector of at most %d bytes, such as up", maxQuery)
		}
	}
	lookback := clamp(in.Lookback, 60, maxLookback)
	params := before(s.now(), time.Duration(lookback*float64(time.Second)))
	params["match[]"] = in.Match
	var all []labels
	n, err := s.client.get(ctx, "series", params, &all)
	if err != nil {
		return reply{}, seriesOutput{}, position(in.Match[0], err)
	}
	out := seriesOutput{Total: len(all), Series: []labels{}, Labels: distinct(all), notes: n}
	p := answer.NewPage(seriesChars)
	p.Line("## Series: %d\n", len(all))
	addNotes(p, n)
	if len(all) == 0 {
		p.Line("None in the last %s.", since(time.Duration(lookback)*time.Second))
		for _, h := range s.client.hints(ctx, in.Match[0], s.now()) {
			p.Line("- %s", h)
		}
		return reply{text: p.String()}, out, nil
	}
	var counts []string
	for _, k := range slices.Sorted(maps.Keys(out.Labels)) {
		counts = append(counts, fmt.Sprintf("%s %d", k, out.Labels[k]))
	}
	p.Line("- values of each label: %s\n", answer.Cell(strings.Join(counts, ", "), 800))
	shown := p.Rows(min(len(all), seriesRows), func(i int) string { return "- " + answer.Cell(all[i].String(), 300) })
	for _, l := range all[:shown] {
		out.Series = append(out.Series, l.bounded())
	}
	if rest := len(all) - shown; rest > 0 {
		p.Line("\n%d more are left out. Narrow the selector.", rest)
	}
	return reply{text: p.String()}, out, nil
}

// distinct counts the values of each label, of at most 60 labels.
func distinct(all []labels) map[string]int {
	seen := map[string]map[string]bool{}
	for _, l := range all {
		for k, v := range l {
			if seen[k] == nil {
				if len(seen) >= 60 {
					continue
				}
				seen[k] = map[string]bool{}
			}
			seen[k][v] = true
		}
	}
	out := make(map[string]int, len(seen))
	for k, values := range seen {
		out[answer.Line(k, 100)] = len(values)
	}
	return out
}

func (s *server) metadata(ctx context.Context, in metadataInput) (reply, metadataOutput, error) {
	if len(in.Metric) > 300 || !utf8.ValidString(in.Metric) {
		return reply{}, metadataOutput{}, errors.New("metric must be the name of a metric")
	}
	params := url.Values{}
	if in.Metric != "" {
		params.Set("metric", in.Metric)
	}
	var all map[string][]metadataRow
	n, err := s.client.get(ctx, "metadata", params, &all)
	if err != nil {
		return reply{}, metadataOutput{}, err
	}
	var list []metadataRow
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, m := range all[name] {
			if holdsWords(name+"\n"+m.Help, in.Filter) {
				list = append(list, metadataRow{answer.Line(name, 200), answer.Line(m.Type, 30), answer.Line(m.Help, 300), answer.Line(m.Unit, 30)})
			}
		}
	}
	out := metadataOutput{Total: len(list), Metrics: []metadataRow{}, notes: n}
	p := answer.NewPage(metadataChars)
	p.Line("## Metrics: %d\n", len(list))
	addNotes(p, n)
	if len(list) == 0 {
		p.Line("None. Metadata is known of scraped metrics alone, under the name that the target gives: of histograms without _bucket, _sum and _count.")
		if near := nearHelp(all, in.Filter); near != "" {
			p.Line("- Some of the words of filter are in: %s", near)
		}
		if in.Metric != "" {
			for _, h := range s.client.about(ctx, selector{name: in.Metric}, before(s.now(), defaultRange)) {
				p.Line("- %s", h)
			}
		}
		return reply{text: p.String()}, out, nil
	}
	p.Line("| metric | type | unit | help |\n| --- | --- | --- | --- |")
	shown := p.Rows(min(len(list), metadataRows), func(i int) string {
		return fmt.Sprintf("| %s | %s | %s | %s |", answer.Cell(list[i].Metric, 120), answer.Cell(list[i].Type, 20), answer.Cell(list[i].Unit, 20), answer.Cell(list[i].Help, 200))
	})
	out.Metrics = append(out.Metrics, list[:shown]...)
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%s more are left out. Narrow them down with filter.", strconv.Itoa(rest))
	}
	return reply{text: p.String()}, out, nil
}

// nearHelp names the metrics in whose name and help most words of a filter are.
func nearHelp(all map[string][]metadataRow, filter string) string {
	best := 0
	var near []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := 0
		for w := range strings.FieldsSeq(filter) {
			if len(all[name]) > 0 && holdsWords(name+"\n"+all[name][0].Help, w) {
				n++
			}
		}
		if n > best {
			best, near = n, nil
		}
		if n == best && n > 0 {
			near = append(near, name)
		}
	}
	return list(near, 8)
}
