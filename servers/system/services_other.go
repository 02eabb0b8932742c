//go:build !linux && !windows

package system

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// launchd is asked by its own program: there is no interface for others.
type launchd struct{}

func newManager() manager { return launchd{} }

func (launchd) list(ctx context.Context) ([]service, error) {
	if runtime.GOOS != "darwin" {
		return nil, &noManagerError{"The services of this system are not known. Call list_top_processes for what runs."}
	}
	b, err := exec.CommandContext(ctx, "/bin/launchctl", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("launchctl list: %w", err)
	}
	var all []service
	for l := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(l), "\t", 3) // pid or -, last exit status, label
		if len(f) != 3 || f[2] == "Label" {
			continue
		}
		s := service{Name: plain(f[2], 80), State: "stopped", Detail: "last exit status " + plain(f[1], 20)}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			s.State, s.PID, s.Detail = "running", pid, ""
		} else if f[1] != "0" {
			s.State = "failed"
		}
		all = append(all, s)
	}
	return all, nil
}

func (m launchd) status(ctx context.Context, name string) (serviceOutput, error) {
	all, err := m.list(ctx)
	if err != nil {
		return serviceOutput{}, err
	}
	for _, s := range all {
		if s.Name == name {
			return serviceOutput{service: s}, nil
		}
	}
	return serviceOutput{}, errNoService(name)
}
