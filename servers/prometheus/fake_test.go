package prometheus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/prometheus"
)

const one = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1700000000,"1"]}]}}`

// fake serves what the handler says.
func fake(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func up(t *testing.T, o prometheus.Options) answer {
	t.Helper()
	return call(t, connect(t, o), "prom_query", map[string]any{"promql": "up"})
}

func TestNotConfigured(t *testing.T) {
	cs := connect(t, prometheus.Options{})
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 10 {
		t.Fatalf("%v, %d tools", err, len(list.Tools))
	}
	for name, args := range map[string]any{
		"prom_query": map[string]any{"promql": "up"}, "prom_query_range": map[string]any{"promql": "up"}, "prom_active_alerts": nil,
		"prom_label_values": map[string]any{"label": "job"}, "prom_label_names": nil, "prom_series": map[string]any{"match": []string{"up"}},
		"prom_metadata": nil, "prom_targets": nil, "prom_rules": nil, "prom_health": nil,
	} {
		a := call(t, cs, name, args)
		if !a.failed {
			t.Errorf("%s: %s", name, a.text)
		}
		wants(t, name, a.text, "option url", "PROMETHEUS_URL")
	}
}

func TestLogins(t *testing.T) {
	var got http.Header
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, one)
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("not-a-real-key-003\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		o             prometheus.Options
		env           map[string]string
		header, value string
	}{
		{"none", prometheus.Options{}, nil, "Authorization", ""},
		{"basic", prometheus.Options{Username: "u", Password: "not-a-real-key-000"}, nil, "Authorization", "Basic dTpub3QtYS1yZWFsLWtleS0wMDA="},
		{"bearer", prometheus.Options{Token: "not-a-real-key-000"}, nil, "Authorization", "Bearer not-a-real-key-000"},
		{"file", prometheus.Options{TokenFile: file}, nil, "Authorization", "Bearer not-a-real-key-003"},
		{"header", prometheus.Options{Headers: []string{"X-Api-Key: not-a-real-key-000"}}, nil, "X-Api-Key", "not-a-real-key-000"},
		{"tenant", prometheus.Options{OrgID: "team-a"}, nil, "X-Scope-Orgid", "team-a"},
		{"env basic", prometheus.Options{}, map[string]string{"PROMETHEUS_USERNAME": "u", "PROMETHEUS_PASSWORD": "not-a-real-key-000"}, "Authorization", "Basic dTpub3QtYS1yZWFsLWtleS0wMDA="},
		{"env bearer", prometheus.Options{}, map[string]string{"PROMETHEUS_TOKEN": "not-a-real-key-001"}, "Authorization", "Bearer not-a-real-key-001"},
		{"env header", prometheus.Options{}, map[string]string{"PROMETHEUS_CUSTOM_HEADERS": `{"X-Team": "sre"}`}, "X-Team", "sre"},
		{"env tenant", prometheus.Options{}, map[string]string{"ORG_ID": "team-b"}, "X-Scope-Orgid", "team-b"},
		{"in the address", prometheus.Options{URL: strings.Replace(url, "http://", "http://u:not-a-real-key-000@", 1)}, nil, "Authorization", "Basic dTpub3QtYS1yZWFsLWtleS0wMDA="},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			if c.o.URL == "" {
				t.Setenv("PROMETHEUS_URL", url)
			}
			if a := up(t, c.o); a.failed {
				t.Fatal(a.text)
			}
			if got.Get(c.header) != c.value {
				t.Errorf("%s: %q", c.header, got.Get(c.header))
			}
		})
	}
}

// TestTokenFileIsReadAnew changes the token between two calls.
func TestTokenFileIsReadAnew(t *testing.T) {
	var got string
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"status":"error","errorType":"x","error":"bad token `+strings.TrimPrefix(got, "Bearer ")+`"}`)
	})
	file := filepath.Join(t.TempDir(), "token")
	_ = os.WriteFile(file, []byte("not-a-real-key-001"), 0o600)
	cs := connect(t, prometheus.Options{URL: url, TokenFile: file})
	call(t, cs, "prom_query", map[string]any{"promql": "up"})
	_ = os.WriteFile(file, []byte("not-a-real-key-002"), 0o600)
	a := call(t, cs, "prom_query", map[string]any{"promql": "up"})
	if got != "Bearer not-a-real-key-002" || strings.Contains(a.text, "not-a-real") {
		t.Errorf("%s: %s", got, a.text)
	}
}

func TestBadOptions(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	_ = os.WriteFile(empty, nil, 0o600)
	for want, o := range map[string]prometheus.Options{
		"option url: the scheme":                  {URL: "ftp://x"},
		"option url: the address has no host":     {URL: "http:///x"},
		"option url: not an address":              {URL: "http://user:not-a-real-key-000@%zz"},
		"option url: the address must not have":   {URL: "http://x/#y"},
		"give one of them":                        {URL: "http://x", Token: "a", TokenFile: "b"},
		"one way to log in":                       {URL: "http://x", Token: "a", Username: "b"},
		"option username: missing":                {URL: "http://x", Password: "b"},
		"of one line":                             {URL: "http://x", Token: "a\r\nX: y"},
		"option headers: entry 2":                 {URL: "http://x", Headers: []string{"A: b", "not a header"}},
		"option headers: Host":                    {URL: "http://x", Headers: []string{"host: b"}},
		"option org_id":                           {URL: "http://x", OrgID: "a\nb"},
		"option timeout_sec":                      {URL: "http://x", TimeoutSec: 1000},
		"option token_file":                       {URL: "http://x", TokenFile: empty},
		"option ca_file: the file holds":          {URL: "http://x", CAFile: empty},
		"client_cert and client_key: one":         {URL: "http://x", ClientCert: empty},
		"options client_cert and client_key: tls": {URL: "http://x", ClientCert: empty, ClientKey: empty},
	} {
		_, err := prometheus.New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	for name, value := range map[string]string{"PROMETHEUS_CUSTOM_HEADERS": "[1]", "PROMETHEUS_REQUEST_TIMEOUT": "soon", "PROMETHEUS_URL_SSL_VERIFY": "maybe"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := prometheus.New(prometheus.Options{URL: "http://x"}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSecretsAreNotRepeated has a server that says what it was sent.
func TestSecretsAreNotRepeated(t *testing.T) {
	echo := fake(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := json.Marshal(r.Header)
		text, _ := json.Marshal(string(b) + " " + r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":%s}`, text)
	})
	const secret = `not-a-real-"key"-000`
	for _, o := range []prometheus.Options{
		{Username: "u", Password: secret},
		{Token: secret},
		{Headers: []string{"X-Api-Key: " + secret}},
		{Headers: []string{"Authorization: Token " + secret}},
		{URL: strings.Replace(echo, "//", "//u:not-a-real-%22key%22-000@", 1)},
	} {
		if o.URL == "" {
			o.URL = echo
		}
		a := up(t, o)
		if !a.failed || strings.Contains(a.text, "not-a-real") || strings.Contains(a.text, "dTpub3") || !strings.Contains(a.text, "•••") {
			t.Errorf("%s", a.text)
		}
	}
	a := call(t, connect(t, prometheus.Options{URL: "http://u:not-a-real-key-000@127.0.0.1:1"}), "prom_health", nil)
	wants(t, "down", a.text, "127.0.0.1:1", "connection refused")
	if strings.Contains(a.text+a.raw, "not-a-real") {
		t.Error(a.text)
	}
}

func TestRedirects(t *testing.T) {
	var reached atomic.Bool
	other := fake(t, func(w http.ResponseWriter, _ *http.Request) { reached.Store(true); _, _ = io.WriteString(w, one) })
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/away/"):
			http.Redirect(w, r, other+"/login?token=not-a-real-key-000", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/circle/"):
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/here/"):
			http.Redirect(w, r, "/prom"+strings.TrimPrefix(r.URL.Path, "/here")+"?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, one)
		}
	})
	a := up(t, prometheus.Options{URL: url + "/away", Token: "not-a-real-key-001"})
	wants(t, "away", a.text, "redirects to "+other, "not followed")
	if reached.Load() || strings.Contains(a.text, "not-a-real") || !a.failed {
		t.Errorf("reached %v: %s", reached.Load(), a.text)
	}
	wants(t, "circle", up(t, prometheus.Options{URL: url + "/circle"}).text, "in circles")
	if a := up(t, prometheus.Options{URL: url + "/here"}); a.failed {
		t.Error(a.text)
	}
}

// TestPrefixes asks servers whose API is below a path, as Thanos, Mimir and
// VictoriaMetrics have it, and with parameters of the address.
func TestPrefixes(t *testing.T) {
	var got []string
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.EscapedPath()+" "+r.URL.Query().Get("extra_label"))
		if strings.HasSuffix(r.URL.Path, "/values") {
			_, _ = io.WriteString(w, `{"status":"success","isPartial":false,"data":["a"]}`)
			return
		}
		_, _ = io.WriteString(w, one)
	})
	for _, prefix := range []string{"", "/", "/prometheus", "/prometheus/", "/select/0/prometheus/api/v1", "/a%20b", "/p?extra_label=team%3Da"} {
		got = nil
		cs := connect(t, prometheus.Options{URL: url + prefix})
		for _, a := range []answer{
			call(t, cs, "prom_query", map[string]any{"promql": "up"}),
			call(t, cs, "prom_label_values", map[string]any{"label": "http.status/ü"}),
			call(t, cs, "prom_query", map[string]any{"promql": "up or " + strings.Repeat("x", 3000)}),
		} {
			if a.failed {
				t.Error(a.text)
			}
		}
		base, query, _ := strings.Cut(prefix, "?")
		base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/api/v1")
		if query != "" {
			query = "team=a"
		}
		want := []string{"GET " + base + "/api/v1/query " + query, "GET " + base + "/api/v1/label/U__http_2e_status_2f__fc_/values " + query, "POST " + base + "/api/v1/query " + query}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got %q, want %q", prefix, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = io.WriteString(w, body) }
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"page":           {says("<html>Log in here</html>"), "does not answer as Prometheus does (HTTP 200)"},
		"no login":       {status(401, "no"), "wants a login"},
		"no right":       {status(403, "no"), "refuses this login"},
		"no path":        {status(404, "404 page not found"), "path prefix"},
		"busy":           {status(429, ""), "too much to do"},
		"broken":         {status(502, "<h1>Bad\ngateway</h1>"), "fails (HTTP 502): <h1>Bad gateway"},
		"too large":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 17<<20)) }, "larger than 16 MiB"},
		"unknown form":   {says(`{"status":"success","data":{"resultType":"cube","result":[]}}`), "unknown form"},
		"wrong types":    {says(`{"status":"success","data":7}`), "unknown form"},
		"half a point":   {says(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1]}]}}`), "unknown form"},
		"samples":        {says(`{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`), "Narrow the selector"},
		"server timeout": {status(503, `{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}`), "too expensive"},
		"resolution":     {says(`{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries."}`), "larger step_seconds"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			a := up(t, prometheus.Options{URL: fake(t, c.h)})
			if !a.failed {
				t.Error("no error")
			}
			wants(t, name, a.text, c.want)
		})
	}
}

func TestNotesAndOddValues(t *testing.T) {
	url := fake(t, says(`{"status":"success","warnings":["one\u0000 store is away"],"infos":["PromQL info: metric might not be a counter, name does not end in _total (1:6)"],
		"data":{"resultType":"vector","result":[{"metric":{"a|b":"x`+"`"+`|\n## y"},"value":[1700000000.5,"NaN"]},
		{"metric":{"h":"1"},"histogram":[1700000000,{"count":"5","sum":"+Inf","buckets":[[0,"0","1","5"]]}]}]}}`))
	a := up(t, prometheus.Options{URL: url})
	wants(t, "text", a.text, "- warning: one? store is away", "- info: PromQL info: metric might not be a counter", `| {a\|b="x'\|\n## y"} | NaN | 2023-11-14T22:13:20Z |`, "histogram count=5 sum=+Inf buckets=1")
	wants(t, "data", a.raw, `"warnings":["one? store is away"]`, `"infos":["PromQL info`, `"value":"NaN"`)
}

// TestHostileAnswer has labels without end.
func TestHostileAnswer(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/query"):
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"%s"},"value":[1e300,"%s"]}]}}`, long, long)
		case strings.HasSuffix(r.URL.Path, "/query_range"):
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"%s"},"values":[[-1e300,"1e308"],[1,"-1e308"],[2,"Inf"],[3,"%s"]]},{"metric":{},"values":[]},{"metric":{},"values":[[5,"NaN"]]}]}}`, long, long)
		case strings.HasSuffix(r.URL.Path, "/alerts"):
			fmt.Fprintf(w, `{"status":"success","data":{"alerts":[{"labels":{"alertname":"%s"},"annotations":{"summary":"%s"},"state":"firing","activeAt":"0001-01-01T00:00:00Z"}]}}`, long, long)
		case strings.HasSuffix(r.URL.Path, "/targets"):
			fmt.Fprintf(w, `{"status":"success","data":{"activeTargets":[{"scrapeUrl":"http://u:not-a-real-key-000@h/?token=not-a-real-key-000","lastError":"Get \"http://u:not-a-real-key-000@h/?token=not-a-real-key-000\": no","health":"down"},{"scrapeUrl":"%s"}]}}`, long)
		default:
			fmt.Fprintf(w, `{"status":"success","data":["%s"]}`, long)
		}
	})
	cs := connect(t, prometheus.Options{URL: url})
	for name, args := range map[string]any{
		"prom_query": map[string]any{"promql": "up"}, "prom_query_range": map[string]any{"promql": "up"}, "prom_active_alerts": nil,
		"prom_label_values": map[string]any{"label": "job"}, "prom_label_names": nil, "prom_targets": nil,
	} {
		a := call(t, cs, name, args)
		if a.failed || len(a.raw) > 20_000 {
			t.Errorf("%s: %d bytes of data; %s", name, len(a.raw), a.text)
		}
		if strings.Contains(a.text+a.raw, "not-a-real") {
			t.Errorf("%s: %s", name, a.text)
		}
	}
}

// TestAnswerOfManyThings has few bytes, which would become much memory.
func TestAnswerOfManyThings(t *testing.T) {
	things := strings.Repeat("{},", 200_000) + "{}"
	cs := connect(t, prometheus.Options{URL: fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/targets"):
			fmt.Fprintf(w, `{"status":"success","data":{"activeTargets":[%s]}}`, things)
		case strings.HasSuffix(r.URL.Path, "/rules"):
			fmt.Fprintf(w, `{"status":"success","data":{"groups":[{"rules":[%s]}]}}`, things)
		case strings.HasSuffix(r.URL.Path, "/series"):
			fmt.Fprintf(w, `{"status":"success","data":[%s]}`, things)
		default:
			fmt.Fprintf(w, `{"status":"success","data":{"alerts":[%s]}}`, things)
		}
	})})
	for name, args := range map[string]any{"prom_targets": nil, "prom_rules": nil, "prom_active_alerts": nil, "prom_series": map[string]any{"match": []string{"up"}}} {
		a := call(t, cs, name, args)
		if !a.failed {
			t.Errorf("%s: no error", name)
		}
		wants(t, name, a.text, "more than 200000 values", "Ask for less")
	}
}

func TestHostileArguments(t *testing.T) {
	var asked atomic.Int64
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !strings.HasPrefix(r.URL.Path, "/api/v1/") || strings.Contains(r.URL.Path, "..") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_, _ = io.WriteString(w, `{"status":"success","data":[]}`)
	})
	cs := connect(t, prometheus.Options{URL: url})
	huge, large := strings.Repeat("a", 10<<20), strings.Repeat("a", 256<<10)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"prom_query", map[string]any{"promql": huge}},
		{"prom_query", map[string]any{"promql": " "}},
		{"prom_query", map[string]any{"promql": "up\x00"}},
		{"prom_query", map[string]any{"promql": "up", "time": large}},
		{"prom_query", map[string]any{"promql": "up", "time": "yesterday"}},
		{"prom_query_range", map[string]any{"promql": large}},
		{"prom_query_range", map[string]any{"promql": "up", "end": "1", "lookback_seconds": 1e300}},
		{"prom_label_values", map[string]any{"label": large}},
		{"prom_label_values", map[string]any{"label": ""}},
		{"prom_label_values", map[string]any{"label": "a", "match": large}},
		{"prom_series", map[string]any{"match": []string{large}}},
		{"prom_series", map[string]any{"match": []string{}}},
		{"prom_metadata", map[string]any{"metric": large}},
		{"prom_active_alerts", map[string]any{"state": "quiet"}},
		{"prom_targets", map[string]any{"state": "$(id)"}},
	} {
		if a := call(t, cs, c.tool, c.args); !a.failed || len(a.text) > 3000 {
			t.Errorf("%s is taken: %.300s", c.tool, a.text)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests for what is refused", n)
	}
	if a := call(t, cs, "prom_active_alerts", map[string]any(nil)); !a.failed { // null for all arguments: the fake has no alerts
		t.Error(a.text)
	}
	for _, label := range []string{"../../admin/tsdb/delete_series", "a/b?c=d&e#f", "-x", "a%2fb", "$(id)"} {
		if a := call(t, cs, "prom_label_values", map[string]any{"label": label}); a.failed {
			t.Errorf("%s: %s", label, a.text)
		}
	}
}

// TestDeadlineAndCancel has a server that never answers.
func TestDeadlineAndCancel(t *testing.T) {
	asked := make(chan struct{}, 1)
	url := fake(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
	cs := connect(t, prometheus.Options{URL: url, TimeoutSec: 1})
	begin := time.Now()
	a := call(t, cs, "prom_query", map[string]any{"promql": "up"})
	wants(t, "deadline", a.text, "did not answer in time")
	a = call(t, cs, "prom_health", nil)
	if !a.failed || time.Since(begin) > 14*time.Second { // unless an option is obeyed, it is 16
		t.Errorf("%v: %s", time.Since(begin), a.text)
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	var canceling sync.WaitGroup
	canceling.Go(func() {
		<-asked
		cancel()
	})
	defer canceling.Wait()
	cs = connect(t, prometheus.Options{URL: url, TimeoutSec: 120})
	begin = time.Now()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "prom_query", Arguments: map[string]any{"promql": "up"}}); err == nil || time.Since(begin) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// TestTLS has a server that wants a certificate of the client.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	srv := httptest.NewUnstartedServer(says(one))
	pool := x509.NewCertPool()
	pemBytes, _ := os.ReadFile(cert)
	pool.AppendCertsFromPEM(pemBytes)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	if a := up(t, prometheus.Options{URL: srv.URL, CAFile: cert, ClientCert: cert, ClientKey: key}); a.failed {
		t.Error(a.text)
	}
	wants(t, "no client", up(t, prometheus.Options{URL: srv.URL, CAFile: cert}).text, "certificate")
	wants(t, "no ca", up(t, prometheus.Options{URL: srv.URL, ClientCert: cert, ClientKey: key}).text, "ca_file")
	if a := up(t, prometheus.Options{URL: srv.URL, InsecureSkipVerify: true, ClientCert: cert, ClientKey: key}); a.failed {
		t.Error(a.text)
	}
	wants(t, "plain", up(t, prometheus.Options{URL: "https" + strings.TrimPrefix(fake(t, says(one)), "http")}).text, "http://")
	t.Setenv("PROMETHEUS_CLIENT_CERT", cert)
	t.Setenv("PROMETHEUS_CLIENT_KEY", key)
	t.Setenv("PROMETHEUS_URL_SSL_VERIFY", "False")
	if a := up(t, prometheus.Options{URL: srv.URL}); a.failed {
		t.Error(a.text)
	}
}

// certificate makes one for 127.0.0.1, of a server and a client at once.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	_ = os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	_ = os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	return cert, key
}

// TestOrderAndLongNotes has alerts in the wrong order, and more warnings than fit.
func TestOrderAndLongNotes(t *testing.T) {
	warnings := `"` + strings.Repeat(strings.Repeat("w", 400)+`","`, 30) + `"`
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/alerts") {
			_, _ = io.WriteString(w, `{"status":"success","data":{"alerts":[{"labels":{"alertname":"Waits"},"state":"pending","activeAt":"2026-01-01T00:00:00Z"},
				{"labels":{"alertname":"Late"},"state":"firing","activeAt":"2026-01-03T00:00:00Z"},{"labels":{"alertname":"Early"},"state":"firing","activeAt":"2026-01-02T00:00:00Z"}]}}`)
			return
		}
		fmt.Fprintf(w, `{"status":"success","warnings":[%s],"data":["a"]}`, warnings)
	})
	cs := connect(t, prometheus.Options{URL: url})
	a := call(t, cs, "prom_active_alerts", nil)
	if e, l, w := strings.Index(a.text, "Early"), strings.Index(a.text, "Late"), strings.Index(a.text, "Waits"); e < 0 || e > l || l > w {
		t.Error(a.text)
	}
	call(t, cs, "prom_label_values", map[string]any{"label": "a"}) // call holds it to its limit
}

// TestPastTime asks about a time at which a metric had no value yet.
func TestPastTime(t *testing.T) {
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		end, _ := strconv.ParseFloat(r.URL.Query().Get("end"), 64)
		switch {
		case strings.HasSuffix(r.URL.Path, "/query"):
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		case time.Since(time.Unix(int64(end), 0)) < time.Hour:
			_, _ = io.WriteString(w, `{"status":"success","data":["__name__","job"]}`)
		default:
			_, _ = io.WriteString(w, `{"status":"success","data":[]}`)
		}
	})
	a := call(t, connect(t, prometheus.Options{URL: url}), "prom_query", map[string]any{"promql": "up", "time": "30d"})
	wants(t, "past", a.text, "up exists now, but had no value at this time")
	if strings.Contains(a.text, "no metric") {
		t.Error(a.text)
	}
}

// TestAlertTexts holds that annotations are masked, and values plain numbers.
func TestAlertTexts(t *testing.T) {
	url := fake(t, says(`{"status":"success","data":{"alerts":[{"labels":{"alertname":"A"},"annotations":{"summary":"login postgres://u:hush@h failed","more":"token=hush"},"state":"firing","activeAt":"2026-01-02T03:04:05Z","value":"1.14e-01"}]}}`))
	a := call(t, connect(t, prometheus.Options{URL: url}), "prom_active_alerts", nil)
	wants(t, "alerts", a.text, "| 0.114 |", "postgres://u:•••@h")
	if strings.Contains(a.text+a.raw, "hush") || strings.Contains(a.raw, "e-01") {
		t.Error(a.raw)
	}
}

// TestWordsOfFilter finds a metric by words in any order, and offers near ones.
func TestWordsOfFilter(t *testing.T) {
	url := fake(t, says(`{"status":"success","data":{"node_filesystem_avail_bytes":[{"type":"gauge","help":"Filesystem space available to non-root users in bytes.","unit":""}],"up":[{"type":"gauge","help":"Whether it is up.","unit":""}]}}`))
	cs := connect(t, prometheus.Options{URL: url})
	wants(t, "words", call(t, cs, "prom_metadata", map[string]any{"filter": "available Space"}).text, "## Metrics: 1", "node_filesystem_avail_bytes")
	wants(t, "near", call(t, cs, "prom_metadata", map[string]any{"filter": "free space"}).text, "## Metrics: 0", "Some of the words of filter are in: node_filesystem_avail_bytes")
}

// TestHealthOfOthers asks what is no Prometheus, and what does not answer.
func TestHealthOfOthers(t *testing.T) {
	a := call(t, connect(t, prometheus.Options{URL: fake(t, says("<html>Welcome</html>"))}), "prom_health", nil)
	wants(t, "page", a.text, "not shown to be a Prometheus", "- healthy: not offered", "does not answer as Prometheus does")
	hang := make(chan struct{})
	url := fake(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) })
	a = call(t, connect(t, prometheus.Options{URL: url, TimeoutSec: 1}), "prom_health", nil)
	wants(t, "hang", a.text, "did not answer a trivial query within 1s", "timeout_sec")
	if !a.failed || strings.Contains(a.text, "narrower") {
		t.Error(a.text)
	}
}

// TestBroughtNumbers says that a range was brought to what is taken.
func TestBroughtNumbers(t *testing.T) {
	cs := connect(t, prometheus.Options{URL: fake(t, says(`{"status":"success","data":{"resultType":"matrix","result":[]}}`))})
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "prom_query_range", Arguments: map[string]any{"promql": "up", "lookback_seconds": 5, "step_seconds": 0.5}})
	if err != nil || res.IsError {
		t.Fatalf("%v %+v", err, res)
	}
	wants(t, "brought", res.Content[len(res.Content)-1].(*mcp.TextContent).Text, "lookback_seconds was brought from 5 to 60, step_seconds was brought from 0.5 to 5.")
}

// TestPointsOfLongRanges has a series that ended days before the range does: a time
// without its day would be taken for one of the last day.
func TestPointsOfLongRanges(t *testing.T) {
	url := fake(t, says(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[[1700000000,"0.12345678901234567"],[1700007200,"1234567890123"]]}]}}`))
	cs := connect(t, prometheus.Options{URL: url})
	for end, want := range map[string]string{
		"1700500000": "- last: 0.123456789@2023-11-14T22:13:20 1234567890123@2023-11-15T00:13:20",
		"1700008000": "- last: 0.123456789@22:13:20 1234567890123@00:13:20",
	} {
		a := call(t, cs, "prom_query_range", map[string]any{"promql": "up", "end": end, "lookback_seconds": 600000})
		wants(t, end, a.text, want, "first 0.123456789, last 1234567890123,")
		if !strings.Contains(a.raw, "0.12345678901234567") {
			t.Error(a.raw)
		}
	}
}
