//go:build !linux

package suite

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// detach does nothing here.
func detach(*exec.Cmd) {}

// terminate asks the process to end, or ends it where nobody can be asked.
func terminate(p *os.Process) error {
	if runtime.GOOS == "windows" {
		return p.Kill()
	}
	return p.Signal(syscall.SIGTERM)
}
