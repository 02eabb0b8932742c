package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxEnviron is how much of a process's environment is searched for a mark.
const maxEnviron = 1 << 20

// sessionOfItsOwn makes a child the leader of a session: what is in it descends
// from the child, no keyboard signal of our terminal reaches it, and no prompt
// of it the terminal. Linux kills the child when our thread ends.
func sessionOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// processes lists what runs, from /proc.
func processes() ([]entry, error) {
	// In a process namespace of its own with the /proc of another, the numbers
	// there would be those of strangers.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("no /proc of our own")
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var (
		all []entry
		buf [1024]byte
	)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		line, err := readProc("/proc/"+name+"/stat", buf[:])
		if err != nil {
			continue // it has ended
		}
		if e, ok := parseStat(line); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// startOf returns when a process of ours started, in clock ticks since boot.
func startOf(pid int) uint64 {
	var buf [1024]byte
	line, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return 0
	}
	fields, _ := statFields(line)
	return number(fields, statStart)
}

// The fields of /proc/PID/stat after the name, counted from 0 (proc_pid_stat(5)
// counts from 3).
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statThreads = 17
	statStart   = 19
)

// parseStat reads a line of /proc/PID/stat; ok is false for one that does not
// run any more.
func parseStat(line []byte) (e entry, ok bool) {
	fields, pid := statFields(line)
	if len(fields) <= statStart {
		return entry{}, false
	}
	// A process whose first thread has ended shows as a zombie while others run.
	if state := fields[statState][0]; (state == 'Z' || state == 'X') && number(fields, statThreads) <= 1 {
		return entry{}, false
	}
	return entry{
		pid:   pid,
		ppid:  int(number(fields, statParent)),
		group: int(number(fields, statGroup)),
		key:   int(number(fields, statSession)),
		start: number(fields, statStart),
	}, true
}

// statFields splits a line after the name, which may hold anything.
func statFields(line []byte) (fields [][]byte, pid int) {
	first, _, ok := bytes.Cut(line, []byte{' '})
	end := bytes.LastIndexByte(line, ')')
	if !ok || end < 0 {
		return nil, 0
	}
	pid, err := strconv.Atoi(string(first))
	if err != nil {
		return nil, 0
	}
	return bytes.Fields(line[end+1:]), pid
}

func number(fields [][]byte, i int) uint64 {
	if i >= len(fields) {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[i]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// hasMark reports whether a process was started with mark in its environment.
// Only processes that we may inspect can have it.
func hasMark(pid int, mark string) bool {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var (
		window []byte
		chunk  [8 << 10]byte
	)
	for total := 0; total < maxEnviron; {
		n, err := unix.Read(fd, chunk[:])
		if n <= 0 || err != nil {
			return false
		}
		total += n
		window = append(window, chunk[:n]...)
		if bytes.Contains(window, []byte(mark)) {
			return true
		}
		// Keep what may be the start of a mark that the next chunk ends.
		window = append(window[:0], window[max(0, len(window)-len(mark)):]...)
	}
	return false
}

// readProc reads a small file of /proc in one call, without the cost of an
// os.File for each of hundreds.
func readProc(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
