package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const (
	podsChars  = 6000
	podRows    = 50
	maxObjects = 2000 // that are read for one answer
	chunk      = 500
)

// metadata is the part of an object's that is used.
type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Created     time.Time         `json:"creationTimestamp"`
	Deleted     *time.Time        `json:"deletionTimestamp"`
	Generation  int64             `json:"generation"`
	Version     string            `json:"resourceVersion"`
}

type containerState struct {
	Waiting *struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"waiting"`
	Running *struct {
		Started time.Time `json:"startedAt"`
	} `json:"running"`
	Terminated *struct {
		Reason   string    `json:"reason"`
		Message  string    `json:"message"`
		ExitCode int       `json:"exitCode"`
		Signal   int       `json:"signal"`
		Finished time.Time `json:"finishedAt"`
	} `json:"terminated"`
}

// String says what a state is, for one cell.
func (s containerState) String() string {
	switch {
	case s.Waiting != nil:
		return strings.TrimSuffix("waiting: "+s.Waiting.Reason, ": ")
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("terminated: %s (exit code %d)", s.Terminated.Reason, s.Terminated.ExitCode)
	}
	return ""
}

type containerStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Restarts int            `json:"restartCount"`
	Image    string         `json:"image"`
	State    containerState `json:"state"`
	Last     containerState `json:"lastState"`
}

type named struct {
	Name string `json:"name"`
}

type pod struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Node       string  `json:"nodeName"`
		Containers []named `json:"containers"`
		Init       []named `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		Phase      string            `json:"phase"`
		Reason     string            `json:"reason"`
		Message    string            `json:"message"`
		PodIP      string            `json:"podIP"`
		Containers []containerStatus `json:"containerStatuses"`
		Init       []containerStatus `json:"initContainerStatuses"`
		Conditions []condition       `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"lastTransitionTime"`
}

// state returns what kubectl shows as the status of a pod: the reason of what does
// not go on, else its phase.
func (p *pod) state() string {
	if p.Metadata.Deleted != nil {
		return "Terminating"
	}
	for _, c := range p.Status.Init {
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0, c.State.Running != nil && c.Ready:
			continue
		case c.State.Terminated != nil:
			return "Init:" + reasonOf(c.State)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return "Init:" + c.State.Waiting.Reason
		}
		return "Init"
	}
	for _, c := range p.Status.Containers {
		if r := reasonOf(c.State); r != "" {
			return r
		}
	}
	if p.Status.Reason != "" {
		return p.Status.Reason
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" && c.Reason != "" && p.Status.Phase == "Pending" {
			return "Pending: " + c.Reason
		}
	}
	return p.Status.Phase
}

// reasonOf returns why a container does not run; empty where it does.
func reasonOf(s containerState) string {
	switch {
	case s.Waiting != nil:
		return s.Waiting.Reason
	case s.Terminated != nil && s.Terminated.Reason != "":
		return s.Terminated.Reason
	case s.Terminated != nil && s.Terminated.Signal != 0:
		return "Signal:" + strconv.Itoa(s.Terminated.Signal)
	case s.Terminated != nil:
		return "ExitCode:" + strconv.Itoa(s.Terminated.ExitCode)
	}
	return ""
}

// ready returns how many of the containers are, and how many there are.
func (p *pod) ready() (int, int) {
	n := 0
	for _, c := range p.Status.Containers {
		if c.Ready {
			n++
		}
	}
	return n, max(len(p.Spec.Containers), len(p.Status.Containers))
}

func (p *pod) restarts() int {
	n := 0
	for _, c := range slices.Concat(p.Status.Containers, p.Status.Init) {
		n += c.Restarts
	}
	return n
}

// healthy reports whether nothing is wrong with a pod.
func (p *pod) healthy() bool {
	n, all := p.ready()
	return p.Status.Phase == "Succeeded" || p.Status.Phase == "Running" && n == all && p.state() == "Running"
}

// last says how the container that restarted most ended the last time.
func (p *pod) last() string {
	worst := containerStatus{}
	for _, c := range slices.Concat(p.Status.Containers, p.Status.Init) {
		if c.Last.Terminated != nil && c.Restarts >= worst.Restarts {
			worst = c
		}
	}
	if worst.Last.Terminated == nil {
		return ""
	}
	return fmt.Sprintf("%s exit %d at %s", worst.Last.Terminated.Reason, worst.Last.Terminated.ExitCode, stamp(worst.Last.Terminated.Finished))
}

type podsInput struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace; left out: the default one"`
	All       bool   `json:"all_namespaces,omitempty" jsonschema:"look into all namespaces"`
	Selector  string `json:"label_selector,omitempty" jsonschema:"only pods with these labels, such as app=web or tier in (a,b)"`
	Status    string `json:"status,omitempty" jsonschema:"all, or problems: only pods that are not ready, wait, fail or end"`
	Node      string `json:"node,omitempty" jsonschema:"only pods on this node"`
}

type podRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     string `json:"ready"`
	Status    string `json:"status"`
	Restarts  int    `json:"restarts"`
	LastEnd   string `json:"last_end,omitempty"`
	Created   string `json:"created,omitempty"`
	Node      string `json:"node,omitempty"`
	IP        string `json:"ip,omitempty"`
}

type podsOutput struct {
	Total    int      `json:"total" jsonschema:"how many pods matched"`
	Problems int      `json:"problems" jsonschema:"how many of them are not well"`
	Complete bool     `json:"complete" jsonschema:"false where there are more pods than were read"`
	Pods     []podRow `json:"pods" jsonschema:"the pods shown, at most 50; those that are not well first"`
}

func (s *server) addPods(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_list_pods", Title: "Pods",
		Description: "Lists pods with status, ready containers, restarts, how the last one ended, age and node, at most 50: those that are not well first. Answers what runs, and what crashes or waits. Call k8s_describe or k8s_pod_logs with a name from here next.",
		Defaults:    map[string]any{"status": "all"}, Choices: map[string][]any{"status": {"all", "problems"}},
	}, s.pods)
}

func (s *server) pods(ctx context.Context, c *kube.Client, in podsInput) (string, podsOutput, error) {
	ns, err := s.namespace(c, in.Namespace, in.All)
	if err != nil {
		return "", podsOutput{}, err
	}
	query := url.Values{}
	if in.Selector != "" {
		query.Set("labelSelector", in.Selector)
	}
	if in.Node != "" {
		if !kube.ValidName(in.Node) {
			return "", podsOutput{}, fmt.Errorf("node: %q is no name of a node", answer.Line(in.Node, 60))
		}
		query.Set("fieldSelector", "spec.nodeName="+in.Node)
	}
	list, complete, err := items[pod](ctx, c, corePath(ns, "pods"), query)
	if err != nil {
		return "", podsOutput{}, err
	}
	out := podsOutput{Complete: complete, Pods: []podRow{}}
	for _, p := range list {
		if !p.healthy() {
			out.Problems++
		}
	}
	if in.Status == "problems" {
		list = slices.DeleteFunc(list, func(p pod) bool { return p.healthy() })
	}
	out.Total = len(list)
	slices.SortStableFunc(list, func(a, b pod) int {
		if a.healthy() != b.healthy() {
			return map[bool]int{true: 1, false: -1}[a.healthy()]
		}
		return b.restarts() - a.restarts()
	})
	p := answer.NewPage(podsChars)
	p.Line("## Pods in %s: %d, of which %d not well\n", scope(ns), out.Total, out.Problems)
	if !complete {
		p.Line("There are more than %d pods; only these were looked at. Narrow them down with namespace or label_selector.\n", maxObjects)
	}
	if len(list) == 0 {
		p.Line("None. k8s_list with kind namespaces says which namespaces there are.")
		return p.String(), out, nil
	}
	p.Line("| namespace | pod | ready | status | restarts | last end | age | node |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
	now := s.now()
	shown := p.Rows(min(len(list), podRows), func(i int) string {
		r := list[i].row()
		return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %s | %s |", answer.Cell(r.Namespace, 40), answer.Cell(r.Name, 80), r.Ready, answer.Cell(r.Status, 40), r.Restarts, answer.Cell(r.LastEnd, 60), age(now, list[i].Metadata.Created), answer.Cell(r.Node, 40))
	})
	for i := range shown {
		out.Pods = append(out.Pods, list[i].row())
	}
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%d more are left out. Narrow them down with namespace, label_selector or status=problems.", rest)
	}
	return p.String(), out, nil
}

func (p *pod) row() podRow {
	n, all := p.ready()
	return podRow{
		answer.Line(p.Metadata.Namespace, 100), answer.Line(p.Metadata.Name, 260), fmt.Sprintf("%d/%d", n, all), answer.Line(p.state(), 80), p.restarts(),
		answer.Line(p.last(), 100), stamp(p.Metadata.Created), answer.Line(p.Spec.Node, 100), answer.Line(p.Status.PodIP, 50),
	}
}

// corePath returns where objects of the core are.
func corePath(namespace, plural string) string {
	return kube.Resource{Version: "v1", Plural: plural, Namespaced: true}.Path(namespace, "")
}

func scope(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return "namespace " + namespace
}

// items reads a list in chunks, and says whether that is all there is.
func items[T any](ctx context.Context, c *kube.Client, path string, query url.Values) ([]T, bool, error) {
	var all []T
	for {
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []T `json:"items"`
		}
		query.Set("limit", strconv.Itoa(chunk))
		if err := c.Get(ctx, path, query, &list); err != nil {
			return nil, false, err
		}
		all = append(all, list.Items...)
		if list.Metadata.Continue == "" {
			return all, true, nil
		}
		if len(all) >= maxObjects {
			return all, false, nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}
