package proc

// GroupBase returns the folder below which a cgroup would be made.
func GroupBase(self, mounts, controller string) (string, error) {
	all, err := hierarchies(self, mounts)
	if err != nil {
		return "", err
	}
	dir, _, err := baseOf(all, controller)
	return dir, err
}

// Sweep removes what dead processes have left below base.
func Sweep(base string) { sweep(base) }
