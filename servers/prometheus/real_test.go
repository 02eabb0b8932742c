package prometheus_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/prometheus"
)

// shared is the Prometheus of all tests here.
var shared struct {
	sync.Mutex
	p *testenv.Prometheus
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.p != nil {
		shared.p.Stop()
	}
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

func realURL(t *testing.T) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.p == nil {
		shared.p = testenv.KeepPrometheus(t)
	}
	return shared.p.URL
}

// connect returns a client of a server with the options.
func connect(t testing.TB, o prometheus.Options) *mcp.ClientSession {
	t.Helper()
	srv, err := prometheus.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

// An answer is what came of a call.
type answer struct {
	text   string
	data   map[string]any
	raw    string // of data
	images [][]byte
	failed bool
}

func call(t testing.TB, cs *mcp.ClientSession, name string, args any) answer {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	a := answer{failed: res.IsError}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			a.text += c.Text
		case *mcp.ImageContent:
			a.images = append(a.images, c.Data)
		}
	}
	if res.StructuredContent != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		a.raw = string(b)
		if err := json.Unmarshal(b, &a.data); err != nil {
			t.Fatal(err)
		}
	}
	checkOutput(t, cs, name, a)
	if limit := prometheus.Meta()[name].MaxResultChars; len([]rune(a.text)) > limit {
		t.Errorf("%s: %d characters, more than %d", name, len([]rune(a.text)), limit)
	}
	return a
}

// checkOutput holds data to the schema that the tool declares.
func checkOutput(t testing.TB, cs *mcp.ClientSession, name string, a answer) {
	t.Helper()
	if a.failed {
		return
	}
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range list.Tools {
		if tl.Name != name {
			continue
		}
		var schema jsonschema.Schema
		b, _ := json.Marshal(tl.OutputSchema)
		if err := json.Unmarshal(b, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(a.data); err != nil {
			t.Errorf("%s: %v in %s", name, err, a.raw)
		}
	}
}

func wants(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: no %q in\n%s", what, p, text)
		}
	}
}

// until calls a tool until its answer has all parts.
func until(t *testing.T, cs *mcp.ClientSession, name string, args any, parts ...string) answer {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		a, missing := call(t, cs, name, args), ""
		for _, p := range parts {
			if !strings.Contains(a.text, p) {
				missing = p
			}
		}
		if missing == "" || time.Now().After(end) {
			wants(t, name, a.text, parts...)
			return a
		}
	}
}

func TestRealQuery(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: realURL(t)})
	a := until(t, cs, "prom_query", map[string]any{"promql": "up"},
		"## PromQL: `up`", "- type: vector", "- series: 3", `up{instance="127.0.0.1:1", job="gone"} | 0 |`, `job="node"} | 1 |`)
	if a.data["total"] != 3.0 || a.data["result_type"] != "vector" {
		t.Errorf("data %s", a.raw)
	}
	wants(t, "scalar", call(t, cs, "prom_query", map[string]any{"promql": "scalar(vector(42))"}).text, "- type: scalar", "| scalar | 42 |")
	wants(t, "string", call(t, cs, "prom_query", map[string]any{"promql": `"text"`}).text, "| string | text |")
	until(t, cs, "prom_query", map[string]any{"promql": `up{job="node"}[1m]`}, "- type: matrix", "1 1 (of ", "points)")
	wants(t, "in the past", call(t, cs, "prom_query", map[string]any{"promql": "up", "time": "2001-01-01T00:00:00Z"}).text, "Nothing matched")
	a = call(t, cs, "prom_query", map[string]any{"promql": "prometheus_http_request_duration_seconds_bucket or prometheus_tsdb_compaction_chunk_size_bytes_bucket"})
	wants(t, "many", a.text, "more series are left out")
	if n := len(a.data["series"].([]any)); n > 25 || n < 10 {
		t.Errorf("%d series are shown", n)
	}
}

func TestRealMistakesAndHints(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: realURL(t)})
	until(t, cs, "prom_query", map[string]any{"promql": "node_load1"}, "- series: 1")
	a := call(t, cs, "prom_query", map[string]any{"promql": "sum(rate(up[5m)"})
	if !a.failed {
		t.Error("a mistake is no error")
	}
	wants(t, "position", a.text, "bad_data", "1:", "sum(rate(up[5m)\n", "^\n")
	for query, parts := range map[string][]string{
		"node_lod1":                          {"there is no metric node_lod1", "node_load1"},
		`up{job="nodes"}`:                    {`up has no series with job="nodes"`, "node"},
		`up{jobb="node"}`:                    {`up has no label "jobb"`, "instance, job"},
		`sum by (job) (node_load2{job="x"})`: {"there is no metric node_load2", "node_load1"},
		"up > 5":                             {"a comparison drops"},
		`{__name__="upp"}`:                   {"there is no metric upp"},
		`absent(up)`:                         {"up exists, with the labels __name__, instance, job"},
	} {
		a := call(t, cs, "prom_query", map[string]any{"promql": query})
		wants(t, query, a.text, append(parts, "Nothing matched")...)
		if a.failed || a.data["hints"] == nil {
			t.Errorf("%s: failed %v, %s", query, a.failed, a.raw)
		}
	}
}

func TestRealRange(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: realURL(t)})
	until(t, cs, "prom_query", map[string]any{"promql": "node_load1 and count_over_time(node_load1[1m]) > 5"}, "- series: 1")
	a := call(t, cs, "prom_query_range", map[string]any{"promql": "node_memory_MemAvailable_bytes or up", "lookback_seconds": 60, "step_seconds": 5})
	wants(t, "range", a.text, "a point each 5 s", "- series: 3", "min ", "`", "(blue)", "- last: ", "@")
	if len(a.images) != 1 {
		t.Fatalf("%d pictures", len(a.images))
	}
	checkPicture(t, a.images[0])
	// A year at five seconds would be six million points.
	a = call(t, cs, "prom_query_range", map[string]any{"promql": "up", "lookback_seconds": 365 * 86400, "step_seconds": 5})
	if a.failed {
		t.Error(a.text)
	}
	wants(t, "a year", a.text, "the step was raised from 5 to 43200 seconds")
	a = call(t, cs, "prom_query_range", map[string]any{"promql": "prometheus_http_requests_total or go_memstats_alloc_bytes or go_goroutines or up or scrape_duration_seconds"})
	wants(t, "many", a.text, "more series are left out")
	if n := len(a.data["series"].([]any)); n != 6 {
		t.Errorf("%d series are shown", n)
	}
	for _, one := range a.data["series"].([]any) {
		if n := len(one.(map[string]any)["last_points"].([]any)); n > 12 {
			t.Errorf("%d points are shown", n)
		}
	}
	plain := connect(t, prometheus.Options{URL: realURL(t), NoImage: true})
	if a := call(t, plain, "prom_query_range", map[string]any{"promql": "up"}); len(a.images) != 0 {
		t.Error("a picture that was not wanted")
	}
	wants(t, "empty", call(t, cs, "prom_query_range", map[string]any{"promql": "node_lod1"}).text, "there is no metric node_lod1")
}

func checkPicture(t *testing.T, b []byte) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != image.Rect(0, 0, 480, 200) || len(b) > 32<<10 {
		t.Errorf("%v, %d bytes", img.Bounds(), len(b))
	}
	blue := 0
	for x := range 480 {
		for y := range 200 {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 == 0x1f && g>>8 == 0x77 && b>>8 == 0xb4 {
				blue++
			}
		}
	}
	if blue < 20 {
		t.Errorf("%d pixels of the first curve", blue)
	}
}

func TestRealAlerts(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: realURL(t)})
	a := until(t, cs, "prom_active_alerts", nil, "1 firing, 1 pending",
		"| firing | TargetDown | critical | gone |", "target gone is down", "| pending | TargetDownLong | warning |", "Pending alerts have not fired")
	if strings.Index(a.text, "| firing") > strings.Index(a.text, "| pending") {
		t.Error("firing ones do not come first")
	}
	a = call(t, cs, "prom_active_alerts", map[string]any{"state": "firing"})
	if strings.Contains(a.text, "TargetDownLong") || a.data["pending"] != 1.0 {
		t.Error(a.text)
	}
	a = call(t, cs, "prom_rules", nil)
	wants(t, "rules", a.text, "## Rules: 3", "| firing | TargetDown | targets | up == 0 | 2s | ok |", "| record | job:up:sum |")
	a = call(t, cs, "prom_rules", map[string]any{"type": "record", "filter": "JOB:"})
	wants(t, "filtered rules", a.text, "## Rules: 1")
}

func TestRealNamesAndTargets(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: realURL(t)})
	until(t, cs, "prom_query", map[string]any{"promql": "up"}, "- series: 3")
	wants(t, "values", call(t, cs, "prom_label_values", map[string]any{"label": "job"}).text, "Values of job: 3", "- gone\n- node\n- prometheus")
	wants(t, "matched values", call(t, cs, "prom_label_values", map[string]any{"label": "job", "match": "node_load1"}).text, "Values of job: 1", "- node")
	wants(t, "filtered", call(t, cs, "prom_label_values", map[string]any{"label": "__name__", "filter": "LOAD1"}).text, "- node_load1\n")
	wants(t, "no such label", call(t, cs, "prom_label_values", map[string]any{"label": "jobs"}).text, "None.", "Labels there are: job")
	wants(t, "names", call(t, cs, "prom_label_names", map[string]any{"match": "up"}).text, "- __name__\n- instance\n- job")
	a := call(t, cs, "prom_label_names", map[string]any{"match": "up{"})
	if !a.failed {
		t.Error(a.text)
	}
	wants(t, "series", call(t, cs, "prom_series", map[string]any{"match": []string{"up"}}).text, "## Series: 3", "instance 3", `up{instance="127.0.0.1:1", job="gone"}`)
	wants(t, "metadata", call(t, cs, "prom_metadata", map[string]any{"metric": "node_load1"}).text, "| node_load1 | gauge | - | 1m load average. |")
	wants(t, "found metadata", call(t, cs, "prom_metadata", map[string]any{"filter": "5M LOAD"}).text, "| node_load5 | gauge |")
	wants(t, "no metadata", call(t, cs, "prom_metadata", map[string]any{"metric": "node_lod1"}).text, "node_load1")
	a = until(t, cs, "prom_targets", nil, "2 up, 1 down", "| down | gone | 127.0.0.1:1 |", "connection refused")
	for _, text := range []string{a.text, a.raw} {
		if strings.Contains(text, "not-a-real-key") {
			t.Errorf("a secret of a target is shown: %s", text)
		}
	}
	a = call(t, cs, "prom_targets", map[string]any{"health": "up", "scrape_pool": "node"})
	if n := len(a.data["targets"].([]any)); n != 1 {
		t.Errorf("%d targets", n)
	}
	wants(t, "health", call(t, cs, "prom_health", nil).text, "healthy: ok", "ready: ok", "api: ok", "version: 2.", "configuration: ok")
}
