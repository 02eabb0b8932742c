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
)

const loadChars = 1500

func addLoad(srv *mcp.Server) {
	add(srv, spec{
		name: "get_load_average", title: "Load and pressure",
		description: "Returns the load averages of this machine over 1, 5 and 15 minutes, also for each core, and on Linux the pressure stall information: how much of the time work had to wait for processor, memory or disk.",
	}, loadAverage)
}

func loadAverage(ctx context.Context, _ noInput) (string, error) {
	n, err := cpu.CountsWithContext(ctx, true)
	if err != nil || n < 1 {
		n = runtime.NumCPU()
	}
	if runtime.GOOS == "windows" { // which counts no load; what libraries offer is computed only while one waits for it
		percent, err := cpuPercent(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("## Load\n\nWindows keeps no load average. CPU: %.1f %% over 1 s, on %d logical cores. Call list_top_processes with sort_by cpu to see what runs.\n", total(percent), n), nil
	}
	avg, err := load.AvgWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("read load average: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Load\n\nOn %d logical cores; above 1 for each core, work is waiting.\n\n", n)
	b.WriteString(table([]string{"over", "load", "for each core"}, [][]string{
		{"1 min", fmt.Sprintf("%.2f", avg.Load1), fmt.Sprintf("%.2f", avg.Load1/float64(n))},
		{"5 min", fmt.Sprintf("%.2f", avg.Load5), fmt.Sprintf("%.2f", avg.Load5/float64(n))},
		{"15 min", fmt.Sprintf("%.2f", avg.Load15), fmt.Sprintf("%.2f", avg.Load15/float64(n))},
	}, loadChars))
	if runtime.GOOS == "linux" {
		b.WriteString("\n" + pressure("/proc/pressure"))
	}
	return b.String(), nil
}

// pressure reads the kernel's pressure stall information from the files cpu,
// memory and io in dir.
func pressure(dir string) string {
	var rows [][]string
	for _, resource := range []string{"cpu", "memory", "io"} {
		b, err := fs.ReadFile(os.DirFS(dir), resource)
		if err != nil {
			continue // a kernel without it, or one that has no such resource
		}
		for l := range strings.Lines(string(b)) {
			if row, ok := pressureRow(resource, l); ok {
				rows = append(rows, row)
			}
		}
	}
	if rows == nil {
		return "### Pressure\n\nThis kernel gives no pressure stall information.\n"
	}
	return "### Pressure\n\nShare of the time in % that some, or all (full), work stood still for want of the resource.\n\n" +
		table([]string{"resource", "stalled", "10 s", "60 s", "300 s"}, rows, 700)
}

// pressureRow reads a line such as "some avg10=0.12 avg60=0.10 avg300=0.05 total=1234".
func pressureRow(resource, l string) ([]string, bool) {
	fields := strings.Fields(l)
	if len(fields) < 4 {
		return nil, false
	}
	row := []string{resource, fields[0]}
	for i, key := range []string{"avg10=", "avg60=", "avg300="} {
		value, ok := strings.CutPrefix(fields[i+1], key)
		if !ok {
			return nil, false
		}
		row = append(row, value)
	}
	return row, true
}
