package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// stopCommand is the stop switch.
func stopCommand(a *app) *cobra.Command {
	var all, list, force bool
	var reason string
	cmd := &cobra.Command{
		Use:   "stop {SERVER [TOOL] | SERVER/TOOL | --all | --list}",
		Short: "Stop a tool, a server, or all, at once",
		Long: "Stop tools from being used, until tenon resume. Calls that run are ended; later ones are denied with the reason.\n" +
			"A stop outlives the gateway. Names may be patterns. What is not there is refused, unless --force says that it comes later.\n\n" + operatorHelp,
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
			return a.runStops(cmd.Context(), func(s switches, ctx context.Context) ([]tenon.Stop, error) { return s.Stop(ctx, stop, force) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every tool of every server")
	cmd.Flags().BoolVar(&list, "list", false, "show what is stopped")
	cmd.Flags().BoolVar(&force, "force", false, "stop what is not there yet too")
	cmd.Flags().StringVar(&reason, "reason", "", "why; the model is told")
	return cmd
}

// resumeCommand lifts what stopCommand has stopped.
func resumeCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "resume {SERVER [TOOL] | SERVER/TOOL | --all}",
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

const operatorHelp = "It holds for every gateway and every pool of this user, within half a second. With --gateway or $TENON_GATEWAY it\n" +
	"holds for the gateway that is named, whoever's it is; that needs an approver's credential, in $TENON_APPROVER_TOKEN."

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
		if server, name, ok := strings.Cut(args[0], "/"); ok && server != "" && name != "" {
			return tenon.Stop{Server: server, Tool: name}, nil
		}
		return tenon.Stop{Server: args[0], Tool: "*"}, nil
	}
	return tenon.Stop{Server: args[0], Tool: args[1]}, nil
}

// switches are the stops of a gateway that runs, or those of this user.
type switches interface {
	List(ctx context.Context) ([]tenon.Stop, error)
	Stop(ctx context.Context, s tenon.Stop, force bool) ([]tenon.Stop, error)
	Resume(ctx context.Context, server, name string) ([]tenon.Stop, error)
}

// runStops does something with the stops and shows what they are then.
func (a *app) runStops(ctx context.Context, do func(switches, context.Context) ([]tenon.Stop, error)) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	s, err := a.switches()
	if err != nil {
		return err
	}
	stops, err := do(s, ctx)
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, stops); err != nil {
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

// switches returns the stops of the gateway that is named, else those of this user,
// which every gateway and every pool of this user follows.
func (a *app) switches() (switches, error) {
	if a.gateway() == "" {
		s, err := tenon.OpenStops(a.options(a.logger(quiet)))
		if s == nil {
			return nil, &problem{
				kind: tool.KindOf(err), err: err, text: "NOTHING is stopped or resumed so: " + err.Error(),
				hint: "or name a gateway that runs with --gateway, and give its approver's token in $TENON_APPROVER_TOKEN",
			}
		}
		if err != nil {
			a.note("the file of stops cannot be read, so every tool is stopped: %v", err)
		}
		return kept{s, func(s tenon.Stop) error { return tenon.UnknownStopOf(a.options(a.logger(quiet)), s) }}, nil
	}
	c, err := a.operator()
	if err != nil {
		return nil, err
	}
	return served{c, a.gateway()}, nil
}

// confirm makes sure that the usual gateway, where one runs, follows: it may be that
// of another user.
func (a *app) confirm(ctx context.Context, want []tenon.Stop) error {
	if a.gateway() != "" || !a.isServed(ctx) {
		return nil
	}
	c, err := a.operator()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := c.Stops(ctx)
		if err == nil && slices.EqualFunc(got, want, func(a, b tenon.Stop) bool { return a.Server == b.Server && a.Tool == b.Tool }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &problem{
				kind: tool.Failed, err: err,
				text: "the gateway at " + usualGateway + " does not have these stops: it is that of another user, has another state folder, or holds a change that it cannot write",
				hint: "name it with --gateway, also with --list, and give its approver's credential in $TENON_APPROVER_TOKEN",
			}
		}
	}
}

// kept are the stops of this user, as the next pool reads them.
type kept struct {
	*tenon.Stops

	unknown func(tenon.Stop) error // says what is not there
}

// List implements switches.
func (k kept) List(context.Context) ([]tenon.Stop, error) { return k.Stops.List(), nil }

// Stop implements switches.
func (k kept) Stop(ctx context.Context, s tenon.Stop, force bool) ([]tenon.Stop, error) {
	if !force {
		if err := k.unknown(s); err != nil {
			return nil, err
		}
	}
	if err := k.Stops.Stop(ctx, s); err != nil {
		return nil, k.unchanged("stopped", err)
	}
	followed(ctx)
	return k.Stops.List(), nil
}

// Resume implements switches.
func (k kept) Resume(ctx context.Context, server, name string) ([]tenon.Stop, error) {
	if err := k.Stops.Resume(ctx, server, name); err != nil {
		return nil, k.unchanged("resumed", err)
	}
	followed(ctx)
	return k.Stops.List(), nil
}

// unchanged says of a change that could not be written that there was none: it would
// hold in this process alone, which ends now.
func (k kept) unchanged(done string, err error) error {
	unkept, ok := errors.AsType[*tenon.UnkeptStopError](err)
	if !ok {
		return err
	}
	return &problem{
		kind: tool.Failed, err: unkept.Cause,
		text: "NOTHING was " + done + ": it cannot be written to the state folder, where the gateways and pools of this user read it: " + unkept.Cause.Error(),
		hint: "mend the folder; or name a gateway that runs with --gateway, and give its approver's token in $TENON_APPROVER_TOKEN; or end the gateway",
	}
}

// followed waits until the gateways that run have taken a change: what is stopped is
// stopped when the command ends.
func followed(ctx context.Context) {
	select {
	case <-time.After(tenon.StopsFollowed):
	case <-ctx.Done():
	}
}

// served are the stops of a gateway that runs.
type served struct {
	*rest.Client

	url string
}

// List implements switches.
func (s served) List(ctx context.Context) ([]tenon.Stop, error) { return s.Stops(ctx) }

// Stop implements switches.
func (s served) Stop(ctx context.Context, stop tenon.Stop, force bool) ([]tenon.Stop, error) {
	stops, err := s.Client.Stop(ctx, stop, force)
	return stops, s.unkept(ctx, err, "stopped", func(o tenon.Stop) bool { return o.Server == stop.Server && o.Tool == stop.Tool }, true)
}

// Resume implements switches.
func (s served) Resume(ctx context.Context, server, name string) ([]tenon.Stop, error) {
	stops, err := s.Client.Resume(ctx, server, name)
	return stops, s.unkept(ctx, err, "resumed", func(o tenon.Stop) bool { return o.Server == server && o.Tool == name }, false)
}

// unkept says of a change that the gateway made and could not write where it holds. What
// is in force the gateway knows best.
func (s served) unkept(ctx context.Context, err error, done string, same func(tenon.Stop) bool, there bool) error {
	if tool.KindOf(err) != tool.Failed {
		return err
	}
	now, unknown := s.Stops(ctx)
	if unknown != nil || slices.ContainsFunc(now, same) != there {
		return err
	}
	return &problem{
		kind: tool.Failed, err: err,
		text: done + " in the gateway at " + s.url + " alone: " + err.Error(),
		hint: "make room in its state folder and see that its user may write it: then the gateway writes it, and its log says so",
	}
}
