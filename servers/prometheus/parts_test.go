package prometheus_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/servers/prometheus"
)

func TestSelectors(t *testing.T) {
	for query, want := range map[string][]string{
		`up`: {"up"},
		`sum by (job, instance) (rate(http_requests_total{job="a",code=~"5.."}[5m])) / on(job) group_left(x) count(up)`: {"http_requests_total job=a code=~5..", "up"},
		`topk(3, a:b:c) > bool 5 and b offset 5m`:                  {"a:b:c", "b"},
		`{__name__="x y", a='it\'s'}`:                              {"x y __name__=x y a=it's"},
		`{"http.status", "le-vel"="b"}`:                            {"http.status __name__=http.status le-vel=b"},
		`quantile_over_time(0.9, x[5m:1m]) # up`:                   {"x"},
		`label_replace(up, "a", "$1", "b", "(.*)") or 1e5`:         {"up"},
		`sum without (a) (b) unless max(c) by (d)`:                 {"b", "c"},
		`x{a="}"} + x{b="c"}`:                                      {"x a=}"},
		`histogram_quantile(0.95, sum(rate(y_bucket[5m])) by(le))`: {"y_bucket"},
		`1 + 2`: nil, ``: nil, `{`: nil, `"`: nil, `x{a=`: {"x a="},
	} {
		if diff := cmp.Diff(want, prometheus.Names(query)); diff != "" {
			t.Errorf("%s\n%s", query, diff)
		}
	}
	for query, want := range map[string]bool{`up > 1`: true, `up == 0`: true, `up != 0`: true, `up{a!="b"}`: false, `up{a="<"}`: false, `label_replace(x, "<", "", "", "")`: false} {
		if prometheus.Compares(query) != want {
			t.Errorf("%s: %v", query, !want)
		}
	}
}

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{`sum by (a) (b{c="d"}[5m])`, `{"a", b!~'c\'d'}`, "`x`", `x{y`, `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		prometheus.Names(s)
		prometheus.Compares(s)
	})
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ lookback, step, wantLookback, wantStep float64 }{
		{600, 30, 600, 30},
		{0, 0, 60, 5},
		{-5, 1e9, 60, 400 * 86400},
		{3600, 5, 3600, 5},
		{86400, 30, 86400, 120},
		{30 * 86400, 60, 30 * 86400, 3600},
		{1e12, 5, 400 * 86400, 43200},
		{math.Inf(1), math.Inf(-1), 400 * 86400, 43200},
		{math.NaN(), 1, 600, 30},
	} {
		lookback, step, hint := prometheus.Steps(c.lookback, c.step)
		if lookback != c.wantLookback || step != c.wantStep || lookback/step > 1000 {
			t.Errorf("%v, %v: got %v, %v", c.lookback, c.step, lookback, step)
		}
		if (hint != "") != (step > max(c.step, 5) && !math.IsNaN(c.lookback)) {
			t.Errorf("%v, %v: hint %q", c.lookback, c.step, hint)
		}
	}
}

func TestPicture(t *testing.T) {
	for want, values := range map[string][]string{
		"▁▃▆█":     {"0", "1", "2", "3"},
		"▅▅":       {"7", "7"},
		"▁ █":      {"1", "NaN", "2"},
		"▁█ ":      {"1", "2", "+Inf"},
		"▁▂▃▄▅▆▇█": strings.Fields("1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8"),
	} {
		picture, line := prometheus.Draw(values...)
		if line != want {
			t.Errorf("%v: %s, want %s", values, line, want)
		}
		checkPicture(t, picture)
	}
	if picture, _ := prometheus.Draw("NaN", "x"); picture != nil {
		t.Error("a picture of nothing")
	}
	if dir := os.Getenv("TENON_TEST_PICTURES"); dir != "" {
		picture, _ := prometheus.Draw(strings.Fields("1200 1500 1300 2700 2600 NaN 1100 900 1000 4000")...)
		_ = os.WriteFile(filepath.Join(dir, "chart.png"), picture, 0o600)
	}
}
