//go:build unix

package faults_test

import (
	"errors"
	"syscall"
)

func isAlive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
