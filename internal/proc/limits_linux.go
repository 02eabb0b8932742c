package proc

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

const shell = "/bin/sh"

// A cage is what holds a tree within its limits.
type cage struct {
	limits Limits
	group  *group    // nil where none is needed
	walls  *landlock // nil where the tree is not confined
}

// newCage makes ready what c asks for, and puts the stage that enters it before
// the program of l.
func (s *Spawner) newCage(c *Command, l *launch) (*cage, error) {
	k := &cage{limits: c.Limits}
	var before stage
	if err := k.limit(s, &before); err != nil {
		return nil, err
	}
	if c.Confine != nil {
		var err error
		if k.walls, err = newLandlock(c.Confine, l.path, before.join); err != nil {
			k.close()
			return nil, fmt.Errorf("confine: %w", err)
		}
	}
	before.wrap(l)
	return k, nil
}

func (k *cage) limit(s *Spawner, before *stage) error {
	want := k.limits
	if want.Memory > 0 || want.CPU > 0 || want.Processes > 0 {
		g, err := s.newGroup(want)
		switch {
		case err == nil:
			k.group, before.join = g, g.join
		case want.CPU > 0:
			return fmt.Errorf("limits: cpu cannot be enforced here: %w", err)
		case want.Processes > 0:
			return fmt.Errorf("limits: processes cannot be enforced here: %w", err)
		default:
			before.limits = append(before.limits, fmt.Sprintf("-d %d", max(1, want.Memory>>10)))
		}
	}
	if want.Files > 0 {
		files, err := openFiles(want.Files)
		if err != nil {
			return fmt.Errorf("limits: files: %w", err)
		}
		before.limits = append(before.limits, fmt.Sprintf("-n %d", files))
	}
	return nil
}

// openFiles returns the limit to set: no more than we may have ourselves.
func openFiles(want int) (int, error) {
	var ours unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &ours); err != nil {
		return 0, err
	}
	if ours.Max < math.MaxInt32 {
		want = min(want, int(ours.Max))
	}
	return want, nil
}

// confined reports whether the thread that forks has to enter the cage first.
func (k *cage) confined() bool { return k.walls != nil }

// enter confines the calling thread for good, and all that it forks.
func (k *cage) enter() error { return k.walls.enter() }

func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// verdict says which limit the tree has run into, or nothing.
func (k *cage) verdict() string {
	if k.group == nil {
		return ""
	}
	return k.group.verdict(k.limits)
}

// close removes what is left of the cage once the tree is gone.
func (k *cage) close() {
	if k.group != nil {
		k.group.close()
	}
	if k.walls != nil {
		k.walls.close()
	}
}

var errNoGroup = errors.New("it wants a cgroup, and this process may make none: run it where it may (as root; in a service of systemd with Delegate=yes and DelegateSubgroup=tenon), or remove the limit")
