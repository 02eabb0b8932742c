package prometheus

// Names returns the metrics that a query names, each with its matchers.
func Names(promql string) []string {
	var out []string
	for _, s := range selectors(promql) {
		text := s.name
		for _, m := range s.matchers {
			text += " " + m.label + m.op + m.value
		}
		out = append(out, text)
	}
	return out
}

// Compares reports whether a query drops series by a comparison.
func Compares(promql string) bool { return compares(promql) }

// Draw returns a picture of a curve of these values.
func Draw(values ...string) ([]byte, string) {
	var points []point
	for i, v := range values {
		points = append(points, point{float64(1_700_000_000 + 60*i), v})
	}
	return draw([][]point{points}), sparkline(points, 8)
}

// Steps returns the range and step that are asked for.
func Steps(lookback, step float64) (float64, float64, string) { return steps(lookback, step) }
