package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds on the answers, in characters.
const (
	overviewChars  = 4000
	cpuMemoryChars = 2000
	diskChars      = 2000
)

func addOverview(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_local_system_overview", Title: "System overview",
		Description: "Returns an overview of this machine as Markdown: operating system, uptime, cores, processor load over one second, memory, swap and disks. A good first look at a host.",
	}, overview)
	typed.Add(srv, spec{
		Name: "get_local_cpu_memory", Title: "Processor and memory",
		Description: "Returns the processor load of this machine, in total and for each core (measured over one second), and its memory: percent, used, available and total. In a container with limits it says that these count.",
	}, cpuMemory)
	typed.Add(srv, spec{
		Name: "get_local_disk_usage", Title: "Disk usage",
		Description: "Returns a table of the disk partitions of this machine: device, mount point, file system, used, free, total and percent, and the share of inodes in use (a disk without inodes is full too). To find what fills one, call scan_dir_usage next.",
	}, diskUsage)
}

type memoryEntry struct {
	UsedBytes      uint64  `json:"used_bytes"`
	AvailableBytes uint64  `json:"available_bytes,omitempty" jsonschema:"what programs can still have; not said of swap"`
	TotalBytes     uint64  `json:"total_bytes"`
	Percent        float64 `json:"percent"`
}

type overviewOutput struct {
	Hostname      string      `json:"hostname" jsonschema:"name of this machine"`
	System        string      `json:"system" jsonschema:"operating system, distribution and its version"`
	Kernel        string      `json:"kernel" jsonschema:"version of the kernel"`
	Architecture  string      `json:"architecture" jsonschema:"of the processor"`
	PhysicalCores int         `json:"physical_cores,omitempty" jsonschema:"where it is known"`
	LogicalCores  int         `json:"logical_cores,omitempty" jsonschema:"where it is known"`
	UptimeSeconds int64       `json:"uptime_seconds,omitempty" jsonschema:"since the system was started"`
	Processes     uint64      `json:"processes,omitempty" jsonschema:"how many there are"`
	CPUPercent    float64     `json:"cpu_percent" jsonschema:"of all cores, over one second"`
	Memory        memoryEntry `json:"memory" jsonschema:"of this machine"`
	Swap          memoryEntry `json:"swap" jsonschema:"all zero where there is none"`
	Disks         []diskEntry `json:"disks" jsonschema:"partitions that can be read, fullest first"`
}

func overview(ctx context.Context, _ noInput) (string, overviewOutput, error) {
	info, err := host.InfoWithContext(ctx)
	if err != nil {
		info = &host.InfoStat{OS: "unknown"}
	}
	load, memory, err := readLoad(ctx)
	if err != nil {
		return "", overviewOutput{}, err
	}
	out := overviewOutput{
		Hostname: plain(info.Hostname, 80), Kernel: plain(info.KernelVersion, 80), Architecture: plain(info.KernelArch, 20),
		System:     fmt.Sprintf("%s %s %s", plain(info.OS, 20), plain(info.Platform, 40), plain(info.PlatformVersion, 60)),
		CPUPercent: round(total(load), 1), Memory: memory, Swap: swap(ctx), Processes: info.Procs, Disks: []diskEntry{},
	}
	out.PhysicalCores, _ = cpu.CountsWithContext(ctx, false) // 0 where it is not known
	out.LogicalCores, _ = cpu.CountsWithContext(ctx, true)
	var b strings.Builder
	b.WriteString("## System overview\n\n")
	fmt.Fprintf(&b, "- Host: %s\n- System: %s, kernel %s\n", out.Hostname, out.System, out.Kernel)
	fmt.Fprintf(&b, "- Machine: %s, %s\n", out.Architecture, cores(out.PhysicalCores, out.LogicalCores))
	if info.BootTime > 0 {
		up := time.Since(time.Unix(int64(info.BootTime), 0))
		out.UptimeSeconds = int64(up.Seconds())
		fmt.Fprintf(&b, "- Up for: %s, %d processes\n", age(up), info.Procs)
	}
	fmt.Fprintf(&b, "- CPU: %.1f %% (over 1 s)\n", out.CPUPercent)
	fmt.Fprintf(&b, "- Memory: %.1f %% (%s of %s used, %s available)\n", memory.Percent, gb(memory.UsedBytes), gb(memory.TotalBytes), gb(memory.AvailableBytes))
	b.WriteString(swapLine(out.Swap))
	b.WriteString("\n### Disks\n\n")
	disks, err := readDisks(ctx)
	if err != nil {
		b.WriteString("Not readable: " + err.Error() + "\n")
		return b.String(), out, nil
	}
	out.Disks = disks
	rows := diskRows(disks)
	for i, r := range rows {
		rows[i] = r[1:] // the overview leaves out the device
	}
	b.WriteString(answer.Table(diskHead[1:], rows, overviewChars-b.Len()))
	return b.String(), out, nil
}

type cpuMemoryOutput struct {
	CPUPercent float64     `json:"cpu_percent" jsonschema:"of all cores, over one second"`
	Cores      []float64   `json:"cores" jsonschema:"load of each core in percent, over one second"`
	Memory     memoryEntry `json:"memory" jsonschema:"of this machine"`
	Swap       memoryEntry `json:"swap" jsonschema:"all zero where there is none"`
	Container  *limits     `json:"container,omitempty" jsonschema:"limits that count in place of what the machine has"`
}

func cpuMemory(ctx context.Context, _ noInput) (string, cpuMemoryOutput, error) {
	load, memory, err := readLoad(ctx)
	if err != nil {
		return "", cpuMemoryOutput{}, err
	}
	out := cpuMemoryOutput{CPUPercent: round(total(load), 1), Cores: []float64{}, Memory: memory, Swap: swap(ctx)}
	for _, p := range load {
		out.Cores = append(out.Cores, round(p, 1))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## CPU and memory\n\n- CPU: %.1f %% (over 1 s, all cores)\n", out.CPUPercent)
	fmt.Fprintf(&b, "- Memory: %.1f %%, used %s, available %s, total %s\n", memory.Percent, gb(memory.UsedBytes), gb(memory.AvailableBytes), gb(memory.TotalBytes))
	b.WriteString(swapLine(out.Swap))
	if l := readLimits(os.DirFS("/"), memory.TotalBytes); l.MemoryLimit > 0 || l.CPUCores > 0 {
		out.Container = &l
		b.WriteString("\n### Limits of the container\n\nThis program runs in a container; these limits count, not what the machine has.\n\n" + limitLines(l))
	}
	b.WriteString("\n### Cores, in %\n\n")
	const inRow = 8
	for i := 0; i < len(load); i += inRow {
		row := load[i:min(i+inRow, len(load))]
		var r strings.Builder
		fmt.Fprintf(&r, "- %d to %d:", i, i+len(row)-1)
		for _, p := range row {
			fmt.Fprintf(&r, " %.1f", p)
		}
		if b.Len()+r.Len() > cpuMemoryChars-60 {
			fmt.Fprintf(&b, "- %d more cores were left out\n", len(load)-i)
			break
		}
		b.WriteString(r.String() + "\n")
	}
	return b.String(), out, nil
}

// readLoad returns the load of each core, and the memory.
func readLoad(ctx context.Context) ([]float64, memoryEntry, error) {
	load, err := cpuPercent(ctx)
	if err != nil {
		return nil, memoryEntry{}, err
	}
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, memoryEntry{}, fmt.Errorf("read memory: %w", err)
	}
	return load, memoryEntry{m.Used, m.Available, m.Total, round(m.UsedPercent, 1)}, nil
}

// cpuPercent returns the load of each core over one sample, in percent.
func cpuPercent(ctx context.Context) ([]float64, error) {
	load, err := cpu.PercentWithContext(ctx, sample, true)
	switch {
	case ctx.Err() != nil:
		return nil, errors.New("canceled while measuring")
	case err != nil:
		return nil, fmt.Errorf("measure processor load: %w", err)
	}
	return load, nil
}

func total(load []float64) float64 {
	var sum float64
	for _, p := range load {
		sum += p
	}
	return sum / float64(max(1, len(load)))
}

func cores(physical, logical int) string {
	switch {
	case physical == 0:
		return fmt.Sprintf("%d logical cores", logical)
	case logical == 0:
		return fmt.Sprintf("%d physical cores", physical)
	}
	return fmt.Sprintf("%d physical and %d logical cores", physical, logical)
}

func swap(ctx context.Context) memoryEntry {
	s, err := mem.SwapMemoryWithContext(ctx)
	if err != nil || s.Total == 0 {
		return memoryEntry{}
	}
	return memoryEntry{UsedBytes: s.Used, TotalBytes: s.Total, Percent: round(s.UsedPercent, 1)}
}

func swapLine(s memoryEntry) string {
	if s.TotalBytes == 0 {
		return "- Swap: none\n"
	}
	return fmt.Sprintf("- Swap: %.1f %% (%s of %s used)\n", s.Percent, gb(s.UsedBytes), gb(s.TotalBytes))
}

// age prints a span of time in its two largest units.
func age(d time.Duration) string {
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes)
	}
	return fmt.Sprintf("%dm %ds", minutes, int(d.Seconds())%60)
}
