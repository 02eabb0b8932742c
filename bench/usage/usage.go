// Package usage reads what another process has cost so far: CPU time, resident
// memory now, and the largest resident memory since a moment of the caller's
// choice. It is how the benchmark charges a gateway for a call without asking
// the gateway.
//
//	p := usage.Of(pid)
//	before, err := p.CPU()
//	// … load …
//	after, err := p.CPU()
//	perCall := (after - before) / calls
//
// Children are not counted: a gateway whose upstream is its child pays for its
// own work alone.
//
// It reads Linux's /proc and the process's CPU clock. Elsewhere every method
// returns ErrUnsupported, and the benchmark says that it could not measure.
package usage

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrUnsupported is returned where the operating system does not offer the figure.
var ErrUnsupported = errors.New("not measured on this operating system")

// TicksPerSecond is the unit of the CPU times in /proc/PID/stat. The kernel
// has a rate of its own, but shows this one (USER_HZ) on every architecture
// that Go runs on.
const TicksPerSecond = 100

// A Process is one process to read the figures of. It holds no handle, so a
// process that has ended gives errors, and one whose number is used again
// gives the figures of its successor. It is safe for concurrent use.
type Process struct {
	pid int
}

// Of returns the process with this number.
func Of(pid int) Process { return Process{pid: pid} }

// PID returns the process's number.
func (p Process) PID() int { return p.pid }

// ParseStat returns the CPU time (user and system) that a line of
// /proc/PID/stat tells of, exact to one tick. The second field is the
// command's name in parentheses and may itself hold spaces and parentheses, so
// fields are counted from the last closing one.
func ParseStat(line []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return 0, fmt.Errorf("stat %.60q: no command name", line)
	}
	// After the name comes field 3; user time is 14 and system time 15.
	fields := bytes.Fields(line[end+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat %.60q: %d fields after the name, want 13 or more", line, len(fields))
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat: CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / TicksPerSecond, nil
}

// ParseKB returns, in bytes, a value in kB from a file of "Name:  123 kB"
// lines, such as /proc/PID/status and smaps_rollup.
func ParseKB(file []byte, name string) (int64, error) {
	for line := range bytes.Lines(file) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(key) != name {
			continue
		}
		fields := bytes.Fields(value)
		if len(fields) != 2 || string(fields[1]) != "kB" {
			return 0, fmt.Errorf("%s: %q is no number of kB", name, bytes.TrimSpace(value))
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("no line %s", name)
}
