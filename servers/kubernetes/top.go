package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const (
	topChars = 6000
	topRows  = 50
)

type topInput struct {
	What      string `json:"what,omitempty" jsonschema:"pods or nodes"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the pods; left out: the default one"`
	All       bool   `json:"all_namespaces,omitempty" jsonschema:"pods of all namespaces"`
	Selector  string `json:"label_selector,omitempty" jsonschema:"only pods or nodes with these labels"`
	Sort      string `json:"sort,omitempty" jsonschema:"by what the highest come first: cpu or memory"`
}

type topRow struct {
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	MilliCPU   int64  `json:"cpu_millicores"`
	Memory     int64  `json:"memory_bytes"`
	CPUPart    string `json:"cpu_percent,omitempty"`
	MemoryPart string `json:"memory_percent,omitempty"`
}

type topOutput struct {
	Total int      `json:"total" jsonschema:"how many there are"`
	Rows  []topRow `json:"rows" jsonschema:"use of processor and memory, highest first, at most 50; of nodes also in percent of what pods may use"`
}

type usage struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

type measured struct {
	Metadata   metadata `json:"metadata"`
	Usage      usage    `json:"usage"`
	Containers []struct {
		Usage usage `json:"usage"`
	} `json:"containers"`
}

func (s *server) addTop(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_top", Title: "Use of resources",
		Description: "Returns how much processor and memory pods or nodes use now, highest first, at most 50. Needs the metrics server in the cluster. Answers what uses a node up.",
		Defaults:    map[string]any{"what": "pods", "sort": "cpu"}, Choices: map[string][]any{"what": {"pods", "nodes"}, "sort": {"cpu", "memory"}},
	}, s.top)
}

func (s *server) top(ctx context.Context, c *kube.Client, in topInput) (string, topOutput, error) {
	r := kube.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Plural: in.What, Namespaced: in.What == "pods"}
	ns := ""
	var err error
	if r.Namespaced {
		ns, err = s.namespace(c, in.Namespace, in.All)
	} else if len(s.o.Namespaces) > 0 {
		err = typed.Refuse("nodes belong to no namespace, and only these may be seen here: %s", strings.Join(s.o.Namespaces, ", "))
	}
	if err != nil {
		return "", topOutput{}, err
	}
	query := url.Values{}
	if in.Selector != "" {
		query.Set("labelSelector", in.Selector)
	}
	list, _, err := items[measured](ctx, c, r.Path(ns, ""), query)
	if e, ok := errors.AsType[*kube.Error](err); ok && (e.Code == http.StatusNotFound || e.Code == http.StatusServiceUnavailable) {
		return "", topOutput{}, fmt.Errorf("the cluster does not measure this: its metrics server (metrics.k8s.io) is missing or away (HTTP %d). k8s_describe shows requests and limits", e.Code)
	}
	if err != nil {
		return "", topOutput{}, err
	}
	room := map[string]usage{}
	if in.What == "nodes" {
		room = allocatable(ctx, c)
	}
	rows := make([]topRow, 0, len(list))
	for _, m := range list {
		rows = append(rows, m.row(room[m.Metadata.Name]))
	}
	slices.SortStableFunc(rows, func(a, b topRow) int {
		if in.Sort == "memory" {
			return cmp.Compare(b.Memory, a.Memory)
		}
		return cmp.Compare(b.MilliCPU, a.MilliCPU)
	})
	out := topOutput{Total: len(rows), Rows: []topRow{}}
	p := answer.NewPage(topChars)
	where := ""
	if r.Namespaced {
		where = " in " + scope(ns)
	}
	p.Line("## Use of resources: %d %s%s\n", len(rows), in.What, where)
	if len(rows) == 0 {
		p.Line("None.")
		return p.String(), out, nil
	}
	p.Line("| namespace | name | cpu | memory |\n| --- | --- | --- | --- |")
	shown := p.Rows(min(len(rows), topRows), func(i int) string {
		t := rows[i]
		return fmt.Sprintf("| %s | %s | %dm%s | %.1f MiB%s |", answer.Cell(t.Namespace, 60), answer.Cell(t.Name, 120), t.MilliCPU, inBrackets(t.CPUPart), float64(t.Memory)/(1<<20), inBrackets(t.MemoryPart))
	})
	out.Rows = append(out.Rows, rows[:shown]...)
	if rest := len(rows) - shown; rest > 0 {
		p.Line("\n%d more, which use less, are left out.", rest)
	}
	return p.String(), out, nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (m measured) row(room usage) topRow {
	row := topRow{Namespace: answer.Line(m.Metadata.Namespace, 100), Name: answer.Line(m.Metadata.Name, 260)}
	all := []usage{m.Usage}
	for _, c := range m.Containers {
		all = append(all, c.Usage)
	}
	cpu := 0.0
	for _, u := range all {
		cpu += quantity(u.CPU)
		row.Memory += int64(quantity(u.Memory))
	}
	row.MilliCPU = int64(cpu*1000 + 0.5)
	if n := quantity(room.CPU); n > 0 {
		row.CPUPart = fmt.Sprintf("%.0f%%", 100*cpu/n)
	}
	if n := quantity(room.Memory); n > 0 {
		row.MemoryPart = fmt.Sprintf("%.0f%%", 100*float64(row.Memory)/n)
	}
	return row
}

// allocatable returns what pods may use of each node; without it there are no percents.
func allocatable(ctx context.Context, c *kube.Client) map[string]usage {
	type node struct {
		Metadata metadata `json:"metadata"`
		Status   struct {
			Allocatable usage `json:"allocatable"`
		} `json:"status"`
	}
	list, _, err := items[node](ctx, c, "/api/v1/nodes", url.Values{})
	if err != nil {
		return nil
	}
	out := make(map[string]usage, len(list))
	for _, n := range list {
		out[n.Metadata.Name] = n.Status.Allocatable
	}
	return out
}

// quantity reads a quantity of Kubernetes, such as 250m, 123456n, 64Mi or 1e3; 0
// where it is none.
func quantity(s string) float64 {
	s = strings.TrimSpace(s)
	factor := 1.0
	for _, u := range []struct {
		sign string
		f    float64
	}{
		{"Ki", 1 << 10},
		{"Mi", 1 << 20},
		{"Gi", 1 << 30},
		{"Ti", 1 << 40},
		{"Pi", 1 << 50},
		{"Ei", 1 << 60},
		{"n", 1e-9},
		{"u", 1e-6},
		{"m", 1e-3},
		{"k", 1e3},
		{"M", 1e6},
		{"G", 1e9},
		{"T", 1e12},
		{"P", 1e15},
		{"E", 1e18},
	} {
		if rest, ok := strings.CutSuffix(s, u.sign); ok {
			s, factor = rest, u.f
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n > 1e30 {
		return 0
	}
	return n * factor
}
