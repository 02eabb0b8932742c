// Package e2b runs a model's code in virtual machines of E2B, or of whoever else
// offers the same interfaces: a control plane by REST, and in each machine a daemon
// (envd) by Connect RPC and a code interpreter.
//
//	b, err := e2b.New(e2b.Options{Key: tool.NewSecret(key)})
//	if err != nil {
//		return nil, err // names the option
//	}
//	defer b.Close()
//	status, err := b.Check(ctx) // status.Level is "kernel"
//	box, err := b.Create(ctx, sandbox.Spec{})
//
// # What is done once
//
// Requests that may have had an effect are never repeated: a command or a cell whose
// connection breaks has run at most once, and the error says that it may have run. What
// is left of it is ended. Only what the service says it has not done (429, 503), and
// what may be done twice without harm, is tried again.
//
// # The end
//
// A machine has a short time to live, which is prolonged while its sandbox is held. So
// one that nobody holds any more ends by itself. Each bears the name of the process that
// made it, and the next start ends those whose process is dead ([Options].Dir).
//
// # Who is trusted
//
// The control plane is: it gets the key, and says where the machines are. The machines
// are not: what they say is bounded and taken as data, and they get tokens of their own
// and never the key. They cannot reach the internet unless the operator lets them. A path
// is resolved inside the machine before a file is read; code there that swaps a link in
// between wins another file of the same machine and nothing else.
package e2b

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/tool"
)

// Usual values.
const (
	DefaultDomain   = "e2b.app"
	DefaultTemplate = "code-interpreter-v1"

	usualTTL   = 3 * time.Minute
	askLimit   = 30 * time.Second // of one short request
	makeLimit  = 60 * time.Second // until a machine is there
	streamTime = 25 * time.Hour   // of a connection; what runs has bounds of its own
)

// Options are the settings of the back end.
type Options struct {
	Key      tool.Secret // of the control plane
	Domain   string      // of the service; default DefaultDomain
	BaseURL  string      // of the control plane; default https://api.DOMAIN
	Machines string      // base URL of one proxy for all machines; default: a host for each, below the domain
	Template string      // what machines are made of; default DefaultTemplate
	Internet bool        // machines may reach it
	Dir      string      // where processes of this machine note that they live; empty: orphans end by their own time only
	Proxy    string      // as in egress
	CAFile   string      // as in egress

	TTL   time.Duration   // of a machine whose holder has died; 0 is the usual
	Waits []time.Duration // before a request is repeated; nil is the usual. Tests use it
}

// A Backend makes sandboxes at E2B.
type Backend struct {
	o       Options
	pages   *egress.Client
	control *control

	checking chan struct{} // held by the one that checks
	checked  *sandbox.Status

	mu     sync.Mutex
	boxes  map[*box]struct{}
	spare  *box // made by the check, for the first who wants one
	maker  *maker
	closed bool
	ends   sync.WaitGroup // of machines that have ended by themselves
}

// New returns the back end. Its errors name the option as the server calls it. It
// reaches nobody before the first Check or Create.
func New(o Options) (*Backend, error) {
	o.Domain = strings.TrimSpace(o.Domain)
	for _, d := range []struct {
		value *string
		usual string
	}{{&o.Domain, DefaultDomain}, {&o.Template, DefaultTemplate}} {
		if *d.value == "" {
			*d.value = d.usual
		}
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api." + o.Domain
	}
	if o.TTL <= 0 {
		o.TTL = usualTTL
	}
	if o.Waits == nil {
		o.Waits = egress.Seconds(1, 2, 4)
	}
	o.BaseURL, o.Machines = strings.TrimSuffix(o.BaseURL, "/"), strings.TrimSuffix(o.Machines, "/")
	if !isName(o.Template, 128, "_.:/-") {
		return nil, errors.New("option e2b_template: this is no name or id of a template")
	}
	pages, err := egress.New(egress.Options{
		Server: "python", Proxy: o.Proxy, CAFile: o.CAFile, Times: egress.Times{Header: streamTime, Total: streamTime},
	})
	if err != nil {
		return nil, err
	}
	b := &Backend{o: o, pages: pages, checking: make(chan struct{}, 1), boxes: make(map[*box]struct{})}
	service, err := pages.Service(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("option e2b_base_url: %w", err)
	}
	if _, err := b.placeOf("id", o.Domain); err != nil {
		return nil, fmt.Errorf("option e2b_domain: %w", err)
	}
	if o.Machines != "" {
		if _, err := pages.Service(o.Machines); err != nil {
			return nil, fmt.Errorf("option e2b_sandbox_url: %w", err)
		}
	}
	b.control = &control{http: service, base: o.BaseURL, key: o.Key, waits: o.Waits}
	return b, nil
}

// Name returns "e2b".
func (b *Backend) Name() string { return "e2b" }

// TakesNetwork reports that no list of hosts can be held: what a machine reaches is set
// by its maker and the service.
func (b *Backend) TakesNetwork() bool { return false }

// Check makes a machine, runs a cell in it, and keeps it for the next Create.
func (b *Backend) Check(ctx context.Context) (sandbox.Status, error) {
	s, err := b.check(ctx)
	if err != nil {
		return sandbox.Status{Level: sandbox.LevelNone}, err
	}
	return *s, nil
}

func (b *Backend) check(ctx context.Context) (*sandbox.Status, error) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.checking }()
	if b.checked != nil {
		return b.checked, nil
	}
	if b.o.Key.Reveal() == "" {
		return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: missing}
	}
	b.mu.Lock()
	if b.maker == nil && !b.closed {
		b.maker = newMaker(b.o.Dir)
	}
	own := b.maker
	b.mu.Unlock()
	notes := own.sweep(ctx, b.control)
	x, err := b.launch(ctx)
	if err != nil {
		return nil, err
	}
	out, err := x.Code(ctx, sandbox.Cell{Source: "import sys\nsys.version.split()[0]", Timeout: makeLimit})
	if err == nil && (out.Error != nil || len(out.Results) != 1) {
		err = &sandbox.Error{Kind: sandbox.Unavailable, Text: "the code interpreter of the template does not run Python as expected: look at option e2b_template"}
	}
	if err != nil {
		_ = x.finish("it does not work", true) // else it ends by its own time
		return nil, err
	}
	status := &sandbox.Status{Level: sandbox.LevelKernel, Python: strings.Trim(out.Results[0].Text, `'"`)}
	status.Notes = append(status.Notes, "code and files are sent to virtual machines at "+egress.Plain(b.o.Domain, 100))
	size, text := b.control.size(ctx, x.id)
	if status.Size = &size; text != "" {
		status.Notes = append(status.Notes, "its template gives each "+text)
	}
	if b.o.Internet {
		status.Notes = append(status.Notes, "they can reach the internet")
	}
	status.Notes = append(status.Notes, notes...)
	b.checked = status
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = x
	return status, nil
}

const missing = "the back end e2b needs a key: an operator sets E2B_API_KEY in the environment of the server"

// Create makes a sandbox. How large it is, its template says. A network of ours does not
// reach so far.
func (b *Backend) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if spec.Network != nil {
		return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "sandboxes at E2B take no network from here: an operator may let them reach the internet (option e2b_internet)"}
	}
	if _, err := b.check(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	x := b.spare
	b.spare = nil
	b.mu.Unlock()
	if x == nil || !x.renewed(ctx) {
		var err error
		if x, err = b.launch(ctx); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	closed := b.closed
	if !closed {
		x.tasks.Go(func() { x.keep(context.WithoutCancel(ctx)) })
	}
	b.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	return x, nil
}

// launch has a machine made. It ends by its time where it is not kept.
func (b *Backend) launch(ctx context.Context) (*box, error) {
	b.mu.Lock()
	closed, own := b.closed, b.maker
	b.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	made, err := b.control.create(ctx, b.o, own)
	if err != nil {
		return nil, err
	}
	x, err := b.newBox(ctx, made)
	if err != nil {
		b.control.abandon(ctx, made.SandboxID)
		return nil, err
	}
	b.mu.Lock()
	closed = b.closed
	if !closed {
		b.boxes[x] = struct{}{}
	}
	b.mu.Unlock()
	if closed {
		_ = x.finish("the server was stopped", true) // else it ends by its own time
		return nil, errClosed
	}
	return x, nil
}

var errClosed = &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}

func (b *Backend) remove(x *box) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.boxes, x)
}

// Close ends all machines.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	all := slices.Collect(maps.Keys(b.boxes))
	b.mu.Unlock()
	err := sandbox.EndAll(all, func(x *box) error { return x.finish("the server was stopped", true) })
	b.ends.Wait()
	b.mu.Lock()
	own := b.maker
	b.maker = nil
	b.mu.Unlock()
	if err == nil {
		err = own.leave()
	}
	b.control.http.Close()
	b.pages.Close()
	return err
}

// Probe asks for the list of running machines, which wants a key that is taken.
func (b *Backend) Probe() probe.Ask {
	a := probe.Ask{Service: "E2B", Key: "E2B_API_KEY"}
	if b.o.Key.Reveal() == "" {
		a.Missing = "set E2B_API_KEY in the environment of the server"
		return a
	}
	a.Do = probe.HTTP(b.control.http, egress.Request{URL: b.o.BaseURL + "/v2/sandboxes?limit=1", Header: b.control.header()}, nil)
	return a
}
