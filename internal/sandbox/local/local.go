// Package local runs a model's code on this machine, kept apart by what Linux has:
// no engine, no image and no privilege are needed.
//
//	b := local.New(local.Options{Launcher: []string{executable, local.Command}})
//	defer b.Close()
//	status, err := b.Check(ctx) // status.Level is "namespaces" or "landlock"
//	box, err := b.Create(ctx, sandbox.Spec{})
//
// # How a sandbox is made
//
// Its first process is a small launcher in this same program ([Launch], behind a
// hidden command). At the level "namespaces" it is started in user, mount, process,
// network, IPC and host name namespaces of its own. It builds a root in memory that
// has /usr and the interpreter read-only, a few files of /etc, its own /proc and /tmp,
// and the private folder, and makes that the root. Then one thread drops every
// capability, takes on a filter of system calls, and starts what it is told: so it,
// and all below it, is behind the walls. Whoever starts this, root of the host is
// never somebody in there: where Tenon runs as root, the sandbox runs as another user.
//
// Where no user namespace can be made (in most containers), Landlock keeps the code
// from files and the filter from sockets, from signals and from what else belongs to
// the same user: the level "landlock". There is no private root then, and HOME is a
// folder of the host.
//
// Which one works is tried, not guessed: Check starts a sandbox of each level, lays
// traps on the host, and lets the launcher fall for them from behind its walls. Where
// one gives way the level is not used; where none is left, nothing is run.
//
// # Limits
//
// Memory and processes of a sandbox are bounded by a cgroup (of version 2 where one is
// delegated, of version 1 as root), else by a watch that sums up the memory of its
// processes. The disk is a file system of fixed size in memory, which counts to the
// memory; at the level "landlock" it is a folder with a watch.
//
// # The end
//
// The launcher ends when its socket is closed, which the kernel does when Tenon is
// killed; with the first process of a process namespace end all others. What a killed
// Tenon leaves (empty cgroups, folders of the level "landlock") is removed at the next
// start.
package local

import (
	"time"
)

// Options are the settings of the back end. Launcher is needed.
type Options struct {
	// Launcher is what runs Launch: this program and the command for it. It is run by
	// the path in its first element, as a program that is kept open.
	Launcher []string
	// Python is the interpreter; empty is the first of the usual ones that works.
	Python string
	// Path is where programs are looked for, as in the variable PATH.
	Path string
	// Dir is for folders of the level "landlock"; empty is a usual place.
	Dir string
	// Memory bounds all sandboxes together, where a cgroup can be made; 0 is no bound.
	Memory int64
	// Levels restricts which levels are tried; nil is all. Tests use it.
	Levels []string
	// NoCgroup leaves cgroups alone. Tests use it.
	NoCgroup bool
}

// Usual values.
const (
	insideID   = 1000 // user and group in the sandbox
	maxOpen    = 256  // open files of a process
	ownThreads = 24   // of the launcher

	startLimit = 10 * time.Second
)
