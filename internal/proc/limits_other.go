//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"runtime"
)

const shell = "/bin/sh"

// A cage is what holds a tree within its limits. Outside Linux there is only the
// limit of open files, which the child sets itself.
type cage struct{}

func (*Spawner) newCage(c *Command, l *launch) (*cage, error) {
	for _, want := range []struct {
		name string
		set  bool
	}{
		{"memory", c.Limits.Memory > 0},
		{"cpu", c.Limits.CPU > 0},
		{"processes", c.Limits.Processes > 0},
		{"files", c.Limits.Files > 0 && runtime.GOOS == "windows"},
	} {
		if want.set {
			return nil, fmt.Errorf("limits: %s cannot be enforced on %s: remove it", want.name, runtime.GOOS)
		}
	}
	if c.Confine != nil {
		return nil, errors.New("confine: it exists on Linux alone: remove it")
	}
	var before stage
	if c.Limits.Files > 0 {
		before.limits = append(before.limits, fmt.Sprintf("-n %d", c.Limits.Files))
	}
	before.wrap(l)
	return &cage{}, nil
}

func (*cage) confined() bool { return false }
func (*cage) enter() error   { return nil }

func onMainThread() bool      { return false }
func (*cage) verdict() string { return "" }
func (*cage) close()          {}
