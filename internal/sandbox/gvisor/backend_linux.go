package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/host"
	"github.com/tenon-mcp/tenon/internal/sandbox/local/cage"
)

// A Backend makes sandboxes by runsc.
type Backend struct {
	o       Options
	spawner *proc.Spawner

	checking chan struct{} // held by the one that checks
	checked  *found

	mu     sync.Mutex
	boxes  map[*box]struct{}
	placed *place
	closed bool
}

// found is what the check has found.
type found struct {
	status   sandbox.Status
	runsc    string
	platform string
	python   host.Interpreter
	standins string // folder of programs that come before those of the machine, or nothing
}

// A place is where everything that belongs to this process is.
type place struct {
	folder *host.Folder
	cages  *cage.Set // or nil
	root   *root
}

// New returns the back end. It does nothing before the first Check or Create.
func New(o Options) *Backend {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Backend{
		o: o, spawner: proc.New(proc.Options{Logger: o.Logger}),
		checking: make(chan struct{}, 1), boxes: make(map[*box]struct{}),
	}
}

// Name returns "gvisor".
func (b *Backend) Name() string { return "gvisor" }

// Check makes a sandbox and looks whose kernel it is on.
func (b *Backend) Check(ctx context.Context) (sandbox.Status, error) {
	f, err := b.check(ctx)
	if err != nil {
		return sandbox.Status{Level: sandbox.LevelNone}, err
	}
	return f.status, nil
}

func (b *Backend) check(ctx context.Context) (*found, error) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.checking }()
	if b.checked != nil {
		return b.checked, nil
	}
	runsc, err := b.find()
	if err != nil {
		return nil, err
	}
	pythons, err := b.pythons(ctx)
	if err != nil {
		return nil, err
	}
	try := platforms
	if b.o.Platform != "" {
		if !slices.Contains(platforms, b.o.Platform) {
			return nil, unavailable("option gvisor_platform: %q is not known; there is: %s", b.o.Platform, strings.Join(platforms, ", "))
		}
		try = []string{b.o.Platform}
	}
	var why []string
	started := false
	for _, platform := range try {
		if started {
			break // another platform changes nothing
		}
		for _, python := range pythons {
			f := &found{runsc: runsc, platform: platform, python: python}
			err := b.try(ctx, f)
			if err == nil {
				b.checked = f
				return f, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			started = started || errors.Is(err, errInside)
			why = append(why, fmt.Sprintf("%s with %s: %v", platform, python.Path, err))
		}
	}
	return nil, unavailable("%s makes no sandbox here, so nothing is run (%s). Its own words are in the log of the server", runsc, strings.Join(why, "; "))
}

var errInside = errors.New("it started")

func unavailable(format string, args ...any) error {
	return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf(format, args...)}
}

// find returns where runsc is.
func (b *Backend) find() (string, error) {
	names := []string{b.o.Runsc}
	if b.o.Runsc == "" {
		names = nil
		for _, dir := range filepath.SplitList(b.o.Path) {
			names = append(names, filepath.Join(dir, "runsc"))
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); filepath.IsAbs(name) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	if b.o.Runsc != "" {
		return "", unavailable("option gvisor_runsc: %s is no program: give the whole path of runsc", b.o.Runsc)
	}
	return "", unavailable("there is no runsc in the PATH of the server: install gVisor (package runsc of Debian), or name the program in the option gvisor_runsc")
}

// pythons returns the interpreters that may be tried.
func (b *Backend) pythons(ctx context.Context) ([]host.Interpreter, error) {
	if b.o.Rootfs == "" {
		return host.Interpreters(ctx, b.o.Python, b.o.Path)
	}
	if info, err := os.Stat(b.o.Rootfs); !filepath.IsAbs(b.o.Rootfs) || filepath.Clean(b.o.Rootfs) == "/" || err != nil || !info.IsDir() {
		return nil, unavailable("option gvisor_rootfs: %q is no folder with a root for sandboxes", b.o.Rootfs)
	}
	p := host.Interpreter{Path: b.o.Python}
	if p.Path == "" {
		p.Path = "/usr/bin/python3"
	}
	return []host.Interpreter{p}, nil
}

// versionInside is what the kernel of gVisor says of itself, in all its versions.
const versionInside = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

// look prints, from inside, what there is to know.
const look = `import json, os, subprocess, sys
try:
    import ctypes
    said = ctypes.create_string_buffer(1 << 16)
    said = said.raw[:max(ctypes.CDLL(None).klogctl(3, said, 1 << 16), 0)]
except Exception: # built without it, or the library is not there
    said = b""
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
def can(f):
    try: return bool(f())
    except Exception: return False
json.dumps({
    "version": open("/proc/version").read(), "log": said.decode("utf-8", "replace")[:4000], "uid": os.getuid(),
    "caps": status["CapEff"].strip(), "held": can(lambda: open("/proc/1/fd/0", "rb")) or can(lambda: open("/proc/1/fd/1", "wb")),
    "trap": can(lambda: TRAP in open(FILE).read()), "listing": can(lambda: subprocess.run(["ls", "-ld", "/"], capture_output=True).returncode == 0)})`

// try makes a sandbox with a platform and an interpreter, and judges what it sees.
func (b *Backend) try(ctx context.Context, f *found) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	x, err := b.launch(ctx, f, sandbox.Spec{})
	if ctx.Err() != nil {
		return errors.New("it does not answer")
	}
	if err != nil {
		return err
	}
	defer func() { _ = x.Kill(context.WithoutCancel(ctx)) }() // what it was for is done
	trap := filepath.Join(filepath.Dir(x.dir), "trap")
	const word = "nobody in a sandbox reads this"
	if err := os.WriteFile(trap, []byte(word), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(trap) }() // its folder is removed too
	out, err := x.Code(ctx, sandbox.Cell{Source: fmt.Sprintf("FILE, TRAP = %q, %q\n%s", trap, word, look)})
	if err == nil && out.Error != nil {
		err = fmt.Errorf("%s: %s", out.Error.Name, out.Error.Value)
	}
	if err != nil || len(out.Results) != 1 {
		return fmt.Errorf("%w: the interpreter does not run there: %w", errInside, err)
	}
	var seen struct {
		Version string `json:"version"`
		Log     string `json:"log"`
		UID     int    `json:"uid"`
		Caps    string `json:"caps"`
		Held    bool   `json:"held"`
		Trap    bool   `json:"trap"`
		Listing bool   `json:"listing"`
	}
	if err := json.Unmarshal([]byte(unquote(out.Results[0].Text)), &seen); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	ours, err := os.ReadFile("/proc/version")
	if err != nil {
		return err
	}
	switch {
	case !strings.Contains(seen.Log, "gVisor") && !strings.Contains(seen.Version, versionInside) || seen.Version == string(ours):
		return fmt.Errorf("%w: the kernel in there is not that of gVisor", errInside)
	case seen.Trap:
		return fmt.Errorf("%w: files of this machine can be read in there", errInside)
	case seen.Held:
		return fmt.Errorf("%w: code can speak in there for the program that holds it", errInside)
	case seen.UID != insideID || strings.Trim(seen.Caps, "0") != "":
		return fmt.Errorf("%w: code has rights in there that it should not have (user %d, capabilities %s)", errInside, seen.UID, seen.Caps)
	}
	f.status = sandbox.Status{Level: sandbox.LevelKernel, Python: x.Python(), Notes: []string{"gVisor catches system calls by " + f.platform}}
	// Versions of 2022 refuse a flag of statx that newer programs set.
	switch {
	case seen.Listing:
	case b.o.Rootfs != "": // runsc would make the folder to show them at in that of the operator
		f.status.Notes = append(f.status.Notes, "ls DIR, ls -l and stat do not work, as this runsc is too old for those of the root: use find -ls, or os.stat in Python")
	default:
		if f.standins, err = writeStandins(filepath.Dir(x.dir), f.python.Path); err != nil {
			return err
		}
		f.status.Notes = append(f.status.Notes, "ls, dir, vdir and stat are small stand-ins, as this runsc is too old for those of this machine")
	}
	if x.cage == nil {
		f.status.Notes = append(f.status.Notes, "no cgroup can be made: a watch bounds the memory")
	}
	return nil
}

// unquote returns the text that Python shows as a literal of a string.
func unquote(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'")
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(s)
}

// Create makes a sandbox.
func (b *Backend) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	f, err := b.check(ctx)
	if err != nil {
		return nil, err
	}
	x, err := b.launch(ctx, f, spec)
	if err != nil {
		return nil, fmt.Errorf("create a sandbox: %w", err)
	}
	return x, nil
}

// Close ends all sandboxes.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	all := slices.Collect(maps.Keys(b.boxes))
	b.mu.Unlock()
	_ = sandbox.EndAll(all, func(x *box) error { return x.End("the server was stopped") }) // what is left is the spawner's
	err := b.spawner.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.placed != nil {
		b.placed.cages.Close()
		err = errors.Join(err, b.placed.folder.Close())
		b.placed = nil
	}
	return err
}

// place returns where things are, and makes that the first time.
func (b *Backend) place(python host.Interpreter) (*place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	if b.placed == nil {
		folder, err := host.NewFolder(b.o.Dir, "gvisor", endOrphans)
		if err != nil {
			return nil, err
		}
		b.placed = &place{folder: folder}
		if !b.o.NoCgroup {
			b.placed.cages = cage.New(b.o.Memory)
		}
	}
	p := b.placed
	if p.root == nil || p.root.python != python.Path {
		r, err := b.newRoot(python)
		if err != nil {
			return nil, err
		}
		p.root = r
	}
	return &place{p.folder, p.cages, p.root}, nil
}

// add notes a sandbox, which a closed back end ends.
func (b *Backend) add(x *box) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && !x.ended {
		b.boxes[x] = struct{}{}
	}
	return !b.closed
}

func (b *Backend) remove(x *box) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.ended = true
	delete(b.boxes, x)
}

// TakesNetwork reports that sandboxes may have a proxy: the program inside listens for
// it on the loopback that gVisor itself makes, which leads nowhere.
func (b *Backend) TakesNetwork() bool { return true }

var _ sandbox.Backend = (*Backend)(nil)
