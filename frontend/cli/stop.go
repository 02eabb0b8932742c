package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
)

// stopCommand is the stop switch.
func stopCommand(a *app) *cobra.Command {
	var all, list bool
	var reason string
	cmd := &cobra.Command{
		Use:   "stop {SERVER [TOOL] | --all | --list}",
		Short: "Stop a tool, a server, or all, at once",
		Long: "Stop tools from being used, until tenon resume. Calls that run are ended; later ones are denied with the reason.\n" +
			"A stop outlives the gateway. Names may be patterns.\n\n" + operatorHelp,
		Example: "  tenon stop docker docker_restart --reason 'freeze until Monday'\n" +
			"  tenon stop --all\n" +
			"  tenon stop --list",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				if all || len(args) > 0 {
					return usage(cmd, "--list takes nothing else")
				}
				return a.runStops(cmd.Context(), switches.List)
			}
			stop, err := whatToStop(cmd, args, all)
			if err != nil {
				return err
			}
			stop.Reason, stop.By = reason, "cli"
			return a.runStops(cmd.Context(), func(s switches, ctx context.Context) ([]tenon.Stop, error) { return s.Stop(ctx, stop) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every tool of every server")
	cmd.Flags().BoolVar(&list, "list", false, "show what is stopped")
	cmd.Flags().StringVar(&reason, "reason", "", "why; the model is told")
	return cmd
}

// resumeCommand lifts what stopCommand has stopped.
func resumeCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "resume {SERVER [TOOL] | --all}",
		Short:   "Lift a stop",
		Long:    "Lift the stop of exactly this server and tool, as tenon stop --list names it.\n\n" + operatorHelp,
		Example: "  tenon resume docker docker_restart\n  tenon resume --all",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			stop, err := whatToStop(cmd, args, all)
			if err != nil {
				return err
			}
			return a.runStops(cmd.Context(), func(s switches, ctx context.Context) ([]tenon.Stop, error) {
				return s.Resume(ctx, stop.Server, stop.Tool)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "lift the stop of every tool of every server")
	return cmd
}

const operatorHelp = "It works on the gateway that runs (--gateway, $TENON_GATEWAY, else 127.0.0.1:8400), which needs an approver's\n" +
	"credential: that of $TENON_APPROVER_TOKEN, or the one that the gateway of this user keeps in the state folder.\n" +
	"Where none runs, it holds for pools that this user opens from then on."

// whatToStop reads the arguments. Nothing is not all: that must be said.
func whatToStop(cmd *cobra.Command, args []string, all bool) (tenon.Stop, error) {
	switch {
	case all && len(args) > 0:
		return tenon.Stop{}, usage(cmd, "--all takes no names")
	case all:
		return tenon.Stop{Server: "*", Tool: "*"}, nil
	case len(args) == 0 || args[0] == "":
		return tenon.Stop{}, usage(cmd, "name a server, a server and a tool, or --all")
	case len(args) == 1:
		return tenon.Stop{Server: args[0], Tool: "*"}, nil
	}
	return tenon.Stop{Server: args[0], Tool: args[1]}, nil
}

// switches are the stops of a gateway that runs, or those of this user.
type switches interface {
	List(ctx context.Context) ([]tenon.Stop, error)
	Stop(ctx context.Context, s tenon.Stop) ([]tenon.Stop, error)
	Resume(ctx context.Context, server, name string) ([]tenon.Stop, error)
}

// runStops does something with the stops and shows what they are then.
func (a *app) runStops(ctx context.Context, do func(switches, context.Context) ([]tenon.Stop, error)) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	s, err := a.switches(ctx)
	if err != nil {
		return err
	}
	stops, err := do(s, ctx)
	if err != nil {
		return err
	}
	if a.json() {
		a.printJSON(struct {
			Stops []tenon.Stop `json:"stops"`
		}{append([]tenon.Stop{}, stops...)})
		return nil
	}
	if len(stops) == 0 {
		a.printText("Nothing is stopped.")
		return nil
	}
	rows := [][]string{{"SERVER", "TOOL", "SINCE", "BY", "REASON"}}
	for _, s := range stops {
		rows = append(rows, []string{s.Server, s.Tool, s.Since.Local().Format(time.DateTime), s.By, s.Reason})
	}
	a.printTable(rows)
	return nil
}

func (a *app) switches(ctx context.Context) (switches, error) {
	if !a.isServed(ctx) {
		s, err := tenon.OpenStops(a.options(a.logger(quiet)))
		if err != nil {
			return nil, err
		}
		a.note("no gateway runs at %s: this holds for pools that are opened from now on", usualGateway)
		return kept{s}, nil
	}
	c, err := a.operator()
	if err != nil {
		return nil, err
	}
	return served{c}, nil
}

// kept are the stops of this user, as the next pool reads them.
type kept struct{ *tenon.Stops }

// List implements switches.
func (k kept) List(context.Context) ([]tenon.Stop, error) { return k.Stops.List(), nil }

// Stop implements switches.
func (k kept) Stop(_ context.Context, s tenon.Stop) ([]tenon.Stop, error) {
	err := k.Stops.Stop(s)
	return k.Stops.List(), err
}

// Resume implements switches.
func (k kept) Resume(_ context.Context, server, name string) ([]tenon.Stop, error) {
	err := k.Stops.Resume(server, name)
	return k.Stops.List(), err
}

// served are the stops of a gateway that runs.
type served struct{ *rest.Client }

// List implements switches.
func (s served) List(ctx context.Context) ([]tenon.Stop, error) { return s.Stops(ctx) }
