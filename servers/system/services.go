package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	servicesChars = 6000
	serviceChars  = 3000
	servicesTime  = 10 * time.Second
)

type servicesInput struct {
	State  string `json:"state,omitempty" jsonschema:"running, failed, stopped or all"`
	Filter string `json:"filter,omitempty" jsonschema:"text that name or description must hold"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many, 1 to 200; a number outside is brought to the nearest"`
}

type servicesOutput struct {
	Services []service `json:"services" jsonschema:"failed ones first, then by name"`
	Total    int       `json:"total" jsonschema:"how many there are that fit"`
}

// A service is one of the machine's.
type service struct {
	Name        string `json:"name" jsonschema:"name by which the system knows it"`
	Description string `json:"description,omitempty" jsonschema:"what it says of itself"`
	State       string `json:"state" jsonschema:"running, failed, stopped, starting or stopping"`
	Detail      string `json:"detail,omitempty" jsonschema:"the system's own word for the state"`
	PID         int    `json:"pid,omitempty" jsonschema:"process, where it is known"`
}

type serviceInput struct {
	Name string `json:"name" jsonschema:"name of the service, such as nginx or nginx.service"`
}

type serviceOutput struct {
	service

	Properties map[string]string `json:"properties,omitempty" jsonschema:"what more is known: when it started, restarts, exit status, memory, start type"`
}

// A manager is what of the machine runs services.
type manager interface {
	list(ctx context.Context) ([]service, error)
	status(ctx context.Context, name string) (serviceOutput, error)
}

func (s *server) addServices(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "list_services", Title: "Services",
		Description: "Returns the services of this machine with their state, failed ones first: units of systemd on Linux, services of Windows, jobs of launchd on macOS. For more on one of them call get_service_status.",
		Defaults:    map[string]any{"state": "all", "limit": 60},
		Bounds:      map[string][2]int{"limit": {1, 200}},
	}, s.listServices)
	typed.Add(srv, spec{
		Name: "get_service_status", Title: "Status of a service",
		Description: "Returns the state of one service of this machine: whether it runs or failed, since when, its process, exit status, restarts, memory and whether it starts by itself. Changes nothing.",
	}, s.serviceStatus)
}

func (s *server) listServices(ctx context.Context, in servicesInput) (string, servicesOutput, error) {
	if !slices.Contains([]string{"running", "failed", "stopped", "all"}, in.State) {
		return "", servicesOutput{}, fmt.Errorf("state %q is not offered. Use running, failed, stopped or all", plain(in.State, 40))
	}
	ctx, cancel := context.WithTimeout(ctx, servicesTime)
	defer cancel()
	all, err := s.services.list(ctx)
	if none, ok := errors.AsType[*noManagerError](err); ok {
		return none.Error(), servicesOutput{Services: []service{}}, nil
	}
	if err != nil {
		return "", servicesOutput{}, err
	}
	filter := strings.ToLower(in.Filter)
	all = slices.DeleteFunc(all, func(v service) bool {
		return in.State != "all" && v.State != in.State || !strings.Contains(strings.ToLower(v.Name+" "+v.Description), filter)
	})
	rank := map[string]int{"failed": 0, "starting": 1, "stopping": 1, "running": 2}
	slices.SortFunc(all, func(a, b service) int {
		ra, oka := rank[a.State]
		rb, okb := rank[b.State]
		if !oka {
			ra = 3
		}
		if !okb {
			rb = 3
		}
		return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(a.Name, b.Name))
	})
	out := servicesOutput{Total: len(all), Services: append([]service{}, all[:min(clamp(in.Limit, 200), len(all))]...)}
	if len(all) == 0 {
		return "No service fits.", out, nil
	}
	rows := make([][]string, 0, len(out.Services))
	for _, v := range out.Services {
		rows = append(rows, []string{v.Name, v.State, v.Detail, v.Description})
	}
	head := fmt.Sprintf("## Services: %d of %d\n\n", len(rows), len(all))
	return head + answer.Table([]string{"name", "state", "detail", "description"}, rows, servicesChars-len(head)), out, nil
}

var serviceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.@:\\][A-Za-z0-9_.@:\\ ()$-]{0,254}$`)
})

func (s *server) serviceStatus(ctx context.Context, in serviceInput) (string, serviceOutput, error) {
	if !serviceName().MatchString(in.Name) {
		return "", serviceOutput{}, fmt.Errorf("%q is no name of a service. Call list_services for those that there are", plain(in.Name, 60))
	}
	ctx, cancel := context.WithTimeout(ctx, servicesTime)
	defer cancel()
	out, err := s.services.status(ctx, in.Name)
	if err != nil {
		return "", serviceOutput{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n", out.Name, out.State)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	line("description", out.Description)
	line("detail", out.Detail)
	if out.PID > 0 {
		line("pid", fmt.Sprint(out.PID))
	}
	names := make([]string, 0, len(out.Properties))
	for name := range out.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line(name, out.Properties[name])
	}
	return b.String(), out, nil
}

// A noManagerError is the error where nothing runs services that could be asked.
type noManagerError struct{ why string }

// Error says so.
func (e *noManagerError) Error() string { return e.why }

// errNoService is the error for a service that is not there.
func errNoService(name string) error {
	return fmt.Errorf("there is no service %s. Call list_services, perhaps with a filter, for those that there are", plain(name, 80))
}
