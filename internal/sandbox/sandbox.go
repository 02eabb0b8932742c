// Package sandbox says what a place is in which a model's code runs, whichever way
// it is kept apart from the host.
//
//	backend := local.New(local.Options{})        // or another one
//	status, err := backend.Check(ctx)            // how far it keeps code apart here
//	box, err := backend.Create(ctx, sandbox.Spec{Memory: 512 << 20})
//	defer box.Kill(ctx)
//	out, err := box.Command(ctx, sandbox.Command{Line: "ls -l"})
//	cell, err := box.Code(ctx, sandbox.Cell{Source: "x = 6*7\nx"})
//
// A [Backend] makes sandboxes; a [Sandbox] is one of them, with a private folder
// ([Home]), no network but by a proxy that a
// spec may give, none of the host's environment, and limits. Whoever writes
// another back end runs it through the suites of sandboxtest: one says that it works,
// the other that nothing comes out.
//
// The package itself knows no back end.
package sandbox

import (
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Home is the private folder of a sandbox, as its code and the tools name it.
const Home = "/home/user"

// Levels of how a sandbox is kept apart, as Status has them.
const (
	LevelNamespaces = "namespaces" // namespaces, a root of its own, a filter of system calls
	LevelLandlock   = "landlock"   // rules on files, a filter of system calls; no root of its own
	LevelContainer  = "container"  // an engine's container
	LevelKernel     = "kernel"     // a kernel of its own, in user space or a virtual machine
	LevelNone       = "none"       // not kept apart: nothing is run
)

// A Backend makes sandboxes in one way. All methods may be called concurrently.
type Backend interface {
	// Name is how the option of the server calls it.
	Name() string
	// Check tries for real whether code is kept apart here, and how far. It does the
	// work once. Its error says why nothing can be run and what to do.
	Check(ctx context.Context) (Status, error)
	// Create makes a sandbox, which lives until it is killed or this process ends,
	// however that does.
	Create(ctx context.Context, spec Spec) (Sandbox, error)
	// TakesNetwork reports whether Spec.Network can be held. Others are not asked for it.
	TakesNetwork() bool
	// Close ends all sandboxes.
	Close() error
}

// A Status is what Check has found out.
type Status struct {
	Level  string   // one of the levels
	Python string   // version of the interpreter
	Notes  []string // what is different from the best, for people and models
	Size   *Size    // of each sandbox, where the back end has its own and heeds no spec
}

// A Size is what a sandbox may use, in bytes; 0 is not known.
type Size struct{ Memory, Disk int64 }

// Usual values of a Spec.
const (
	DefaultMemory    = 512 << 20
	DefaultDisk      = 256 << 20
	DefaultProcesses = 64
)

// Filled returns the spec with the usual values for what is not set.
func (s Spec) Filled() Spec {
	if s.Memory <= 0 {
		s.Memory = DefaultMemory
	}
	if s.Disk <= 0 {
		s.Disk = DefaultDisk
	}
	if s.Processes <= 0 {
		s.Processes = DefaultProcesses
	}
	return s
}

// A Spec says what a sandbox may use. 0 is the usual value.
type Spec struct {
	Memory    int64 // bytes, of all its processes together
	Disk      int64 // bytes in all that it can write
	Processes int   // and threads
	// Network serves each connection that code makes to the proxy which it finds by
	// Spec.ProxyEnviron, and returns when that has ended (see outlet.Line); nil is no network
	// at all. A back end that cannot give this, and nothing but this, refuses to create.
	Network func(ctx context.Context, conn io.ReadWriteCloser)
	// Proxied are addresses of the loopback that code reaches by the proxy: those of the
	// machine outside, and not its own.
	Proxied []string
}

// ProxyPort is where code finds the proxy, on the loopback of the sandbox.
const ProxyPort = 3128

// ProxyEnviron is what code with a network finds in its environment, besides the rest.
// What pip installs goes to the private folder.
func (s Spec) ProxyEnviron() []string {
	at := "http://127.0.0.1:" + strconv.Itoa(ProxyPort)
	own := strings.Join(slices.DeleteFunc([]string{"localhost", "127.0.0.1", "::1"}, func(host string) bool { return slices.Contains(s.Proxied, host) }), ",")
	return []string{
		"http_proxy=" + at, "https_proxy=" + at, "HTTP_PROXY=" + at, "HTTPS_PROXY=" + at, "no_proxy=" + own, "NO_PROXY=" + own,
		"PIP_USER=1", "PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
	}
}

// A Sandbox is one place where code runs. All methods may be called concurrently;
// cells run one after the other. After its end they return an [Error] of kind Gone.
type Sandbox interface {
	Runner
	Files
	Life
}

// A Runner runs code.
type Runner interface {
	// Command runs a line of the shell in Home, once.
	Command(ctx context.Context, c Command) (*Output, error)
	// Code runs a cell in the interpreter, which is started by the first one and
	// keeps its state from one to the next.
	Code(ctx context.Context, c Cell) (*Outcome, error)
}

// Files are those below Home.
type Files interface {
	// Put makes or replaces a file of at most limit bytes, with its folders.
	Put(ctx context.Context, path string, r io.Reader, limit int64) (File, error)
	// Get opens a file for reading. The caller closes it.
	Get(ctx context.Context, path string) (File, io.ReadCloser, error)
	// List returns what is below a folder, at most limit entries.
	List(ctx context.Context, path string, limit int) (*Listing, error)
}

// A Life is what can be known of a sandbox, and its end.
type Life interface {
	// Memory is what it uses now, in bytes, as far as that is known.
	Memory() int64
	// Kill ends all that runs in it and removes what it has written.
	Kill(ctx context.Context) error
	// Done is closed at its end; Why says what ended it.
	Done() <-chan struct{}
	Why() string
}

// A Command is a line for the shell.
type Command struct {
	Line    string
	Timeout time.Duration // after it the command and what it started in its group are killed; 0 is none but the context's
	Keep    int           // characters of each stream that are kept; 0 is DefaultKeep
}

// DefaultKeep is how many bytes of a stream are kept.
const DefaultKeep = 20_000

// An Output is what came of a command.
type Output struct {
	Stdout, Stderr string
	Left           int64 // bytes that were left out of the middle
	ExitCode       int   // 128 and the number of the signal where one ended it
	TimedOut       bool
	Note           string // which limit was met, or nothing
}

// A Cell is a piece of Python.
type Cell struct {
	Source  string
	Timeout time.Duration // after it the cell is interrupted, and then the interpreter ended; 0 is none but the context's
	Keep    int
}

// An Outcome is what came of a cell.
type Outcome struct {
	Stdout, Stderr string
	Left           int64
	Results        []Rich // what was shown, and last the value of the last expression
	Missed         int    // values that were shown besides and are not among the results
	Error          *Exception
	TimedOut       bool
	Restarted      bool   // the interpreter has ended: its state is lost
	Lost           string // what has ended the interpreter before this cell, where no answer has told it yet: the cell ran in a new one
	Note           string // which limit was met, or nothing
	Took           time.Duration
}

// A Rich is one value in the forms that it has.
type Rich struct {
	Text     string `json:"text,omitempty"`
	HTML     string `json:"html,omitempty"`
	Markdown string `json:"markdown,omitempty"`
	SVG      string `json:"svg,omitempty"`
	Latex    string `json:"latex,omitempty"`
	PNG      []byte `json:"png,omitempty"`
	JPEG     []byte `json:"jpeg,omitempty"`
	Main     bool   `json:"main,omitempty"` // the value of the last expression
	Cut      bool   `json:"cut,omitempty"`  // something of it was too large
	// Left says what of it was cut or left out, and what to do, as sentences without an end.
	Left []string `json:"left,omitempty"`
}

// An Exception is one that a cell has raised.
type Exception struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback"`
}

// A File is one in a sandbox.
type File struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Kind     string    `json:"kind"` // file, directory, symlink or other
	Modified time.Time `json:"modified"`
}

// A Listing is what is in a folder.
type Listing struct {
	Path  string `json:"path"`
	Files []File `json:"files"`
	More  bool   `json:"more"` // not all is listed
}

// A Kind is what went wrong.
type Kind string

// The kinds of errors.
const (
	Invalid     Kind = "invalid"     // the arguments
	Gone        Kind = "gone"        // the sandbox has ended
	Limit       Kind = "limit"       // something is too large or too many
	Unavailable Kind = "unavailable" // it cannot be had here
)

// An Error is one that a model may read: it says what to do.
type Error struct {
	Kind Kind
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Clean returns a path of a caller's as a clean one relative to Home: "." for Home
// itself. A path that does not begin with / is taken from Home; one that leads out of
// it is an error. Symbolic links are for the back end to refuse.
func Clean(p string) (string, error) {
	if strings.ContainsRune(p, 0) || len(p) > 4000 {
		return "", &Error{Invalid, "this is no path: it is too long or holds a zero byte"}
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = strings.TrimPrefix(strings.TrimPrefix(p, "~"), "/")
	}
	if !strings.HasPrefix(p, "/") {
		p = Home + "/" + p
	}
	p = path.Clean(p)
	if p == Home {
		return ".", nil
	}
	rest, ok := strings.CutPrefix(p, Home+"/")
	if !ok {
		return "", &Error{Invalid, "files are listed, and moved in and out, in " + Home + " only: elsewhere a command does it, such as ls or cp"}
	}
	return rest, nil
}

// None returns a back end that is not there, and says why.
func None(name, why string) Backend { return none{name, why} }

type none struct{ name, why string }

func (n none) Name() string { return n.name }

func (n none) Check(context.Context) (Status, error) {
	return Status{Level: LevelNone}, &Error{Unavailable, n.why}
}

func (n none) Create(context.Context, Spec) (Sandbox, error) {
	return nil, &Error{Unavailable, n.why}
}

func (n none) TakesNetwork() bool { return false }

func (n none) Close() error { return nil }
