package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	psChars = 6000
	psMost  = 200 // containers in the structured answer
	psAsked = 20  // containers whose restarts are asked for
)

type psInput struct {
	State        string `json:"state,omitempty" jsonschema:"only containers in this state; left out: all; restarting takes those too that run for less than a minute or so after the engine restarted them"`
	NameContains string `json:"name_contains,omitempty" jsonschema:"only containers whose name, image or compose service holds this text, whatever its case"`
}

func (psInput) about() string { return "" }

func (in psInput) check() error { return checkText("name_contains", in.NameContains) }

// checkText refuses a text that is too long to be looked for.
func checkText(parameter, s string) error {
	if len(s) > 200 {
		return fmt.Errorf("%s must be at most 200 characters long", parameter)
	}
	return nil
}

type psOutput struct {
	Containers []psContainer `json:"containers" jsonschema:"the containers, newest first; at most 200"`
	Total      int           `json:"total" jsonschema:"how many match"`
	Running    int           `json:"running" jsonschema:"how many of them run"`
	Engine     string        `json:"engine" jsonschema:"address of the engine that answered"`
}

type psContainer struct {
	ID       string   `json:"id" jsonschema:"the id's first 12 characters"`
	Name     string   `json:"name" jsonschema:"name, as other tools take it"`
	Image    string   `json:"image" jsonschema:"image it was made from"`
	State    string   `json:"state" jsonschema:"created, running, paused, restarting, exited, removing or dead"`
	Status   string   `json:"status" jsonschema:"state with its time, exit code and health, as the engine words it"`
	Restarts int      `json:"restarts,omitempty" jsonschema:"how often the engine restarted it; told of those that restart or run for less than a minute or so"`
	Health   string   `json:"health,omitempty" jsonschema:"starting, healthy or unhealthy, where it is checked"`
	Ports    []string `json:"ports" jsonschema:"ports, those of the host first"`
	Created  string   `json:"created" jsonschema:"when it was made, UTC"`
	Project  string   `json:"project,omitempty" jsonschema:"project of docker compose"`
	Service  string   `json:"service,omitempty" jsonschema:"service of docker compose"`
}

func (s *server) addList(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_ps", Title: "Containers",
		Description: "Lists all containers of the engine, stopped ones too: name, image, status with health and exit code, ports. Start here to find a container's name, or which one is down or restarts.",
		Choices:     map[string][]any{"state": {"created", "running", "paused", "restarting", "exited", "removing", "dead"}},
	}}, ps)
}

func ps(ctx context.Context, e *engine, in psInput) (string, psOutput, error) {
	list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true})
	out := psOutput{Containers: []psContainer{}, Engine: e.host.Address}
	if err != nil {
		return "", out, err
	}
	if len(list.Items) == 0 {
		return fmt.Sprintf("There are no containers at %s.", e.host), out, nil
	}
	var rows [][]string
	named := slices.DeleteFunc(slices.Clone(list.Items), func(c container.Summary) bool { return !in.names(c) })
	restarts := restartsOf(ctx, e, named, in.State)
	for _, c := range named {
		if !in.takes(c, restarts[c.ID]) {
			continue
		}
		out.Total++
		if c.State == container.StateRunning {
			out.Running++
		}
		p := shown(c)
		status := p.Status
		if p.Restarts = restarts[c.ID]; p.Restarts > 0 {
			status = answer.Line(status, 60) + fmt.Sprintf(", restarted %s by the engine", times(p.Restarts))
		}
		if len(out.Containers) < psMost {
			out.Containers = append(out.Containers, p)
		}
		rows = append(rows, []string{answer.Line(p.Name, 60), answer.Line(p.Image, 40), answer.Line(status, 100), answer.Line(strings.Join(p.Ports, ", "), 60)})
	}
	if out.Total == 0 {
		return fmt.Sprintf("None of the %s at %s matches. Leave state and name_contains out to see all.", plural(len(list.Items), "container"), e.host), out, nil
	}
	head := fmt.Sprintf("## Containers\n\n%s, %d running, at %s\n\n", plural(out.Total, "container"), out.Running, answer.Line(e.host.Address, 120))
	body := answer.Table([]string{"name", "image", "status", "ports"}, rows, psChars-len(head))
	return head + body, out, nil
}

// restartsOf returns how often the engine restarted containers that may be in a loop of
// restarts: those that wait for the next one, and those that have run for moments.
// The list does not tell it, and a container in a loop is mostly seen as running.
// Those that no list of the wanted state shows are not asked about.
func restartsOf(ctx context.Context, e *engine, list []container.Summary, wanted string) map[string]int {
	found := map[string]int{}
	asked := 0
	for _, c := range list {
		if wanted != "" && wanted != string(c.State) && wanted != string(container.StateRestarting) {
			continue
		}
		if c.State != container.StateRestarting && (c.State != container.StateRunning || !recent(c.Status)) {
			continue
		}
		if asked++; asked > psAsked {
			break
		}
		about, err := e.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if ctx.Err() != nil {
			break
		}
		if err == nil { // else it is gone, and the list says what there was
			found[c.ID] = about.Container.RestartCount
		}
	}
	return found
}

// recent reports a status such as "Up 3 seconds" or "Up About a minute".
func recent(status string) bool {
	return strings.HasPrefix(status, "Up ") && (strings.Contains(status, "second") || strings.Contains(status, "About a minute"))
}

func (in psInput) takes(c container.Summary, restarts int) bool {
	loops := in.State == string(container.StateRestarting) && restarts > 0
	return in.State == "" || string(c.State) == in.State || loops
}

func (in psInput) names(c container.Summary) bool {
	want := strings.ToLower(in.NameContains)
	return want == "" || strings.Contains(strings.ToLower(nameOf(c)), want) || strings.Contains(strings.ToLower(c.Image), want) ||
		strings.Contains(strings.ToLower(c.Labels["com.docker.compose.service"]), want)
}

func shown(c container.Summary) psContainer {
	p := psContainer{
		ID: shortID(c.ID), Name: answer.Line(nameOf(c), 128), Image: answer.Line(c.Image, 200), State: answer.Line(string(c.State), 20),
		Status: answer.Line(c.Status, 100), Created: time.Unix(c.Created, 0).UTC().Format(time.RFC3339), Ports: ports(c.Ports),
		Project: answer.Line(c.Labels["com.docker.compose.project"], 80), Service: answer.Line(c.Labels["com.docker.compose.service"], 80),
	}
	switch {
	case c.Health != nil && c.Health.Status != container.NoHealthcheck:
		p.Health = answer.Line(string(c.Health.Status), 20)
	case strings.Contains(c.Status, "(unhealthy)"): // engines before API 1.52 say it in words alone
		p.Health = "unhealthy"
	case strings.Contains(c.Status, "(healthy)"):
		p.Health = "healthy"
	case strings.Contains(c.Status, "(health: starting)"):
		p.Health = "starting"
	}
	return p
}

// ports returns the ports of a container as docker ps writes them, each once: a
// port that is open at all addresses is listed for both families.
func ports(list []container.PortSummary) []string {
	slices.SortStableFunc(list, func(a, b container.PortSummary) int {
		if (a.PublicPort == 0) != (b.PublicPort == 0) {
			return int(b.PublicPort) - int(a.PublicPort)
		}
		return int(a.PrivatePort) - int(b.PrivatePort)
	})
	out := []string{}
	for _, p := range list[:min(len(list), 100)] {
		inside := strconv.Itoa(int(p.PrivatePort)) + "/" + answer.Line(p.Type, 8)
		if p.PublicPort != 0 {
			at := "*"
			if p.IP.IsValid() && !p.IP.IsUnspecified() {
				at = address(p.IP)
			}
			inside = at + ":" + strconv.Itoa(int(p.PublicPort)) + "->" + inside
		}
		if !slices.Contains(out, inside) {
			out = append(out, inside)
		}
	}
	return out
}

func address(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}
