package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/usage"
)

const (
	// grace is how long a process may take to end before it is killed.
	grace = 5 * time.Second
	// startLimit is how long a gateway may take until it serves all its tools.
	startLimit = 60 * time.Second
	// poll is how often a starting gateway is looked at.
	poll = time.Millisecond
)

// A process is a child of the benchmark.
type process struct {
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	waiting sync.WaitGroup
	ended   chan struct{} // closed when it has
}

// begin starts a command, which ends with the context: asked to at first, and
// killed when its grace is over.
func begin(ctx context.Context, cmd func(context.Context) *exec.Cmd) (*process, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cmd: cmd(ctx), cancel: cancel, ended: make(chan struct{})}
	p.cmd.Cancel = func() error { return terminate(p.cmd.Process) }
	p.cmd.WaitDelay = grace
	detach(p.cmd)
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", p.cmd.Path, err)
	}
	p.waiting.Go(func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is told by what it wrote
	})
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.cancel()
	p.waiting.Wait()
}

// environment returns the base environment without what would configure a
// gateway, with dir for its home.
func (b *bench) environment(dir string) []string {
	var env []string
	for _, entry := range b.Env {
		if !strings.HasPrefix(entry, "TENON_") && !strings.HasPrefix(entry, "XDG_") {
			env = append(env, entry)
		}
	}
	for _, name := range []string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR"} {
		env = append(env, name+"="+dir)
	}
	return env
}

// An upstreamHTTP is the benchmark's own server as a process that serves HTTP.
type upstreamHTTP struct {
	*process
	url string
}

// startUpstream starts the server; the end of its input, and so of this
// process, ends it.
func (b *bench) startUpstream(ctx context.Context) (*upstreamHTTP, error) {
	var stdout io.Reader
	var pipes error
	p, err := begin(ctx, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, b.Upstream[0], append(slices.Clip(b.Upstream[1:]), "-http", "127.0.0.1:0")...)
		cmd.Env = b.environment(b.Dir)
		var inErr, outErr error
		_, inErr = cmd.StdinPipe() // never written to
		stdout, outErr = cmd.StdoutPipe()
		pipes = errors.Join(inErr, outErr)
		return cmd
	})
	if err != nil {
		return nil, err
	}
	if pipes != nil {
		p.stop()
		return nil, pipes
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("upstream over HTTP: %w", err)
	}
	return &upstreamHTTP{p, strings.TrimSpace(url)}, nil
}

// A gateway is a running gateway.
type gateway struct {
	*process
	usage.Process
	base  string // URL without a path
	log   string // file with what it wrote
	start time.Time
}

// startGateway starts a gateway in a folder of its own, with a configuration
// or, where that is empty, without any. It does not wait for it to listen.
func (b *bench) startGateway(ctx context.Context, config string) (*gateway, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	args := append(slices.Clip(b.Gateway[1:]), "serve", "--listen", addr)
	if config != "" {
		file := filepath.Join(dir, "tenon.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--config", file)
	}
	g := &gateway{base: "http://" + addr, log: filepath.Join(dir, "log")}
	// A file costs the gateway what a log costs a user, and this process nothing.
	log, err := os.Create(g.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	g.start = time.Now()
	g.process, err = begin(ctx, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, b.Gateway[0], args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, b.environment(dir), log, log
		return cmd
	})
	if err != nil {
		return nil, err
	}
	g.Process = usage.Of(g.cmd.Process.Pid)
	return g, nil
}

// freeAddr returns a loopback address that nobody listens on.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// url returns the gateway's MCP endpoint.
func (g *gateway) url() string { return g.base + "/mcp" }

// until tries until it succeeds, the gateway ends, or it takes too long.
func (g *gateway) until(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-g.ended:
			return fmt.Errorf("the gateway has ended: %s", g.said())
		default:
		}
		if pause(ctx, poll) != nil {
			return fmt.Errorf("the gateway was not ready: %w; it said: %s", err, g.said())
		}
	}
}

// dial begins a session as soon as the gateway listens.
func (g *gateway) dial(ctx context.Context) (*client.Session, error) {
	var s *client.Session
	err := g.until(ctx, func(ctx context.Context) (err error) {
		s, err = client.DialHTTP(ctx, g.url())
		return err
	})
	return s, err
}

// listing waits until the session lists so many tools.
func (g *gateway) listing(ctx context.Context, s *client.Session, want int) (client.Listing, error) {
	var l client.Listing
	if err := s.SetDeadline(time.Now().Add(startLimit)); err != nil {
		return l, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := g.until(ctx, func(context.Context) (err error) {
		if l, err = s.List(); err == nil && len(l.Names) < want {
			err = fmt.Errorf("%d tools of %d", len(l.Names), want)
		}
		return err
	})
	return l, err
}

// said returns the end of what the gateway wrote.
func (g *gateway) said() string {
	const most = 2000
	log, err := os.ReadFile(g.log)
	if err != nil {
		return err.Error()
	}
	log = log[max(0, len(log)-most):]
	return strings.TrimSpace(string(log))
}
