package dockerhost

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// known returns the addresses at which Docker, its kin and Podman listen by
// themselves on this system, Docker's first.
func (o Options) known() []string {
	if runtime.GOOS == "windows" {
		return []string{"npipe:////./pipe/docker_engine", "npipe:////./pipe/podman-machine-default"}
	}
	var paths []string
	home := func(elem ...string) {
		if h := o.home(); h != "" {
			paths = append(paths, filepath.Join(append([]string{h}, elem...)...))
		}
	}
	run := o.getenv("XDG_RUNTIME_DIR")
	if run == "" && runtime.GOOS == "linux" {
		run = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	paths = append(paths, "/var/run/docker.sock")
	if run != "" { // without root
		paths = append(paths, filepath.Join(run, "docker.sock"))
	}
	home(".docker", "run", "docker.sock") // Docker Desktop
	home(".docker", "desktop", "docker.sock")
	home(".colima", "default", "docker.sock")
	home(".orbstack", "run", "docker.sock")
	home(".rd", "docker.sock") // Rancher Desktop
	if run != "" {
		paths = append(paths, filepath.Join(run, "podman", "podman.sock"))
	}
	paths = append(paths, "/run/podman/podman.sock")
	if runtime.GOOS == "darwin" {
		if tmp := o.getenv("TMPDIR"); tmp != "" {
			paths = append(paths, filepath.Join(tmp, "podman", "podman-machine-default-api.sock"))
		}
		home(".local", "share", "containers", "podman", "machine", "podman.sock")
	}
	for i, p := range paths {
		paths[i] = "unix://" + p
	}
	return paths
}
