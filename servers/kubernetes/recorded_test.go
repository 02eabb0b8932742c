package kubernetes_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/kubernetes"
)

func TestPods(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_list_pods", nil)
	wants(t, "pods", a.text, "## Pods in namespace shop: 4, of which 2 not well",
		"| shop | web-7d9-crash | 1/2 | CrashLoopBackOff | 7 | OOMKilled exit 137 at 2026-01-02T03:04:05Z |",
		"| shop | web-7d9-wait | 0/2 | Pending: Unschedulable | 0 | - |", "| shop | web-7d9-good | 2/2 | Running | 0 |", "| migrate-x2x | 0/1 | Completed |")
	if i, j := strings.Index(a.text, "web-7d9-wait"), strings.Index(a.text, "migrate"); i > j {
		t.Error("what is not well does not come first")
	}
	a = call(t, cs, "k8s_list_pods", map[string]any{"status": "problems", "label_selector": "app=web", "all_namespaces": true})
	if a.data["total"] != 2.0 {
		t.Error(a.text)
	}
	wants(t, "none", call(t, cs, "k8s_list_pods", map[string]any{"namespace": "quiet"}).text, "None.")
	a = call(t, cs, "k8s_list_pods", map[string]any{"label_selector": "app=("})
	if !a.failed {
		t.Error(a.text)
	}
	wants(t, "bad selector", a.text, "400 BadRequest")
}

func TestLogs(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-crash", "tail": 3})
	wants(t, "logs", a.text, "container web", "other containers: sidecar", "restarted 7 times", "line 39", "line 40 GET /buy token=•••")
	if n := len(a.data["lines"].([]any)); n != 3 {
		t.Errorf("%d lines", n)
	}
	a = call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-crash", "previous": true, "grep": "FATAL", "container": "web", "since_minutes": 5})
	wants(t, "grep", a.text, "fatal: out of memory")
	if n := len(a.data["lines"].([]any)); n != 1 {
		t.Errorf("%d lines", n)
	}
	wants(t, "no match", call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-crash", "grep": "nothing of it"}).text, "No line holds")
	wants(t, "container", call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-crash", "container": "wep"}).text, `no container "wep"; it has: web, sidecar`)
	wants(t, "pod", call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-crush"}).text, "404 NotFound", "web-7d9-crash")
	wants(t, "not started", call(t, cs, "k8s_pod_logs", map[string]any{"pod": "web-7d9-wait"}).text, "The log is empty. The status of the pod is Pending: Unschedulable")
}

func TestEvents(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_events", map[string]any{"type": "Warning"})
	wants(t, "events", a.text, "## Events in namespace shop: 2", "| Warning | BackOff | Pod/web-7d9-crash | 42 |", "token=•••", "| Warning | FailedScheduling | Pod/web-7d9-wait | 3 |")
	if strings.Index(a.text, "FailedScheduling") > strings.Index(a.text, "BackOff") {
		t.Error("the newest does not come first")
	}
	wants(t, "of one", call(t, cs, "k8s_events", map[string]any{"name": "web-7d9-good", "kind": "Pod"}).text, "Successfully assigned")
	wants(t, "recent", call(t, cs, "k8s_events", map[string]any{"since_minutes": 1}).text, "None.")
	wants(t, "limit", call(t, cs, "k8s_events", map[string]any{"limit": 1, "all_namespaces": true}).text, "older ones are left out")
}

func TestDescribe(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_describe", map[string]any{"kind": "po", "name": "web-7d9-crash"})
	wants(t, "pod", a.text, "## Pod shop/web-7d9-crash", "status: CrashLoopBackOff, ready 1/2, restarts 7", "belongs to: ReplicaSet/web-7d9", "labels: app=web",
		"| Ready | False | ContainersNotReady |", "state: waiting: CrashLoopBackOff", "back-off 5m0s", "last end: OOMKilled (exit code 137)", "limits: memory 128Mi",
		"environment: DB_PASSWORD, MODE, API_TOKEN", "BackOff", "### Rest")
	a = call(t, cs, "k8s_describe", map[string]any{"kind": "Deployment", "name": "web"})
	wants(t, "deployment", a.text, "| Available | False | MinimumReplicasUnavailable |", "shop/web:2.0", "environment: DB_PASSWORD", "replicas: 3")
	wants(t, "node", call(t, cs, "k8s_describe", map[string]any{"kind": "no", "name": "node-a"}).text, "## Node node-a", "| Ready | True | KubeletReady |", "allocatable:")
	wants(t, "secret", call(t, cs, "k8s_describe", map[string]any{"kind": "secret", "name": "web"}).text, "token: ••• (24 characters as it is kept)")
	wants(t, "custom", call(t, cs, "k8s_describe", map[string]any{"kind": "bk", "name": "nightly"}).text, "## Backup shop/nightly", "passwordSecretName: backup-login", "password: •••", "phase: Done")
	wants(t, "elsewhere", call(t, cs, "k8s_describe", map[string]any{"kind": "deploy", "name": "web", "namespace": "quiet"}).text, "One of that name is in namespace shop")
	wants(t, "no kind", call(t, cs, "k8s_describe", map[string]any{"kind": "gadget", "name": "x"}).text, `no kind "gadget"`, "backups.shop.example", "pods")
}

func TestListAndGet(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_list", map[string]any{"kind": "deploy"})
	wants(t, "deployments", a.text, "## deployments.apps in namespace shop: 1", "| Name | Ready | Up-to-date | Available | Age |", "| web | 1/3 | 3 | 1 |")
	wants(t, "secrets", call(t, cs, "k8s_list", map[string]any{"kind": "Secret", "all_namespaces": true}).text, "| Namespace | Name | Type | Data | Age |", "| shop | web | Opaque | 2 |")
	wants(t, "custom", call(t, cs, "k8s_list", map[string]any{"kind": "backups.shop.example"}).text, "| Name | Phase |", "| nightly | Done |")
	wants(t, "nodes", call(t, cs, "k8s_list", map[string]any{"kind": "nodes"}).text, "## nodes: 1", "| node-a | Ready |")
	a = call(t, cs, "k8s_list", map[string]any{"kind": "pods", "limit": 2})
	next, _ := a.data["continue"].(string)
	if a.data["remaining"] != 2.0 || next == "" {
		t.Fatalf("%s", a.raw)
	}
	wants(t, "more", a.text, "There are more: call again with continue: "+next)
	a = call(t, cs, "k8s_list", map[string]any{"kind": "pods", "limit": 2, "continue": next})
	wants(t, "the rest", a.text, "web-7d9-wait")
	wants(t, "field", call(t, cs, "k8s_list", map[string]any{"kind": "pods", "field_selector": "status.phase=Pending"}).text, ": 1", "web-7d9-wait")

	a = call(t, cs, "k8s_get", map[string]any{"kind": "deployment", "name": "web"})
	wants(t, "get", a.text, "image: shop/web:2.0", "value: •••", "- \"--db-password\"\n            - •••\n            - \"--listen=:80\"", "- command:", "key: token", "name: web", "note: login with postgres://u:•••@db/x")
	for _, not := range []string{"managedFields", "last-applied"} {
		if strings.Contains(a.text+a.raw, not) {
			t.Errorf("%s in %s", not, a.text)
		}
	}
	a = call(t, cs, "k8s_get", map[string]any{"kind": "deployment", "name": "web", "path": "spec.template.spec.containers[1].image"})
	if a.data["value"] != "shop/log:1" {
		t.Errorf("%s", a.raw)
	}
	wants(t, "no path", call(t, cs, "k8s_get", map[string]any{"kind": "deployment", "name": "web", "path": "spec.replica"}).text, `no "replica"`, "replicas")
	wants(t, "config map", call(t, cs, "k8s_get", map[string]any{"kind": "cm", "name": "web"}).text, "colour: blue", "db_password: •••", "listen=80")
	wants(t, "a file", call(t, cs, "k8s_get", map[string]any{"kind": "cm", "name": "web", "path": "data.app.conf"}).text, "\nlisten=80\npassword = •••\n")
	call(t, cs, "k8s_get", map[string]any{"kind": "secret", "name": "web"})
	call(t, cs, "k8s_get", map[string]any{"kind": "bk", "name": "nightly"})
}

func TestRolloutAndTop(t *testing.T) {
	cs := recorded(t, kubernetes.Options{})
	a := call(t, cs, "k8s_rollout_status", map[string]any{"name": "web"})
	wants(t, "deployment", a.text, "Rollout of deployment shop/web: progressing", "1 old pods have not ended yet", "3 desired, 3 updated, 1 ready, 1 available", "| web-7d9-crash | 1/2 | CrashLoopBackOff | 7 |")
	wants(t, "statefulset", call(t, cs, "k8s_rollout_status", map[string]any{"kind": "statefulset", "name": "db"}).text, "shop/db: complete")
	wants(t, "daemonset", call(t, cs, "k8s_rollout_status", map[string]any{"kind": "daemonset", "name": "agent"}).text, "shop/agent: progressing", "1 of 2 pods are available")
	a = call(t, cs, "k8s_top", nil)
	wants(t, "top", a.text, "2 pods in namespace shop", "| shop | web-7d9-good | 260m | 101.0 MiB |\n| shop | web-7d9-crash | 12m | 21.0 MiB |")
	wants(t, "nodes", call(t, cs, "k8s_top", map[string]any{"what": "nodes", "sort": "memory"}).text, "| - | node-a | 1000m (25%) | 6144.0 MiB (75%) |")
}

func TestRights(t *testing.T) {
	cs := recorded(t, kubernetes.Options{Context: "viewer"})
	wants(t, "may", call(t, cs, "k8s_list_pods", nil).text, "web-7d9-crash")
	a := call(t, cs, "k8s_list", map[string]any{"kind": "secrets"})
	if !a.failed {
		t.Error(a.text)
	}
	wants(t, "may not", a.text, "403 Forbidden", `User "viewer" cannot list resource "secrets"`, "RBAC")
	wants(t, "describe without events", call(t, cs, "k8s_describe", map[string]any{"kind": "pod", "name": "web-7d9-wait"}).text, "They cannot be read: Kubernetes answers 403", "Unschedulable")
}

func TestNamespacesOption(t *testing.T) {
	cs := recorded(t, kubernetes.Options{Namespaces: []string{"shop"}, AllowChanges: true})
	wants(t, "allowed", call(t, cs, "k8s_list_pods", nil).text, "web-7d9-crash")
	for name, args := range map[string]map[string]any{
		"k8s_list_pods": {"namespace": "kube-system"}, "k8s_pod_logs": {"namespace": "quiet", "pod": "x"}, "k8s_events": {"all_namespaces": true},
		"k8s_list": {"kind": "nodes"}, "k8s_get": {"kind": "namespace", "name": "quiet"}, "k8s_describe": {"kind": "pod", "name": "x", "namespace": "quiet"},
		"k8s_top": {"what": "nodes"}, "k8s_rollout_status": {"name": "x", "namespace": "quiet"}, "k8s_scale": {"name": "x", "namespace": "quiet", "replicas": 1}, "k8s_restart": {"name": "x", "namespace": "quiet"},
	} {
		a := call(t, cs, name, args)
		if !a.failed || !strings.Contains(a.text, "shop") {
			t.Errorf("%s %v: %s", name, args, a.text)
		}
	}
}

func TestChanges(t *testing.T) {
	cs := recorded(t, kubernetes.Options{AllowChanges: true})
	a := call(t, cs, "k8s_scale", map[string]any{"kind": "statefulset", "name": "db", "replicas": 2})
	wants(t, "scale", a.text, "statefulset shop/db should have 2 pods now; it were 1 before")
	a = call(t, cs, "k8s_restart", map[string]any{"kind": "daemonset", "name": "agent"})
	wants(t, "restart", a.text, "daemonset shop/agent restarts its pods")
	wants(t, "none", call(t, cs, "k8s_scale", map[string]any{"name": "wep", "replicas": 2}).text, "404 NotFound", "web")
	for _, n := range []int{-1, 1001} {
		if a := call(t, cs, "k8s_scale", map[string]any{"name": "web", "replicas": n}); !a.failed {
			t.Error(a.text)
		}
	}
}
