package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const rolloutChars = 4000

// workloads are the kinds that roll out, with all that a call may name them by.
var workloads = []any{"deployment", "statefulset", "daemonset"}

type workload struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Replicas *int            `json:"replicas"`
		Paused   bool            `json:"paused"`
		Selector json.RawMessage `json:"selector"`
		Update   struct {
			Type    string `json:"type"`
			Rolling *struct {
				Partition int `json:"partition"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status struct {
		Observed   int64       `json:"observedGeneration"`
		Replicas   int         `json:"replicas"`
		Updated    int         `json:"updatedReplicas"`
		Ready      int         `json:"readyReplicas"`
		Available  int         `json:"availableReplicas"`
		Current    string      `json:"currentRevision"`
		Next       string      `json:"updateRevision"`
		Desired    int         `json:"desiredNumberScheduled"`
		OnUpdated  int         `json:"updatedNumberScheduled"`
		OnReady    int         `json:"numberReady"`
		OnAvail    int         `json:"numberAvailable"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type rolloutInput struct {
	Kind      string `json:"kind,omitempty" jsonschema:"deployment, statefulset or daemonset"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace; left out: the default one"`
}

type rolloutOutput struct {
	State     string   `json:"state" jsonschema:"complete, progressing, failed or paused"`
	Message   string   `json:"message" jsonschema:"what it waits for, or why it failed"`
	Desired   int      `json:"desired" jsonschema:"how many pods there should be"`
	Updated   int      `json:"updated" jsonschema:"how many pods are of the new version"`
	Ready     int      `json:"ready" jsonschema:"how many pods are ready"`
	Available int      `json:"available" jsonschema:"how many pods are available"`
	Pods      []podRow `json:"pods" jsonschema:"its pods that are not well, at most 10"`
}

func (s *server) addRollout(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_rollout_status", Title: "Rollout status",
		Description: "Says whether the last change of a deployment, statefulset or daemonset is complete, progressing, failed or paused, with counts of pods and those that are not well and why. Answers whether a new version is out.",
		Defaults:    map[string]any{"kind": "deployment"}, Choices: map[string][]any{"kind": workloads},
	}, s.rollout)
}

// apps returns a kind of the group apps.
func apps(kind string) kube.Resource {
	return kube.Resource{Group: "apps", Version: "v1", Plural: kind + "s", Kind: kind, Namespaced: true}
}

// workload reads one.
func (a *access) workload(ctx context.Context, c *kube.Client, kind, namespace, name string) (string, *workload, error) {
	ns, err := a.namespace(c, namespace, false)
	if err != nil {
		return "", nil, err
	}
	if err := checkName(name); err != nil {
		return "", nil, err
	}
	var w workload
	if err := c.Get(ctx, apps(kind).Path(ns, name), nil, &w); err != nil {
		return "", nil, a.missing(ctx, c, apps(kind), ns, name, err)
	}
	return ns, &w, nil
}

func (s *server) rollout(ctx context.Context, c *kube.Client, in rolloutInput) (string, rolloutOutput, error) {
	ns, w, err := s.workload(ctx, c, in.Kind, in.Namespace, in.Name)
	if err != nil {
		return "", rolloutOutput{}, err
	}
	out := w.progress(in.Kind)
	out.Pods = []podRow{}
	p := answer.NewPage(rolloutChars)
	p.Line("## Rollout of %s %s/%s: %s\n", in.Kind, ns, in.Name, out.State)
	p.Line("- %s", out.Message)
	p.Line("- pods: %d desired, %d updated, %d ready, %d available", out.Desired, out.Updated, out.Ready, out.Available)
	for _, cond := range w.Status.Conditions {
		p.Line("- %s=%s %s: %s", answer.Line(cond.Type, 60), answer.Line(cond.Status, 20), answer.Line(cond.Reason, 60), told(cond.Message, 300))
	}
	if selector := selectorText(w.Spec.Selector); selector != "" && out.State != "complete" {
		pods, _, err := items[pod](ctx, c, corePath(ns, "pods"), url.Values{"labelSelector": {selector}})
		if err != nil {
			p.Line("- its pods cannot be read: %s", answer.Line(err.Error(), 300))
		}
		pods = slices.DeleteFunc(pods, func(q pod) bool { return q.healthy() })
		if len(pods) > 0 {
			p.Line("\n| pod | ready | status | restarts | last end |\n| --- | --- | --- | --- | --- |")
		}
		shown := p.Rows(min(len(pods), 10), func(i int) string {
			r := pods[i].row()
			return fmt.Sprintf("| %s | %s | %s | %d | %s |", answer.Cell(r.Name, 100), r.Ready, answer.Cell(r.Status, 60), r.Restarts, answer.Cell(r.LastEnd, 80))
		})
		for i := range shown {
			out.Pods = append(out.Pods, pods[i].row())
		}
		if rest := len(pods) - shown; rest > 0 {
			p.Line("\n%d more pods are not well.", rest)
		}
	}
	return p.String(), out, nil
}

// progress says how far a rollout is, as kubectl rollout status would.
func (w *workload) progress(kind string) rolloutOutput {
	st := w.Status
	out := rolloutOutput{Desired: 1, Updated: st.Updated, Ready: st.Ready, Available: st.Available}
	if w.Spec.Replicas != nil {
		out.Desired = *w.Spec.Replicas
	}
	if kind == "daemonset" {
		out.Desired, out.Updated, out.Ready, out.Available = st.Desired, st.OnUpdated, st.OnReady, st.OnAvail
	}
	out.State = "progressing"
	stuck := slices.ContainsFunc(st.Conditions, func(c condition) bool { return c.Type == "Progressing" && c.Reason == "ProgressDeadlineExceeded" })
	wanted := out.Desired
	if kind == "statefulset" && w.Spec.Update.Rolling != nil {
		wanted = max(out.Desired-w.Spec.Update.Rolling.Partition, 0)
	}
	switch {
	case w.Spec.Paused:
		out.State, out.Message = "paused", "it is paused: changes are not rolled out before it is resumed"
	case st.Observed < w.Metadata.Generation:
		out.Message = "its last change has not been looked at yet"
	case stuck:
		out.State, out.Message = "failed", "it made no progress within its deadline"
	case w.Spec.Update.Type == "OnDelete":
		out.State, out.Message = "complete", "its pods are only replaced when they are deleted"
	case out.Updated < wanted:
		out.Message = fmt.Sprintf("%d of %d pods are of the new version", out.Updated, wanted)
	case kind == "deployment" && st.Replicas > out.Updated:
		out.Message = fmt.Sprintf("%d old pods have not ended yet", st.Replicas-out.Updated)
	case kind == "statefulset" && out.Ready < out.Desired:
		out.Message = fmt.Sprintf("%d of %d pods are ready", out.Ready, out.Desired)
	case kind != "statefulset" && out.Available < out.Desired:
		out.Message = fmt.Sprintf("%d of %d pods are available", out.Available, out.Desired)
	default:
		out.State, out.Message = "complete", "all pods are of the new version and available"
	}
	return out
}

// selectorText returns the selector of a workload as a query takes it.
func selectorText(raw json.RawMessage) string {
	var sel struct {
		Labels      map[string]string `json:"matchLabels"`
		Expressions []struct {
			Key      string   `json:"key"`
			Operator string   `json:"operator"`
			Values   []string `json:"values"`
		} `json:"matchExpressions"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &sel) != nil {
		return ""
	}
	var list []string
	for k, v := range sel.Labels {
		list = append(list, k+"="+v)
	}
	for _, e := range sel.Expressions {
		switch e.Operator {
		case "In", "NotIn":
			list = append(list, fmt.Sprintf("%s %s (%s)", e.Key, strings.ToLower(e.Operator), strings.Join(e.Values, ",")))
		case "Exists":
			list = append(list, e.Key)
		case "DoesNotExist":
			list = append(list, "!"+e.Key)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

const changeChars = 2000

// maxReplicas bounds what k8s_scale asks for: more is a slip more often than a wish.
const maxReplicas = 1000

var errNoChanges = typed.Refuse("changes are not allowed here: the operator sets the option allow_changes of this server, or K8S_ALLOW_CHANGES=true in its environment. " +
	"Tell what you would change and why, and let a person do it")

type scaleInput struct {
	Kind      string `json:"kind,omitempty" jsonschema:"deployment, statefulset or replicaset"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace; left out: the default one"`
	Replicas  int    `json:"replicas" jsonschema:"how many pods there should be, 0 to 1000; 0 stops all"`
}

type scaleOutput struct {
	Kind      string `json:"kind" jsonschema:"kind of what was changed"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace" jsonschema:"its namespace"`
	Before    int    `json:"before" jsonschema:"how many pods there should have been before"`
	Replicas  int    `json:"replicas" jsonschema:"how many pods there should be now"`
}

type restartOutput struct {
	Kind      string `json:"kind" jsonschema:"kind of what is restarted"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace" jsonschema:"its namespace"`
	At        string `json:"restarted_at" jsonschema:"the mark that was set on its pods"`
}

func (s *server) addChanges(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_scale", Title: "Scale",
		Description: "Sets how many pods a deployment, statefulset or replicaset should have. Changes the cluster; 0 stops all its pods. Refused unless the operator allowed changes. Call k8s_rollout_status afterwards.",
		Defaults:    map[string]any{"kind": "deployment"}, Choices: map[string][]any{"kind": {"deployment", "statefulset", "replicaset"}},
	}, s.scale)
	add(s, srv, spec{
		Name: "k8s_restart", Title: "Restart",
		Description: "Restarts the pods of a deployment, statefulset or daemonset one after another, as kubectl rollout restart does. Changes the cluster. Refused unless the operator allowed changes. Call k8s_rollout_status afterwards.",
		Defaults:    map[string]any{"kind": "deployment"}, Choices: map[string][]any{"kind": workloads},
	}, s.restart)
}

func (s *server) scale(ctx context.Context, c *kube.Client, in scaleInput) (string, scaleOutput, error) {
	var none scaleOutput
	if in.Replicas < 0 || in.Replicas > maxReplicas {
		return "", none, fmt.Errorf("replicas must be 0 to %d", maxReplicas)
	}
	ns, err := s.namespace(c, in.Namespace, false)
	if err != nil {
		return "", none, err
	}
	if err := checkName(in.Name); err != nil {
		return "", none, err
	}
	type scale struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Replicas int `json:"replicas"`
		} `json:"spec"`
	}
	r := apps(in.Kind)
	path := r.Path(ns, in.Name) + "/scale"
	var before, after scale
	if err := c.Get(ctx, path, nil, &before); err != nil {
		return "", none, s.missing(ctx, c, r, ns, in.Name, err)
	}
	// With the version that was read: who changes it meanwhile is not overruled.
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": before.Metadata.Version}, "spec": map[string]any{"replicas": in.Replicas}}
	if err := c.Patch(ctx, path, "application/merge-patch+json", patch, &after); err != nil {
		return "", none, err
	}
	out := scaleOutput{in.Kind, in.Name, ns, before.Spec.Replicas, after.Spec.Replicas}
	return fmt.Sprintf("%s %s/%s should have %d pods now; it were %d before. k8s_rollout_status says when they are there.", in.Kind, ns, in.Name, out.Replicas, out.Before), out, nil
}

func (s *server) restart(ctx context.Context, c *kube.Client, in rolloutInput) (string, restartOutput, error) {
	ns, w, err := s.workload(ctx, c, in.Kind, in.Namespace, in.Name)
	if err != nil {
		return "", restartOutput{}, err
	}
	if w.Spec.Paused {
		return "", restartOutput{}, fmt.Errorf("%s %s/%s is paused: it would not restart. A person resumes it first", in.Kind, ns, in.Name)
	}
	out := restartOutput{in.Kind, in.Name, ns, stamp(s.now())}
	mark := map[string]any{"kubectl.kubernetes.io/restartedAt": out.At}
	patch := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": mark}}}}
	var after object
	if err := c.Patch(ctx, apps(in.Kind).Path(ns, in.Name), "application/strategic-merge-patch+json", patch, &after); err != nil {
		return "", restartOutput{}, err
	}
	return fmt.Sprintf("%s %s/%s restarts its pods one after another. k8s_rollout_status says how far it is.", in.Kind, ns, in.Name), out, nil
}
