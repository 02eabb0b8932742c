package system

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const loadChars = 1500

func addLoad(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_load_average", Title: "Load and pressure",
		Description: "Returns the load averages of this machine over 1, 5 and 15 minutes, also for each core, and on Linux the pressure stall information: how much of the time work had to wait for processor, memory or disk.",
	}, loadAverage)
}

type loadOutput struct {
	LogicalCores int          `json:"logical_cores" jsonschema:"above 1 for each of them, work is waiting"`
	Load1        *float64     `json:"load_1,omitempty" jsonschema:"over 1 minute; left out on Windows, which keeps none"`
	Load5        *float64     `json:"load_5,omitempty" jsonschema:"over 5 minutes"`
	Load15       *float64     `json:"load_15,omitempty" jsonschema:"over 15 minutes"`
	CPUPercent   *float64     `json:"cpu_percent,omitempty" jsonschema:"over one second, on Windows alone"`
	Pressure     []stallEntry `json:"pressure,omitempty" jsonschema:"share of the time that work stood still, on Linux"`
}

// A stallEntry is how long work stood still for want of a resource.
type stallEntry struct {
	Resource string  `json:"resource" jsonschema:"cpu, memory or io"`
	Stalled  string  `json:"stalled" jsonschema:"some: some work, full: all of it"`
	Avg10    float64 `json:"avg10" jsonschema:"percent of the last 10 seconds"`
	Avg60    float64 `json:"avg60" jsonschema:"percent of the last 60 seconds"`
	Avg300   float64 `json:"avg300" jsonschema:"percent of the last 300 seconds"`
}

func loadAverage(ctx context.Context, _ noInput) (string, loadOutput, error) {
	n, err := cpu.CountsWithContext(ctx, true)
	if err != nil || n < 1 {
		n = runtime.NumCPU()
	}
	out := loadOutput{LogicalCores: n}
	if runtime.GOOS == "windows" { // which counts no load; what libraries offer is computed only while one waits for it
		percent, err := cpuPercent(ctx)
		if err != nil {
			return "", out, err
		}
		used := round(total(percent), 1)
		out.CPUPercent = &used
		return fmt.Sprintf("## Load\n\nWindows keeps no load average. CPU: %.1f %% over 1 s, on %d logical cores. Call list_top_processes with sort_by cpu to see what runs.\n", used, n), out, nil
	}
	avg, err := load.AvgWithContext(ctx)
	if err != nil {
		return "", out, fmt.Errorf("read load average: %w", err)
	}
	out.Load1, out.Load5, out.Load15 = &avg.Load1, &avg.Load5, &avg.Load15
	var b strings.Builder
	fmt.Fprintf(&b, "## Load\n\nOn %d logical cores; above 1 for each core, work is waiting.\n\n", n)
	b.WriteString(answer.Table([]string{"over", "load", "for each core"}, [][]string{
		{"1 min", fmt.Sprintf("%.2f", avg.Load1), fmt.Sprintf("%.2f", avg.Load1/float64(n))},
		{"5 min", fmt.Sprintf("%.2f", avg.Load5), fmt.Sprintf("%.2f", avg.Load5/float64(n))},
		{"15 min", fmt.Sprintf("%.2f", avg.Load15), fmt.Sprintf("%.2f", avg.Load15/float64(n))},
	}, loadChars))
	if runtime.GOOS == "linux" {
		out.Pressure = readPressure("/proc/pressure")
		b.WriteString("\n" + pressure(out.Pressure))
	}
	return b.String(), out, nil
}

// readPressure reads the kernel's pressure stall information from the files cpu,
// memory and io in dir.
func readPressure(dir string) []stallEntry {
	var stalls []stallEntry
	for _, resource := range []string{"cpu", "memory", "io"} {
		b, err := fs.ReadFile(os.DirFS(dir), resource)
		if err != nil {
			continue // a kernel without it, or one that has no such resource
		}
		for l := range strings.Lines(string(b)) {
			if s, ok := stallOf(resource, l); ok {
				stalls = append(stalls, s)
			}
		}
	}
	return stalls
}

func pressure(stalls []stallEntry) string {
	if stalls == nil {
		return "### Pressure\n\nThis kernel gives no pressure stall information.\n"
	}
	var rows [][]string
	for _, s := range stalls {
		rows = append(rows, []string{s.Resource, s.Stalled, fmt.Sprintf("%.2f", s.Avg10), fmt.Sprintf("%.2f", s.Avg60), fmt.Sprintf("%.2f", s.Avg300)})
	}
	return "### Pressure\n\nShare of the time in % that some, or all (full), work stood still for want of the resource.\n\n" +
		answer.Table([]string{"resource", "stalled", "10 s", "60 s", "300 s"}, rows, 700)
}

// stallOf reads a line such as "some avg10=0.12 avg60=0.10 avg300=0.05 total=1234".
func stallOf(resource, l string) (stallEntry, bool) {
	s := stallEntry{Resource: resource}
	n, err := fmt.Sscanf(l, "%s avg10=%f avg60=%f avg300=%f", &s.Stalled, &s.Avg10, &s.Avg60, &s.Avg300)
	return s, err == nil && n == 4
}
