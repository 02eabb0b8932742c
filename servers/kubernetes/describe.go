package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const describeChars = 12000

type describeInput struct {
	Kind      string `json:"kind" jsonschema:"kind of the object, such as pod, deployment or node"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace; left out: the default one"`
}

type containerRow struct {
	Name     string            `json:"name"`
	Image    string            `json:"image"`
	Init     bool              `json:"init,omitempty"`
	Ready    bool              `json:"ready,omitempty"`
	State    string            `json:"state,omitempty"`
	Message  string            `json:"message,omitempty"`
	Last     string            `json:"last_end,omitempty"`
	Restarts int               `json:"restarts"`
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
	Env      []string          `json:"env,omitempty"`
}

type conditionRow struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   string `json:"since,omitempty"`
}

type describeOutput struct {
	Kind       string            `json:"kind" jsonschema:"kind of the object"`
	Name       string            `json:"name" jsonschema:"its name"`
	Namespace  string            `json:"namespace,omitempty" jsonschema:"its namespace"`
	Status     string            `json:"status,omitempty" jsonschema:"of a pod, what kubectl shows as its status"`
	Created    string            `json:"created,omitempty" jsonschema:"when it was made"`
	Labels     map[string]string `json:"labels,omitempty" jsonschema:"its labels"`
	Owners     []string          `json:"owners,omitempty" jsonschema:"what it belongs to, as kind/name"`
	Conditions []conditionRow    `json:"conditions,omitempty" jsonschema:"its conditions"`
	Containers []containerRow    `json:"containers,omitempty" jsonschema:"its containers, or those of its template; of environment variables the names alone"`
	Events     []eventRow        `json:"events" jsonschema:"the newest events about it, at most 10"`
}

func (s *server) addDescribe(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_describe", Title: "What an object is and does",
		Description: "Describes one object of any kind: owners, labels, conditions, containers with state, last end, limits and names of environment variables, the rest of spec and status, and the newest events about it. Answers why it is not well. Secrets are masked.",
	}, s.describe)
}

func (s *server) describe(ctx context.Context, c *kube.Client, in describeInput) (string, describeOutput, error) {
	r, ns, o, err := s.object(ctx, c, in.Kind, in.Namespace, in.Name)
	if err != nil {
		return "", describeOutput{}, err
	}
	o = safe(o)
	out := describeOutput{Kind: r.Kind, Name: in.Name, Namespace: ns, Events: []eventRow{}}
	p := answer.NewPage(describeChars)
	p.Line("## %s %s\n", r.Kind, strings.TrimPrefix(ns+"/"+in.Name, "/"))
	head(p, s.now(), o, &out)
	conditions(p, o, &out)
	containers(p, o, &out)
	where := ns
	if where == "" {
		where = "default" // events about what has no namespace are there
	}
	events, _, err := s.eventsOf(ctx, c, where, eventsInput{Name: in.Name, Kind: r.Kind})
	switch {
	case err != nil:
		p.Line("\n### Events\n\nThey cannot be read: %s", answer.Line(err.Error(), 300))
	case len(events) > 0:
		p.Line("\n### Events\n")
		shown := eventTable(p, s.now(), events, 10)
		for i := range shown {
			out.Events = append(out.Events, events[i].row())
		}
	default:
		p.Line("\n### Events\n\nNone.")
	}
	rest(p, r, o)
	return p.String(), out, nil
}

// head writes what every object has.
func head(p *answer.Page, now time.Time, o object, out *describeOutput) {
	var whole pod
	b, err := json.Marshal(o)
	if err != nil || json.Unmarshal(b, &whole) != nil {
		whole = pod{}
	}
	out.Created = stamp(whole.Metadata.Created)
	if out.Kind == "Pod" {
		n, all := whole.ready()
		out.Status = answer.Line(whole.state(), 100)
		p.Line("- status: %s, ready %d/%d, restarts %d", out.Status, n, all, whole.restarts())
		p.Line("- node: %s, ip: %s", answer.Cell(whole.Spec.Node, 100), answer.Cell(whole.Status.PodIP, 60))
		if whole.Status.Message != "" {
			p.Line("- message: %s", told(whole.Status.Message, 400))
		}
	}
	p.Line("- created: %s (%s ago)", out.Created, age(now, whole.Metadata.Created))
	if whole.Metadata.Deleted != nil {
		p.Line("- being deleted since %s", stamp(*whole.Metadata.Deleted))
	}
	owners, _ := o.at("metadata", "ownerReferences").([]any)
	for _, e := range owners[:min(len(owners), 10)] {
		ref, _ := e.(map[string]any)
		out.Owners = append(out.Owners, answer.Line(text(ref["kind"])+"/"+text(ref["name"]), 300))
	}
	if out.Owners != nil {
		p.Line("- belongs to: %s", strings.Join(out.Owners, ", "))
	}
	var list []string
	for i, k := range slices.Sorted(maps.Keys(whole.Metadata.Labels)) {
		if i == 0 {
			out.Labels = map[string]string{}
		}
		if i < 40 {
			out.Labels[answer.Line(k, 320)] = answer.Line(whole.Metadata.Labels[k], 70)
			list = append(list, answer.Line(k, 100)+"="+answer.Line(whole.Metadata.Labels[k], 70))
		}
	}
	if list != nil {
		p.Line("- labels: %s", answer.Cell(strings.Join(list, ", "), 800))
	}
}

func conditions(p *answer.Page, o object, out *describeOutput) {
	var list []condition
	b, err := json.Marshal(o.at("status", "conditions"))
	if err != nil || json.Unmarshal(b, &list) != nil || len(list) == 0 {
		return
	}
	p.Line("\n### Conditions\n\n| type | status | reason | message | since |\n| --- | --- | --- | --- | --- |")
	shown := p.Rows(min(len(list), 30), func(i int) string {
		c := list[i]
		return fmt.Sprintf("| %s | %s | %s | %s | %s |", answer.Cell(c.Type, 60), answer.Cell(c.Status, 20), answer.Cell(c.Reason, 60), answer.Cell(c.Message, 200), stamp(c.Since))
	})
	for _, c := range list[:shown] {
		out.Conditions = append(out.Conditions, conditionRow{answer.Line(c.Type, 100), answer.Line(c.Status, 20), answer.Line(c.Reason, 100), answer.Line(c.Message, 400), stamp(c.Since)})
	}
}

// A container is the part of its specification that is shown.
type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	Env   []struct {
		Name string `json:"name"`
	} `json:"env"`
	Resources struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	} `json:"resources"`
}

// containers writes those of a pod, with their state, or those of a template.
func containers(p *answer.Page, o object, out *describeOutput) {
	var spec struct {
		Containers []container `json:"containers"`
		Init       []container `json:"initContainers"`
	}
	from := o.at("spec")
	for _, path := range [][]string{{"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}} {
		if v := o.at(path...); v != nil {
			from = v
		}
	}
	b, err := json.Marshal(from)
	if err != nil || json.Unmarshal(b, &spec) != nil || len(spec.Containers) == 0 {
		return
	}
	var status pod
	if b, err := json.Marshal(map[string]any{"status": o.at("status")}); err != nil || json.Unmarshal(b, &status) != nil {
		status = pod{}
	}
	states := map[string]containerStatus{}
	for _, c := range slices.Concat(status.Status.Init, status.Status.Containers) {
		states[c.Name] = c
	}
	p.Line("\n### Containers")
	for i, c := range slices.Concat(spec.Init, spec.Containers) {
		if i == 20 {
			p.Line("\nMore containers are left out.")
			break
		}
		row := c.row(states[c.Name], i < len(spec.Init))
		out.Containers = append(out.Containers, row)
		p.Row(row.String())
	}
}

func (c container) row(st containerStatus, init bool) containerRow {
	row := containerRow{
		Name: answer.Line(c.Name, 100), Image: answer.Line(c.Image, 300), Init: init, Ready: st.Ready, State: answer.Line(st.State.String(), 100), Restarts: st.Restarts,
		Requests: c.Resources.Requests, Limits: c.Resources.Limits,
	}
	switch {
	case st.State.Waiting != nil:
		row.Message = told(st.State.Waiting.Message, 400)
	case st.State.Terminated != nil:
		row.Message = told(st.State.Terminated.Message, 400)
	}
	if t := st.Last.Terminated; t != nil {
		row.Last = answer.Line(fmt.Sprintf("%s (exit code %d) at %s", t.Reason, t.ExitCode, stamp(t.Finished)), 120)
		if t.Message != "" {
			row.Last += ": " + told(t.Message, 300)
		}
	}
	for _, e := range c.Env[:min(len(c.Env), 50)] {
		row.Env = append(row.Env, answer.Line(e.Name, 100))
	}
	return row
}

// String returns the container for reading.
func (c containerRow) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n**%s**%s: %s", answer.Cell(c.Name, 100), map[bool]string{true: " (init)"}[c.Init], answer.Cell(c.Image, 300))
	if c.State != "" {
		fmt.Fprintf(&b, "\n- state: %s, ready %v, restarts %d", c.State, c.Ready, c.Restarts)
	}
	for _, f := range [][2]string{{"message", c.Message}, {"last end", c.Last}, {"requests", pairs(c.Requests)}, {"limits", pairs(c.Limits)}, {"environment", strings.Join(c.Env, ", ")}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "\n- %s: %s", f[0], answer.Cell(f[1], 600))
		}
	}
	return b.String()
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+" "+m[k])
	}
	return strings.Join(list, ", ")
}

// rest writes what of spec and status was not said already.
func rest(p *answer.Page, r kube.Resource, o object) {
	rest := map[string]any{}
	for k, v := range o {
		if k != "metadata" && k != "kind" && k != "apiVersion" {
			rest[k] = v
		}
	}
	if status, ok := rest["status"].(map[string]any); ok {
		status = maps.Clone(status)
		for _, k := range []string{"conditions", "containerStatuses", "initContainerStatuses"} {
			delete(status, k)
		}
		rest["status"] = status
	}
	if spec, ok := rest["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		for _, k := range []string{"containers", "initContainers", "template", "jobTemplate"} {
			delete(spec, k)
		}
		rest["spec"] = spec
	}
	p.Line("\n### Rest\n")
	body := answer.NewPage(describeChars)
	whole := yaml(rest, "", body.Row)
	if !fenced(p, "yaml", body.String()) || !whole {
		p.Line("\nThe rest is left out; k8s_get with a path shows it.")
	} else if o.at("spec", "template") != nil || r.Kind == "Pod" {
		p.Line("\nk8s_get with a path shows the containers in full.")
	}
}
