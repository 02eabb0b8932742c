package python

import (
	"log/slog"
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/gvisor"
)

// GvisorOptions are those of the back end gvisor.
type GvisorOptions struct {
	GvisorRunsc    string `json:"gvisor_runsc,omitempty" path:"yes" jsonschema:"back end gvisor: the program runsc; default: the first in the PATH"`
	GvisorPlatform string `json:"gvisor_platform,omitempty" jsonschema:"back end gvisor: how runsc catches system calls: systrap, ptrace or kvm; default: the first that works"`
	GvisorRootfs   string `json:"gvisor_rootfs,omitempty" path:"yes" jsonschema:"back end gvisor: folder that sandboxes have as their root, read-only, with Python 3.8 or newer at the path of the option python or /usr/bin/python3; default: one made of /usr and the interpreter of this machine"`
}

func newGvisor(s setting) (sandbox.Backend, error) {
	dir := s.Dir
	if dir != "" {
		dir = filepath.Join(dir, "gvisor") // the back end local sweeps its own
	}
	return gvisor.New(gvisor.Options{
		Runsc: s.GvisorRunsc, Platform: s.GvisorPlatform, Rootfs: s.GvisorRootfs,
		Path: s.getenv("PATH"), Python: s.Python, Dir: dir, Memory: int64(s.MaxMemoryMB) << 20, Logger: slog.Default(),
	}), nil
}
