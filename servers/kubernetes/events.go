package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/servers/kubernetes/kube"
)

const (
	eventsChars = 8000
	eventRows   = 100
)

type event struct {
	Metadata metadata `json:"metadata"`
	Involved struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		FieldPath string `json:"fieldPath"`
	} `json:"involvedObject"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int       `json:"count"`
	First   time.Time `json:"firstTimestamp"`
	Last    time.Time `json:"lastTimestamp"`
	Time    time.Time `json:"eventTime"`
	Series  *struct {
		Count int       `json:"count"`
		Last  time.Time `json:"lastObservedTime"`
	} `json:"series"`
}

// when returns when an event happened last.
func (e *event) when() time.Time {
	for _, t := range []time.Time{e.seriesTime(), e.Last, e.Time, e.Metadata.Created} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

func (e *event) seriesTime() time.Time {
	if e.Series != nil {
		return e.Series.Last
	}
	return time.Time{}
}

func (e *event) times() int {
	if e.Series != nil {
		return max(e.Series.Count, e.Count)
	}
	return max(e.Count, 1)
}

type eventsInput struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace; left out: the default one"`
	All       bool   `json:"all_namespaces,omitempty" jsonschema:"look into all namespaces"`
	Name      string `json:"name,omitempty" jsonschema:"only events about the object of this name"`
	Kind      string `json:"kind,omitempty" jsonschema:"only events about objects of this kind, such as Pod"`
	Type      string `json:"type,omitempty" jsonschema:"all, Normal or Warning"`
	Since     int    `json:"since_minutes,omitempty" jsonschema:"only events of the last minutes; 0 is all that the cluster still has, mostly one hour"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many to show, 1 to 100, the newest"`
}

type eventRow struct {
	Time    string `json:"time"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Object  string `json:"object"`
	Count   int    `json:"count"`
	Message string `json:"message"`
}

type eventsOutput struct {
	Total    int        `json:"total" jsonschema:"how many events matched"`
	Complete bool       `json:"complete" jsonschema:"false where there are more events than were read"`
	Events   []eventRow `json:"events" jsonschema:"the events shown, newest first"`
}

func (s *server) addEvents(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "k8s_events", Title: "Events",
		Description: "Returns what the cluster reports on its objects, newest first: scheduling, pulling of images, failed probes, evictions, restarts. Answers why something does not start. Filter by type Warning, by object, or by time.",
		Defaults:    map[string]any{"type": "all", "limit": 30}, Choices: map[string][]any{"type": {"all", "Normal", "Warning"}},
	}, s.events)
}

func (s *server) events(ctx context.Context, c *kube.Client, in eventsInput) (string, eventsOutput, error) {
	ns, err := s.namespace(c, in.Namespace, in.All)
	if err != nil {
		return "", eventsOutput{}, err
	}
	list, complete, err := s.eventsOf(ctx, c, ns, in)
	if err != nil {
		return "", eventsOutput{}, err
	}
	out := eventsOutput{Total: len(list), Complete: complete, Events: []eventRow{}}
	p := answer.NewPage(eventsChars)
	p.Line("## Events in %s: %d\n", scope(ns), len(list))
	if !complete {
		p.Line("There are more than %d events; only these were looked at. Narrow them down with namespace, kind or type.\n", maxObjects)
	}
	if len(list) == 0 {
		p.Line("None. Clusters forget events, mostly after an hour.")
		return p.String(), out, nil
	}
	shown := eventTable(p, s.now(), list, clamp(in.Limit, 1, eventRows))
	for i := range shown {
		out.Events = append(out.Events, list[i].row())
	}
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%d older ones are left out. Narrow them down with name, type or since_minutes.", rest)
	}
	return p.String(), out, nil
}

// eventsOf returns the events that a call means, newest first.
func (s *server) eventsOf(ctx context.Context, c *kube.Client, ns string, in eventsInput) ([]event, bool, error) {
	var selectors []string
	for _, f := range [][2]string{{"involvedObject.name", in.Name}, {"involvedObject.kind", in.Kind}, {"type", in.Type}} {
		if f[1] == "" || f[0] == "type" && f[1] == "all" {
			continue
		}
		if !kube.ValidName(f[1]) {
			return nil, false, fmt.Errorf("%q is no name", answer.Line(f[1], 60))
		}
		selectors = append(selectors, f[0]+"="+f[1])
	}
	query := url.Values{}
	if selectors != nil {
		query.Set("fieldSelector", strings.Join(selectors, ","))
	}
	list, complete, err := items[event](ctx, c, corePath(ns, "events"), query)
	if err != nil {
		return nil, false, err
	}
	if in.Since > 0 {
		from := s.now().Add(-time.Duration(min(in.Since, 60*24*365)) * time.Minute)
		list = slices.DeleteFunc(list, func(e event) bool { return e.when().Before(from) })
	}
	slices.SortStableFunc(list, func(a, b event) int { return b.when().Compare(a.when()) })
	return list, complete, nil
}

// eventTable writes events, and returns how many fit.
func eventTable(p *answer.Page, now time.Time, list []event, limit int) int {
	p.Line("| age | type | reason | object | count | message |\n| --- | --- | --- | --- | --- | --- |")
	return p.Rows(min(len(list), limit), func(i int) string {
		r := list[i].row()
		return fmt.Sprintf("| %s | %s | %s | %s | %d | %s |", age(now, list[i].when()), answer.Cell(r.Type, 20), answer.Cell(r.Reason, 40), answer.Cell(r.Object, 120), r.Count, answer.Cell(r.Message, 300))
	})
}

func (e *event) row() eventRow {
	object := e.Involved.Kind + "/" + e.Involved.Name
	return eventRow{stamp(e.when()), answer.Line(e.Type, 20), answer.Line(e.Reason, 80), answer.Line(object, 300), e.times(), told(e.Message, 600)}
}
