package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/tenon-mcp/tenon/internal/answer"
)

var diskHead = []string{"device", "mount", "fs", "used", "free", "total", "%", "inodes %"}

type disksOutput struct {
	Disks []diskEntry `json:"disks" jsonschema:"partitions that can be read, fullest first"`
}

// A diskEntry is one partition.
type diskEntry struct {
	Device        string   `json:"device"`
	Mount         string   `json:"mount" jsonschema:"where it is mounted"`
	FileSystem    string   `json:"file_system"`
	UsedBytes     uint64   `json:"used_bytes"`
	FreeBytes     uint64   `json:"free_bytes" jsonschema:"what users may still write"`
	TotalBytes    uint64   `json:"total_bytes"`
	Percent       float64  `json:"percent" jsonschema:"of the space that users may have"`
	InodesPercent *float64 `json:"inodes_percent,omitempty" jsonschema:"of the files that it has room for; left out where it makes room as it needs it"`

	HeldBytes uint64     `json:"held_bytes,omitempty" jsonschema:"of deleted files that are still open, where they take more than 1 % of it (Linux)"`
	Held      []heldFile `json:"held,omitempty" jsonschema:"the largest of those, at most 5"`
}

func diskUsage(ctx context.Context, _ noInput) (string, disksOutput, error) {
	disks, err := readDisks(ctx)
	if err != nil {
		return "", disksOutput{}, err
	}
	if len(disks) == 0 {
		return "No disk partition could be read.", disksOutput{disks}, nil
	}
	const title = "## Disk usage\n\n"
	held := addHeld(ctx, disks)
	return title + answer.Table(diskHead, diskRows(disks), max(diskChars-len(title)-len(held), 600)) + held, disksOutput{disks}, nil
}

// readDisks returns each partition that can be read, fullest first. A disk is full as
// well when it has room for no more files.
func readDisks(ctx context.Context) ([]diskEntry, error) {
	partitions, err := physicalPartitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	found := []diskEntry{}
	for _, p := range partitions {
		u, err := disk.UsageWithContext(ctx, p.Mountpoint)
		if err != nil || u.Total == 0 {
			continue // gone, or not for this user
		}
		d := diskEntry{
			Device: plain(p.Device, 200), Mount: plain(p.Mountpoint, 200), FileSystem: plain(p.Fstype, 16),
			UsedBytes: u.Used, FreeBytes: u.Free, TotalBytes: u.Total, Percent: round(u.UsedPercent, 1),
		}
		if u.InodesTotal > 0 {
			percent := round(u.InodesUsedPercent, 1)
			d.InodesPercent = &percent
		}
		found = append(found, d)
	}
	slices.SortStableFunc(found, func(a, b diskEntry) int { return cmp.Compare(b.full(), a.full()) })
	return found, nil
}

func (d diskEntry) full() float64 {
	if d.InodesPercent != nil {
		return max(d.Percent, *d.InodesPercent)
	}
	return d.Percent
}

func diskRows(disks []diskEntry) [][]string {
	rows := make([][]string, 0, len(disks))
	for _, d := range disks {
		inodes := "-"
		if d.InodesPercent != nil {
			inodes = fmt.Sprintf("%.1f", *d.InodesPercent)
		}
		rows = append(rows, []string{
			plain(d.Device, 40), plain(d.Mount, 60), d.FileSystem, gb(d.UsedBytes), gb(d.FreeBytes), gb(d.TotalBytes),
			fmt.Sprintf("%.1f", d.Percent), inodes,
		})
	}
	return rows
}

// physicalPartitions returns the mounted partitions of real devices, each device
// once: a container sees the same one at many mount points. Read-only images,
// which are always full, are no use to anybody who looks for space. In a
// container the root may be a file system without a device; it is listed too,
// since it is the one that fills up.
func physicalPartitions(ctx context.Context) ([]disk.PartitionStat, error) {
	physical, err := disk.PartitionsWithContext(ctx, false)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(physical, func(p disk.PartitionStat) bool { return p.Mountpoint == "/" }) {
		all, err := disk.PartitionsWithContext(ctx, true)
		if err == nil {
			if i := slices.IndexFunc(all, func(p disk.PartitionStat) bool { return p.Mountpoint == "/" }); i >= 0 {
				physical = append(physical, all[i])
			}
		}
	}
	slices.SortStableFunc(physical, func(a, b disk.PartitionStat) int { return len(a.Mountpoint) - len(b.Mountpoint) })
	seen := map[string]bool{}
	return slices.DeleteFunc(physical, func(p disk.PartitionStat) bool {
		image := p.Fstype == "squashfs" || p.Fstype == "iso9660" || p.Fstype == "devfs" || p.Fstype == "autofs"
		again := strings.HasPrefix(p.Device, "/") && seen[p.Device]
		seen[p.Device] = true
		return image || again
	}), nil
}
