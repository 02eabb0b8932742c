package gvisor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/inside"
)

// flags are those of runsc, which all of its versions since 2022 know.
func (r *root) flags(dir, platform string) []string {
	overlay := "none"
	if !r.made {
		overlay = "root:memory" // so that folders can be made in it to mount at, and nothing is written on this machine
	}
	flags := []string{
		"--root=" + filepath.Join(dir, "state"), "--platform=" + platform, "--network=none", "--overlay2=" + overlay,
		"--ignore-cgroups", // ours bounds it
		"--oci-seccomp",
		"--host-uds=none",                // no sockets of this machine
		"--file-access-mounts=exclusive", // what is shown is not changed meanwhile
	}
	if os.Geteuid() != 0 {
		flags = append(flags, "--rootless")
	}
	return append(flags, "run", "--bundle="+dir, filepath.Base(dir))
}

// What runsc reads of a bundle, in the form of the Open Container Initiative.
type (
	config struct {
		Version  string  `json:"ociVersion"`
		Process  process `json:"process"`
		Root     where   `json:"root"`
		Hostname string  `json:"hostname"`
		Mounts   []mount `json:"mounts"`
		Linux    linux   `json:"linux"`
	}
	process struct {
		Terminal        bool           `json:"terminal"`
		User            user           `json:"user"`
		Args            []string       `json:"args"`
		Env             []string       `json:"env"`
		Cwd             string         `json:"cwd"`
		Capabilities    map[string]any `json:"capabilities"`
		NoNewPrivileges bool           `json:"noNewPrivileges"`
		Rlimits         []rlimit       `json:"rlimits"`
	}
	user struct {
		UID   int `json:"uid"`
		GID   int `json:"gid"`
		Umask int `json:"umask"`
	}
	rlimit struct {
		Type string `json:"type"`
		Hard uint64 `json:"hard"`
		Soft uint64 `json:"soft"`
	}
	where struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	}
	mount struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options,omitempty"`
	}
	linux struct {
		Namespaces []namespace `json:"namespaces"`
		Seccomp    *seccomp    `json:"seccomp,omitempty"`
	}
	namespace struct {
		Type string `json:"type"`
	}
)

// stepDown are the rights by which the program in a sandbox becomes another user.
var stepDown = []string{"CAP_SETUID", "CAP_SETGID"}

// config describes a sandbox.
func (r *root) config(f *found, spec sandbox.Spec) config {
	c := config{
		Version: "1.0.2", Hostname: "sandbox", Root: where{Path: r.dir, Readonly: true},
		Process: process{
			// The program becomes the user of its folder itself, and keeps of root what
			// keeps code from its descriptors.
			User: user{0, 0, 0o022}, Capabilities: map[string]any{"bounding": stepDown, "effective": stepDown, "permitted": stepDown},
			Args: inside.Program(f.python.Path), NoNewPrivileges: true,
			Cwd: "/", // or runsc would make another one in the root
			Env: []string{"PATH=" + r.paths(f), "HOME=" + sandbox.Home, "LANG=C.UTF-8", "LC_ALL=C.UTF-8"},
		},
		Mounts: []mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			memory("/dev/shm", scratch, "1777", 0),
			memory("/tmp", scratch, "1777", 0),
			memory(sandbox.Home, spec.Disk, "0700", insideID),
		},
	}
	for _, l := range []struct {
		name string
		most uint64
	}{
		{"NPROC", uint64(processes(spec))},
		{"AS", uint64(spec.Memory + slack)}, // libraries and stacks take room that is not used
		{"FSIZE", uint64(spec.Disk)},
		{"NOFILE", maxOpen},
		{"CORE", 0},
		{"MEMLOCK", 64 << 10},
		{"MSGQUEUE", 64 << 10},
	} {
		c.Process.Rlimits = append(c.Process.Rlimits, rlimit{"RLIMIT_" + l.name, l.most, l.most})
	}
	for _, path := range r.shared {
		c.Mounts = append(c.Mounts, bind(path, path))
	}
	if f.standins != "" {
		c.Mounts = append(c.Mounts, bind(f.standins, standinsAt))
	}
	c.Linux.Seccomp = filter(runtime.GOARCH)
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		c.Linux.Namespaces = append(c.Linux.Namespaces, namespace{kind})
	}
	return c
}

// paths is the variable PATH.
func (r *root) paths(f *found) string {
	if f.standins != "" {
		return standinsAt + ":" + r.path
	}
	return r.path
}

// bind shows a folder of this machine.
func bind(from, at string) mount {
	return mount{Destination: at, Type: "bind", Source: from, Options: []string{"ro", "rbind", "nosuid", "nodev"}}
}

// processes is how many there may be, with the first one: not more than their memory has
// room for, since each takes a few MiB of its own here, and one that finds none ends all.
func processes(spec sandbox.Spec) int {
	return 1 + min(spec.Processes, max(8, int(spec.Memory/perProcess)))
}

// memory is a file system in memory.
func memory(at string, size int64, mode string, owner int) mount {
	return mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: []string{
		fmt.Sprintf("size=%d", size), "mode=" + mode, fmt.Sprintf("uid=%d", owner), fmt.Sprintf("gid=%d", owner), "nosuid", "nodev",
	}}
}
