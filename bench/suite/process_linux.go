package suite

import (
	"os"
	"os/exec"
	"syscall"
)

// detach keeps signals from the terminal away from the process, since the
// benchmark ends it in order, and has the kernel end it should this process
// die without that.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// terminate asks the process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
