package gvisor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/inside"
	"github.com/tenon-mcp/tenon/internal/sandbox/local/cage"
)

// A box is one sandbox: what is inside, and what holds it.
type box struct {
	*inside.Box

	b    *Backend
	spec sandbox.Spec
	dir  string
	p    *proc.Process
	cage *cage.Cage

	quit  chan struct{}
	tasks sync.WaitGroup
	over  atomic.Bool // the watch has seen too much
	asked atomic.Bool // somebody wants its end
	ended bool        // guarded by the back end's lock
}

// wait is how runsc is started where a cgroup bounds it: only once it is in there.
const wait = `read -r go && exec "$@"`

// launch starts runsc and waits for the program in the sandbox.
func (b *Backend) launch(ctx context.Context, f *found, spec sandbox.Spec) (*box, error) {
	spec = spec.Filled()
	at, err := b.place(f.python)
	if err != nil {
		return nil, err
	}
	dir, err := at.folder.Make(os.Geteuid())
	if err != nil {
		return nil, err
	}
	x := &box{b: b, spec: spec, dir: dir, quit: make(chan struct{})}
	if at.cages != nil {
		// Each process inside is one outside, and has threads in runsc, which breaks where
		// it cannot start one: this only keeps it from the rest of the machine.
		if x.cage, err = at.cages.Add(spec.Memory+spec.Disk+overhead, 16*processes(spec)+ownThreads); err != nil {
			x.cage = nil // the watch is there
		}
	}
	if err := x.start(ctx, f, at.root); err != nil {
		_ = x.clean() // why it did not start is what counts
		return nil, err
	}
	open, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	x.Box, err = inside.Open(open, inside.Way{In: x.p.Stdin(), Out: x.p.Stdout()}, inside.Options{
		Spec: spec, Env: map[string]string{"PATH": at.root.paths(f)}, End: x.end,
	})
	if err != nil {
		return nil, err
	}
	if !b.add(x) {
		_ = x.Kill(ctx) // the reason is below
		return nil, &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	return x, nil
}

// start starts runsc.
func (x *box) start(ctx context.Context, f *found, r *root) error {
	config, err := json.Marshal(r.config(f, x.spec))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(x.dir, "config.json"), config, 0o600); err != nil {
		return err
	}
	c := proc.Command{
		Path: f.runsc, Args: r.flags(x.dir, f.platform), Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Dir: "/",
		StdinGrace: -1, TermGrace: -1,
	}
	if x.cage != nil {
		c.Path, c.Args = "/bin/sh", append([]string{"-c", wait, "sh", f.runsc}, c.Args...)
	}
	if x.p, err = x.b.spawner.Start(ctx, c); err != nil {
		return err
	}
	if x.cage != nil {
		if err := x.cage.Join(x.p.Pid()); err != nil {
			return fmt.Errorf("join the cgroup: %w", err)
		}
		if _, err := x.p.Stdin().Write([]byte("\n")); err != nil {
			return fmt.Errorf("start runsc: %w", err)
		}
	} else {
		x.tasks.Go(x.watch)
	}
	return nil
}

// Kill ends the sandbox, and waits for that.
func (x *box) Kill(context.Context) error { return x.End("it was killed") }

// End is Kill with a reason.
func (x *box) End(why string) error {
	x.asked.Store(true)
	return x.Box.End(why)
}

// end ends all that belongs to the sandbox. It is called once, and says why where it
// knows better.
func (x *box) end(ctx context.Context) (string, error) {
	why := ""
	if x.over.Load() {
		why = fmt.Sprintf("it used more than its %d MiB of memory", x.spec.Memory>>20)
	} else if x.cage != nil {
		if kills, _ := x.cage.Kills(); kills > 0 {
			why = fmt.Sprintf("it used more than its %d MiB of memory", x.spec.Memory>>20)
		}
	}
	if !x.asked.Load() {
		late := time.NewTimer(lastWords)
		defer late.Stop()
		select {
		case <-x.p.Done():
		case <-late.C:
		}
		x.b.o.Logger.Warn("a sandbox of runsc ended by itself", "exit", x.p.Exit(), "said", x.p.Stderr())
	}
	err := x.clean()
	x.b.remove(x)
	return why, err
}

// clean ends the processes and removes the rest.
func (x *box) clean() error {
	close(x.quit)
	var err error
	if x.p != nil {
		err = x.p.Kill() // nobody is asked
	}
	x.tasks.Wait()
	x.cage.Close()
	_ = os.RemoveAll(x.dir) // the folder above it is swept
	return err
}

// watch ends the sandbox when it uses more than it may.
func (x *box) watch() {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-x.quit:
			return
		case <-tick.C:
		}
		if memoryBelow(x.p.Pid()) > x.spec.Memory+x.spec.Disk+overhead {
			x.over.Store(true)
			kill(tree(x.p.Pid()))
			return
		}
	}
}

// Memory is what it uses, with what runsc needs for it.
func (x *box) Memory() int64 {
	if x.cage != nil {
		return x.cage.Used()
	}
	return memoryBelow(x.p.Pid())
}

var _ sandbox.Sandbox = (*box)(nil)
