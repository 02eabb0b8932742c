package tenon_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestRuleOfAServerIsNoBadLuck: what a rule of a bundled server refuses is denied, is
// sent once, and nothing stands in for it: neither an own fallback nor the fetching of
// pages.
func TestRuleOfAServerIsNoBadLuck(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out.log")); err != nil {
		t.Skip("no links here: " + err.Error())
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Forbidden","message":"you may not"}`)
	}))
	defer cluster.Close()
	if err := os.WriteFile(kubeconfig, []byte(`{"clusters": [{"name": "c", "cluster": {"server": "`+cluster.URL+`"}}], "users": [{"name": "u", "user": {}}],
		"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := tenon.Options{
		Bundled: bundled(),
		Config: write(t, `version: 1
policy: {mode: bypass}
servers:
  reading: {bundled: reading, in_process: true, options: {roots: ["`+dir+`"]}}
  closed: {bundled: reading, in_process: true}
  websearch: {bundled: websearch, in_process: true}
  docker: {bundled: docker, in_process: true}
  hostlog: {bundled: hostlog, in_process: true, options: {paths: ["`+dir+`"]}}
  knowledge: {bundled: knowledge, in_process: true, options: {roots: ["`+dir+`"], writable: "`+dir+`"}}
  kubernetes: {bundled: kubernetes, in_process: true, options: {kubeconfig: "`+kubeconfig+`", namespaces: [shop]}}
  system: {bundled: system, in_process: true, options: {scan_roots: ["`+dir+`"]}}
fallbacks:
  "*/*": [go/other]
`),
	}
	type anything struct {
		URI   string `json:"uri,omitempty"`
		URL   string `json:"url,omitempty"`
		Query string `json:"query,omitempty"`
		Path  string `json:"path,omitempty"`
	}
	others := 0
	tenon.AddTool(&o, tenon.Function{Name: "other"}, func(context.Context, anything) (string, error) { others++; return "in its place", nil })
	g := open(t, o)
	for _, c := range []struct{ server, name, args string }{
		{"reading", "read_file", `{"uri":"/etc/hostname"}`},
		{"reading", "read_file", `{"uri":"http://127.0.0.1:1/"}`},
		{"closed", "convert_to_markdown", `{"uri":"file:///etc/hostname"}`},
		{"websearch", "fetch_page", `{"url":"http://127.0.0.1:1/"}`},
		{"websearch", "web_search", `{"query":"原神"}`},
		{"docker", "docker_restart", `{"name":"db"}`},
		{"hostlog", "query_host_log", `{"source":"/etc/passwd"}`},
		{"hostlog", "query_host_log", `{"source":"` + dir + `/out.log"}`},
		{"knowledge", "kb_add_document", `{"name":"../x.md","content":"x"}`},
		{"kubernetes", "k8s_scale", `{"name":"x","replicas":1,"namespace":"shop"}`},
		{"kubernetes", "k8s_list_pods", `{"namespace":"kube-system"}`},
		{"kubernetes", "k8s_list_pods", `{"all_namespaces":true}`},
		{"kubernetes", "k8s_list_pods", `{"namespace":"shop"}`},
		{"kubernetes", "k8s_top", `{"what":"nodes"}`},
		{"system", "scan_dir_usage", `{"root":"/etc"}`},
	} {
		res := g.Call(t.Context(), tool.Call{Server: c.server, Tool: c.name, Arguments: json.RawMessage(c.args)})
		if res.Kind != tool.Denied || res.Attempts != 1 || others > 0 || res.Server != c.server || strings.Contains(noteTexts(res), "fallback") {
			t.Errorf("%s/%s %s: %q after %d attempts by %s, %d others: %s\n%s", c.server, c.name, c.args, res.Kind, res.Attempts, res.Server, others, res.Text(), noteTexts(res))
		}
	}
	res := g.Call(t.Context(), tool.Call{Server: "reading", Tool: "read_file", Arguments: json.RawMessage(`{"uri":"` + dir + `/absent.txt"}`)})
	if res.Kind != "" || others != 1 || !strings.Contains(noteTexts(res), dir) {
		t.Errorf("of what is not there: %q, %d others: %s", res.Kind, others, res.Text())
	}
}
