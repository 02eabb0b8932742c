//go:build unix

package testenv

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A Prometheus is one of its own with a node exporter, on loopback, with its data
// in a temporary folder. It scrapes each second itself, the exporter, and a target
// "gone" that is not there. Of its alerts, TargetDown fires after two seconds, and
// TargetDownLong stays pending. It ends when the process of the tests dies.
type Prometheus struct {
	URL string

	dir   string
	input []io.Closer
	cmds  []*exec.Cmd
	stop  sync.Once
}

const prometheusConfig = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
- {job_name: prometheus, static_configs: [{targets: ['127.0.0.1:%d']}]}
- {job_name: node, static_configs: [{targets: ['127.0.0.1:%d']}]}
- {job_name: gone, params: {token: [not-a-real-key-000]}, basic_auth: {username: scraper, password: not-a-real-key-001}, static_configs: [{targets: ['127.0.0.1:1']}]}
`

const prometheusRules = `groups:
- name: targets
  rules:
  - {alert: TargetDown, expr: 'up == 0', for: 2s, labels: {severity: critical}, annotations: {summary: 'target {{ $labels.job }} is down'}}
  - {alert: TargetDownLong, expr: 'up == 0', for: 1h, labels: {severity: warning}}
  - {record: 'job:up:sum', expr: 'sum by (job) (up)'}
`

// lasting makes a folder that outlives the test that asked for it.
func lasting() (string, error) { return os.MkdirTemp("", "tenon-prometheus-") }

// KeepPrometheus starts one for several tests, which TestMain must stop. The test
// is skipped, or in CI fails, where the programs are missing.
func KeepPrometheus(tb testing.TB) *Prometheus {
	tb.Helper()
	server, exporter := Program(tb, "prometheus"), Program(tb, "prometheus-node-exporter")
	dir, err := lasting()
	if err != nil {
		tb.Fatal(err)
	}
	port, node := Port(tb), Port(tb)
	for name, text := range map[string]string{"prometheus.yml": fmt.Sprintf(prometheusConfig, port, node), "rules.yml": prometheusRules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	p := &Prometheus{URL: fmt.Sprintf("http://127.0.0.1:%d", port), dir: dir}
	p.start(tb, exporter, fmt.Sprintf("--web.listen-address=127.0.0.1:%d", node), "--collector.disable-defaults", "--collector.loadavg", "--collector.meminfo", "--collector.uname")
	p.start(tb, server, "--config.file=prometheus.yml", "--storage.tsdb.path=data", fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port))
	p.await(tb)
	return p
}

// start starts a program behind a shell that ends it when its input ends, which is
// when this process does.
func (p *Prometheus) start(tb testing.TB, args ...string) {
	tb.Helper()
	script := `"$@" </dev/null >>log 2>&1 & server=$!; read -r _; kill -KILL $server; wait $server`
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir = p.dir
	input, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p.input, p.cmds = append(p.input, input), append(p.cmds, cmd)
}

func (p *Prometheus) await(tb testing.TB) {
	tb.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		if p.ready(tb.Context()) {
			return
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(p.dir, "log")) // told where there is one
			p.Stop()
			tb.Fatalf("Prometheus does not get ready:\n%s", log)
		}
	}
}

func (p *Prometheus) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/-/ready", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Stop ends it, waits for it and removes its data.
func (p *Prometheus) Stop() {
	p.stop.Do(func() {
		for i, cmd := range p.cmds {
			_ = p.input[i].Close()
			_ = cmd.Wait() // it was ended by a signal
		}
		_ = os.RemoveAll(p.dir)
	})
}
