// Package prometheus is the bundled server "prometheus": questions to a
// Prometheus, or to what speaks its HTTP API (Thanos, Mimir, VictoriaMetrics).
//
//	srv, err := prometheus.New(prometheus.Options{URL: "https://prometheus.example:9090"})
//
// Every tool only reads. The address and the login are the operator's; a model
// chooses queries, labels and times. Where an answer is empty, the tools look for
// the reason: a name that nearly is that of a metric, a label or a value that the
// metric does not have (hints.go). Where it would be too long, it is cut, and the
// text says what was left out; a range query gets a step that keeps its points
// bounded (queryrange.go).
//
// A login goes to the configured host alone, and what comes back is freed of it
// before anything else looks at it (client.go).
package prometheus

import (
	"context"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the
// environment; without an address the tools say what to set.
type Options struct {
	URL                string   `json:"url,omitempty" jsonschema:"address of Prometheus, with its path prefix where it has one, such as https://prometheus.example:9090 or https://mimir.example/prometheus; default: $PROMETHEUS_URL"`
	Username           string   `json:"username,omitempty" jsonschema:"user for basic authentication; default: $PROMETHEUS_USERNAME"`
	Password           string   `json:"password,omitempty" jsonschema:"password for basic authentication; better in env: of this server's entry as PROMETHEUS_PASSWORD, where no list of processes shows it"`
	Token              string   `json:"token,omitempty" jsonschema:"bearer token, in place of user and password; better in env: of this server's entry as PROMETHEUS_TOKEN"`
	TokenFile          string   `json:"token_file,omitempty" path:"yes" jsonschema:"file with the bearer token, read anew for each request"`
	OrgID              string   `json:"org_id,omitempty" jsonschema:"tenant of Mimir, Cortex or Thanos, sent as X-Scope-OrgID; default: $ORG_ID"`
	Headers            []string `json:"headers,omitempty" jsonschema:"more request headers, each as Name: value; also $PROMETHEUS_CUSTOM_HEADERS, a JSON object"`
	CAFile             string   `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's"`
	ClientCert         string   `json:"client_cert,omitempty" path:"yes" jsonschema:"file of the client's PEM certificate; default: $PROMETHEUS_CLIENT_CERT"`
	ClientKey          string   `json:"client_key,omitempty" path:"yes" jsonschema:"file of the key of client_cert; default: $PROMETHEUS_CLIENT_KEY"`
	InsecureSkipVerify bool     `json:"insecure_skip_verify,omitempty" jsonschema:"do not check the certificate of the server; also $PROMETHEUS_URL_SSL_VERIFY=false"`
	TimeoutSec         float64  `json:"timeout_sec,omitempty" jsonschema:"seconds for one call of a tool, 1 to 120; default: $PROMETHEUS_REQUEST_TIMEOUT, else 8"`
	NoImage            bool     `json:"no_image,omitempty" jsonschema:"answer range queries without the picture, for clients that do not show any"`
}

type server struct {
	client  *client // nil: not configured
	timeout time.Duration
	noImage bool
	now     func() time.Time
}

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New where the environment is another one than that of this process.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := newServer(settings{o, getenv})
	if err != nil {
		return nil, err
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-prometheus", Title: "Prometheus", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addQuery(srv)
	s.addRange(srv)
	s.addAlerts(srv)
	s.addLabels(srv)
	s.addTargets(srv)
	s.addHealth(srv)
	return srv, nil
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
	}{
		{"prom_query", queryChars, "prometheus promql instant query metric value monitoring 指标 查询 监控"},
		{"prom_query_range", rangeChars, "prometheus promql range query trend history graph time series 趋势 区间 曲线"},
		{"prom_active_alerts", alertsChars, "prometheus alerts firing pending alertmanager incident 告警 报警"},
		{"prom_label_values", valuesChars, "prometheus label values metric names jobs instances 标签 取值"},
		{"prom_label_names", valuesChars, "prometheus label names keys 标签 名称"},
		{"prom_series", seriesChars, "prometheus series selector match labels 时间序列"},
		{"prom_metadata", metadataChars, "prometheus metric metadata type help unit 指标 说明 类型"},
		{"prom_targets", targetsChars, "prometheus scrape targets up down health exporter 采集 目标"},
		{"prom_rules", rulesChars, "prometheus alerting recording rules expression 规则"},
		{"prom_health", healthChars, "prometheus health ready version build status 健康 版本"},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: []tool.Label{tool.LabelPrivate},
		}
	}
	return m
}

// spec is what is said of a tool.
type spec = typed.Spec

// add registers a tool. Its answer is a text, perhaps with a picture, and the same
// as data.
func add[In, Out any](s *server, srv *mcp.Server, sp spec, answer func(context.Context, In) (reply, Out, error)) {
	yes := true
	sp.Annotations = typed.ReadsHere()
	sp.Annotations.OpenWorldHint = &yes
	typed.AddContent(srv, sp, func(ctx context.Context, _ *mcp.CallToolRequest, in In) ([]mcp.Content, Out, error) {
		if s.client == nil {
			var none Out
			return nil, none, errNotConfigured
		}
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		r, out, err := answer(ctx, in)
		content := typed.Text(r.text)
		if r.png != nil {
			content = append(content, &mcp.ImageContent{Data: r.png, MIMEType: "image/png"})
		}
		return content, out, err
	})
}

// A reply is the part of an answer that is no data.
type reply struct {
	text string
	png  []byte
}
