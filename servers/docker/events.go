package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	eventsChars = 8000
	eventsMost  = 200
	// eventsRead bounds how many events are read of an engine that sends more.
	eventsRead = 100_000
	// eventsQuiet is how long an engine may say nothing before it is taken to have
	// said all: one whose clock is behind waits for a time that is over for us.
	eventsQuiet = 3 * time.Second
)

type eventsInput struct {
	SinceMinutes int    `json:"since_minutes,omitempty" jsonschema:"how far back the window begins, in minutes before now, 1 to 43200"`
	UntilMinutes int    `json:"until_minutes,omitempty" jsonschema:"where the window ends, in minutes before now; left out: now"`
	Name         string `json:"name,omitempty" jsonschema:"only events of this container"`
	Type         string `json:"type,omitempty" jsonschema:"only events of this kind of thing"`
	IncludeExec  bool   `json:"include_exec,omitempty" jsonschema:"also show commands that were run in containers, such as health checks"`
	Limit        int    `json:"limit,omitempty" jsonschema:"most events to return, the newest, 1 to 200"`
}

func (eventsInput) about() string { return "" }

func (in eventsInput) check() error {
	if in.UntilMinutes > 0 && in.UntilMinutes >= clamp(in.SinceMinutes, 1, eventsBack) {
		return errors.New("until_minutes must be less than since_minutes: both count back from now")
	}
	if in.UntilMinutes < 0 {
		return errors.New("until_minutes must not be negative: what has not happened is not known")
	}
	if in.Name != "" {
		return checkName(in.Name)
	}
	return nil
}

const (
	eventsBack = 43200 // thirty days, in minutes
	remembered = 256   // events that an engine keeps
)

type eventsOutput struct {
	Events []eventEntry `json:"events" jsonschema:"the events, oldest first"`
	Total  int          `json:"total" jsonschema:"how many there are in the window"`
	Execs  int          `json:"execs_left_out" jsonschema:"how many runs of commands in containers were left out"`
	Since  string       `json:"since" jsonschema:"begin of the window, UTC by the engine's clock"`
	Until  string       `json:"until" jsonschema:"end of the window"`
	// Remembers is set where the engine has forgotten a part of the window.
	Remembers string `json:"remembers_from,omitempty" jsonschema:"the engine remembers only from this time on, which is later than the begin of the window"`
	Note      string `json:"note,omitempty" jsonschema:"what is missing, and why"`
}

type eventEntry struct {
	Time   string `json:"time" jsonschema:"when, UTC"`
	Type   string `json:"type" jsonschema:"container, image, network, volume, daemon or another kind"`
	Action string `json:"action" jsonschema:"what happened, such as die, oom, kill, start, health_status: unhealthy"`
	Name   string `json:"name" jsonschema:"to what"`
	Detail string `json:"detail,omitempty" jsonschema:"exit code, signal, image and the like"`
}

func (s *server) addEvents(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_events", Title: "Events of the engine",
		Description: "Returns what happened at the engine in a window of the past: containers that were started, stopped, died (with exit code), ran out of memory, changed their health, images pulled, volumes made. The engine remembers about the last 256 events, and none from before its own start.",
		Defaults:    map[string]any{"since_minutes": 60, "limit": 100},
		Bounds:      map[string][2]int{"since_minutes": {1, eventsBack}, "limit": {1, eventsMost}},
		Choices:     map[string][]any{"type": {"container", "image", "network", "volume", "daemon", "plugin", "service", "node", "builder"}},
	}}, history)
}

func history(ctx context.Context, e *engine, in eventsInput) (string, eventsOutput, error) {
	now := e.now()
	since := now.Add(-time.Duration(clamp(in.SinceMinutes, 1, eventsBack)) * time.Minute)
	until := now.Add(-time.Duration(in.UntilMinutes) * time.Minute)
	out := eventsOutput{Events: []eventEntry{}, Since: since.UTC().Format(time.RFC3339), Until: until.UTC().Format(time.RFC3339)}
	o := client.EventsListOptions{Since: stamp(since), Until: stamp(until), Filters: client.Filters{}}
	if in.Type != "" {
		o.Filters.Add("type", in.Type)
	}
	if in.Name != "" {
		o.Filters.Add("container", in.Name)
	}
	keep := clamp(in.Limit, 1, eventsMost)
	err := readEvents(ctx, e, o, func(m events.Message) {
		if strings.HasPrefix(string(m.Action), "exec_") && !in.IncludeExec {
			out.Execs++
			return
		}
		out.Total++
		out.Events = append(out.Events, entryOf(m))
		if len(out.Events) >= 2*keep {
			out.Events = slices.Delete(out.Events, 0, len(out.Events)-keep)
		}
	})
	out.Events = out.Events[max(0, len(out.Events)-keep):]
	if err == nil {
		why := ""
		if out.Remembers, why = recall(ctx, e, since); out.Remembers != "" {
			out.Note = "The engine remembers only from " + out.Remembers + " on" + why + "; what happened before that in the window is not known."
		}
	} else {
		if ctx.Err() != nil || len(out.Events) == 0 {
			return "", out, err
		}
		out.Note = "The list ended early, newer events may be missing: " + answer.Line(err.Error(), 200)
	}
	return out.text(in), out, nil
}

// recall returns from when on the engine remembers, where that is within a window,
// and why. It keeps a fixed number of events, of all kinds, and forgets them when it
// starts; the network bridge is made anew then.
func recall(ctx context.Context, e *engine, since time.Time) (from, why string) {
	const most = 10 * remembered // an engine that has so many keeps them elsewhere
	var oldest time.Time
	count := 0
	err := readEvents(ctx, e, client.EventsListOptions{Since: "1", Until: stamp(e.now())}, func(m events.Message) {
		if count == 0 {
			oldest = timeOf(m)
		}
		count++
	})
	known := since
	if err == nil && count >= remembered && count <= most && oldest.After(known) {
		known, why = oldest, fmt.Sprintf(": it keeps about its last %d events of all kinds, runs of health checks too", remembered)
	}
	if bridge, err := e.NetworkInspect(ctx, "bridge", client.NetworkInspectOptions{}); err == nil && bridge.Network.Created.After(known) {
		known, why = bridge.Network.Created, ", when it started"
	}
	if why == "" || known.After(e.now()) {
		return "", ""
	}
	return known.UTC().Format(time.RFC3339), why
}

// readEvents calls each with the events of a window, and ends: with the stream,
// with ctx, or when nothing more comes.
func readEvents(ctx context.Context, e *engine, o client.EventsListOptions, each func(events.Message)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(eventsQuiet, cancel)
	stream := e.Events(ctx, o)
	var err error
	for read := 0; ; read++ {
		select {
		case m := <-stream.Messages:
			quiet.Reset(eventsQuiet)
			if read < eventsRead {
				each(m)
				continue
			}
			err = errors.New("there are more than 100,000 events")
			cancel()
		case err = <-stream.Err:
		}
		break
	}
	if !quiet.Stop() && errors.Is(err, context.Canceled) {
		return nil // it has said all that it remembers
	}
	cancel()
	for range stream.Err { // until its reader has gone
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func timeOf(m events.Message) time.Time {
	if m.TimeNano > 0 {
		return time.Unix(0, m.TimeNano)
	}
	return time.Unix(m.Time, 0)
}

func entryOf(m events.Message) eventEntry {
	at := timeOf(m)
	a := m.Actor.Attributes
	entry := eventEntry{Time: at.UTC().Format("2006-01-02T15:04:05.000Z"), Type: answer.Line(string(m.Type), 20), Action: answer.Line(cmdmask.Text(answer.Cut(string(m.Action), 2000)), 120), Name: answer.Line(a["name"], 128)}
	if entry.Name == "" {
		entry.Name = shortID(m.Actor.ID)
	}
	var details []string
	for _, key := range []string{"exitCode", "signal", "image", "container", "oldName", "driver", "execDuration"} {
		if v := a[key]; v != "" && v != entry.Name {
			if key == "container" {
				v = shortID(v)
			}
			details = append(details, key+"="+answer.Line(v, 80))
		}
	}
	entry.Detail = strings.Join(details, " ")
	return entry
}

func (o *eventsOutput) text(in eventsInput) string {
	of := ""
	if in.Name != "" {
		of = " of " + in.Name
	}
	execs := ""
	if o.Execs > 0 {
		execs = fmt.Sprintf(" %s of commands in containers left out; include_exec shows them.", plural(o.Execs, "event"))
	}
	if o.Total == 0 {
		return fmt.Sprintf("Nothing happened%s between %s and %s, as far as the engine remembers.%s %s", of, o.Since, o.Until, execs, o.Note)
	}
	head := fmt.Sprintf("## Events%s\n\n%s between %s and %s, oldest first.%s\n", of, plural(o.Total, "event"), o.Since, o.Until, execs)
	if o.Total > len(o.Events) {
		head += fmt.Sprintf("These are the newest %d. For others raise limit, narrow with name or type, or set until_minutes.\n", len(o.Events))
	}
	if o.Note != "" {
		head += o.Note + "\n"
	}
	rows := make([][]string, 0, len(o.Events))
	length := 0
	for _, e := range slices.Backward(o.Events) { // the newest are shown if not all are
		row := []string{e.Time, answer.Line(e.Type, 12), answer.Line(e.Action, 60), answer.Line(e.Name, 50), answer.Line(e.Detail, 120)}
		if length += len([]rune(strings.Join(row, "|"))) + 16; length > eventsChars-len(head)-300 {
			head += fmt.Sprintf("%d of them were left out to keep the answer short; take a smaller window.\n", len(o.Events)-len(rows))
			break
		}
		rows = append(rows, row)
	}
	slices.Reverse(rows)
	body := answer.Table([]string{"time", "type", "action", "name", "detail"}, rows, eventsChars-len(head)-1)
	return head + "\n" + body
}
