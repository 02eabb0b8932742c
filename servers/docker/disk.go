package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	diskChars = 4000
	diskMost  = 8 // largest things of each kind
)

type diskInput struct{}

func (diskInput) about() string { return "" }
func (diskInput) check() error  { return nil }

type diskOutput struct {
	Kinds   []diskKind `json:"kinds" jsonschema:"images, containers, volumes and build cache"`
	Total   int64      `json:"total_bytes" jsonschema:"all of it"`
	Reclaim int64      `json:"reclaimable_bytes" jsonschema:"what is used by nothing that runs"`
}

type diskKind struct {
	Kind        string     `json:"kind" jsonschema:"images, containers, volumes or build cache"`
	Count       int64      `json:"count" jsonschema:"how many there are"`
	Active      int64      `json:"active" jsonschema:"how many are in use"`
	Bytes       int64      `json:"bytes" jsonschema:"what they take"`
	Reclaimable int64      `json:"reclaimable_bytes" jsonschema:"what could be had back"`
	Largest     []diskItem `json:"largest" jsonschema:"the largest of them, at most 8"`
}

type diskItem struct {
	Name  string `json:"name" jsonschema:"name or id"`
	Bytes int64  `json:"bytes" jsonschema:"what it takes by itself"`
	InUse bool   `json:"in_use" jsonschema:"whether something uses it"`
}

func (s *server) addDisk(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_df", Title: "Disk space of the engine",
		Description: "Returns the disk space that images, containers, volumes and build cache take, how much of it could be had back, and the largest of each. May take long on an engine with much data. Removes nothing.",
	}, limit: longLimit}, disk)
}

func disk(ctx context.Context, e *engine, _ diskInput) (string, diskOutput, error) {
	out := diskOutput{Kinds: []diskKind{}}
	d, err := e.DiskUsage(ctx, client.DiskUsageOptions{Containers: true, Images: true, BuildCache: true, Volumes: true, Verbose: true})
	if err != nil {
		return "", out, err
	}
	i, c, v, b := d.Images, d.Containers, d.Volumes, d.BuildCache
	out.Kinds = []diskKind{
		{"images", i.TotalCount, i.ActiveCount, i.TotalSize, i.Reclaimable, []diskItem{}},
		{"containers", c.TotalCount, c.ActiveCount, c.TotalSize, c.Reclaimable, []diskItem{}},
		{"volumes", v.TotalCount, v.ActiveCount, v.TotalSize, v.Reclaimable, []diskItem{}},
		{"build cache", b.TotalCount, b.ActiveCount, b.TotalSize, b.Reclaimable, []diskItem{}},
	}
	for _, item := range i.Items {
		tags := append(tagsOf(item), shortID(item.ID))
		out.Kinds[0].add(tags[0], item.Size-max(0, item.SharedSize), item.Containers > 0)
	}
	for _, item := range c.Items {
		out.Kinds[1].add(nameOf(item), item.SizeRw, item.State == "running")
	}
	for _, item := range v.Items {
		if u := item.UsageData; u != nil {
			out.Kinds[2].add(item.Name, max(0, u.Size), u.RefCount > 0)
		}
	}
	for _, item := range b.Items {
		out.Kinds[3].add(shortID(item.ID), item.Size, item.InUse)
	}
	for n := range out.Kinds {
		out.Kinds[n].settle()
		out.Total += out.Kinds[n].Bytes
		out.Reclaim += out.Kinds[n].Reclaimable
	}
	return out.text(), out, nil
}

func (k *diskKind) add(name string, bytes int64, used bool) {
	k.Largest = append(k.Largest, diskItem{name, bytes, used})
}

// settle keeps the largest, and takes figures that an engine does not know, which
// are negative, for none.
func (k *diskKind) settle() {
	slices.SortStableFunc(k.Largest, func(a, b diskItem) int { return clamp(int(b.Bytes-a.Bytes), -1, 1) })
	k.Largest = k.Largest[:min(len(k.Largest), diskMost)]
	for i := range k.Largest {
		k.Largest[i].Name = answer.Line(k.Largest[i].Name, 128)
	}
	k.Bytes, k.Reclaimable = max(0, k.Bytes), max(0, k.Reclaimable)
}

func (o *diskOutput) text() string {
	p := &page{left: diskChars - 10}
	p.line("## Disk space of the engine\n\n%s in all, of which %s is used by nothing that runs\n", size(o.Total), size(o.Reclaim))
	p.line("| | number | in use | size | reclaimable |\n| --- | --- | --- | --- | --- |")
	for _, k := range o.Kinds {
		p.line("| %s | %d | %d | %s | %s |", k.Kind, k.Count, k.Active, size(k.Bytes), size(k.Reclaimable))
	}
	for _, k := range o.Kinds {
		var items []string
		for _, i := range k.Largest[:min(len(k.Largest), 5)] {
			if i.Bytes <= 0 {
				continue
			}
			used := "unused"
			if i.InUse {
				used = "in use"
			}
			items = append(items, fmt.Sprintf("%s %s (%s)", answer.Line(i.Name, 64), size(i.Bytes), used))
		}
		if len(items) > 0 {
			p.line("\nLargest %s: %s", k.Kind, strings.Join(items, "; "))
		}
	}
	return p.b.String()
}
