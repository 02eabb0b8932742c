// Package a2a has an agent that speaks the Agent2Agent protocol (1.0) work on subtasks.
//
//	a, err := a2a.New(a2a.Options{URL: "https://agents.example", HTTP: client})
//	out, err := a.Run(ctx, a2a.Work{Text: "Which service failed first?"}, tell)
//	if out.Question != "" { // it wants to know something before it goes on
//		out, err = a.Run(ctx, a2a.Work{Text: answer, Task: out.Task, Context: out.Context}, tell)
//	}
//
// The agent's card says how it is spoken to; only the host of its URL is reached, whatever
// the card says. A stream that breaks is taken up again, or the task is asked for from time
// to time. A task whose caller gives up is canceled.
package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// Bounds that no configuration raises.
const (
	maxBody    = 32 << 20 // bytes of one answer, or of all its events
	cardLife   = 5 * time.Minute
	maxBreaks  = 5 // in a row
	cancelTime = 5 * time.Second
)

// Options say which agent it is.
type Options struct {
	URL    string
	HTTP   *http.Client      // that reaches the host of URL and nothing else
	Header map[string]string // of each request, such as Authorization
	// Go runs what goes on after a call: it tells the agent that nobody waits any more.
	Go    func(func())
	Pause time.Duration // between two looks at a task; 0 is a second
	// Closing ends what waits for clients to come again; nil never does.
	Closing <-chan struct{}
}

// An Agent is one agent elsewhere. It is safe for concurrent use.
type Agent struct {
	o    Options
	base *url.URL

	mu     sync.Mutex
	client *a2aclient.Client
	until  time.Time                // the card counts
	waits  map[string]chan struct{} // tasks that wait for an answer, by name
}

// New returns an agent. Nothing is asked yet.
func New(o Options) (*Agent, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("a2a wants the URL of an agent")
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	client := *o.HTTP
	client.Transport = guarded{client.Transport, u, o.Header}
	o.HTTP = &client
	return &Agent{o: o, base: u}, nil
}

// guarded sets headers, bounds what is read, and follows nobody elsewhere.
type guarded struct {
	next   http.RoundTripper
	base   *url.URL
	header map[string]string
}

// errElsewhere says that the agent sends its clients away, and has not begun anything.
var errElsewhere = errors.New("it redirects to another place, which is not reached")

// isNear reports whether an address is one of the agent's host that can be spoken to as
// the agent itself can.
func isNear(base, u *url.URL) bool {
	return u.Scheme == base.Scheme && strings.EqualFold(u.Host, base.Host) && u.User == nil && !slices.Contains(strings.Split(u.Path, "/"), "..")
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range g.header {
		r.Header.Set(name, value)
	}
	resp, err := g.next.RoundTrip(r)
	if err == nil {
		if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 && !isNear(g.base, to) {
			_ = resp.Body.Close() // nobody reads it
			return nil, fmt.Errorf("%w: %.100s", errElsewhere, to.Host)
		}
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	}
	return resp, err
}

// Reach says why the agent cannot be had: its card is asked for, and nothing else.
func (a *Agent) Reach(ctx context.Context) error {
	_, err := a.connect(ctx)
	return err
}

// connect returns a client by the agent's card.
func (a *Agent) connect(ctx context.Context) (*a2aclient.Client, error) {
	a.mu.Lock()
	client, until := a.client, a.until
	a.mu.Unlock()
	if client != nil && time.Now().Before(until) {
		return client, nil
	}
	card, err := agentcard.NewResolver(a.o.HTTP).Resolve(ctx, a.o.URL)
	if status, ok := errors.AsType[*agentcard.ErrStatusNotOK](err); ok {
		return nil, fmt.Errorf("its card at /.well-known/agent-card.json cannot be had: HTTP status %d", status.StatusCode)
	}
	if err != nil {
		return nil, fmt.Errorf("its card cannot be had: %w", err)
	}
	var near []*protocol.AgentInterface
	var far []string
	for _, i := range card.SupportedInterfaces {
		switch u, err := url.Parse(i.URL); {
		case err != nil:
		case isNear(a.base, u):
			near = append(near, i)
		case strings.EqualFold(u.Host, a.base.Host):
			far = append(far, u.Scheme+"://"+u.Host+", with another scheme, a user or .. in it")
		default:
			far = append(far, u.Host)
		}
	}
	if len(near) == 0 && len(far) > 0 {
		return nil, fmt.Errorf("its card names only addresses at other hosts (%.200s) than %s://%s, which are not reached; the operator should set a2a to the URL of that host", strings.Join(far, ", "), a.base.Scheme, a.base.Host)
	}
	card.SupportedInterfaces = near
	client, err = a2aclient.NewFactory(a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(a.o.HTTP), a2aclient.WithRESTTransport(a.o.HTTP)).CreateFromCard(ctx, card)
	if err != nil {
		return nil, fmt.Errorf("it offers no way that is known here (A2A 1.0 by JSON-RPC or HTTP+JSON): %w", err)
	}
	a.mu.Lock()
	a.client, a.until = client, time.Now().Add(cardLife)
	a.mu.Unlock()
	return client, nil
}

// Work is a subtask, or an answer to what the agent asked about one.
type Work struct {
	Text          string
	Task, Context string // that it belongs to; empty for a new one
	Metadata      map[string]any
}

// ErrLost says that the connection ended before anything was known of the task: the agent
// may work on it or not.
var ErrLost = errors.New("the connection ended before the agent named its task")

// ErrUnmet says that the agent was told nothing.
var ErrUnmet = errors.New("it was told nothing")

// Run has the agent work. tell is told what it says meanwhile, and may be nil. An error
// says that there is no answer, and why; ErrUnmet that nothing was begun, ErrLost that
// nobody knows.
func (a *Agent) Run(ctx context.Context, w Work, tell func(step string)) (Outcome, error) {
	client, err := a.connect(ctx)
	if err != nil {
		return Outcome{}, ended(ctx, fmt.Errorf("%w: %w", ErrUnmet, err))
	}
	m := protocol.NewMessage(protocol.MessageRoleUser, protocol.NewTextPart(w.Text))
	m.TaskID, m.ContextID, m.Metadata = protocol.TaskID(w.Task), w.Context, w.Metadata
	r := &run{client: client, tell: tell, pause: a.o.Pause, task: protocol.Task{ID: m.TaskID, ContextID: w.Context}}
	r.task.Status.State = protocol.TaskStateSubmitted
	err = r.stream(client.SendStreamingMessage(ctx, &protocol.SendMessageRequest{Message: m, Config: &protocol.SendMessageConfig{ReturnImmediately: true}}))
	if err != nil && r.events == 0 {
		if errors.Is(err, errElsewhere) || absent(err) {
			return Outcome{}, ended(ctx, fmt.Errorf("%w: %w", ErrUnmet, err))
		}
		if refused(err) {
			return Outcome{}, ended(ctx, err)
		}
		if w.Task == "" {
			return Outcome{}, ended(ctx, fmt.Errorf("%w: %w", ErrLost, err))
		}
	}
	if r.tooMuch == nil && (err == nil || r.task.ID != "") {
		err = r.finish(ctx)
	}
	if r.tooMuch != nil {
		err = r.tooMuch
		a.Cancel(ctx, string(r.task.ID), r.done())
	}
	if ctx.Err() != nil {
		a.Cancel(ctx, string(r.task.ID), r.done())
		return Outcome{}, context.Cause(ctx)
	}
	if err != nil {
		return Outcome{}, err
	}
	return r.outcome()
}

// Cancel tells the agent that nobody waits for a task any more, unless it has ended.
func (a *Agent) Cancel(ctx context.Context, task string, ended bool) {
	if task == "" || ended {
		return
	}
	a.mu.Lock()
	client := a.client
	a.mu.Unlock()
	if client == nil {
		return
	}
	a.o.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		_, _ = client.CancelTask(ctx, &protocol.CancelTaskRequest{ID: protocol.TaskID(task)}) // it may have ended meanwhile
	})
}

// maxWaits is how many tasks wait for answers at once.
const maxWaits = 1000

// Await cancels a task that waits for an answer, unless it is taken up before its time is
// over. Where too many wait it is canceled at once.
func (a *Agent) Await(ctx context.Context, task string, life time.Duration) {
	a.mu.Lock()
	full, taken := len(a.waits) >= maxWaits, make(chan struct{})
	if !full {
		if a.waits == nil {
			a.waits = map[string]chan struct{}{}
		}
		a.waits[task] = taken
	}
	a.mu.Unlock()
	if full {
		a.Cancel(ctx, task, false)
		return
	}
	a.o.Go(func() {
		timer := time.NewTimer(life)
		defer timer.Stop()
		select {
		case <-taken:
			return
		case <-timer.C:
		case <-a.o.Closing:
		}
		a.TakeUp(task)
		a.Cancel(ctx, task, false)
	})
}

// TakeUp says that somebody goes on with a task.
func (a *Agent) TakeUp(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if taken := a.waits[task]; taken != nil {
		delete(a.waits, task)
		close(taken)
	}
}

// ended returns why ctx has ended, where it has, else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// absent reports whether an error says that nobody was there to be told anything.
func absent(err error) bool {
	return !errors.Is(err, io.EOF) && strings.Contains(err.Error(), "connection refused")
}

// refused reports whether an error is the agent's own answer that it does not work on this.
func refused(err error) bool {
	for _, said := range []error{
		protocol.ErrInvalidRequest, protocol.ErrMethodNotFound, protocol.ErrInvalidParams, protocol.ErrTaskNotFound, protocol.ErrUnsupportedOperation,
		protocol.ErrUnsupportedContentType, protocol.ErrExtensionSupportRequired, protocol.ErrVersionNotSupported, protocol.ErrUnauthenticated, protocol.ErrUnauthorized,
	} {
		if errors.Is(err, said) {
			return true
		}
	}
	return strings.Contains(err.Error(), "unexpected HTTP status: 4")
}
