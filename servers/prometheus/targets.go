package prometheus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// Bounds on the answers.
const (
	targetsChars = 6000
	healthChars  = 2000
	targetRows   = 50
)

type targetsInput struct {
	State      string `json:"state,omitempty" jsonschema:"which targets: active, dropped (left out by relabelling) or any"`
	Health     string `json:"health,omitempty" jsonschema:"only targets of this health: up, down or unknown; left out: all, those that are down first"`
	ScrapePool string `json:"scrape_pool,omitempty" jsonschema:"only targets of this scrape pool, which is mostly the name of the job"`
}

type target struct {
	Labels     labels    `json:"labels"`
	Discovered labels    `json:"discoveredLabels"`
	ScrapePool string    `json:"scrapePool"`
	ScrapeURL  string    `json:"scrapeUrl"`
	LastError  string    `json:"lastError"`
	LastScrape time.Time `json:"lastScrape"`
	Duration   float64   `json:"lastScrapeDuration"`
	Health     string    `json:"health"`
}

type targetRow struct {
	Health     string  `json:"health"`
	Pool       string  `json:"scrape_pool,omitempty"`
	Instance   string  `json:"instance,omitempty"`
	URL        string  `json:"url,omitempty"`
	LastScrape string  `json:"last_scrape,omitempty"`
	Duration   float64 `json:"scrape_seconds,omitempty"`
	Error      string  `json:"error,omitempty"`
	Labels     labels  `json:"labels,omitempty"`
}

type targetsOutput struct {
	Up      int         `json:"up" jsonschema:"how many active targets are up"`
	Down    int         `json:"down" jsonschema:"how many active targets are down"`
	Unknown int         `json:"unknown" jsonschema:"how many active targets were not scraped yet"`
	Dropped int         `json:"dropped" jsonschema:"how many targets are dropped; 0 where they were not asked for"`
	Targets []targetRow `json:"targets" jsonschema:"the targets shown, at most 50; those that are down first"`
	notes
}

func (s *server) addTargets(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_targets", Title: "Scrape targets",
		Description: "Returns what Prometheus scrapes, at most 50 targets, those that are down first, with health, time and duration of the last scrape and its error. Answers whether a metric is missing because its exporter cannot be reached.",
		Defaults:    map[string]any{"state": "active"},
		Choices:     map[string][]any{"state": {"active", "dropped", "any"}, "health": {"", "up", "down", "unknown"}},
	}, s.targets)
}

func (s *server) targets(ctx context.Context, in targetsInput) (reply, targetsOutput, error) {
	params := url.Values{"state": {"active"}}
	if in.State != "" {
		params.Set("state", in.State)
	}
	if in.ScrapePool != "" {
		params.Set("scrapePool", answer.Line(in.ScrapePool, 300))
	}
	var data struct {
		Active  []target `json:"activeTargets"`
		Dropped []target `json:"droppedTargets"`
	}
	n, err := s.client.get(ctx, "targets", params, &data)
	if err != nil {
		return reply{}, targetsOutput{}, err
	}
	out := targetsOutput{Dropped: len(data.Dropped), Targets: []targetRow{}, notes: n}
	for i := range data.Dropped {
		data.Dropped[i].Health = "dropped"
	}
	var list []target
	for _, t := range slices.Concat(data.Active, data.Dropped) {
		if in.ScrapePool != "" && t.ScrapePool != "" && t.ScrapePool != in.ScrapePool { // older servers do not know the parameter
			continue
		}
		switch t.Health {
		case "up":
			out.Up++
		case "down":
			out.Down++
		case "unknown":
			out.Unknown++
		}
		if in.Health == "" || in.Health == t.Health {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b target) int { return targetRank(a) - targetRank(b) })
	p := answer.NewPage(targetsChars)
	p.Line("## Targets: %d up, %d down, %d unknown, %d dropped\n", out.Up, out.Down, out.Unknown, out.Dropped)
	addNotes(p, n)
	if len(list) == 0 {
		p.Line("None.")
		return reply{text: p.String()}, out, nil
	}
	p.Line("| health | pool | instance | last scrape | took | error |\n| --- | --- | --- | --- | --- | --- |")
	now := s.now()
	shown := p.Rows(min(len(list), targetRows), func(i int) string {
		t := list[i].row()
		ago := "never"
		if !list[i].LastScrape.IsZero() {
			ago = since(now.Sub(list[i].LastScrape)) + " ago"
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %.3fs | %s |", answer.Cell(t.Health, 20), answer.Cell(t.Pool, 60), answer.Cell(t.Instance, 100), ago, t.Duration, answer.Cell(t.Error, 200))
	})
	for _, t := range list[:shown] {
		out.Targets = append(out.Targets, t.row())
	}
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%d more are left out. Narrow them down with health or scrape_pool.", rest)
	}
	return reply{text: p.String()}, out, nil
}

// row returns a target as an answer shows it. Its address may hold a login, and
// discovered labels anything: of those only the address is used.
func (t target) row() targetRow {
	r := targetRow{
		Health: answer.Line(t.Health, 20), Pool: answer.Line(t.ScrapePool, 100), Instance: answer.Line(t.Labels["instance"], 200), URL: showURL(t.ScrapeURL),
		Duration: t.Duration, Error: showError(t.LastError, t.ScrapeURL), Labels: t.Labels.bounded(),
	}
	if r.Instance == "" {
		r.Instance, r.Pool = answer.Line(t.Discovered["__address__"], 200), answer.Line(t.Discovered.first("job"), 100)
	}
	if !t.LastScrape.IsZero() {
		r.LastScrape = stamp(t.LastScrape)
	}
	return r
}

// showURL returns an address without the login and the parameters that it may have.
func showURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	if u.User != nil {
		u.User = url.User(masked)
	}
	if u.RawQuery != "" {
		u.RawQuery = masked
	}
	text, err := url.PathUnescape(u.String())
	if err != nil {
		text = u.String()
	}
	return answer.Line(text, 300)
}

// showError returns the error of a scrape, which repeats the address.
func showError(s, address string) string {
	if address != "" {
		s = strings.ReplaceAll(s, address, showURL(address))
		if u, err := url.Parse(address); err == nil {
			s = strings.ReplaceAll(s, u.Redacted(), showURL(address)) // Go's own client does so already
		}
	}
	return answer.Line(s, 300)
}

func targetRank(t target) int {
	switch t.Health {
	case "down":
		return 0
	case "unknown":
		return 1
	case "up":
		return 2
	}
	return 3
}

type healthOutput struct {
	URL       string  `json:"url" jsonschema:"address of the server, without a login"`
	Healthy   string  `json:"healthy" jsonschema:"ok, failed, or not offered by this server"`
	Ready     string  `json:"ready" jsonschema:"ok, failed, or not offered by this server"`
	API       string  `json:"api" jsonschema:"ok where a query was answered, else what went wrong"`
	Latency   float64 `json:"latency_ms" jsonschema:"how long a trivial query took"`
	Version   string  `json:"version,omitempty" jsonschema:"version of the server"`
	Started   string  `json:"started,omitempty" jsonschema:"when the server started"`
	Retention string  `json:"retention,omitempty" jsonschema:"how long it keeps data"`
	Config    string  `json:"config,omitempty" jsonschema:"whether its configuration was last loaded without a mistake"`
}

func (s *server) addHealth(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_health", Title: "Prometheus health",
		Description: "Says whether Prometheus itself is healthy, ready and answers queries, how fast, and returns its version, start, retention and whether its configuration loaded. Call it where other tools of this server fail.",
	}, s.health)
}

func (s *server) health(ctx context.Context, _ struct{}) (reply, healthOutput, error) {
	out := healthOutput{URL: s.client.base.Scheme + "://" + s.client.base.Host + s.client.base.Path}
	begin := time.Now()
	var r result
	if _, err := s.client.get(ctx, "query", s.bounds(url.Values{"query": {"vector(1)"}}), &r); err != nil {
		e, ok := errors.AsType[*apiError](err)
		if !ok {
			return reply{}, healthOutput{}, err
		}
		if e.kind == "timeout" {
			return reply{}, healthOutput{}, fmt.Errorf("%s://%s did not answer a trivial query within %s: it is overloaded, hangs or is just starting, or what lies between drops the connection. "+
				"Look at its machine; the operator checks the option url, and can raise timeout_sec", s.client.base.Scheme, s.client.base.Host, s.timeout)
		}
		out.API = answer.Line(err.Error(), 500)
	} else {
		out.API = "ok"
	}
	out.Latency = float64(time.Since(begin).Microseconds()) / 1000
	out.Healthy, out.Ready = s.client.probe(ctx, "/-/healthy"), s.client.probe(ctx, "/-/ready")
	var build struct{ Version string }
	if _, err := s.client.get(ctx, "status/buildinfo", nil, &build); err == nil {
		out.Version = answer.Line(build.Version, 60)
	}
	var run struct {
		StartTime           time.Time `json:"startTime"`
		ReloadConfigSuccess *bool     `json:"reloadConfigSuccess"`
		StorageRetention    string    `json:"storageRetention"`
	}
	if _, err := s.client.get(ctx, "status/runtimeinfo", nil, &run); err == nil {
		if !run.StartTime.IsZero() {
			out.Started = stamp(run.StartTime)
		}
		out.Retention = answer.Line(run.StorageRetention, 60)
		if run.ReloadConfigSuccess != nil {
			out.Config = map[bool]string{true: "ok", false: "the last load failed: an older configuration is in use"}[*run.ReloadConfigSuccess]
		}
	}
	p := answer.NewPage(healthChars)
	if out.API != "ok" && out.Healthy != "ok" {
		p.Line("What answers there is not shown to be a Prometheus: it answers no query.\n")
	}
	p.Line("## Prometheus\n\n- url: %s\n- healthy: %s\n- ready: %s\n- api: %s\n- latency: %.1f ms", answer.Line(out.URL, 200), out.Healthy, out.Ready, out.API, out.Latency)
	for _, f := range [][2]string{{"version", out.Version}, {"started", out.Started}, {"retention", out.Retention}, {"configuration", out.Config}} {
		if f[1] != "" {
			p.Line("- %s: %s", f[0], f[1])
		}
	}
	return reply{text: p.String()}, out, nil
}

// probe asks one of the endpoints that answer with a status alone. Not every
// server that speaks the API has them, or has them at this place.
func (c *client) probe(ctx context.Context, path string) string {
	code, body, err := c.fetch(ctx, path, nil)
	switch {
	case err != nil:
		return "failed: " + answer.Line(err.Error(), 200)
	case code/100 == 2 && (len(body) > 300 || bytes.ContainsRune(body, '<')):
		return "not offered" // a page, as any site has for any path
	case code/100 == 2:
		return "ok"
	case code == 404 || code == 400 || code == 405:
		return "not offered"
	}
	return fmt.Sprintf("failed: HTTP %d %s", code, answer.Line(string(body), 100))
}
