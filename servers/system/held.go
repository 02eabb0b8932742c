package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/servers/system/held"
)

// A heldFile is one that was deleted and is still open: it takes its space until
// the process ends or closes it, and no directory shows it.
type heldFile struct {
	PID     int    `json:"pid" jsonschema:"process that has it open"`
	Process string `json:"process" jsonschema:"name of the process"`
	Path    string `json:"path" jsonschema:"where it was"`
	Bytes   uint64 `json:"bytes" jsonschema:"on the disk"`
	device  uint64
}

// addHeld gives each disk the deleted files that it still holds, where they take more
// than a hundredth of it, and says so in lines.
func addHeld(ctx context.Context, disks []diskEntry) string {
	var files []heldFile
	for _, f := range held.Files(ctx) {
		files = append(files, heldFile{f.PID, plain(f.Process, 40), plain(f.Path, 300), f.Bytes, f.Device})
	}
	return heldOn(disks, files, held.Device)
}

func heldOn(disks []diskEntry, files []heldFile, device func(mount string) (uint64, bool)) string {
	const most = 5
	slices.SortStableFunc(files, func(a, b heldFile) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var b strings.Builder
	for i := range disks {
		d := &disks[i]
		id, ok := device(d.Mount)
		if !ok {
			continue
		}
		var there []heldFile
		sum := uint64(0)
		for _, f := range files {
			if f.device == id {
				sum += f.Bytes
				there = append(there, f)
			}
		}
		if sum <= d.TotalBytes/100 {
			continue
		}
		d.HeldBytes, d.Held = sum, there[:min(len(there), most)]
		var by []string
		for _, f := range d.Held {
			by = append(by, fmt.Sprintf("%s by process %d %s (%s)", size(f.Bytes), f.PID, answer.Line(f.Process, 40), plain(f.Path, 80)))
		}
		fmt.Fprintf(&b, "\nOn %s, %s is taken by deleted files that are still open: %s. It comes back when the process ends or closes them. Only processes that this user may look into are counted.\n",
			plain(d.Mount, 60), size(sum), strings.Join(by, "; "))
	}
	return b.String()
}
