// Package inside works in a container that somebody else has made: it needs no more
// than the standard input and output of one process in there, such as engines and
// runtimes give, and makes a sandbox of that.
//
//	start in the container, as the user of the sandbox: inside.Program("python3")
//	box, err := inside.Open(ctx, inside.Way{In: stdin, Out: stdout}, inside.Options{
//		Spec: spec,
//		End:  func(ctx context.Context) (string, error) { return "", remove(ctx, container) },
//	})
//
// The program is a small one in Python ([Source]) that is best the first process of
// the container. It starts commands and the interpreter (internal/sandbox/kernel) in
// groups of their own, passes on what they print, and moves files in and out of
// sandbox.Home without following links out of it. It ends with its input, and when it
// has heard nothing for minutes, so that a container ends that nobody holds any more.
//
// What the container must have: Python 3.8 or newer, /bin/sh, a writable sandbox.Home
// that belongs to the user, and a writable /tmp. Walls and limits are for whoever makes
// it; the program has only the rights of the code that it runs. Where the kernel lets code
// open the descriptors of other processes of its user, as gVisor's does, it is started as
// root with the rights to become another user: it becomes the owner of sandbox.Home at
// once, and keeps a saved id that code has not.
//
// Where the spec has a network, the program takes connections to sandbox.ProxyPort on
// the container's own loopback, and they come out through the frames to whoever serves
// them. The container needs no network for that, and must have none.
//
// Between the two sides go frames, and each stream has a window, so that nothing waits
// behind what somebody does not read. What comes from inside is foreign: all of it is
// bounded, and what cannot be read ends the sandbox with an error that says so.
package inside

import (
	"context"
	_ "embed"
	"io"
	"maps"
	"strings"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Source is the program.
//
//go:embed inside.py
var Source string

// Program returns the command that starts it.
func Program(python string) []string {
	return []string{python, "-I", "-S", "-B", "-X", "utf8", "-c", Source}
}

// A Way leads to the program. Closing both ends must make reads and writes return.
type Way struct {
	In  io.WriteCloser
	Out io.ReadCloser
}

// Options say what the sandbox is.
type Options struct {
	Spec sandbox.Spec
	// Env is set for what runs, besides the environment of the program itself.
	Env map[string]string
	// End ends the container and waits until it has gone. It is called once, after the
	// way was closed. It may say what has ended the container, where that is known.
	End func(ctx context.Context) (why string, err error)
}

// environ is what code finds in its environment, besides what the container has.
func (x *Box) environ() map[string]string {
	env := map[string]string{
		"HOME": sandbox.Home, "TMPDIR": "/tmp", "USER": "user", "LOGNAME": "user", "SHELL": "/bin/sh", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
		"MPLBACKEND": "Agg", "MPLCONFIGDIR": "/tmp/.matplotlib", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
		"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2",
	}
	if x.o.Spec.Network != nil {
		for _, set := range x.o.Spec.ProxyEnviron() {
			name, value, _ := strings.Cut(set, "=")
			env[name] = value
		}
	}
	maps.Copy(env, x.o.Env)
	return env
}
