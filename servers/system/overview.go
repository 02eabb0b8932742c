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
)

// Bounds on the answers, in characters.
const (
	overviewChars  = 4000
	cpuMemoryChars = 2000
	diskChars      = 2000
)

func addOverview(srv *mcp.Server) {
	add(srv, spec{
		name: "get_local_system_overview", title: "System overview",
		description: "Returns an overview of this machine as Markdown: operating system, uptime, cores, processor load over one second, memory, swap and disks. A good first look at a host.",
	}, overview)
	add(srv, spec{
		name: "get_local_cpu_memory", title: "Processor and memory",
		description: "Returns the processor load of this machine, in total and for each core (measured over one second), and its memory: percent, used, available and total. In a container with limits it says that these count.",
	}, cpuMemory)
	add(srv, spec{
		name: "get_local_disk_usage", title: "Disk usage",
		description: "Returns a table of the disk partitions of this machine: device, mount point, file system, used, free, total and percent, and the share of inodes in use (a disk without inodes is full too). To find what fills one, call scan_dir_usage next.",
	}, diskUsage)
}

func overview(ctx context.Context, _ noInput) (string, error) {
	info, err := host.InfoWithContext(ctx)
	if err != nil {
		info = &host.InfoStat{OS: "unknown"}
	}
	load, err := cpuPercent(ctx)
	if err != nil {
		return "", err
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("read memory: %w", err)
	}
	var b strings.Builder
	b.WriteString("## System overview\n\n")
	fmt.Fprintf(&b, "- Host: %s\n- System: %s %s %s, kernel %s\n", plain(info.Hostname, 80),
		plain(info.OS, 20), plain(info.Platform, 40), plain(info.PlatformVersion, 60), plain(info.KernelVersion, 80))
	fmt.Fprintf(&b, "- Machine: %s, %s\n", plain(info.KernelArch, 20), cores(ctx))
	if info.BootTime > 0 {
		fmt.Fprintf(&b, "- Up for: %s, %d processes\n", age(time.Since(time.Unix(int64(info.BootTime), 0))), info.Procs)
	}
	fmt.Fprintf(&b, "- CPU: %.1f %% (over 1 s)\n", total(load))
	fmt.Fprintf(&b, "- Memory: %.1f %% (%s of %s used, %s available)\n", memory.UsedPercent, gb(memory.Used), gb(memory.Total), gb(memory.Available))
	b.WriteString(swapLine(ctx))
	b.WriteString("\n### Disks\n\n")
	rows, err := diskRows(ctx)
	if err != nil {
		b.WriteString("Not readable: " + err.Error() + "\n")
		return b.String(), nil
	}
	for i, r := range rows {
		rows[i] = r[1:] // the overview leaves out the device
	}
	b.WriteString(table(diskHead[1:], rows, overviewChars-b.Len()))
	return b.String(), nil
}

func cpuMemory(ctx context.Context, _ noInput) (string, error) {
	load, err := cpuPercent(ctx)
	if err != nil {
		return "", err
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("read memory: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## CPU and memory\n\n- CPU: %.1f %% (over 1 s, all cores)\n", total(load))
	fmt.Fprintf(&b, "- Memory: %.1f %%, used %s, available %s, total %s\n", memory.UsedPercent, gb(memory.Used), gb(memory.Available), gb(memory.Total))
	b.WriteString(swapLine(ctx))
	if l := readLimits(os.DirFS("/"), memory.Total); l.MemoryLimit > 0 || l.CPUCores > 0 {
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
	return b.String(), nil
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

func cores(ctx context.Context) string {
	physical, errP := cpu.CountsWithContext(ctx, false)
	logical, errL := cpu.CountsWithContext(ctx, true)
	if errP != nil || physical == 0 {
		return fmt.Sprintf("%d logical cores", logical)
	}
	if errL != nil {
		return fmt.Sprintf("%d physical cores", physical)
	}
	return fmt.Sprintf("%d physical and %d logical cores", physical, logical)
}

func swapLine(ctx context.Context) string {
	swap, err := mem.SwapMemoryWithContext(ctx)
	if err != nil || swap.Total == 0 {
		return "- Swap: none\n"
	}
	return fmt.Sprintf("- Swap: %.1f %% (%s of %s used)\n", swap.UsedPercent, gb(swap.Used), gb(swap.Total))
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
