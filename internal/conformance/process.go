package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience bounds how long a program may take to answer or to end.
const patience = 20 * time.Second

// A process is a program that runs beside the lab.
type process struct {
	cmd     *exec.Cmd
	stderr  *tail
	running sync.WaitGroup
	done    chan struct{}
}

// begin starts cmd, whose standard error is kept.
func begin(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, stderr: &tail{}, done: make(chan struct{})}
	cmd.Stderr = p.stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.running.Go(func() {
		defer close(p.done)
		_ = cmd.Wait() // what ends early is told by whoever waits for it
	})
	return p, nil
}

// stop ends the process in good order where the system knows how, else at once.
func (p *process) stop() {
	defer p.running.Wait()
	if p.cmd.Process.Signal(os.Interrupt) == nil {
		select {
		case <-p.done:
			return
		case <-time.After(patience):
		}
	}
	_ = p.cmd.Process.Kill() // it may be gone by now
	<-p.done
}

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - 64<<10; n > 0 {
		t.text = bytes.Clone(t.text[n:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// An Era says which versions of MCP a fixture speaks.
type Era string

// The fixtures are one server of the official SDK: with sessions, without them,
// and both behind one URL, as a server looks that speaks both eras.
const (
	Stateful  Era = "legacy"
	Stateless Era = "modern"
	Both      Era = "both"
	// Tasks is a server of the lab's own, with the extension for tasks.
	Tasks Era = "tasks"
)

// A Fixture is an MCP server that the gateway stands before.
type Fixture struct {
	URL   string
	close []func()
}

// Close ends it.
func (f *Fixture) Close() {
	for _, end := range slices.Backward(f.close) {
		end()
	}
}

// Fixture starts a server of the era.
func (l *Lab) Fixture(ctx context.Context, era Era) (*Fixture, error) {
	f := &Fixture{}
	switch era {
	case Stateful, Stateless:
		return f, l.serve(ctx, f, era)
	case Tasks:
		work, cancel := context.WithCancel(ctx)
		s := &taskServer{ctx: work, tasks: map[string]*task{}}
		f.close = append(f.close, s.work.Wait, cancel)
		return f, f.listen(ctx, s)
	case Both:
	}
	var targets []*url.URL
	for _, e := range []Era{Stateful, Stateless} {
		if err := l.serve(ctx, f, e); err != nil {
			f.Close()
			return nil, err
		}
		target, err := url.Parse(f.URL)
		if err != nil {
			f.Close()
			return nil, err
		}
		targets = append(targets, target)
	}
	return f, f.mux(ctx, targets[0], targets[1])
}

// serve starts the SDK's server and sets f.URL.
func (l *Lab) serve(ctx context.Context, f *Fixture, era Era) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	args := []string{"-http=" + address}
	if era == Stateful {
		args = append(args, "-stateless=false")
	}
	p, err := begin(exec.CommandContext(ctx, l.Server, args...)) // #nosec G204 -- built by the lab
	if err != nil {
		return err
	}
	f.close = append(f.close, p.stop)
	f.URL = "http://" + address + "/"
	if err := listening(ctx, address, p.done); err != nil {
		f.Close()
		return fmt.Errorf("the %s fixture does not listen: %w\n%s", era, err, p.stderr)
	}
	return nil
}

// mux serves both targets at one URL, and lets each request choose as the
// specification says: by the version in its header.
func (f *Fixture) mux(ctx context.Context, legacy, modern *url.URL) error {
	quiet := log.New(io.Discard, "", 0) // of streams that end as the fixture does
	proxy := &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		target := legacy
		if r.In.Header.Get("MCP-Protocol-Version") >= "2026-07-28" {
			target = modern
		}
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	return f.listen(ctx, proxy)
}

// listen serves handler on a port of its own and sets f.URL.
func (f *Fixture) listen(ctx context.Context, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		f.Close()
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	f.close = append(f.close, func() {
		_ = server.Close() // nothing to save
		serving.Wait()
	})
	f.URL = "http://" + listener.Addr().String() + "/"
	return nil
}

// freeAddress returns an address of this machine that nobody listens on. Its port is below
// those that systems hand out, so that nobody gets it meanwhile who asks for any.
func freeAddress(ctx context.Context) (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprintf("localhost:%d", 16_000+rand.IntN(16_000)) // #nosec G404 -- a guess
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("no port is free: %w", err)
}

// listening waits until somebody listens on address, or the program is done.
func listening(ctx context.Context, address string, done <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-done:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A Gateway is a tenon process with a configuration of its own.
type Gateway struct {
	// MCP is the URL of the pool.
	MCP string
	*process
	dir string
}

// Server returns the URL of one server of the pool.
func (g *Gateway) Server(name string) string { return g.MCP + "/s/" + name }

// Log returns the last of what the gateway has logged.
func (g *Gateway) Log() string { return g.stderr.String() }

// Close ends the gateway and removes what it kept.
func (g *Gateway) Close() {
	g.stop()
	_ = os.RemoveAll(g.dir) // a temporary folder
}

// Gateway starts tenon before servers, the value of that key of the
// configuration; settings are further keys. Nothing is cut or refused, for what is
// compared must be whole.
func (l *Lab) Gateway(ctx context.Context, servers map[string]any, settings ...map[string]any) (*Gateway, error) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	g := &Gateway{dir: dir}
	config := map[string]any{
		"version": 1, "servers": servers,
		"tools":  map[string]any{"*/*": map[string]any{"max_result_chars": 0}},
		"policy": map[string]any{"block_high_risk": false},
	}
	for _, s := range settings {
		maps.Copy(config, s)
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tenon.yaml"), text, 0o600)
	}
	if err == nil {
		err = l.startGateway(ctx, g)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // a temporary folder
		return nil, err
	}
	return g, nil
}

func (l *Lab) startGateway(ctx context.Context, g *Gateway) error {
	cmd := exec.CommandContext(ctx, l.Tenon, "serve", "--listen", "127.0.0.1:0", "--output", "json", // #nosec G204 -- built by the lab
		"--config", filepath.Join(g.dir, "tenon.yaml"))
	cmd.Env = Private(g.dir)
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer func() { _ = out.Close() }() // ends the reading
	cmd.Stdout = w
	g.process, err = begin(cmd)
	_ = w.Close() // the child has it
	if err != nil {
		return err
	}
	var said struct{ MCP string }
	answered := make(chan error, 1)
	reading.Go(func() { answered <- json.NewDecoder(out).Decode(&said) })
	select {
	case err = <-answered:
	case <-time.After(patience):
		err = errors.New("it says no address")
	}
	if err != nil {
		g.stop()
		return fmt.Errorf("tenon serve: %w\n%s", err, g.stderr)
	}
	g.MCP, err = localhost(said.MCP)
	return err
}

// RunSDKClient runs the SDK's conformance client against url, with what the suite
// has put into this process's environment.
func (l *Lab) RunSDKClient(ctx context.Context, url string) error {
	cmd := exec.CommandContext(ctx, l.Client, url) // #nosec G204 -- built by the lab
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// Private returns this process's environment with the folders of the user
// replaced by ones in dir, and without Tenon's own variables.
func Private(dir string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TENON_") {
			env = append(env, v)
		}
	}
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"} {
		env = append(env, name+"="+dir)
	}
	return env
}
