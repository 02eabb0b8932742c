package proc

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is a job object. Whatever its processes start belongs to it, and the
// kernel kills them all when the handle closes, which it does when we end.
type tree struct {
	job  windows.Handle
	root int
}

// jobList is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for many processes.
type jobList struct {
	assigned, listed uint32
	pids             [1024]uintptr
}

// adopt puts a process that was started suspended into a job, so that it has
// had no chance to start another outside of it, and lets it run.
func adopt(p *os.Process, _ string) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	t := &tree{job: job, root: p.Pid}
	if err := t.take(p); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tree) take(p *os.Process) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err := windows.SetInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return fmt.Errorf("set up a job object: %w", err)
	}
	var assigned error
	err = p.WithHandle(func(h uintptr) {
		assigned = windows.AssignProcessToJobObject(t.job, windows.Handle(h))
	})
	if err == nil {
		err = assigned
	}
	if err != nil {
		return fmt.Errorf("put the process into a job object: %w", err)
	}
	if err := resume(uint32(p.Pid)); err != nil {
		return fmt.Errorf("resume the process: %w", err)
	}
	return nil
}

// resume lets the threads of a process run; one that was just started suspended
// has a single one.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(snapshot) }() // it was only read
	var entry windows.ThreadEntry32
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return err
}

func (t *tree) id() int { return t.root }

func (t *tree) close() { _ = windows.CloseHandle(t.job) }

// members returns the ids of the processes of the job that run.
func (t *tree) members() []int {
	var list jobList
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	pids := make([]int, 0, list.listed)
	for _, pid := range list.pids[:min(int(list.listed), len(list.pids))] {
		pids = append(pids, int(pid))
	}
	return pids
}

// terminate sends CTRL+BREAK, which reaches the group of the direct child where
// it shares a console with us. Others are killed when their time is up.
func (t *tree) terminate() []int {
	pids := t.members()
	if len(pids) > 0 {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.root))
	}
	return pids
}

// kill kills the whole job and returns who was in it.
func (t *tree) kill() []int {
	pids := t.members()
	if len(pids) > 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
	return pids
}
