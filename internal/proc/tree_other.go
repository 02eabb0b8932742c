//go:build unix && !linux && !darwin

package proc

import (
	"errors"
	"syscall"
)

func sessionOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// processes is not written for this system: a tree is the root's group.
func processes() ([]entry, error) { return nil, errors.ErrUnsupported }

func startOf(int) uint64 { return 0 }

func hasMark(int, string) bool { return false }
