package proc

import (
	"fmt"
	"strings"
)

// Limits bound what a tree may use. 0 is no limit. What cannot be enforced here is
// an error of Start, never ignored.
type Limits struct {
	// Memory in bytes, of the tree together, where a cgroup can be made. Elsewhere
	// on Linux it bounds the private data of each process (RLIMIT_DATA).
	Memory    int64
	CPU       float64 // cores, of the tree together; wants a cgroup
	Processes int     // and threads, of the tree together; wants a cgroup
	Files     int     // open in each process
}

// A Confinement says what a tree may reach beyond what every program needs: the
// folders of the system's programs and libraries, its settings for names, time,
// users and certificates, and /dev/null and its like. What is not granted is not
// there; what the kernel cannot enforce is an error of Start. It exists on Linux,
// by Landlock and seccomp.
type Confinement struct {
	Read  []string // files and folders with all below them: to read and to run
	Write []string // and to write, create and remove as well
	// Network allows everything. Without it there are no sockets at all, or only
	// TCP connections to Ports; where 53 is among them, UDP too, to whatever port,
	// so that names can be looked up.
	Network bool
	Ports   []uint16
}

// A stage is what a shell does before it becomes the program: it joins cgroups
// and lowers its limits, both of which only a process itself can do without a
// race. A shell and no own code, since a Go program under a limit on its memory
// fails to start now and then.
type stage struct {
	join   []string // files to write oneself into
	limits []string // arguments of ulimit
}

// wrap puts the stage before the program of l.
func (s *stage) wrap(l *launch) {
	if len(s.join)+len(s.limits) == 0 {
		return
	}
	var script strings.Builder
	for range s.join {
		script.WriteString(`echo 0 >"$1" || exit 126; shift; `)
	}
	for _, limit := range s.limits {
		fmt.Fprintf(&script, "ulimit %s || exit 126; ", limit)
	}
	script.WriteString(`exec "$@"`)
	argv := append([]string{"sh", "-c", script.String(), "sh"}, s.join...)
	argv = append(argv, l.path)
	l.argv = append(argv, l.argv[1:]...)
	l.path = shell
}
