package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/spelling"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const (
	listChars = 8000
	getChars  = 12000
	listRows  = 200
	maxShown  = 40 << 10 // bytes of an object that goes along as data
)

type listInput struct {
	Kind      string `json:"kind" jsonschema:"kind of objects: plural, singular or short name, such as deployments, svc, nodes or certificates.cert-manager.io"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace; left out: the default one. Without meaning for kinds that have none"`
	All       bool   `json:"all_namespaces,omitempty" jsonschema:"look into all namespaces"`
	Selector  string `json:"label_selector,omitempty" jsonschema:"only objects with these labels, such as app=web"`
	Field     string `json:"field_selector,omitempty" jsonschema:"only objects with these fields, such as status.phase=Pending"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many to read, 1 to 200"`
	Continue  string `json:"continue,omitempty" jsonschema:"what the call before returned as continue, for the next ones"`
}

type listOutput struct {
	Kind      string     `json:"kind" jsonschema:"kind of the objects"`
	Columns   []string   `json:"columns" jsonschema:"names of the columns, as the cluster gives them for this kind"`
	Rows      [][]string `json:"rows" jsonschema:"the objects, a list of texts for each"`
	Remaining int64      `json:"remaining" jsonschema:"how many more objects there are after these, as far as the cluster says"`
	Continue  string     `json:"continue,omitempty" jsonschema:"give this back for the next objects; empty where these are the last"`
}

// A table is an answer in columns, or, of servers that do not know tables, objects.
type table struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue  string `json:"continue"`
		Remaining int64  `json:"remainingItemCount"`
	} `json:"metadata"`
	Columns []struct {
		Name     string `json:"name"`
		Priority int    `json:"priority"`
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells  []any `json:"cells"`
		Object struct {
			Metadata metadata `json:"metadata"`
		} `json:"object"`
	} `json:"rows"`
	Items []struct {
		Metadata metadata `json:"metadata"`
	} `json:"items"`
}

func (s *server) addList(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_list", Title: "Objects of a kind",
		Description: "Lists objects of any kind that the cluster has, also custom ones, in the columns that kubectl shows, 50 by default. Narrow it down with namespace and selectors; continue gives the next ones. Contents of Secrets are never shown.",
		Defaults:    map[string]any{"limit": 50},
	}, s.list)
	add(s, srv, spec{
		Name: "k8s_get", Title: "One object",
		Description: "Returns one object of any kind as YAML, or the part of it at a path such as spec.template. Contents of Secrets, values of environment variables and what looks like a secret are masked, and managed fields left out. k8s_describe is shorter, and has the events too.",
	}, s.get)
}

// resource returns the kind that a call means, and the namespace.
func (a *access) resource(ctx context.Context, c *kube.Client, kind, namespace string, all bool) (kube.Resource, string, error) {
	r, err := c.Find(ctx, kind)
	if err != nil {
		return r, "", err
	}
	if !r.Namespaced {
		if len(a.o.Namespaces) > 0 {
			return r, "", typed.Refuse("%s belong to no namespace, and only these may be seen here: %s", r.Name(), strings.Join(a.o.Namespaces, ", "))
		}
		return r, "", nil
	}
	ns, err := a.namespace(c, namespace, all)
	return r, ns, err
}

func checkName(name string) error {
	if !kube.ValidName(name) {
		return fmt.Errorf("%q is no name of an object", answer.Line(name, 60))
	}
	return nil
}

func (s *server) list(ctx context.Context, c *kube.Client, in listInput) (string, listOutput, error) {
	r, ns, err := s.resource(ctx, c, in.Kind, in.Namespace, in.All)
	if err != nil {
		return "", listOutput{}, err
	}
	if !r.Can("list") {
		return "", listOutput{}, fmt.Errorf("%s cannot be listed", r.Name())
	}
	query := url.Values{"limit": {strconv.Itoa(clamp(in.Limit, 1, listRows))}}
	for k, v := range map[string]string{"labelSelector": in.Selector, "fieldSelector": in.Field, "continue": in.Continue} {
		if v != "" {
			query.Set(k, v)
		}
	}
	var t table
	if err := c.GetAs(ctx, kube.Table, r.Path(ns, ""), query, &t); err != nil {
		return "", listOutput{}, err
	}
	out := tabular(r, t, r.Namespaced && ns == "")
	out.Remaining, out.Continue = t.Metadata.Remaining, answer.Line(t.Metadata.Continue, 2000)
	p := answer.NewPage(listChars)
	where := ""
	if r.Namespaced {
		where = " in " + scope(ns)
	}
	p.Line("## %s%s: %d%s\n", r.Name(), where, len(out.Rows), map[bool]string{true: ", and more"}[out.Continue != ""])
	if len(out.Rows) == 0 {
		p.Line("None.")
		return p.String(), out, nil
	}
	p.Line("| %s |\n|%s", strings.Join(cells(out.Columns, 60), " | "), strings.Repeat(" --- |", len(out.Columns)))
	shown := p.Rows(len(out.Rows), func(i int) string { return "| " + strings.Join(cells(out.Rows[i], 100), " | ") + " |" })
	if rest := len(out.Rows) - shown; rest > 0 {
		out.Rows = out.Rows[:shown]
		p.Line("\n%d more do not fit. Narrow them down with selectors, or ask with a limit of %d and continue.", rest, max(shown, 1))
		out.Continue = ""
		return p.String(), out, nil
	}
	if out.Continue != "" {
		p.Line("\nThere are more: call again with continue: %s", out.Continue)
	}
	return p.String(), out, nil
}

func cells(list []string, limit int) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, answer.Cell(s, limit))
	}
	return out
}

// tabular returns the columns and rows of a list.
func tabular(r kube.Resource, t table, spaces bool) listOutput {
	out := listOutput{Kind: r.Kind, Columns: []string{}, Rows: [][]string{}}
	if spaces {
		out.Columns = append(out.Columns, "Namespace")
	}
	if t.Kind != "Table" {
		out.Columns = append(out.Columns, "Name", "Created At")
		for _, i := range t.Items {
			row := []string{answer.Line(i.Metadata.Name, 260), stamp(i.Metadata.Created)}
			if spaces {
				row = append([]string{answer.Line(i.Metadata.Namespace, 100)}, row...)
			}
			out.Rows = append(out.Rows, row)
		}
		return out
	}
	for _, c := range t.Columns {
		if c.Priority == 0 {
			out.Columns = append(out.Columns, answer.Line(c.Name, 60))
		}
	}
	for _, row := range t.Rows {
		var line []string
		if spaces {
			line = append(line, answer.Line(row.Object.Metadata.Namespace, 100))
		}
		for i, c := range t.Columns {
			if c.Priority == 0 && i < len(row.Cells) {
				line = append(line, told(show(row.Cells[i]), 300))
			}
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

type getInput struct {
	Kind      string `json:"kind" jsonschema:"kind of the object, such as deployment or certificate.cert-manager.io"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace; left out: the default one"`
	Path      string `json:"path,omitempty" jsonschema:"only the part at this path, such as spec.template.spec or status.conditions"`
}

type getOutput struct {
	Kind      string `json:"kind" jsonschema:"kind of the object"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace"`
	Truncated bool   `json:"truncated" jsonschema:"whether the text does not show all of it"`
	Value     any    `json:"value,omitempty" jsonschema:"the object, or the part at the path, masked; left out where it is large"`
}

func (s *server) get(ctx context.Context, c *kube.Client, in getInput) (string, getOutput, error) {
	r, ns, o, err := s.object(ctx, c, in.Kind, in.Namespace, in.Name)
	if err != nil {
		return "", getOutput{}, err
	}
	var v any = map[string]any(safe(o))
	if in.Path != "" {
		if v, err = part(v, in.Path); err != nil {
			return "", getOutput{}, err
		}
	}
	out := getOutput{Kind: r.Kind, Name: in.Name, Namespace: ns}
	p := answer.NewPage(getChars)
	p.Line("## %s %s\n", r.Kind, strings.TrimPrefix(ns+"/"+in.Name, "/"))
	body := answer.NewPage(getChars)
	whole := write(body, v)
	out.Truncated = !fenced(p, "yaml", body.String()) || !whole
	if out.Truncated {
		p.Line("\nThe rest is left out. Ask for a part with path, such as spec or status.conditions.")
	}
	if b, err := json.Marshal(v); err == nil && len(b) <= maxShown {
		out.Value = v
	}
	return p.String(), out, nil
}

// part returns what is at a path of a value. A key may hold dots itself.
func part(v any, path string) (any, error) {
	steps := strings.Split(strings.Trim(strings.NewReplacer("[", ".", "]", "").Replace(path), "."), ".")
	for len(steps) > 0 {
		k, used := steps[0], 1
		switch c := v.(type) {
		case map[string]any:
			for n := min(len(steps), 10); n > 1; n-- {
				if joined := strings.Join(steps[:n], "."); c[joined] != nil {
					k, used = joined, n
					break
				}
			}
			next, ok := c[k]
			if !ok {
				return nil, fmt.Errorf("there is no %q on the path. There are: %s", answer.Line(k, 60), keys(c))
			}
			v = next
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(c) {
				return nil, fmt.Errorf("%q on the path must be a number below %d", answer.Line(k, 60), len(c))
			}
			v = c[i]
		default:
			return nil, fmt.Errorf("there is nothing below %q on the path", answer.Line(k, 60))
		}
		steps = steps[used:]
	}
	return v, nil
}

// write writes a value as YAML, or a text of several lines as it is, and reports
// whether all of it found room.
func write(p *answer.Page, v any) bool {
	s, ok := v.(string)
	if !ok || !strings.Contains(s, "\n") {
		return yaml(v, "", p.Row)
	}
	for line := range strings.SplitSeq(s, "\n") {
		if !p.Row(answer.Line(line, 500)) {
			return false
		}
	}
	return true
}

// object reads one object.
func (a *access) object(ctx context.Context, c *kube.Client, kind, namespace, name string) (kube.Resource, string, object, error) {
	r, ns, err := a.resource(ctx, c, kind, namespace, false)
	if err != nil {
		return r, "", nil, err
	}
	if err := checkName(name); err != nil {
		return r, "", nil, err
	}
	var o object
	if err := c.Get(ctx, r.Path(ns, name), nil, &o); err != nil {
		return r, "", nil, a.missing(ctx, c, r, ns, name, err)
	}
	if o["kind"] == nil {
		o["kind"] = r.Kind
	}
	return r, ns, o, nil
}

// missing adds to the error for an object that is not there where one of that name
// is, or which names there are.
func (a *access) missing(ctx context.Context, c *kube.Client, r kube.Resource, ns, name string, err error) error {
	e, ok := errors.AsType[*kube.Error](err)
	if !ok || e.Code != http.StatusNotFound {
		return err
	}
	if r.Namespaced && len(a.o.Namespaces) == 0 {
		if found := c.Where(ctx, r, name); len(found) > 0 {
			return errors.New(e.Text + ". One of that name is in namespace " + answer.Line(strings.Join(found, ", "), 400))
		}
	}
	var list table
	if c.GetAs(ctx, kube.Names, r.Path(ns, ""), url.Values{"limit": {"500"}}, &list) != nil {
		return err
	}
	var names []string
	for _, i := range list.Items {
		names = append(names, i.Metadata.Name)
	}
	if near := spelling.Nearest(name, names, 5); len(near) > 0 {
		return errors.New(e.Text + ". Nearest names there: " + answer.Line(strings.Join(near, ", "), 600))
	}
	return errors.New(e.Text + ". k8s_list shows what is there")
}

// keys returns the names of what is in a map, on one line.
func keys(m map[string]any) string {
	return answer.Line(strings.Join(slices.Sorted(maps.Keys(m)), ", "), 400)
}
