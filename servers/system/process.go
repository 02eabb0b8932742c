package system

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const processChars = 4000

type processInput struct {
	PID int32 `json:"pid" jsonschema:"process id, as list_top_processes or list_listening_ports show it"`
}

func addProcess(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_process_detail", Title: "Process detail",
		Description: "Returns what is known of one process: program, command line (secrets in it are masked), owner, parent and children, start, state, processor share over one second, memory, threads, open files and sockets. Its environment is never shown.",
	}, processDetail)
}

type processOutput struct {
	PID    int32          `json:"pid" jsonschema:"the process"`
	Fields []processField `json:"fields" jsonschema:"what this user may see of it"`
}

type processField struct {
	Name  string `json:"name" jsonschema:"name, program, command_line, owner, parent, started, state, cpu, memory, threads, open_files, sockets, children"`
	Value string `json:"value"`
}

func processDetail(ctx context.Context, in processInput) (string, processOutput, error) {
	out := processOutput{PID: in.PID, Fields: []processField{}}
	gone := fmt.Errorf("there is no process %d, or no longer. Call list_top_processes for the ones that run", in.PID)
	if in.PID < 0 || in.PID == 0 && runtime.GOOS != "windows" {
		return "", out, gone
	}
	p, err := process.NewProcessWithContext(ctx, in.PID)
	if errors.Is(err, process.ErrorProcessNotRunning) {
		return "", out, gone
	}
	if err != nil {
		return "", out, fmt.Errorf("read process %d: %w", in.PID, err)
	}
	m := measure(ctx, p)
	if m != nil {
		if err := pause(ctx, sample); err != nil {
			return "", out, err
		}
		if !m.again(ctx) {
			return "", out, gone
		}
	}
	// Not IsRunning: that compares the time of the start, which moves by a second with
	// the system's idea of when it was booted.
	if exists, err := process.PidExistsWithContext(ctx, in.PID); err == nil && !exists {
		return "", out, gone
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Process %d\n\n", in.PID)
	for _, f := range processFields(ctx, p, m) {
		if f.value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", f.name, f.value)
			out.Fields = append(out.Fields, processField{strings.ReplaceAll(strings.ToLower(f.name), " ", "_"), f.value})
		}
	}
	if c := children(ctx, p); c != "" {
		fmt.Fprintf(&b, "- Children: %s\n", c)
		out.Fields = append(out.Fields, processField{"children", c})
	}
	return b.String(), out, nil
}

type field struct{ name, value string }

// processFields reads one field after the other; what this user may not see, or
// what the system does not offer, stays empty and is left out.
func processFields(ctx context.Context, p *process.Process, m *measured) []field {
	var f []field
	show := func(name, value string, err error) {
		if err == nil {
			f = append(f, field{name, value})
		}
	}
	name, err := p.NameWithContext(ctx)
	show("Name", plain(name, 60), err)
	exe, err := p.ExeWithContext(ctx)
	show("Program", plain(exe, 200), err)
	args, err := p.CmdlineSliceWithContext(ctx)
	show("Command line", cmdmask.Line(name, args), err)
	user, err := p.UsernameWithContext(ctx)
	show("Owner", plain(user, 60), err)
	show("Parent", parent(ctx, p), nil)
	started, err := p.CreateTimeWithContext(ctx)
	show("Started", since(started), err)
	status, err := p.StatusWithContext(ctx)
	show("State", strings.Join(status, ", "), err)
	if m != nil {
		show("CPU", fmt.Sprintf("%.1f %% of one core (over 1 s), %s in all", round(m.percent, 1), age(time.Duration(m.seconds*float64(time.Second)))), nil)
	}
	if memory, err := p.MemoryInfoWithContext(ctx); err == nil && memory != nil {
		show("Memory", fmt.Sprintf("%s resident, %s virtual", size(memory.RSS), size(memory.VMS)), nil)
	}
	threads, err := p.NumThreadsWithContext(ctx)
	show("Threads", fmt.Sprint(threads), err)
	files, err := p.NumFDsWithContext(ctx)
	show("Open files", fmt.Sprint(files), err)
	connections, err := p.ConnectionsWithContext(ctx)
	show("Sockets", sockets(connections), err)
	return f
}

func since(millis int64) string {
	t := time.UnixMilli(millis)
	return fmt.Sprintf("%s (%s ago)", t.Format(time.RFC3339), age(time.Since(t)))
}

func parent(ctx context.Context, p *process.Process) string {
	id, err := p.PpidWithContext(ctx)
	if err != nil || id == 0 {
		return ""
	}
	up, err := process.NewProcessWithContext(ctx, id)
	if err != nil {
		return fmt.Sprint(id)
	}
	name, err := up.NameWithContext(ctx)
	if err != nil {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%d %s", id, plain(name, 60))
}

// sockets sums up connections: the ports that the process listens on, and how
// many connections it has in each state.
func sockets(connections []net.ConnectionStat) string {
	var listening []string
	states := map[string]int{}
	for _, c := range connections {
		switch {
		case c.Status == "LISTEN":
			listening = append(listening, endpoint(c.Laddr.IP, c.Laddr.Port))
		case c.Status != "" && c.Status != "NONE":
			states[c.Status]++
		}
	}
	slices.Sort(listening)
	listening = slices.Compact(listening)
	var parts []string
	if n := len(listening); n > 10 {
		listening = append(listening[:10], fmt.Sprintf("and %d more", n-10))
	}
	if listening != nil {
		parts = append(parts, "listens on "+strings.Join(listening, ", "))
	}
	if s := counts(states); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func children(ctx context.Context, p *process.Process) string {
	list, err := p.ChildrenWithContext(ctx)
	if err != nil || len(list) == 0 {
		return ""
	}
	const most = 15
	var names []string
	for _, c := range list[:min(most, len(list))] {
		name, err := c.NameWithContext(ctx)
		if err != nil {
			continue // it ended meanwhile
		}
		names = append(names, fmt.Sprintf("%d %s", c.Pid, plain(name, 40)))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}
