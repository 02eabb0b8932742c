// Package gvisor runs a model's code on a kernel of its own: that of gVisor, by the
// program runsc, which whoever operates this machine has installed.
//
//	b := gvisor.New(gvisor.Options{Path: os.Getenv("PATH")})
//	defer b.Close()
//	status, err := b.Check(ctx) // status.Level is "kernel"
//	box, err := b.Create(ctx, sandbox.Spec{})
//
// # How a sandbox is made
//
// It is one container of runsc, and its first process is the program of
// internal/sandbox/inside, spoken to over its standard input and output: commands and
// cells start nothing outside. Its root is read-only and has /usr and the interpreter of
// this machine, or is a folder that an operator has prepared; /home/user, /tmp and
// /dev/shm lie in memory and have a fixed size. Code is user 1000 there, has no
// capability and can get none, and there is no network but a loopback of its own, where
// the proxy is that a spec may give. No
// system call of it reaches the kernel of this machine: gVisor's answers them, itself
// behind namespaces and a filter.
//
// runsc gets nothing of this program's environment. It needs no privilege: it runs
// rootless where this is not root.
//
// Check makes a sandbox and looks from inside whose kernel answers. The ways in which
// runsc can catch system calls (systrap, ptrace, kvm) are tried in this order, each for a
// short time, and the first that works is taken.
//
// # Limits
//
// Processes and open files are bounded by gVisor, also the memory of each process; that
// of all together by a cgroup where one can be made, else by a watch. Who uses more ends
// the whole sandbox, since one process of the host holds the memory of all.
//
// # The end
//
// Whatever ends Tenon, its processes end: runsc by the signal that Linux sends at the
// death of a parent, and with it those that it has started, in the same way (see
// internal/proc, whose guard looks after the rest). The folder with what runsc notes of
// its containers is removed at the next start, once nothing runs any more that uses it.
package gvisor

import (
	"log/slog"
	"time"
)

// Options are the settings of the back end. Path or Runsc is needed.
type Options struct {
	// Runsc is the program; empty is the first in the Path.
	Runsc string
	// Path is where programs are looked for, as in the variable PATH.
	Path string
	// Python is the interpreter; empty is the first of the usual ones that works. With
	// Rootfs it is a path in there.
	Python string
	// Platform is how runsc catches system calls; empty is the first that works.
	Platform string
	// Rootfs is a folder that sandboxes have as their root, read-only; empty is one made
	// of this machine's /usr and interpreter.
	Rootfs string
	// Dir is for what runsc notes; empty is a usual place.
	Dir string
	// Memory bounds all sandboxes together, where a cgroup can be made; 0 is no bound.
	Memory int64
	// Logger is told what runsc says where a sandbox does not start or ends by itself.
	// Nil discards.
	Logger *slog.Logger
	// NoCgroup leaves cgroups alone. Tests use it.
	NoCgroup bool
}

// Usual values.
const (
	insideID   = 1000      // user and group in the sandbox
	maxOpen    = 256       // open files of a process
	scratch    = 64 << 20  // of /tmp and of /dev/shm
	overhead   = 64 << 20  // memory of runsc itself
	slack      = 256 << 20 // of addresses, over the memory
	perProcess = 8 << 20

	startLimit = 15 * time.Second
	tryLimit   = 10 * time.Second // of one platform
	lastWords  = 300 * time.Millisecond
	glance     = 50 * time.Millisecond
)

// platforms are the ways to catch system calls, the best one first.
var platforms = []string{"systrap", "ptrace", "kvm"}
