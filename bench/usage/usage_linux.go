package usage

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time, user and system, that the process has used since
// it began, all its threads together, ended ones too.
func (p Process) CPU() (time.Duration, error) {
	// The kernel names the CPU clock of a process by ^pid<<3 and the kind of
	// clock, 2 being the scheduler's: nanoseconds, where stat has ticks of
	// 10 ms. schedstat is as fine, but covers one thread.
	const schedulerClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid)<<3|schedulerClock, &ts); err == nil {
		return time.Duration(ts.Nano()), nil
	}
	b, err := os.ReadFile(p.file("stat"))
	if err != nil {
		return 0, err
	}
	return ParseStat(b)
}

// RSS returns the resident memory in bytes.
func (p Process) RSS() (int64, error) {
	// The kernel keeps VmRSS of status in batches, so that it may be off by
	// some pages for each thread; smaps_rollup walks the page tables.
	if b, err := os.ReadFile(p.file("smaps_rollup")); err == nil {
		return ParseKB(b, "Rss")
	}
	b, err := os.ReadFile(p.file("status"))
	if err != nil {
		return 0, err
	}
	return ParseKB(b, "VmRSS")
}

// PeakRSS returns the largest resident memory in bytes since the process began
// or since ResetPeak.
func (p Process) PeakRSS() (int64, error) {
	b, err := os.ReadFile(p.file("status"))
	if err != nil {
		return 0, err
	}
	return ParseKB(b, "VmHWM")
}

// ResetPeak makes PeakRSS count from now on.
func (p Process) ResetPeak() error {
	const resetPeak = "5" // see proc(5), clear_refs
	return os.WriteFile(p.file("clear_refs"), []byte(resetPeak), 0)
}

// Available returns how much memory in bytes new processes may take without
// that anything is swapped out.
func Available() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return ParseKB(b, "MemAvailable")
}

func (p Process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", p.pid, name) }
