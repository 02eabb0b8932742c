package prometheus

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// Bounds on the answers.
const (
	alertsChars = 6000
	rulesChars  = 8000
	alertRows   = 50
)

type alertsInput struct {
	State string `json:"state,omitempty" jsonschema:"which alerts: firing, pending (the condition holds, but not yet for long enough), or all"`
}

// An alert is one that Prometheus holds for active.
type alert struct {
	Labels      labels    `json:"labels"`
	Annotations labels    `json:"annotations"`
	State       string    `json:"state"`
	ActiveAt    time.Time `json:"activeAt"`
	Value       string    `json:"value"`
}

type alertRow struct {
	State       string `json:"state"`
	Name        string `json:"name"`
	Severity    string `json:"severity,omitempty"`
	On          string `json:"on,omitempty"`
	ActiveAt    string `json:"active_at,omitempty"`
	Value       string `json:"value,omitempty"`
	Labels      labels `json:"labels"`
	Annotations labels `json:"annotations,omitempty"`
}

type alertsOutput struct {
	Firing  int        `json:"firing" jsonschema:"how many alerts are firing"`
	Pending int        `json:"pending" jsonschema:"how many alerts are pending, which have not fired yet"`
	Alerts  []alertRow `json:"alerts" jsonschema:"the alerts shown, firing ones first; on is the service, job or instance"`
	notes
}

func (s *server) addAlerts(srv *mcp.Server) {
	add(s, srv, spec{
		Name: "prom_active_alerts", Title: "Active alerts",
		Description: "Returns the alerts that Prometheus holds for active, at most 50: firing ones first, then pending ones, which have not fired yet, with severity, service, since when, value and summary, obvious secrets masked. Answers what is wrong now. Silences of an Alertmanager are not known here.",
		Defaults:    map[string]any{"state": "all"},
		Choices:     map[string][]any{"state": {"all", "firing", "pending"}},
	}, s.alerts)
	add(s, srv, spec{
		Name: "prom_rules", Title: "Rules",
		Description: "Returns alerting and recording rules with their expression, state and health, at most 50: alerts that fire first, and rules that fail to evaluate are marked. Answers what an alert means, or why a recorded metric is missing. Filter by a part of the name.",
		Defaults:    map[string]any{"type": "all"},
		Choices:     map[string][]any{"type": {"all", "alert", "record"}},
	}, s.rules)
}

func (s *server) alerts(ctx context.Context, in alertsInput) (reply, alertsOutput, error) {
	var data struct {
		Alerts []alert `json:"alerts"`
	}
	n, err := s.client.get(ctx, "alerts", nil, &data)
	if err != nil {
		return reply{}, alertsOutput{}, err
	}
	out := alertsOutput{Alerts: []alertRow{}, notes: n}
	var list []alert
	for _, a := range data.Alerts {
		switch a.State {
		case "firing":
			out.Firing++
		case "pending":
			out.Pending++
		}
		if in.State == "all" || in.State == "" || in.State == a.State {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b alert) int {
		if c := rank(a.State) - rank(b.State); c != 0 {
			return c
		}
		return a.ActiveAt.Compare(b.ActiveAt)
	})
	p := answer.NewPage(alertsChars)
	p.Line("## Alerts: %d firing, %d pending\n", out.Firing, out.Pending)
	addNotes(p, n)
	if len(list) == 0 {
		p.Line("None.")
		return reply{text: p.String()}, out, nil
	}
	p.Line("| state | alert | severity | on | since | value | summary |\n| --- | --- | --- | --- | --- | --- | --- |")
	now := s.now()
	shown := p.Rows(min(len(list), alertRows), func(i int) string {
		a := list[i]
		when := fmt.Sprintf("%s (%s)", stamp(a.ActiveAt), since(now.Sub(a.ActiveAt)))
		return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", answer.Cell(a.State, 20), answer.Cell(a.Labels["alertname"], 80), answer.Cell(a.Labels["severity"], 20),
			answer.Cell(a.Labels.first("service", "job", "instance"), 60), when, answer.Cell(plainNumber(a.Value), 30), answer.Cell(cmdmask.Text(answer.Cut(a.Annotations.first("summary", "description", "message"), 1000)), 120))
	})
	for _, a := range list[:shown] {
		out.Alerts = append(out.Alerts, alertRow{
			answer.Line(a.State, 20), answer.Line(a.Labels["alertname"], 200), answer.Line(a.Labels["severity"], 60),
			answer.Line(a.Labels.first("service", "job", "instance"), 200), stamp(a.ActiveAt), answer.Line(plainNumber(a.Value), 60), a.Labels.masked(), a.Annotations.masked(),
		})
	}
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%d more are left out. prom_query with ALERTS{alertstate=\"firing\"} and labels of your choice narrows them down.", rest)
	}
	if out.Pending > 0 && in.State != "firing" {
		p.Line("\nPending alerts have not fired: their condition must hold for longer first.")
	}
	return reply{text: p.String()}, out, nil
}

func rank(state string) int {
	switch state {
	case "firing":
		return 0
	case "pending":
		return 1
	}
	return 2
}

type rulesInput struct {
	Type   string `json:"type,omitempty" jsonschema:"which rules: alert, record or all"`
	Filter string `json:"filter,omitempty" jsonschema:"only rules whose name, group and expression hold these words, in any order and case"`
}

// A rule is one of the API.
type rule struct {
	Name      string  `json:"name"`
	Query     string  `json:"query"`
	Type      string  `json:"type"`
	State     string  `json:"state"`
	Health    string  `json:"health"`
	LastError string  `json:"lastError"`
	Duration  float64 `json:"duration"`
	Labels    labels  `json:"labels"`
	group     string
}

type ruleRow struct {
	Type      string  `json:"type"`
	Group     string  `json:"group"`
	Name      string  `json:"name"`
	Query     string  `json:"query"`
	State     string  `json:"state,omitempty"`
	Health    string  `json:"health,omitempty"`
	LastError string  `json:"last_error,omitempty"`
	ForSec    float64 `json:"for_seconds,omitempty"`
	Severity  string  `json:"severity,omitempty"`
}

type rulesOutput struct {
	Total int       `json:"total" jsonschema:"how many rules matched"`
	Rules []ruleRow `json:"rules" jsonschema:"the rules shown"`
	notes
}

func (s *server) rules(ctx context.Context, in rulesInput) (reply, rulesOutput, error) {
	params := url.Values{}
	if in.Type == "alert" || in.Type == "record" {
		params.Set("type", in.Type)
	}
	var data struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	n, err := s.client.get(ctx, "rules", params, &data)
	if err != nil {
		return reply{}, rulesOutput{}, err
	}
	var list []rule
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			r.group = g.Name
			if holdsWords(r.Name+"\n"+g.Name+"\n"+r.Query, in.Filter) {
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b rule) int { return ruleRank(a) - ruleRank(b) })
	out := rulesOutput{Total: len(list), Rules: []ruleRow{}, notes: n}
	p := answer.NewPage(rulesChars)
	p.Line("## Rules: %d\n", out.Total)
	addNotes(p, n)
	if len(list) == 0 {
		p.Line("None%s.", map[bool]string{true: " that matches the filter"}[in.Filter != ""])
		return reply{text: p.String()}, out, nil
	}
	p.Line("| state | rule | group | expression | for | health |\n| --- | --- | --- | --- | --- | --- |")
	shown := p.Rows(min(len(list), alertRows), func(i int) string {
		r := list[i]
		health := r.Health
		if r.LastError != "" {
			health += ": " + r.LastError
		}
		state := r.State
		if r.Type == "recording" {
			state = "record"
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", answer.Cell(state, 20), answer.Cell(r.Name, 80), answer.Cell(r.group, 60), answer.Cell(r.Query, 240),
			since(time.Duration(r.Duration*float64(time.Second))), answer.Cell(health, 160))
	})
	for _, r := range list[:shown] {
		out.Rules = append(out.Rules, ruleRow{
			answer.Line(r.Type, 20), answer.Line(r.group, 100), answer.Line(r.Name, 200), answer.Line(r.Query, 1000),
			answer.Line(r.State, 20), answer.Line(r.Health, 20), answer.Line(r.LastError, 300), r.Duration, answer.Line(r.Labels["severity"], 60),
		})
	}
	if rest := len(list) - shown; rest > 0 {
		p.Line("\n%d more are left out. Narrow them down with filter.", rest)
	}
	return reply{text: p.String()}, out, nil
}

// ruleRank puts what needs a look first.
func ruleRank(r rule) int {
	switch {
	case r.Health != "ok" && r.Health != "" && r.Health != "unknown":
		return 0
	case r.State == "firing":
		return 1
	case r.State == "pending":
		return 2
	}
	return 3
}
