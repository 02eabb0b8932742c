package system

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
)

var diskHead = []string{"device", "mount", "fs", "used", "free", "total", "%", "inodes %"}

func diskUsage(ctx context.Context, _ noInput) (string, error) {
	rows, err := diskRows(ctx)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "No disk partition could be read.", nil
	}
	const title = "## Disk usage\n\n"
	return title + table(diskHead, rows, diskChars-len(title)), nil
}

// diskRows returns a row for each partition that can be read, fullest first.
func diskRows(ctx context.Context) ([][]string, error) {
	partitions, err := physicalPartitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	type used struct {
		percent float64
		row     []string
	}
	var found []used
	for _, p := range partitions {
		u, err := disk.UsageWithContext(ctx, p.Mountpoint)
		if err != nil || u.Total == 0 {
			continue // gone, or not for this user
		}
		found = append(found, used{max(u.UsedPercent, u.InodesUsedPercent), []string{
			plain(p.Device, 40), plain(p.Mountpoint, 60), plain(p.Fstype, 16),
			gb(u.Used), gb(u.Free), gb(u.Total), fmt.Sprintf("%.1f", u.UsedPercent), inodes(u),
		}})
	}
	slices.SortStableFunc(found, func(a, b used) int {
		switch {
		case a.percent > b.percent:
			return -1
		case a.percent < b.percent:
			return 1
		}
		return 0
	})
	rows := make([][]string, 0, len(found))
	for _, f := range found {
		rows = append(rows, f.row)
	}
	return rows, nil
}

// inodes returns which share of the files that a file system has room for exist. A
// disk is full as well when that is used up.
func inodes(u *disk.UsageStat) string {
	if u.InodesTotal == 0 {
		return "-" // it makes room as it needs it
	}
	return fmt.Sprintf("%.1f", u.InodesUsedPercent)
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
