package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const statsChars = 2000

type nameInput struct {
	Name string `json:"name" jsonschema:"name or id of the container, as docker_ps lists it"`
}

func (in nameInput) about() string { return in.Name }

func (in nameInput) check() error { return checkName(in.Name) }

type statsOutput struct {
	Container   string   `json:"container" jsonschema:"name of the container"`
	Running     bool     `json:"running" jsonschema:"whether it runs; else all figures are 0"`
	CPUPercent  float64  `json:"cpu_percent" jsonschema:"share of one processor over about a second; 100 is one processor in full"`
	CPUs        int      `json:"cpus" jsonschema:"processors of the machine"`
	Throttled   *float64 `json:"throttled_percent,omitempty" jsonschema:"share of the periods since its start in which a limit held it back, where there is a limit"`
	MemoryBytes uint64   `json:"memory_bytes" jsonschema:"memory in use, without the cache of files"`
	MemoryLimit uint64   `json:"memory_limit_bytes" jsonschema:"limit of memory, or the memory of the machine"`
	MemoryShare float64  `json:"memory_percent" jsonschema:"memory in use as a share of the limit"`
	CacheBytes  uint64   `json:"cache_bytes" jsonschema:"cache of files, which is given back when memory is short"`
	NetIn       uint64   `json:"network_in_bytes" jsonschema:"bytes received since its start"`
	NetOut      uint64   `json:"network_out_bytes" jsonschema:"bytes sent since its start"`
	NetDropped  uint64   `json:"network_errors_and_drops" jsonschema:"packets lost or in error, both ways"`
	BlockRead   uint64   `json:"block_read_bytes" jsonschema:"bytes read from disks since its start"`
	BlockWrite  uint64   `json:"block_write_bytes" jsonschema:"bytes written to disks since its start"`
	PIDs        uint64   `json:"pids" jsonschema:"processes and threads"`
	PIDsLimit   uint64   `json:"pids_limit,omitempty" jsonschema:"most processes and threads, where there is a limit"`
}

func (s *server) addStats(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_stats", Title: "Resources of a container",
		Description: "Returns what one container uses now: CPU % measured over a second, memory without the cache of files and its limit, network and block I/O since its start, number of processes. Takes one to two seconds.",
	}}, stats)
}

func stats(ctx context.Context, e *engine, in nameInput) (string, statsOutput, error) {
	about, err := e.ContainerInspect(ctx, in.Name, client.ContainerInspectOptions{})
	if err != nil {
		return "", statsOutput{}, err
	}
	out := statsOutput{Container: answer.Line(strings.TrimPrefix(about.Container.Name, "/"), 128)}
	if st := about.Container.State; !runs(st) {
		return out.idle(stateWord(st)), out, nil
	}
	res, err := e.ContainerStats(ctx, about.Container.ID, client.ContainerStatsOptions{IncludePreviousSample: true})
	if err != nil {
		return "", out, err
	}
	defer res.Body.Close()
	var r container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(res.Body, 8<<20)).Decode(&r); err != nil {
		return "", out, fmt.Errorf("the figures of %s cannot be read: %w", out.Container, err)
	}
	if r.Read.IsZero() { // the engine's way to say that there was nothing to measure
		return out.idle("it ended just now"), out, nil
	}
	out.fill(&r)
	return out.text(), out, nil
}

func (o *statsOutput) idle(why string) string {
	return fmt.Sprintf("%s does not run (%s), so it uses nothing. docker_inspect tells its exit code, docker_logs its last words.", o.Container, why)
}

func (o *statsOutput) fill(r *container.StatsResponse) {
	o.Running = true
	o.CPUPercent, o.CPUs = cpu(r)
	if t := r.CPUStats.ThrottlingData; t.Periods > 0 {
		share := percent(t.ThrottledPeriods, t.Periods)
		o.Throttled = &share
	}
	o.MemoryBytes, o.CacheBytes = memory(&r.MemoryStats)
	o.MemoryLimit = r.MemoryStats.Limit
	o.MemoryShare = percent(o.MemoryBytes, o.MemoryLimit)
	for _, n := range r.Networks {
		o.NetIn += n.RxBytes
		o.NetOut += n.TxBytes
		o.NetDropped += n.RxErrors + n.RxDropped + n.TxErrors + n.TxDropped
	}
	for _, b := range r.BlkioStats.IoServiceBytesRecursive {
		switch strings.ToLower(b.Op) {
		case "read":
			o.BlockRead += b.Value
		case "write":
			o.BlockWrite += b.Value
		}
	}
	if r.OSType == "windows" {
		o.BlockRead, o.BlockWrite = r.StorageStats.ReadSizeBytes, r.StorageStats.WriteSizeBytes
	}
	o.PIDs = r.PidsStats.Current
	if r.PidsStats.Limit < 1<<40 { // no limit is a very large number
		o.PIDsLimit = r.PidsStats.Limit
	}
}

// cpu returns the share of one processor that was used between the two samples.
// An engine that does not say how much the whole machine used says at least when
// the samples were taken.
func cpu(r *container.StatsResponse) (share float64, cpus int) {
	now, before := r.CPUStats, r.PreCPUStats
	cpus = int(now.OnlineCPUs)
	if cpus == 0 {
		cpus = len(now.CPUUsage.PercpuUsage)
	}
	elapsed := r.Read.Sub(r.PreRead)
	switch {
	case now.CPUUsage.TotalUsage <= before.CPUUsage.TotalUsage || r.PreRead.Year() < 1970 && before.SystemUsage == 0:
		return 0, cpus // one sample alone says nothing about now
	case r.OSType == "windows": // in units of 100 ns, on all processors
		cpus = int(r.NumProcs)
		if elapsed <= 0 {
			return 0, cpus
		}
		return round(float64(now.CPUUsage.TotalUsage-before.CPUUsage.TotalUsage) * 100 / float64(elapsed) * 100), cpus
	}
	used := float64(now.CPUUsage.TotalUsage - before.CPUUsage.TotalUsage)
	switch {
	case now.SystemUsage > before.SystemUsage && before.SystemUsage > 0:
		share = used / float64(now.SystemUsage-before.SystemUsage) * float64(cpus) * 100
	case elapsed > 0:
		share = used / float64(elapsed) * 100
	}
	return round(share), cpus
}

// memory returns the memory in use without the cache of files, and that cache:
// "cache" says version 1 of cgroups, and version 2 tells what of it is idle.
func memory(m *container.MemoryStats) (used, cache uint64) {
	if m.PrivateWorkingSet > 0 { // Windows
		return m.PrivateWorkingSet, 0
	}
	cache, ok := m.Stats["cache"]
	if !ok {
		cache = m.Stats["inactive_file"]
	}
	return m.Usage - min(cache, m.Usage), cache
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return round(float64(part) / float64(whole) * 100)
}

// round keeps two decimals.
func round(f float64) float64 { return float64(int64(f*100+0.5)) / 100 }

func (o *statsOutput) text() string {
	lines := []string{
		"## Resources of " + o.Container + "\n",
		fmt.Sprintf("- CPU: %.2f %% (100 %% is one processor; the machine has %d)", o.CPUPercent, o.CPUs),
		fmt.Sprintf("- Memory: %s of %s (%.2f %%), and %s of cache", size(o.MemoryBytes), size(o.MemoryLimit), o.MemoryShare, size(o.CacheBytes)),
		fmt.Sprintf("- Network: %s in, %s out, %d packets dropped or in error", size(o.NetIn), size(o.NetOut), o.NetDropped),
		fmt.Sprintf("- Block I/O: %s read, %s written", size(o.BlockRead), size(o.BlockWrite)),
		fmt.Sprintf("- Processes and threads: %d", o.PIDs),
	}
	if o.Throttled != nil {
		lines = slices.Insert(lines, 2, fmt.Sprintf("- Held back by its CPU limit in %.2f %% of the periods since its start", *o.Throttled))
	}
	if o.PIDsLimit > 0 {
		lines[len(lines)-1] += fmt.Sprintf(" of at most %d", o.PIDsLimit)
	}
	return strings.Join(lines, "\n") + "\n"
}

// runs reports a container with a program in it: one that waits to be started again
// counts as running for the engine.
func runs(st *container.State) bool { return st != nil && st.Running && !st.Restarting }

// stateWord is the state of a container in a word or two.
func stateWord(st *container.State) string {
	switch {
	case st == nil:
		return "state unknown"
	case st.Status == container.StateExited:
		return fmt.Sprintf("exited with code %d", st.ExitCode)
	case st.Restarting:
		return fmt.Sprintf("restarting after it exited with code %d", st.ExitCode)
	}
	return answer.Line(string(st.Status), 20)
}
