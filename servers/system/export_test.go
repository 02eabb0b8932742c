package system

import (
	"io/fs"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pressure reads pressure stall information from a directory.
func Pressure(dir string) string { return pressure(readPressure(dir)) }

// Limits reads the limits of control groups from a root, on a machine with so much
// memory.
func Limits(root fs.FS, memory uint64) string { return limitsText(readLimits(root, memory)) }

// FansAndBatteries reads them from a root.
func FansAndBatteries(root fs.FS) string { return sensorsText(sensorsOutput{fansAndBatteries(root)}) }

// Hint reads a record of the kernel's log.
func Hint(record string, started time.Time) (kind, at, text string, ok bool) {
	h, ok := hint(record, started)
	return h.Kind, h.Time, h.Text, ok
}

// WithManager returns a server that asks another manager of services.
func WithManager(m manager) *mcp.Server { return (&server{services: m, scanRoots: &scanRoots{}}).mcp() }

// Hints reads records of the kernel's log.
func Hints(records []string, started time.Time) (list []string) {
	for _, h := range hintsOf(records, started) {
		list = append(list, h.Kind+": "+h.Text)
	}
	return list
}

// KernelReport returns both forms of an answer about the kernel's log.
func KernelReport(records []string) (text string, structured any) {
	var o kernelOutput
	o.fill(records, time.Unix(0, 0), nil)
	return o.text(len(records), nil), o
}

// Held tells which disks deleted files take, by what is on the only disk.
func Held(total uint64, sizes ...uint64) string {
	var files []heldFile
	for i, n := range sizes {
		files = append(files, heldFile{PID: i + 1, Process: "p", Path: "/x", Bytes: n, device: 7})
	}
	return heldOn([]diskEntry{{Mount: "/", TotalBytes: total}}, files, func(string) (uint64, bool) { return 7, true })
}
