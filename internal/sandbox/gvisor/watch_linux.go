package gvisor

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tree returns a process and all below it.
func tree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < 10_000; i++ {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children") // the pattern is good
		for _, path := range tasks {
			b, _ := os.ReadFile(path) // it may have ended
			for f := range strings.FieldsSeq(string(b)) {
				if n, err := strconv.Atoi(f); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// memoryBelow is the memory of a process and all below it; what they share counts once.
func memoryBelow(pid int) int64 {
	var sum int64
	for _, pid := range tree(pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		for line := range bytes.Lines(b) {
			if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "Pss:" {
				n, _ := strconv.ParseInt(string(f[1]), 10, 64)
				sum += n << 10
			}
		}
	}
	return sum
}

func kill(pids []int) {
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
	}
}

// endOrphans ends what still runs for the sandboxes of a folder whose Tenon has ended.
// There should be nothing: whatever runsc starts ends with it.
func endOrphans(dir string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		left := using(dir)
		if len(left) == 0 {
			return
		}
		kill(left)
		<-tick.C
	}
}

// using returns the processes of runsc whose state lies below a folder.
func using(dir string) []int {
	var found []int
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, path := range all {
		b, _ := os.ReadFile(path) // it may have ended
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid > 1 && pid != os.Getpid() && bytes.Contains(b, []byte("\x00--root="+dir+"/")) {
			found = append(found, pid)
		}
	}
	return found
}
