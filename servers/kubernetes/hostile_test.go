package kubernetes_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/kubernetes"
)

// kinds is what a small server answers to the question for its kinds.
const kinds = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{"version":"v1","resources":[
	{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","singularResource":"pod","shortNames":["po"],"verbs":["get","list"]},
	{"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced","singularResource":"binding","verbs":["create"]}]}]}]}`

// fake is a server that answers every other request by the handler.
func fake(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api":
			_, _ = io.WriteString(w, kinds)
		case "/apis":
			_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","items":[]}`)
		default:
			h(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestNotConfigured(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	cs := connect(t, kubernetes.Options{})
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 10 {
		t.Fatalf("%v, %d tools", err, len(list.Tools))
	}
	a := call(t, cs, "k8s_list_pods", nil)
	wants(t, "no cluster", a.text, "option kubeconfig", "KUBECONFIG")
	wants(t, "no file", call(t, connect(t, kubernetes.Options{Kubeconfig: filepath.Join(t.TempDir(), "none")}), "k8s_list_pods", nil).text, "the cluster cannot be used")
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]kubernetes.Options{
		"option timeout_sec": {TimeoutSec: 500}, "option namespaces": {Namespaces: []string{"a/b"}},
		"option namespace:": {Namespace: "..", Namespaces: nil}, "none of the option namespaces": {Namespace: "a", Namespaces: []string{"b"}},
	} {
		if _, err := kubernetes.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("K8S_ALLOW_CHANGES", "perhaps")
	if _, err := kubernetes.New(kubernetes.Options{}); err == nil {
		t.Error("a wrong variable is taken")
	}
}

// TestChangesAreOff wants no request at all.
func TestChangesAreOff(t *testing.T) {
	var asked atomic.Int64
	file := config(t, fake(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	for name, args := range map[string]map[string]any{"k8s_scale": {"name": "web", "replicas": 0}, "k8s_restart": {"name": "web"}} {
		a := call(t, connect(t, kubernetes.Options{Kubeconfig: file}), name, args)
		if !a.failed || asked.Load() != 0 {
			t.Errorf("%s: %s", name, a.text)
		}
		wants(t, name, a.text, "allow_changes")
	}
	t.Setenv("K8S_ALLOW_CHANGES", "true")
	call(t, connect(t, kubernetes.Options{Kubeconfig: file}), "k8s_scale", map[string]any{"name": "web", "replicas": 0})
	if asked.Load() == 0 {
		t.Error("the variable does not allow changes")
	}
}

func TestHostileArguments(t *testing.T) {
	cs := connect(t, kubernetes.Options{AllowChanges: true, Kubeconfig: config(t, fake(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL)
	}))})
	for _, name := range []string{"", "..", ".", "a/b", "../../../apis", "a%2fb", "-x", "a b", "$(id)", "a?b", "a#b", "a\x00", strings.Repeat("a", 300), "ü"} {
		for tool, args := range map[string]map[string]any{
			"k8s_pod_logs": {"pod": name}, "k8s_get": {"kind": "pod", "name": name}, "k8s_describe": {"kind": "pods", "name": name},
			"k8s_rollout_status": {"name": name}, "k8s_scale": {"name": name, "replicas": 1}, "k8s_restart": {"name": name},
		} {
			if a := call(t, cs, tool, args); !a.failed || len(a.text) > 2000 {
				t.Errorf("%s %q: %s", tool, name, a.text)
			}
		}
		if name == "" {
			continue
		}
		for tool, args := range map[string]map[string]any{
			"k8s_list_pods": {"namespace": name}, "k8s_list": {"kind": "pods", "namespace": name}, "k8s_events": {"name": name},
			"k8s_top": {"namespace": name}, "k8s_pod_logs": {"pod": "x", "namespace": name}, "k8s_scale": {"name": "x", "namespace": name, "replicas": 1},
		} {
			if a := call(t, cs, tool, args); !a.failed || len(a.text) > 2000 {
				t.Errorf("%s in %q: %s", tool, name, a.text)
			}
		}
		if a := call(t, cs, "k8s_list", map[string]any{"kind": name}); !a.failed || len(a.text) > 2000 {
			t.Errorf("kind %q: %s", name, a.text)
		}
	}
	for tool, args := range map[string]map[string]any{
		"k8s_list": {"kind": "bindings"}, "k8s_list_pods": {"node": "a,b"}, "k8s_rollout_status": {"kind": "pod", "name": "x"}, "k8s_scale": {"kind": "node", "name": "x", "replicas": 1},
		"k8s_get": {"kind": strings.Repeat("x", 10<<20), "name": "x"},
	} {
		if a := call(t, cs, tool, args); !a.failed || len(a.text) > 2000 {
			t.Errorf("%s: %.300s", tool, a.text)
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
		"page":      {status(200, "<html>"), "does not answer as Kubernetes does"},
		"broken":    {status(502, "<h1>Bad\n gateway</h1>"), "502 : <h1>Bad gateway"},
		"no login":  {status(401, `{"kind":"Status","message":"Unauthorized","reason":"Unauthorized"}`), "renews the credentials"},
		"gone":      {status(410, `{"kind":"Status","message":"too old","reason":"Expired"}`), "without continue"},
		"busy":      {status(429, `{"kind":"Status","message":"x"}`), "Wait a little"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 17<<20)) }, "larger than 16 MiB"},
		"echo": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(403)
			fmt.Fprintf(w, `{"kind":"Status","message":"no %s"}`, r.Header.Get("Authorization"))
		}, "no Bearer •••"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "redirects, which is not followed"},
		"wrong": {status(200, `{"items":7}`), "does not answer as Kubernetes does"},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, c.h))}), "k8s_list_pods", nil)
			if !a.failed {
				t.Error("no error")
			}
			wants(t, name, a.text, c.want)
		})
	}
}

// TestHostileAnswer has objects of odd forms and endless texts.
func TestHostileAnswer(t *testing.T) {
	long := strings.Repeat("y|`", 30_000)
	for _, body := range []string{
		`{}`, `{"items":[{}]}`, `{"kind":"Table","columnDefinitions":[{"name":"` + long + `"}],"rows":[{"cells":["` + long + `",{"a":1},null]},{"cells":[]}]}`,
		`{"items":[{"metadata":{"name":"` + long + `"},"status":{"phase":"` + long + `","containerStatuses":[{"state":{"waiting":{"reason":"` + long + `"}}}]}}]}`,
		`{"items":[{"message":"` + long + `","reason":"` + long + `","count":-5}]}`,
		`{"metadata":{"name":"x","labels":{"a":"` + long + `"},"ownerReferences":[7,{"kind":"` + long + `"}]},"spec":{"containers":[{"name":"x","env":[{"name":"` + long + `"}]}]},"status":{"conditions":[{"type":"` + long + `"}]}}`,
		`{"metadata":7,"spec":[1,[2,[3]]],"status":"` + long + `"}`,
		`{"a":` + strings.Repeat(`{"a":[`, 2000) + `1` + strings.Repeat(`]}`, 2000) + `}`,
	} {
		cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))})
		for name, args := range map[string]map[string]any{
			"k8s_list_pods": nil, "k8s_list": {"kind": "pods"}, "k8s_events": nil, "k8s_get": {"kind": "pod", "name": "x"}, "k8s_describe": {"kind": "pod", "name": "x"},
			"k8s_rollout_status": {"name": "x"}, "k8s_top": nil, "k8s_pod_logs": {"pod": "x"},
		} {
			if a := call(t, cs, name, args); len(a.raw) > 120_000 {
				t.Errorf("%s: %d bytes of data", name, len(a.raw))
			}
		}
	}
}

// TestLongLog reads a log of many and of long lines.
func TestLongLog(t *testing.T) {
	cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			_, _ = io.WriteString(w, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`)
			return
		}
		for i := range 20_000 {
			fmt.Fprintf(w, "2026-01-02T03:04:05Z %d\n", i)
		}
		fmt.Fprintf(w, "%s\nlast", strings.Repeat("z", 1<<20))
	}))})
	a := call(t, cs, "k8s_pod_logs", map[string]any{"pod": "x", "tail": 5000})
	lines := a.data["lines"].([]any)
	if len(lines) < 300 || len(lines) > 1000 || lines[len(lines)-1] != "last" || a.data["left_out"] != float64(20_002-len(lines)) {
		t.Errorf("%d lines, %v left out", len(lines), a.data["left_out"])
	}
	a = call(t, cs, "k8s_pod_logs", map[string]any{"pod": "x", "grep": " 1999", "tail": 2})
	wants(t, "grep", a.text, " 19998\n", " 19999\n", "older lines are left out")
	if n := len(a.data["lines"].([]any)); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// TestAnswerOfManyThings has few bytes, which would become much memory.
func TestAnswerOfManyThings(t *testing.T) {
	cs := connect(t, kubernetes.Options{Kubeconfig: config(t, fake(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"metadata":{"name":"x"},"items":[%s{}]}`, strings.Repeat("{},", 400_000))
	}))})
	for name, args := range map[string]map[string]any{"k8s_list_pods": nil, "k8s_list": {"kind": "pods"}, "k8s_events": nil, "k8s_get": {"kind": "pod", "name": "x"}} {
		a := call(t, cs, name, args)
		if !a.failed {
			t.Errorf("%s: no error", name)
		}
		wants(t, name, a.text, "more than 400000 values", "Ask for less")
	}
}

func TestDeadlineAndCancel(t *testing.T) {
	asked := make(chan struct{}, 10)
	file := config(t, fake(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	cs := connect(t, kubernetes.Options{TimeoutSec: 1, Kubeconfig: file})
	begin := time.Now()
	wants(t, "deadline", call(t, cs, "k8s_list_pods", nil).text, "did not answer in time")
	if d := time.Since(begin); d > 14*time.Second { // unless an option is obeyed, it is 15
		t.Error(d)
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	var canceling sync.WaitGroup
	canceling.Go(func() {
		<-asked
		cancel()
	})
	defer canceling.Wait()
	begin = time.Now()
	if _, err := connect(t, kubernetes.Options{TimeoutSec: 120, Kubeconfig: file}).CallTool(ctx, &mcp.CallToolParams{Name: "k8s_list_pods"}); err == nil || time.Since(begin) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
