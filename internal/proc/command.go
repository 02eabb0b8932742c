package proc

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Command says what to run. Only Path is needed.
type Command struct {
	// Path is the program. A bare name is looked up in the PATH of Env, not in
	// our own; a relative path is taken from Dir. No shell is involved. On
	// Windows the extensions of PATHEXT are tried, and batch files (npx is
	// npx.cmd) are run by the command interpreter with their arguments quoted.
	Path string
	Args []string // without the name of the program
	// Env is the whole environment, as "NAME=value"; see Environ.
	Env []string
	Dir string // the working directory; "" is ours

	// StderrTail is how many bytes of standard error are kept; 0 is 4 KiB.
	StderrTail int
	// OnStderr, if set, is called with each line of standard error, without its
	// end, as valid UTF-8 and cut after 8 KiB. Calls do not overlap. Whoever
	// does not return from it holds up the child.
	OnStderr func(line string)

	// Limits bound what the tree may use, and Confine what it may reach. Nil
	// confines nothing.
	Limits  Limits
	Confine *Confinement

	// StdinGrace is how long Stop waits after it has closed standard input,
	// TermGrace how long after it has asked to terminate. 0 is 1 s and 3 s;
	// less than 0 is no wait.
	StdinGrace, TermGrace time.Duration
}

// markName is the variable by which the processes of a tree are known wherever
// they have gone. Marks add up, so that the tree of a child that is a gateway
// itself is also part of ours.
const markName = "TENON_TREE"

// A launch is a Command made ready: resolved, and with its pipes open.
type launch struct {
	path string
	argv []string
	mark string
	attr os.ProcAttr
	cage *cage

	stdinGrace, termGrace time.Duration
}

// start runs the program and closes our copies of the child's ends.
func (l *launch) start() (*os.Process, error) {
	defer closeAll(l.attr.Files)
	return os.StartProcess(l.path, l.argv, &l.attr)
}

// process makes ready all that can be made ready before the fork.
func (c *Command) process(s *Spawner, mark string) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	p := &Process{
		spawner: s,
		launch: launch{
			path:       program.path,
			argv:       append([]string{c.Path}, c.Args...),
			mark:       mark,
			attr:       os.ProcAttr{Dir: c.Dir, Env: marked(c.Env, mark), Sys: program.attr},
			stdinGrace: cmp.Or(c.StdinGrace, defaultStdinGrace),
			termGrace:  cmp.Or(c.TermGrace, defaultTermGrace),
		},
		deaf:     make(chan struct{}),
		reaped:   make(chan struct{}),
		done:     make(chan struct{}),
		stopping: newEvent(),
		killing:  newEvent(),
		gone:     make(chan struct{}),
	}
	if p.launch.cage, err = s.newCage(c, &p.launch); err != nil {
		return nil, err
	}
	if err := p.open(c); err != nil {
		p.launch.cage.close()
		return nil, err
	}
	return p, nil
}

// open makes the three pipes.
func (p *Process) open(c *Command) error {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return fmt.Errorf("%w: too many open files; raise the limit (ulimit -n)", err)
		}
		files = append(files, r, w)
	}
	p.launch.attr.Files = []*os.File{files[0], files[3], files[5]}
	p.stdin, p.stdout = files[1], files[2]
	enlarge(p.stdin)
	enlarge(p.stdout)
	p.stderr = newTail(files[4], cmp.Or(max(c.StderrTail, 0), defaultTail), c.OnStderr)
	return nil
}

// discard closes our ends of the pipes of a process that was never started.
func (p *Process) discard() {
	closeAll([]*os.File{p.stdin, p.stdout, p.stderr.file})
	p.launch.cage.close()
}

// check refuses what the operating system would refuse without a reason.
func (c *Command) check() error {
	if c.Path == "" {
		return errors.New("no command is given: name a program")
	}
	for _, s := range append([]string{c.Path, c.Dir}, c.Args...) {
		if strings.ContainsRune(s, 0) {
			return errors.New("the command holds a zero byte: remove it")
		}
	}
	for _, kv := range c.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || strings.ContainsRune(kv, 0) {
			return fmt.Errorf("environment variable %q is not NAME=value or holds a zero byte: correct it", name)
		}
	}
	if c.Dir == "" {
		return nil
	}
	switch info, err := os.Stat(c.Dir); {
	case errors.Is(err, fs.ErrNotExist):
		return problem{fs.ErrNotExist, fmt.Sprintf("its working directory %q does not exist: create it, or set another", c.Dir)}
	case err != nil:
		return fmt.Errorf("its working directory: %w", err)
	case !info.IsDir():
		return problem{fs.ErrNotExist, fmt.Sprintf("its working directory %q is not a folder: set another", c.Dir)}
	}
	return nil
}

// absolute is a path with a separator in it as the child will see it.
func (c *Command) absolute() (string, error) {
	if filepath.IsAbs(c.Path) {
		return c.Path, nil
	}
	return filepath.Abs(filepath.Join(c.Dir, c.Path))
}

// notFound is the error for a bare name that the child's PATH does not have.
func (c *Command) notFound(path string) error {
	if strings.ContainsAny(c.Path, " \t") {
		return problem{fs.ErrNotExist, "there is no program of this name: a command is the program alone, so put its arguments into args"}
	}
	if path == "" {
		return problem{fs.ErrNotExist, "not found, as the PATH of the child is empty: set PATH, or give the full path"}
	}
	return problem{fs.ErrNotExist, fmt.Sprintf("not found on the PATH of the child (%s): install it, or give the full path", firstFolders(path))}
}

// firstFolders returns a PATH as far as a sentence can hold it.
func firstFolders(path string) string {
	const most = 100
	folders := filepath.SplitList(path)
	for i, length := 0, 0; i < len(folders); i++ {
		if length += len(folders[i]) + 1; i > 0 && length > most {
			return strings.Join(folders[:i], string(filepath.ListSeparator)) + fmt.Sprintf(" and %d more", len(folders)-i)
		}
	}
	return path
}

// A problem is an error whose text says what to do, of a kind that callers can
// ask for.
type problem struct {
	kind error
	text string
}

func (p problem) Error() string { return p.text }
func (p problem) Unwrap() error { return p.kind }

// getenv returns the last value of name in env, which is the one that counts.
func getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, _ := strings.Cut(kv, "="); sameName(k, name) {
			return v
		}
	}
	return ""
}

// marked returns env with mark added to the marks that it holds.
func marked(env []string, mark string) []string {
	out := make([]string, 0, len(env)+1)
	out = append(out, markName+"="+getenv(env, markName)+mark)
	for _, kv := range env {
		if !strings.HasPrefix(kv, markName+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// closeAll closes pipes and the like, of which nothing is lost at the close.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
