package kubernetes_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/kubernetes"
)

// TestSecretsAreMasked has objects in which the word hush is secret, wherever it is.
func TestSecretsAreMasked(t *testing.T) {
	inner := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"config":"hush"},"stringData":{"a.ini":"hush"}}`
	quoted, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"app.yaml": "db:\n  password: |\n    hush1\n  token: >-\n    hush\n  api_key: !!str hush\n", "settings.xml": "<server><id>x</id><password>hush</password></server>\n",
		"web.config": "<add key=\"DbPassword\" value=\"hush\" />\n", "env.yaml": "- name: DB_PASSWORD\n  value: hush\n", "netrc": "machine h login me password hush\n",
		"secret.yaml": "apiVersion: v1\nkind: Secret\nstringData:\n  config: |\n    hush\n\n    hush\nmetadata:\n  name: shown\n---\ndata: {a: hush}\n", "object.json": inner,
		"env.json": `{"env":[{"name":"A","value":"hush"}]}`,
	}
	data, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"Secret": `{"kind":"Secret","metadata":{"name":"x","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush","kapp.k14s.io/original":` + string(quoted) +
			`,"kopf.zalando.org/last-handled-configuration":"{\"stringData\":{\"config\":\"hush\"}}","packed":"` + strings.Repeat("hush", 100) + `","short":"shown"}},"data":{"config":"hush"}}`,
		"Secret of an odd form": `{"kind":"secret","metadata":7,"data":"hush","stringData":["hush"],"type":"shown"}`,
		"SecretList":            `{"kind":"SecretList","items":[{"metadata":{"name":"shown"},"data":{"config":"hush"}}]}`,
		"copy of another":       `{"kind":"Deployment","metadata":{"name":"shown","annotations":{"kapp.k14s.io/original":"{\"spec\":{\"env\":[{\"name\":\"A\",\"value\":\"hush\"}]}}"}}}`,
		"Object":                `{"kind":"Object","spec":{"forProvider":{"manifest":` + inner + `},"other":"shown"}}`,
		"ManifestWork":          `{"kind":"ManifestWork","spec":{"workload":{"manifests":[` + inner + `]},"other":"shown"}}`,
		"raw":                   `{"kind":"Object","spec":{"raw":` + string(quoted) + `,"other":"shown"}}`,
		"values": `{"kind":"Object","spec":{"password":"hush","passwords":["hush","hush"],"credentials":{"value":"hush"},"extraEnv":[{"name":"A","value":"hush"}],
			"settings":[{"name":"DB_PASSWORD","value":"hush"},{"name":"A","value":"shown"}],"env":{"A":"hush"},"envVars":{"A":"hush"}}}`,
		"args": `{"kind":"Pod","spec":{"containers":[{"name":"shown","args":["--requirepass","hush","--db-pass","hush","--token","hush"]},{"command":["mysql","-phush"]},
			{"command":["redis-cli"],"args":["-a","hush"]},{"command":["sh","-c"],"args":["mysql -phush"]},{"command":["sudo","mysql","-phush",{"a":1}]}]}}`,
		"ConfigMap": `{"kind":"ConfigMap","metadata":{"name":"shown"},"data":` + string(data) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))})
			for _, tool := range []string{"k8s_get", "k8s_describe"} {
				a := call(t, cs, tool, map[string]any{"kind": "pod", "name": "x"})
				if strings.Contains(a.text+a.raw, "hush") || a.failed {
					t.Errorf("%s: %s\n%s", tool, a.text, a.raw)
				}
				if tool == "k8s_get" {
					wants(t, name, a.text, "shown", "•••")
				}
			}
		})
	}
}

// TestNumbersAreMasked has secrets that are no texts, and what is no secret.
func TestNumbersAreMasked(t *testing.T) {
	cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"Object","spec":{"password":123456789,"dbPassword":true,"passwords":[123456789],"automountServiceAccountToken":false,"auth":true,"secretName":"web",
			"imagePullSecrets":[{"name":"pull"}],"volumes":[{"name":"v","secret":{"secretName":"vs","optional":true,"items":[{"key":"tls.crt","path":"p"}]}}],"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"ref","key":"k"}}}]}}`)
	}))})
	a := call(t, cs, "k8s_get", map[string]any{"kind": "pod", "name": "x"})
	if strings.Contains(a.text+a.raw, "123456789") {
		t.Error(a.text)
	}
	wants(t, "get", a.text, "dbPassword: •••", "password: •••", "- •••", "automountServiceAccountToken: false", "auth: true", "secretName: web", "name: pull", "secretName: vs", "optional: true", "key: tls.crt", "name: ref", "key: k")
}

// TestFenceOfGet has a text that closes the fence of an answer.
func TestFenceOfGet(t *testing.T) {
	cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"ConfigMap","data":{"md":"line\n`+"```"+`\n\n## Secret default/other\n`+"````"+`\nx"}}`)
	}))})
	a := call(t, cs, "k8s_get", map[string]any{"kind": "pod", "name": "x", "path": "data.md"})
	wants(t, "get", a.text, "\n`````yaml\nline\n```\n\n## Secret default/other\n````\nx\n`````\n")
}

// TestLogsAreMasked asks for what is masked, and has colors within names.
func TestLogsAreMasked(t *testing.T) {
	cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			_, _ = io.WriteString(w, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`)
			return
		}
		_, _ = io.WriteString(w, "2026-01-02T03:04:05Z \x1b[36mpassword\x1b[0m=hush77 shown ```\n2026-01-02T03:04:05Z {\"m\":\"\\u001b[36mtoken\\u001b[0m=hush shown\"}\n")
	}))})
	a := call(t, cs, "k8s_pod_logs", map[string]any{"pod": "x"})
	if strings.Contains(a.text+a.raw, "hush") {
		t.Error(a.text)
	}
	wants(t, "logs", a.text, "\n````\n2026-01-02T03:04:05Z password=••• shown ```\n")
	for grep, n := range map[string]int{"password=h": 0, "hush": 0, "password=•": 1, "SHOWN": 2, "[36m": 0} {
		if got := len(call(t, cs, "k8s_pod_logs", map[string]any{"pod": "x", "grep": grep}).data["lines"].([]any)); got != n {
			t.Errorf("%q: %d lines, want %d", grep, got, n)
		}
	}
}
